"""RACE22x: steps, batches and stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.finding import Severity, rule
from race_report.numbers import show_number

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
    group_size, each stage with its own settings, against generated and against trained. One of the two must be within
    2 % (a last batch may be partial); dynamic sampling moves the first, down-sampling the second.

    Why it matters: a total that is worked out with the settings of the first stage misses what later stages did.

    How to fix: sum stage by stage; give stages their `step_unit`, first and last step.

    Before:

        algorithm: {group_size: 8, prompts_per_step: 128, rollout_steps: 1750}
        stages: [{id: a, last_step: 1040}, {id: b, first_step: 1041, last_step: 1750, algorithm: {group_size: 16}}]
        rollouts: {generated: 1792000}

    After:

        rollouts: {generated: 2519040}
    """
    for index, run in enumerate(report.runs):
        expected = _rollouts_by_stage(run)
        counts = run.rollouts
        known = [] if counts is None else [count for count in (counts.generated, counts.trained) if count is not None]
        if expected is None or not known:
            continue
        if min(abs(count - expected) for count in known) > _PARTIAL_BATCH * expected:
            shown = show_number(expected)
            message = f"steps x prompts x group size, stage by stage, are {shown} rollouts; {known[0]} are reported"
            yield (
                f"/runs/{index}/rollouts",
                message,
                "is a step a round of rollouts here, and every stage in it?",
            )


def _rollouts_by_stage(run: Run) -> float | None:
    """Give the rollouts that the settings of run and stages make; None where one of them is not stated."""
    settings = run.algorithm
    if settings is None:
        return None
    if not run.stages:
        factors = (settings.rollout_steps, settings.prompts_per_step, settings.group_size)
        return _product(factors)
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


def _product(factors: tuple[float | None, ...]) -> float | None:
    result = 1.0
    for factor in factors:
        if factor is None:
            return None
        result *= factor
    return result


def _rollout_steps(run: Run, stage: Stage) -> float | None:
    """Give the rollout steps of a stage; its optimizer steps are divided by those of a rollout step."""
    if stage.first_step is None or stage.last_step is None or stage.last_step < stage.first_step:
        return None
    steps = stage.last_step - stage.first_step + 1
    if stage.step_unit == "optimizer_step":
        updates = _updates_per_step(run)
        return None if updates is None else steps / updates
    return steps


def _updates_per_step(run: Run) -> int | None:
    settings = run.algorithm
    if settings is None or settings.minibatches_per_batch is None or settings.updates_per_batch is None:
        return None
    return settings.minibatches_per_batch * settings.updates_per_batch


@rule("RACE222")
def steps_mismatch(report: Report) -> Iterator[Violation]:
    """Optimizer steps are not rollout steps times minibatches times updates per batch.

    What it checks: optimizer_steps = rollout_steps x minibatches_per_batch x updates_per_batch, where all four stand.

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
        if expected != settings.optimizer_steps:
            parts = f"{settings.rollout_steps} x {settings.minibatches_per_batch} x {settings.updates_per_batch}"
            message = f"{settings.optimizer_steps} optimizer steps, but {parts} are {expected}"
            yield f"/runs/{index}/algorithm/optimizer_steps", message, "which of them is a round of rollouts?"


@rule("RACE223", severity=Severity.WARNING)
def steps_ambiguous(report: Report) -> Iterator[Violation]:
    """Optimizer steps and rollout steps differ, and nothing says why.

    What it checks: where minibatches_per_batch or updates_per_batch is missing, that optimizer_steps are rollout_steps
    times the one that stands.

    Why it matters: a reader cannot tell how often each rollout was trained on, which is what learning costs.

    How to fix: write minibatches_per_batch and updates_per_batch.

    Before:

        algorithm: {rollout_steps: 650, optimizer_steps: 10400}

    After:

        algorithm: {rollout_steps: 650, optimizer_steps: 10400, minibatches_per_batch: 16, updates_per_batch: 1}
    """
    for index, run in enumerate(report.runs):
        settings = run.algorithm
        if settings is None or not settings.rollout_steps or not settings.optimizer_steps:
            continue
        if settings.minibatches_per_batch is not None and settings.updates_per_batch is not None:
            continue
        stated = (settings.minibatches_per_batch or 1) * (settings.updates_per_batch or 1)
        if settings.rollout_steps * stated != settings.optimizer_steps:
            ratio = settings.optimizer_steps / settings.rollout_steps
            message = f"{settings.optimizer_steps} optimizer steps are {ratio:.4g} for each rollout step"
            yield (
                f"/runs/{index}/algorithm/optimizer_steps",
                message,
                "write minibatches_per_batch and updates_per_batch",
            )


@rule("RACE224")
def steps_reversed(report: Report) -> Iterator[Violation]:
    """A stretch of steps ends before it begins, or two stages overlap.

    What it checks: first_step <= last_step in stages and coverage; that stages counted in one unit do not overlap; that
    last_step is not beyond planned_last_step.

    Why it matters: what happened in a step would be counted in two stages, or in none.

    How to fix: write first and last step, both included.

    Before:

        stages: [{id: a, first_step: 1, last_step: 100}, {id: b, first_step: 100, last_step: 200}]

    After:

        stages: [{id: a, first_step: 1, last_step: 100}, {id: b, first_step: 101, last_step: 200}]
    """
    for index, run in enumerate(report.runs):
        here = f"/runs/{index}"
        ends: dict[str | None, int] = {}
        for at, stage in enumerate(run.stages):
            yield from _reversed(f"{here}/stages/{at}", stage.first_step, stage.last_step)
            if stage.first_step is not None and stage.last_step is not None:
                end = ends.get(stage.step_unit)
                if end is not None and stage.first_step <= end:
                    message = f"the stage begins at step {stage.first_step}, and the one before ends at {end}"
                    yield f"{here}/stages/{at}/first_step", message, "first and last step are included: begin one later"
                ends[stage.step_unit] = stage.last_step
        if run.coverage is not None:
            yield from _reversed(f"{here}/coverage", run.coverage.first_step, run.coverage.last_step)
            planned = run.coverage.planned_last_step
            if planned is not None and run.coverage.last_step is not None and run.coverage.last_step > planned:
                message = f"the last step, {run.coverage.last_step}, is beyond the planned one, {planned}"
                yield f"{here}/coverage/planned_last_step", message, "write the schedule's last step, or leave it out"


def _reversed(pointer: str, first: int | None, last: int | None) -> Iterator[Violation]:
    if first is not None and last is not None and first > last:
        yield f"{pointer}/last_step", f"the last step, {last}, is before the first, {first}", "both are included"
