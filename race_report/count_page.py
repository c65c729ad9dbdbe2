"""What `race count` prints of a plan: a table for people, JSON for programs, or a report."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from race_report.numbers import show_rate
from race_report.plan import planned_totals
from race_report.planned_report import assumptions, pairs_basis, planned_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.plan import Line, Plan, PlannedModel
    from race_report.planned_report import PlannedHardware


_MANY_HOURS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CountPage:
    """A plan and what follows from it."""

    plan: Plan
    ledger: tuple[Line, ...]
    hardware: PlannedHardware | None

    def report_text(self, *, is_yaml: bool) -> str:
        """Give the report on the plan as a file holds it."""
        value = planned_report(self.plan, self.ledger, self.hardware)
        if not is_yaml:
            return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        from race_report.yaml_written import yaml_of

        return yaml_of(value)

    def json_text(self) -> str:
        """Give the figures for programs; all keys are there, whatever the plan."""
        totals = planned_totals(self.ledger)
        hours = None if self.hardware is None else self.hardware.gpu_hours(totals.total)
        data = {
            "method": "parameter_rule" if self.plan.is_by_parameter_rule else "counts",
            "rollout_steps": self.plan.steps,
            "rollouts": self.plan.planned_lengths().rollouts()._asdict(),
            "models": [
                {"id": model.id, "role": model.role, "name": model.name, "trained": model.trained}
                | {"coefficients": model.coefficients._asdict()}
                for model in self.plan.models
            ],
            "attention_pairs_basis": pairs_basis(self.plan),
            "ledger": [
                {"component": line.component, "phase": line.phase, "model": line.model.id}
                | {"operation": line.operation, "sequences": line.sequences, **line.counts._asdict()}
                | {"cached_tokens": line.cached_tokens, "flops": line.flops}
                for line in self.ledger
            ],
            "totals": {f"{name}_flops": value for name, value in totals._asdict().items()}
            | {"total_flops": totals.total},
            "shares": {name: value / totals.total for name, value in totals._asdict().items()},
            "learning_share": totals.learning_share,
            "hardware": None if self.hardware is None else asdict(self.hardware),
            "gpu_hours": hours,
            "assumptions": [one.sentence for one in assumptions(self.plan)],
        }
        return json.dumps(data, indent=2) + "\n"

    def text_lines(self) -> Iterator[str]:
        """Yield the figures for people."""
        yield from self._heading()
        yield ""
        totals = planned_totals(self.ledger)
        yield f"{'':21} {'tokens':>19} {'FLOPs':>10} {'share':>8}"
        for name, flops in totals._asdict().items():
            lines = [line for line in self.ledger if line.component == name]
            yield _row(name, "" if lines else "no model runs", flops, totals.total)
            for line in lines:
                yield _row(f"  {line.phase}", f"{line.counts.tokens:,}", line.flops, totals.total)
        yield _row("total", "", totals.total, totals.total)
        yield ""
        yield f"learning share p = {totals.learning_share:.3f}"
        if self.plan.steps > 1:
            yield f"a rollout step has {_flops(totals.total / self.plan.steps)} FLOPs"
        yield from self._hours(totals.total)
        for one in assumptions(self.plan):
            yield f"assumed: {one.sentence}"

    def _heading(self) -> Iterator[str]:
        plan = self.plan
        for model in plan.models:
            yield f"{model.role.replace('_', ' '):22} {_model_text(model)}"
        found = plan.planned_lengths().rollouts()
        step = "1 step" if plan.steps == 1 else f"{plan.steps:,} steps"
        sizes = sorted(found.group_sizes)
        each = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        prompts = found.groups // plan.steps
        word = "prompt" if prompts == 1 else "prompts"
        yield f"{'rollouts':22} {found.generated:,} = {step} x {prompts:,} {word} x {each}"
        prompt, completion = (tokens / found.generated for tokens in (found.prompt_tokens, found.completion_tokens))
        yield f"{'mean tokens':22} prompt {prompt:,.6g}, completion {completion:,.6g}"
        kept = "all" if plan.trained_per_group is None else f"{plan.trained_per_group} of each group"
        often = "once" if plan.updates_per_batch == 1 else f"{plan.updates_per_batch} times"
        yield f"{'trained on':22} {found.trained:,} ({kept}), {often}"

    def _hours(self, flops: int) -> Iterator[str]:
        hardware = self.hardware
        if hardware is None:
            return
        hours = hardware.gpu_hours(flops)
        name = hardware.accelerator
        if hardware.peak is None:
            yield f"GPU-hours are unknown: no {hardware.precision} peak of {name} is known; give --peak in FLOP/s"
        elif hours is None:
            yield f"GPU-hours are unknown: give --mfu, a fraction of the peak of {show_rate(hardware.peak)} FLOP/s"
        else:
            clock = "" if hardware.count is None else f", {_hours(hours / hardware.count)} hours on {hardware.count:,}"
            yield (
                f"{_hours(hours)} GPU-hours on {name}{clock}, at an MFU of {hardware.mfu:g} "
                f"of {show_rate(hardware.peak)} FLOP/s ({hardware.precision}, dense)"
            )


def _model_text(model: PlannedModel) -> str:
    if model.parameters is None:
        size, active, trained = model.coefficients.body_parameters, "", None
    else:
        size, trained = model.parameters.total, model.parameters.trainable
        active = "" if model.parameters.active == size else f", {model.parameters.active:,} active"
    name = model.name or (model.architecture or {}).get("model_type", "model")
    text = f"{name}: {size:,} parameters{active}"
    if model.trained == "full":
        return f"{text}, all trained"
    if model.trained == "adapter":
        words = model.adapter or {}
        rank = f" of rank {words['rank']}" if "rank" in words else ""
        return f"{text}; {words.get('method', 'adapter')}{rank}, {trained:,} trained"
    return text


def _row(name: str, tokens: str, flops: int, total: int) -> str:
    return f"{name:21} {tokens:>19} {_flops(flops):>10} {_percent(flops / total):>8}"


def _flops(flops: float) -> str:
    return f"{flops:.3e}".replace("e+", "e") if flops else "0"


def _hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= _MANY_HOURS else f"{hours:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:>5.1f} %"
