"""RACE22x: steps, batches and stages."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Final

from race_report.finding import Severity, rule
from race_report.numbers import show_number
from race_report.rules.causes import count_cause, factor
from race_report.rules.said import Range, is_open, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import Report, Run, Stage
    from race_report.finding import Violation

_PARTIAL_BATCH: Final = 0.02
"""Relative difference between steps x batch and what happened that a last, partial batch may make."""


@rule("RACE221")
def steps_times_batch(report: Report) -> Iterator[Violation]:
    """Steps times prompts times group size are neither the rollouts generated nor those trained on.

    What it checks: the sum over the stages (or the run, where it has none) of rollout steps x prompts_per_step x
    group_size, each stage with its own settings. No fewer rollouts must be generated (or carried in) and no more
    trained on, but for 2 %, because a last batch may be partial. Dynamic sampling generates more, down-sampling trains
    on fewer. Adaptive groups, steered pipelines and a part of a run are left alone.

    Why it matters: a total that is worked out with the settings of the first stage misses what later stages did.

    How to fix: sum stage by stage; give stages their `step_unit`, first and last step.

    Before:

        algorithm: {group_size: 8, prompts_per_step: 128, rollout_steps: 1750}
        stages:
          - {id: a, step_unit: rollout_step, first_step: 1, last_step: 1040}
          - {id: b, step_unit: rollout_step, first_step: 1041, last_step: 1750, algorithm: {group_size: 16}}
        rollouts: {generated: 1792000}

    After:

        rollouts: {generated: 2519040}
    """
    for index, run in enumerate(report.runs):
        counts = run.rollouts
        expected = None if counts is None or _is_varied(run) else _rollouts_by_stage(run)
        if counts is None or not expected:
            continue
        known = [count for count in (counts.generated, counts.trained) if count is not None]
        too_few = counts.generated is not None and (
            counts.generated + (counts.carried_in or 0) < (1 - _PARTIAL_BATCH) * expected
        )
        is_redone = run.coverage is not None and bool(run.coverage.restarts)
        too_many = not is_redone and counts.trained is not None and counts.trained > (1 + _PARTIAL_BATCH) * expected
        is_said = counts.generated is not None and (counts.trained or 0) > counts.generated + (counts.carried_in or 0)
        is_apart = too_few or (too_many and not is_said)  # more-than-there-were says that
        if is_apart and not _is_qualified(report, index):
            shown = show_number(expected)
            reported = counts.trained if too_many else known[0]
            ratio = factor((reported or 0) / expected, run)
            message = f"steps x prompts x group size, stage by stage, are {shown} rollouts, not {reported}: {ratio}"
            hint = "a rollout step draws prompts_per_step x group_size: correct the one that is off, or sum by stage"
            yield f"/runs/{index}/rollouts", message, hint


def _is_varied(run: Run) -> bool:
    """Tell whether steps need not be whole batches: adaptive groups, steered pipelines, a part of the run."""
    is_part = run.coverage is not None and run.coverage.complete is False
    is_steered = any(item.stage in ("control", "replay") for item in run.pipeline)
    has_sizes = run.rollouts is not None and bool(run.rollouts.group_sizes)
    return is_part or is_steered or has_sizes


def _is_qualified(report: Report, index: int) -> bool:
    """Tell whether a figure that this rule compares is unknown or within a range."""
    here = f"/runs/{index}"
    settings = ("rollout_steps", "optimizer_steps", "prompts_per_step", "group_size")
    places = [f"{here}/algorithm", *(f"{here}/stages/{at}/algorithm" for at in range(len(report.runs[index].stages)))]
    return is_open(report, f"{here}/rollouts", "generated", "trained", "carried_in") or any(
        is_open(report, place, *settings) for place in places
    )


def _rollouts_by_stage(run: Run) -> float | None:
    """Give the rollouts that the settings of run and stages make; None where one of them is not stated."""
    settings = run.algorithm
    if settings is None:
        return None
    if not run.stages:
        factors = (settings.rollout_steps, settings.prompts_per_step, settings.group_size)
        return _product(factors)
    if not _span_the_run(run):
        return None
    total = 0.0
    for stage in run.stages:
        own = stage.algorithm
        prompts = own.prompts_per_step if own is not None and own.prompts_per_step else settings.prompts_per_step
        size = own.group_size if own is not None and own.group_size else settings.group_size
        rollouts = _product((_rollout_steps(run, stage), prompts, size))
        if rollouts is None:
            return None
        total += rollouts
    return total


def _span_the_run(run: Run) -> bool:
    """Tell whether the stages are the whole run: every step is of one of them, and its unit is stated."""
    steps = 0
    for stage in run.stages:
        if stage.first_step is None or stage.last_step is None or stage.step_unit != run.stages[0].step_unit:
            return False
        steps += stage.last_step - stage.first_step + 1
    unit = _unit_of(run)
    if unit is None or run.algorithm is None:
        return False
    stated = run.algorithm.rollout_steps if unit == "rollout_step" else run.algorithm.optimizer_steps
    return stated is None or stated == steps


def _unit_of(run: Run) -> str | None:
    """Give the unit of the stages' steps: as stated, else the one whose number their last step is."""
    last, settings = run.stages[-1].last_step, run.algorithm
    stated = run.stages[0].step_unit
    if stated is not None or last is None or settings is None:
        return stated
    if last == settings.rollout_steps:
        return "rollout_step"
    return "optimizer_step" if last == settings.optimizer_steps else None


def _product(factors: tuple[float | None, ...]) -> float | None:
    result = 1.0
    for number in factors:
        if number is None:
            return None
        result *= number
    return result


def _rollout_steps(run: Run, stage: Stage) -> float | None:
    """Give the rollout steps of a stage; its optimizer steps are divided by those of a rollout step."""
    if stage.first_step is None or stage.last_step is None or stage.last_step < stage.first_step:
        return None
    steps = stage.last_step - stage.first_step + 1
    if _unit_of(run) == "optimizer_step":
        updates = _updates_per_step(run)
        return None if updates is None else steps / updates
    return steps


def _updates_per_step(run: Run) -> int | None:
    settings = run.algorithm
    if settings is None or settings.minibatches_per_batch is None or settings.updates_per_batch is None:
        return None
    own = [stage.algorithm for stage in run.stages if stage.algorithm is not None]
    if any(setting.minibatches_per_batch or setting.updates_per_batch for setting in own):
        return None  # stages differ, and the run has no one number
    return settings.minibatches_per_batch * settings.updates_per_batch


@rule("RACE222")
def steps_mismatch(report: Report) -> Iterator[Violation]:
    """Optimizer steps are not rollout steps times minibatches times updates per batch.

    What it checks: optimizer_steps = rollout_steps x minibatches_per_batch x updates_per_batch, where all four stand.
    Fewer, but no fewer than rollout_steps and by no factor that has a cause, are updates that were left out:
    steps-ambiguous asks why.

    Why it matters: "step" means a round of rollouts to some and a change of the weights to others; a factor between
    them changes every cost by that factor.

    How to fix: count changes of the policy's weights as optimizer_steps, rounds of rollouts as rollout_steps; a critic
    that is updated more often has `value_optimizer_steps`.

    Before:

        algorithm: {rollout_steps: 10400, optimizer_steps: 10400, minibatches_per_batch: 16, updates_per_batch: 1}

    After:

        algorithm: {rollout_steps: 650, optimizer_steps: 10400, minibatches_per_batch: 16, updates_per_batch: 1}
    """
    for index, run in enumerate(report.runs):
        settings, updates = run.algorithm, _updates_per_step(run)
        if settings is None or updates is None or settings.rollout_steps is None or settings.optimizer_steps is None:
            continue
        expected = settings.rollout_steps * updates
        if settings.optimizer_steps == expected or _left_some_out(settings.optimizer_steps, expected, run):
            continue
        here = f"/runs/{index}/algorithm"
        steps, *factors = (
            range_of(report, f"{here}/{key}", getattr(settings, key))
            for key in ("optimizer_steps", "rollout_steps", "minibatches_per_batch", "updates_per_batch")
        )
        if not steps.meets(functools.reduce(Range.times, factors)):
            parts = f"{settings.rollout_steps} x {settings.minibatches_per_batch} x {settings.updates_per_batch}"
            ratio = settings.optimizer_steps / expected if expected else math.inf
            message = f"{settings.optimizer_steps} optimizer steps, but {parts} are {expected}: {factor(ratio, run)}"
            yield (
                f"{here}/optimizer_steps",
                message,
                "rollout_steps counts rounds of rollouts, optimizer_steps changes of the weights: correct one",
            )


def _left_some_out(steps: int, expected: int, run: Run) -> bool:
    """Tell whether a run made fewer updates than its settings say, without a factor that would be a slip."""
    rounds = (run.algorithm.rollout_steps if run.algorithm is not None else None) or 0
    return rounds <= steps < expected and not count_cause(steps / expected, run)


@rule("RACE223", severity=Severity.WARNING)
def steps_ambiguous(report: Report) -> Iterator[Violation]:
    """Optimizer steps and rollout steps differ, and nothing says why.

    What it checks: where minibatches_per_batch or updates_per_batch is missing, that optimizer_steps are rollout_steps
    times the one that stands; where both stand, that no more updates were left out than a run has that stopped within
    a rollout step.

    Why it matters: a reader cannot tell how often each rollout was trained on, which is what learning costs.

    How to fix: write minibatches_per_batch and updates_per_batch; where updates were skipped or stopped early, qualify
    updates_per_batch as an upper bound.

    Before:

        algorithm: {rollout_steps: 650, optimizer_steps: 10400}

    After:

        algorithm: {rollout_steps: 650, optimizer_steps: 10400, minibatches_per_batch: 16, updates_per_batch: 1}
    """
    for index, run in enumerate(report.runs):
        settings = run.algorithm
        if settings is None or not settings.rollout_steps or settings.optimizer_steps is None:
            continue
        is_whole = settings.minibatches_per_batch is not None and settings.updates_per_batch is not None
        stated = (settings.minibatches_per_batch or 1) * (settings.updates_per_batch or 1)
        expected = settings.rollout_steps * stated
        if is_whole:
            is_apart = settings.optimizer_steps <= expected - stated
            is_apart = is_apart and _left_some_out(settings.optimizer_steps, expected, run)
        else:
            is_apart = settings.optimizer_steps != expected
        keys = ("minibatches_per_batch", "updates_per_batch", "rollout_steps", "optimizer_steps")
        if not is_apart or is_open(report, f"/runs/{index}/algorithm", *keys):
            continue
        ratio = settings.optimizer_steps / settings.rollout_steps
        message = f"{settings.optimizer_steps} optimizer steps are {ratio:.4g} for each rollout step"
        hint = "write minibatches_per_batch and updates_per_batch, or name them in not_reported"
        if is_whole:
            message += f", and the settings give {stated}"
            hint = "were updates skipped or stopped early? then qualify updates_per_batch as an upper_bound"
        elif ratio < 1:
            hint = "are gradients accumulated over rollout steps? say so in a note, and name minibatches_per_batch"
        yield f"/runs/{index}/algorithm/optimizer_steps", message, hint


@rule("RACE224")
def steps_reversed(report: Report) -> Iterator[Violation]:
    """A stretch of steps ends before it begins, or two stages overlap.

    What it checks: first_step <= last_step in stages and coverage; that stages counted in one unit do not overlap, and
    do not end after the run; that last_step is not beyond planned_last_step.

    Why it matters: what happened in a step would be counted in two stages, or in none.

    How to fix: write first and last step, both included.

    Before:

        stages: [{id: a, first_step: 1, last_step: 100}, {id: b, first_step: 100, last_step: 200}]

    After:

        stages: [{id: a, first_step: 1, last_step: 100}, {id: b, first_step: 101, last_step: 200}]
    """
    for index, run in enumerate(report.runs):
        here = f"/runs/{index}"
        yield from _overlapping(report, here, run)
        if run.coverage is not None:
            yield from _reversed(f"{here}/coverage", run.coverage.first_step, run.coverage.last_step)
            planned = run.coverage.planned_last_step
            if planned is not None and run.coverage.last_step is not None and run.coverage.last_step > planned:
                message = f"the last step, {run.coverage.last_step}, is beyond the planned one, {planned}"
                yield f"{here}/coverage/planned_last_step", message, "write the schedule's last step, or leave it out"


def _overlapping(report: Report, here: str, run: Run) -> Iterator[Violation]:
    before: dict[str | None, tuple[int, int]] = {}
    for at, stage in sorted(enumerate(run.stages), key=lambda item: item[1].first_step or 0):
        yield from _reversed(f"{here}/stages/{at}", stage.first_step, stage.last_step)
        if stage.first_step is None or stage.last_step is None:
            continue
        other, end = before.get(stage.step_unit, (at, 0))
        is_apart = other != at and stage.first_step <= end
        steps = (f"stages/{at}/first_step", f"stages/{other}/last_step")
        if is_apart and not is_open(report, here, *steps):
            message = f"the stage begins at step {stage.first_step}, and the one before ends at {end}"
            hint = "count steps through the whole run; first and last are included"
            yield f"{here}/stages/{at}/first_step", message, hint
        before[stage.step_unit] = at, stage.last_step
        steps_of_run = _steps_in(run, stage.step_unit)
        if steps_of_run is not None and stage.last_step > steps_of_run:
            keys = (f"stages/{at}/last_step", f"algorithm/{stage.step_unit}s")
            if not is_open(report, here, *keys):
                message = f"the stage ends at step {stage.last_step}, and the run has {steps_of_run}"
                yield f"{here}/stages/{at}/last_step", message, "count the steps that were run"


def _steps_in(run: Run, unit: str | None) -> int | None:
    if run.algorithm is None or unit is None:
        return None
    return run.algorithm.rollout_steps if unit == "rollout_step" else run.algorithm.optimizer_steps


def _reversed(pointer: str, first: int | None, last: int | None) -> Iterator[Violation]:
    if first is not None and last is not None and first > last:
        hint = "both are included; where no step was made, leave them out"
        yield f"{pointer}/last_step", f"the last step, {last}, is before the first, {first}", hint
