"""A plan of a run -> the lines of its ledger, before any of it has run.

Counts come from `race_report.counts` and `race_report.bounds_from_means`, FLOPs from `race_report.flops`. The plain
parameter rule, 2N a token forward and 6N in a full update, is the other way to count: it knows completions, and neither
prompts nor attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from race_report.counts import scale_counts
from race_report.flops import Factors, ModelCoefficients, PassCounts, default_factors, entry_flops
from race_report.planned_lengths import LengthsByMeans, LengthsOfStep, Means

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from race_report.architecture import ParameterCounts
    from race_report.counts import Group, PrefixSharing
    from race_report.planned_lengths import PlannedLengths


class PlannedModel(NamedTuple):
    """A model of the plan: what a report says of it, and what a token costs in it."""

    id: str
    role: str
    coefficients: ModelCoefficients
    name: str | None = None
    """Its public name; None for a model that stands in a file."""
    parameters: ParameterCounts | None = None
    """None for a model that is only a size."""
    architecture: Mapping[str, Any] | None = None
    adapter: Mapping[str, Any] | None = None
    """The adapter that is trained, in the words of a report."""
    trained: Literal["none", "full", "adapter"] = "none"
    window: int | None = None
    """Keys that a token of the layers that slide attends to at most."""
    update_factors: Factors | None = None
    """Multipliers of its update, where those of `trained` are not true: a head that is trained beside an adapter."""


class JudgedTokens(NamedTuple):
    """What a judge reads and writes for one rollout, in mean tokens."""

    read: float
    written: float


class Line(NamedTuple):
    """A line of the planned ledger, with the counts of the whole run."""

    component: Literal["search", "learning", "feedback"]
    phase: str
    model: PlannedModel
    operation: Literal["forward", "update"]
    sequences: int
    counts: PassCounts
    flops: int
    cached_tokens: int = 0
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run that is to be."""

    policy: PlannedModel
    lengths: Means | Sequence[Group]
    """Of one rollout step: its means, or every length in it. Every step is like it."""
    steps: int = 1
    """Rollout steps."""
    updates_per_batch: int = 1
    trained_per_group: int | None = None
    """Rollouts of each group that are trained on; None where all are."""
    prefix_sharing: PrefixSharing = "none"
    is_adapter_merged: bool = True
    """Whether rollouts are sampled with the adapter merged into the weights."""
    has_old_logprobs: bool = False
    kl_coefficient: float = 0
    """Above 0 there is a pass of the reference model."""
    reward_model: PlannedModel | None = None
    reward_tokens: float | None = None
    """Mean tokens that the reward model reads of a rollout; None where they are those of the rollout."""
    judge: PlannedModel | None = None
    judged_tokens: JudgedTokens | None = None
    is_by_parameter_rule: bool = False

    @property
    def reference(self) -> PlannedModel | None:
        """The reference model: the policy without its adapter, or, where all of it is trained, a copy of its own."""
        if not self.kl_coefficient:
            return None
        if self.policy.trained == "adapter":
            return self.policy
        return self.policy._replace(id="reference", role="reference", trained="none")

    @property
    def models(self) -> tuple[PlannedModel, ...]:
        """All models that run, the policy first."""
        every = (self.policy, self.reference, self.reward_model, self.judge)
        return tuple({model.id: model for model in every if model is not None}.values())

    def planned_lengths(self) -> PlannedLengths:
        """Give the lengths of the whole run.

        Raises:
            ValueError: there can be none such.

        """
        if isinstance(self.lengths, Means):
            return LengthsByMeans(self.lengths, self.steps, self.trained_per_group)
        return LengthsOfStep(self.lengths, self.steps, self.trained_per_group)


def planned_ledger(plan: Plan) -> tuple[Line, ...]:
    """Give the lines of a plan's ledger.

    Old and reference log-probabilities are made of the rollouts that are trained on, once a batch, whatever mu is.

    Raises:
        ValueError: the lengths cannot be, or leave open what is asked for.

    """
    lines = _lines_by_parameter_rule(plan) if plan.is_by_parameter_rule else _lines_by_counts(plan)
    return tuple(lines)


def _lines_by_counts(plan: Plan) -> Iterator[Line]:
    lengths = plan.planned_lengths()
    rollouts = lengths.rollouts()
    window = plan.policy.window
    prefill, decode, cached = lengths.generation(plan.prefix_sharing, window)
    is_adapted = plan.policy.trained == "adapter"
    in_rollouts = is_adapted and not plan.is_adapter_merged
    policy, learned = plan.policy, lengths.trained(window)
    yield _line("search", "prefill", policy, rollouts.generated, _through(prefill, adapter=in_rollouts), cached=cached)
    yield _line("search", "decode", policy, rollouts.generated, _through(decode, adapter=in_rollouts))
    yield from _learning(plan, rollouts.trained, learned, is_adapted=is_adapted)
    if plan.reward_model is not None:
        yield _line("feedback", "reward", plan.reward_model, rollouts.generated, _rewarded(plan, lengths))
    if plan.judge is not None:
        assert plan.judged_tokens is not None
        from race_report.bounds_from_means import generation_from_means

        judged = generation_from_means(rollouts.generated, *plan.judged_tokens, window=plan.judge.window)
        yield _line("feedback", "judge_prefill", plan.judge, rollouts.generated, judged.prefill.counts)
        yield _line("feedback", "judge_decode", plan.judge, rollouts.generated, judged.decode.counts)


def _learning(plan: Plan, trained: int, counts: PassCounts, *, is_adapted: bool) -> Iterator[Line]:
    with_adapter = _through(counts, adapter=is_adapted)
    if plan.has_old_logprobs:
        yield _line("learning", "old_logprobs", plan.policy, trained, with_adapter)
    if plan.reference is not None:
        note = "adapter disabled" if is_adapted else None
        yield _line("learning", "reference_logprobs", plan.reference, trained, counts, note=note)
    mu = plan.updates_per_batch
    yield _line("learning", "update", plan.policy, mu * trained, scale_counts(with_adapter, mu), operation="update")


def _rewarded(plan: Plan, lengths: PlannedLengths) -> PassCounts:
    """Count the pass of the reward model, whose head runs on every token."""
    assert plan.reward_model is not None
    if plan.reward_tokens is None:
        counts = lengths.scoring(plan.reward_model.window)
        return counts._replace(logit_rows=counts.tokens)
    from race_report.bounds_from_means import reward_from_means

    generated = lengths.rollouts().generated
    return reward_from_means(generated, plan.reward_tokens, window=plan.reward_model.window).counts


def _lines_by_parameter_rule(plan: Plan) -> Iterator[Line]:
    """Count 2N a completion token forward, 6N in a full update, 4N + 6A in one of adapters; N has the head in it."""
    rollouts = plan.planned_lengths().rollouts()
    is_adapted = plan.policy.trained == "adapter"
    sampled = _through(PassCounts(rollouts.completion_tokens), adapter=is_adapted and not plan.is_adapter_merged)
    lines = [_line("search", "decode", plan.policy, rollouts.generated, sampled)]
    learned = PassCounts(rollouts.trained_completion_tokens)
    lines += _learning(plan, rollouts.trained, learned, is_adapted=is_adapted)
    if plan.reward_model is not None:
        read = rollouts.completion_tokens
        if plan.reward_tokens is not None:
            read = round(rollouts.generated * plan.reward_tokens)
        lines.append(_line("feedback", "reward", plan.reward_model, rollouts.generated, PassCounts(read)))
    if plan.judge is not None:
        assert plan.judged_tokens is not None
        for phase, tokens in zip(("judge_prefill", "judge_decode"), plan.judged_tokens, strict=True):
            counts = PassCounts(round(rollouts.generated * tokens))
            lines.append(_line("feedback", phase, plan.judge, rollouts.generated, counts))
    for line in lines:
        own = line.model.coefficients
        size = ModelCoefficients(own.body_parameters + own.head_parameters, adapter_parameters=own.adapter_parameters)
        yield line._replace(flops=_flops(size, line))


def _through(counts: PassCounts, *, adapter: bool) -> PassCounts:
    """Give counts with every token through adapters that are not merged, or none."""
    return counts._replace(adapter_tokens=counts.tokens) if adapter else counts


def _line(
    component: Literal["search", "learning", "feedback"],
    phase: str,
    model: PlannedModel,
    sequences: int,
    counts: PassCounts,
    *,
    operation: Literal["forward", "update"] = "forward",
    cached: int = 0,
    note: str | None = None,
) -> Line:
    line = Line(component, phase, model, operation, sequences, counts, 0, cached, note)
    return line._replace(flops=_flops(model.coefficients, line))


def _flops(coefficients: ModelCoefficients, line: Line) -> int:
    own = line.model.update_factors if line.operation == "update" else None
    factors = own or default_factors(line.operation, line.model.trained)
    assert factors is not None
    return entry_flops(coefficients, line.counts, factors)


class PlannedTotals(NamedTuple):
    """The FLOPs of a plan and how they divide."""

    search: int
    learning: int
    feedback: int

    @property
    def total(self) -> int:
        """All three together; above 0, because there is an update."""
        return sum(self)

    @property
    def learning_share(self) -> float:
        """The control variable p."""
        return self.learning / self.total


def planned_totals(ledger: Sequence[Line]) -> PlannedTotals:
    """Sum the lines of each component."""
    parts = {"search": 0, "learning": 0, "feedback": 0}
    for line in ledger:
        parts[line.component] += line.flops
    return PlannedTotals(**parts)
