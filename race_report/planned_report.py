"""A plan -> the value of a report on it: every count is an estimate, and every assumption is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report import __version__
from race_report.flops import PassCounts
from race_report.plan import Plan, planned_totals
from race_report.planned_lengths import Means

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from race_report.plan import Line, PlannedModel

RUN: Final = "plan"
"""The id of the run."""

_SECONDS: Final = 3600
_ALL_PAIRS: Final = "/*/attention_pairs"


class Assumption(NamedTuple):
    """What a plan takes for granted, and the figure that rests on it."""

    pointer: str
    basis: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedHardware:
    """What the plan is to run on."""

    accelerator: str
    count: int | None = None
    precision: str = "bf16"
    mfu: float | None = None
    """Model FLOPs utilization that is hoped for, a fraction."""
    peak: float | None = None
    """Dense FLOP/s of one accelerator; None where it is not known."""

    def gpu_hours(self, flops: int) -> float | None:
        """Give the accelerator-hours of so many model FLOPs; None where peak or MFU is not known."""
        if self.peak is None or self.mfu is None:
            return None
        return flops / (self.peak * self.mfu) / _SECONDS


def pairs_basis(plan: Plan) -> str | None:
    """Say what the attention pairs of a plan are: a lower bound where they follow from means; None where none are."""
    if plan.is_by_parameter_rule:
        return None
    return "lower_bound" if isinstance(plan.lengths, Means) else "estimated"


def assumptions(plan: Plan) -> Iterator[Assumption]:
    """Give what a plan takes for granted."""
    ledger, totals = f"/runs/{RUN}/ledger", f"/runs/{RUN}/totals"
    if plan.is_by_parameter_rule:
        sentence = "the plain parameter rule: 2N a completion token forward; prompts and attention are left out"
        yield Assumption(f"{totals}/total_flops", "estimated", sentence)
    elif isinstance(plan.lengths, Means):
        sentence = "attention pairs follow from means, as if all sequences were equally long: the fewest there can be"
        yield Assumption(ledger + _ALL_PAIRS, "lower_bound", sentence)
    elif plan.steps > 1:
        yield Assumption(f"{ledger}/*/tokens", "estimated", "every step has the lengths of the step in the file")
    if plan.trained_per_group is not None:
        sentence = f"rollouts that are trained on, {plan.trained_per_group} of each group, are like all of it"
        if plan.has_old_logprobs or plan.reference is not None:
            sentence += ", and only they get log-probabilities"
        yield Assumption(f"{ledger}/update/tokens", "estimated", sentence)
    if plan.policy.trained == "adapter" and plan.is_adapter_merged:
        sentence = "the adapter is merged into the weights in rollouts"
        yield Assumption(f"{ledger}/decode/flops", "estimated", sentence)
    if plan.prefix_sharing == "none" and not plan.is_by_parameter_rule:
        yield Assumption(f"{ledger}/prefill/tokens", "estimated", "every rollout reads its own prompt")
    left_out = [
        word
        for word, is_there in (("old", plan.has_old_logprobs), ("reference", plan.reference is not None))
        if not is_there
    ]
    if left_out:
        sentence = f"no pass for {' or '.join(left_out)} log-probabilities"
        yield Assumption(f"{totals}/learning_flops", "estimated", sentence)
    if plan.reward_model is None and plan.judge is None:
        yield Assumption(f"{totals}/feedback_flops", "estimated", "rules give the rewards; no model judges")


def _by_line(general: Assumption, plan: Plan, ledger: Sequence[Line]) -> Iterator[Assumption]:
    """Say of each line whether its pairs are a lower bound: those that are convex in the lengths they are means of."""
    if not general.pointer.endswith(_ALL_PAIRS):
        yield general
        return
    for line in ledger:
        is_convex = not line.phase.endswith("decode") and (line.phase != "prefill" or plan.prefix_sharing != "blocks")
        above = f"{general.pointer.removesuffix(_ALL_PAIRS)}/{line.phase}"
        for key in ("attention_pairs", "bounded_attention_pairs"):
            if key in entry_value(line):
                yield general._replace(pointer=f"{above}/{key}", basis="lower_bound" if is_convex else "estimated")


def planned_report(plan: Plan, ledger: Sequence[Line], hardware: PlannedHardware | None = None) -> dict[str, Any]:
    """Give the report on a plan, as a value to write; without hardware it names that gap."""
    totals = planned_totals(ledger)
    gaps = list(_gaps(plan, hardware))
    said = [one for general in assumptions(plan) for one in _by_line(general, plan, ledger)]
    pools = []
    if hardware is not None:
        pool = _pool(hardware, totals.total)
        pools.append({"id": "pool", "components": [name for name in totals._fields if getattr(totals, name)], **pool})
        if "gpu_hours" in pool:
            sentence = f"at an MFU of {hardware.mfu:g}, which is hoped for"
            said.append(Assumption(f"/runs/{RUN}/hardware/pool/gpu_hours", "estimated", sentence))
    return {
        "race_version": "1.0",
        "report": {"status": "draft", "generator": f"race {__version__}"},
        "models": [_model(model) for model in plan.models],
        "runs": [
            {
                "id": RUN,
                "policy": plan.policy.id,
                "algorithm": _algorithm(plan),
                "rollouts": _rollouts(plan),
                "feedback": list(_feedback(plan)),
                **({} if plan.is_by_parameter_rule else {"conventions": _engine(plan)}),
                "ledger": [entry_value(line, is_by_counts=not plan.is_by_parameter_rule) for line in ledger],
                "totals": {
                    **{f"{name}_flops": flops for name, flops in totals._asdict().items()},
                    "total_flops": totals.total,
                    "basis": "estimated",
                },
                **({"hardware": pools} if pools else {}),
            }
        ],
        "qualifications": [{"pointer": one.pointer, "basis": one.basis, "reason": one.sentence} for one in said],
        **({"not_reported": gaps} if gaps else {}),
    }


def _gaps(plan: Plan, hardware: PlannedHardware | None) -> Iterator[dict[str, str]]:
    """Name what a plan cannot say."""
    if hardware is None:
        yield {"pointer": f"/runs/{RUN}/hardware", "reason": "not chosen yet: this is a plan"}
    elif hardware.count is None:
        yield {"pointer": f"/runs/{RUN}/hardware/pool/count", "reason": "not chosen yet: this is a plan"}
    if plan.is_by_parameter_rule:
        for count in ("attention_pairs", "bounded_attention_pairs", "logit_rows"):
            yield {"pointer": f"/runs/{RUN}/ledger/*/{count}", "reason": "the parameter rule leaves it out"}
    for model in plan.models:
        if model.parameters is None:
            yield {"pointer": f"/models/{model.id}/coefficients", "reason": "a size alone is planned with"}


def entry_value(line: Line, *, is_by_counts: bool = True) -> dict[str, Any]:
    """Give a line of the ledger as a report has it; counts whose coefficient is 0 are left out."""
    costs, own = line.model.coefficients, line.model.update_factors
    needed = {
        "attention_pairs": is_by_counts and costs.attention_width,
        "bounded_attention_pairs": is_by_counts and costs.bounded_attention_width,
        "logit_rows": is_by_counts and costs.head_parameters,
        "adapter_tokens": line.counts.adapter_tokens,
    }
    counts = {key: getattr(line.counts, key) for key in PassCounts._fields if needed.get(key, True)}
    if not is_by_counts:
        counts["conventions"] = {"attention": "omitted", "logit_rows": "all"}
    return {
        "id": line.phase,
        "component": line.component,
        "phase": line.phase,
        "model": line.model.id,
        "operation": line.operation,
        "sequences": line.sequences,
        **counts,
        **({"cached_tokens": line.cached_tokens} if line.cached_tokens else {}),
        **({"multipliers": own._asdict()} if own is not None and line.operation == "update" else {}),
        "flops": line.flops,
        "basis": "estimated",
        "method": "counts" if is_by_counts else "parameter_rule",
        **({"note": line.note} if line.note else {}),
    }


def _model(model: PlannedModel) -> dict[str, Any]:
    counts: dict[str, int] = model.parameters._asdict() if model.parameters is not None else {}
    if model.trained == "none":
        counts.pop("trainable", None)
    if model.parameters is None:
        counts = {"total": model.coefficients.body_parameters}
    costs = {key: value for key, value in model.coefficients._asdict().items() if value or key in _ALWAYS}
    return {
        "id": model.id,
        "role": model.role,
        **({"name": model.name} if model.name is not None else {}),
        "parameters": counts,
        **({"architecture": dict(model.architecture)} if model.architecture is not None else {}),
        **({"coefficients": costs} if model.parameters is not None else {}),
        **({"adapter": dict(model.adapter)} if model.adapter is not None else {}),
        "trained": model.trained,
    }


_ALWAYS: Final = ("body_parameters", "head_parameters", "attention_width")


def _algorithm(plan: Plan) -> dict[str, Any]:
    lengths = plan.lengths
    if isinstance(lengths, Means):
        prompts, sizes = lengths.prompts, {lengths.group_size}
    else:
        prompts, sizes = len(lengths), {len(group.completions) for group in lengths}
    return {
        **({"group_size": max(sizes)} if len(sizes) == 1 else {}),
        "prompts_per_step": prompts,
        "rollout_steps": plan.steps,
        "updates_per_batch": plan.updates_per_batch,
        "kl_coefficient": plan.kl_coefficient,
    }


def _rollouts(plan: Plan) -> dict[str, Any]:
    found = plan.planned_lengths().rollouts()
    kept = plan.trained_per_group
    trained = {kept: found.groups} if kept is not None else found.group_sizes
    return {
        "prompts": found.groups,
        "generated": found.generated,
        "scored": found.generated,
        "trained": found.trained,
        "discarded": found.generated - found.trained,
        "prompt_tokens": found.prompt_tokens,
        "completion_tokens": found.completion_tokens,
        "group_sizes": [{"size": size, "groups": number} for size, number in sorted(found.group_sizes.items())],
        "trained_group_sizes": [{"size": size, "groups": number} for size, number in sorted(trained.items())],
    }


def _engine(plan: Plan) -> dict[str, Any]:
    """Describe the engine that is to generate."""
    return {"kv_cache": True, "prefix_sharing": plan.prefix_sharing}


def _feedback(plan: Plan) -> Iterator[dict[str, Any]]:
    model = plan.reward_model
    if model is not None:
        kind = "process_reward_model" if model.role == "process_reward_model" else "outcome_reward_model"
        yield {"id": "reward", "kind": kind, "model": model.id}
    if plan.judge is not None:
        yield {"id": "judged", "kind": "judge", "model": plan.judge.id}
    if model is None and plan.judge is None:
        yield {"id": "rules", "kind": "rule"}


def _pool(hardware: PlannedHardware, flops: int) -> dict[str, Any]:
    hours = hardware.gpu_hours(flops)
    said = {
        "accelerator": hardware.accelerator,
        "count": hardware.count,
        "precision": hardware.precision,
        "utilization": hardware.mfu,
        "peak_flops_per_second": None if hardware.peak is None else _plain(hardware.peak),
        "peak_kind": "dense" if hardware.peak is not None else None,
        "gpu_hours": None if hours is None else _plain(hours),
        "wall_clock_hours": None if hours is None or hardware.count is None else _plain(hours / hardware.count),
    }
    return {key: value for key, value in said.items() if value is not None}


def _plain(number: float) -> float:
    """Round to nine digits, and write a whole number as one."""
    rounded = float(f"{number:.9g}")
    return int(rounded) if rounded.is_integer() else rounded
