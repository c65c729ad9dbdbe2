"""The ledger: every FLOP of a run, entered once."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from race_report.document.base import (
    Amount,
    Basis,
    Count,
    DocumentObject,
    Id,
    Maybe,
    Precision,
    Text,
    whole,
)

Component = Literal["search", "learning", "feedback", "evaluation", "preparation"]

SearchPhase = Literal["prefill", "decode", "control", "tool"]
LearningPhase = Literal["old_logprobs", "reference_logprobs", "value", "update", "value_update"]
FeedbackPhase = Literal["reward", "judge_prefill", "judge_decode", "teacher_logprobs", "reward_update"]
EvaluationPhase = Literal["evaluation"]
PreparationPhase = Literal["warm_start", "data_generation", "data_filtering", "auxiliary_training"]
Phase = Literal[SearchPhase, LearningPhase, FeedbackPhase, EvaluationPhase, PreparationPhase]

PHASES: dict[str, tuple[str, ...]] = {
    "search": get_args(SearchPhase),
    "learning": get_args(LearningPhase),
    "feedback": get_args(FeedbackPhase),
    "evaluation": get_args(EvaluationPhase),
    "preparation": get_args(PreparationPhase),
}
"""The phases of each component: what the compute was spent on."""

COUNTS: tuple[str, ...] = (
    "sequences",
    "tokens",
    "attention_pairs",
    "bounded_attention_pairs",
    "logit_rows",
    "adapter_tokens",
    "extra_tokens",
    "cached_tokens",
)
"""What is counted of the passes of a model."""

Method = Literal["counts", "profiler", "parameter_rule", "hardware", "stated"]


class Conventions(DocumentObject):
    """How FLOPs were counted; the nearest of entry, run and document wins, key by key."""

    attention: Maybe[Literal["exact", "causal_half", "full", "omitted"]] = None
    """Attention pairs: those that the mask lets through (`exact`, the default), half of all (`causal_half`), every
    query with every key, masked or not (`full`), or none (`omitted`)."""
    logit_rows: Maybe[Literal["needed", "all"]] = None
    """Rows through the head: those whose logits are used (`needed`, the default) or one a token."""
    multiply_add: Maybe[Annotated[int, Field(ge=1, le=2), BeforeValidator(whole)]] = None
    """Operations in one multiply-add: 2 by default, 1 where multiply-adds were counted."""
    recomputation: Maybe[Literal["excluded", "included"]] = None
    """Whether activations recomputed for memory are counted; `excluded` by default."""
    kv_cache: Maybe[bool] = None
    """Whether the engine that generated kept keys and values; a description, no convention."""
    prefix_sharing: Maybe[Literal["none", "group", "blocks", "tree"]] = None
    """Which prefixes the engine computed once for several rollouts; a description, no convention."""


class Multipliers(DocumentObject):
    """How often each term of the formula counts, where neither the default of a forward nor of an update is true."""

    body: Amount
    """Times `2 body_parameters tokens`: 1 forward, 3 where all is trained, 2 where only adapters are."""
    head: Amount
    """Times `2 head_parameters logit_rows`: 1 forward, 3 where all is trained, 2 where adapters or the head are."""
    attention: Amount
    """Times `4 attention_width attention_pairs` and the bounded pairs: 1 forward, 3 in an update that reaches them."""
    adapter: Amount
    """Times `2 adapter_parameters adapter_tokens`: 1 forward, 3 where adapters are trained."""


class Passes(DocumentObject):
    """What ledger entries and records of a trace share: a phase belongs to its component, counts to a model."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"properties": {"component": {"const": component}}, "required": ["component"]},
                    "then": {"properties": {"phase": {"enum": list(phases)}}},
                }
                for component, phases in PHASES.items()
            ]
        }
    )

    needs: ClassVar = {
        "model": ("operation",),
        "operation": ("model",),
        **dict.fromkeys(COUNTS, ("model", "operation")),
    }

    @field_validator("phase", check_fields=False)
    @classmethod
    def _phase_belongs_to_component(cls, phase: str | None, info: ValidationInfo) -> str | None:
        component = info.data.get("component")
        if component is not None and phase not in PHASES[component]:
            kind, message = "literal_error", "Input should be a phase of {component}: {phases}"
            raise PydanticCustomError(kind, message, {"component": component, "phases": ", ".join(PHASES[component])})
        return phase


class LedgerEntry(Passes):
    """One line of the ledger: alike passes of one model, with their counts and FLOPs."""

    needs: ClassVar = {**Passes.needs, "multipliers": ("model", "operation")}

    id: Maybe[Id] = None
    """A name for pointers from elsewhere in the report."""
    component: Component
    """What the output is for: rollouts (search), the policy (learning), judging rollouts (feedback), which make the
    total; or, beside it, evaluation and what came before the first step (preparation)."""
    phase: Maybe[Phase] = None
    """What the pass was for, within its component."""
    part: Maybe[Text] = None
    """Tells apart lines that are otherwise alike: a pipeline or feedback id, `pilot`, `votes`, `redone`."""
    stage: Maybe[Id] = None
    """The stage of the run, where counts are given by stage."""
    model: Maybe[Id] = None
    """The model that ran. Without `model` and `flops`, an entry is compute that is not FLOPs, such as a rule or a
    sandbox, and adds 0; unless its phase needs a model, or it has GPU-hours: then its FLOPs are unknown."""
    operation: Maybe[Literal["forward", "update"]] = None
    """`forward`, or `update`: forward and backward."""
    sequences: Maybe[Count] = None
    """Sequences, summed over passes."""
    tokens: Maybe[Count] = None
    """Tokens that went through the body, each once a pass: summed over data-parallel ranks, not over ranks that share a
    sequence; two passes over a batch (mu) count twice."""
    attention_pairs: Maybe[Amount] = None
    """Sum over the tokens of the keys each attends to, by the shape of the mask."""
    bounded_attention_pairs: Maybe[Amount] = None
    """The same in the layers of `bounded_attention_width`: a token has at most the window, d_k of a linear layer, k of
    a sparse one, the encoder's length; where such layers differ, their mean weighted by width."""
    logit_rows: Maybe[Count] = None
    """Rows that went through the head because they were needed; of a value or reward head, all that it computes."""
    adapter_tokens: Maybe[Count] = None
    """Tokens that went through unmerged adapters; absent or 0 in a forward: merged, disabled or none."""
    extra_tokens: Maybe[Count] = None
    """Positions the hardware ran beyond `tokens`: padding, finished rows, rejected drafts, recomputation."""
    cached_tokens: Maybe[Count] = None
    """Positions served from a cache and not computed."""
    multipliers: Maybe[Multipliers] = None
    """Factors of the formula, where the defaults are not true."""
    flops: Maybe[Amount] = None
    """Model FLOPs of the entry."""
    executed_flops: Maybe[Amount] = None
    """FLOPs that the hardware ran: padding, recomputation and rejected work included."""
    basis: Maybe[Basis] = None
    """How the counts were come by, the weakest of them."""
    method: Maybe[Method] = None
    """How `flops` follows: from the counts, a profiler, 2N or 6N a token, device-hours, or a statement."""
    conventions: Maybe[Conventions] = None
    """Conventions of this entry, for figures that were not made from counts."""
    precision: Maybe[Precision] = None
    """Number format of the matrix multiplications."""
    calls: Maybe[Count] = None
    """Calls of a judge, a tool, a sandbox or a search engine."""
    cpu_seconds: Maybe[Amount] = None
    """CPU time in seconds, beside FLOPs and never converted."""
    gpu_hours: Maybe[Amount] = None
    """Busy GPU-hours; those of several entries may overlap."""
    cost_usd: Maybe[Amount] = None
    """Cost in US dollars."""
    note: Maybe[Text] = None
    """Anything a reader should know."""


class Totals(DocumentObject):
    """Sums of the ledger. A component without a known figure is left out and named in `not_reported`."""

    search_flops: Maybe[Amount] = None
    """Model FLOPs of rollouts and of what steers them."""
    learning_flops: Maybe[Amount] = None
    """Model FLOPs of updates and of what serves their objective."""
    feedback_flops: Maybe[Amount] = None
    """Model FLOPs of reward evaluation; 0 where rules judge."""
    total_flops: Maybe[Amount] = None
    """Search, learning and feedback together."""
    basis: Maybe[Basis] = None
    """The weakest basis of the parts; `lower_bound` where a part is unknown."""
