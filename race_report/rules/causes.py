"""What a wrong factor most likely comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import Run

_SAME: Final = 1e-3
"""Relative difference up to which a factor is one that has a cause: factors are read from rounded figures."""

_LARGEST_MULTIPLE: Final = 4096
"""Largest whole factor that is taken for a number of devices, of steps or of passes."""


class _Cause(NamedTuple):
    factor: float
    words: str


_UNITS: Final = (_Cause(1e3, "thousands"), _Cause(1e6, "millions"), _Cause(1e9, "billions"), _Cause(1e12, "10^12"))


def factor(ratio: float, run: Run) -> str:
    """Say by which factor two counts differ, and what it most likely comes from."""
    cause = count_cause(ratio, run)
    return f"ratio {ratio:.4g}{f', {cause}' if cause else ''}"


def count_cause(ratio: float, run: Run) -> str:
    """Name what makes two counts differ by a factor: a number of the run, a unit; empty where nothing fits."""
    times = max(ratio, 1 / ratio) if ratio else 0.0
    for cause in _numbers_of(run):
        if _is(times, cause.factor):
            return cause.words
    for unit in _UNITS:
        if _is(times, unit.factor):
            return f"is one of them in {unit.words}?"
    if 1 < times <= _LARGEST_MULTIPLE and _is(times, round(times)):
        return "a whole number: is one of them per GPU, per step or per minibatch?"
    return ""


def _is(times: float, other: float) -> bool:
    return other > 1 and abs(times - other) <= _SAME * other


def _numbers_of(run: Run) -> Iterator[_Cause]:
    """Give the numbers of a run that a count is multiplied or divided by in error, the likeliest first."""
    gpus = [pool.count for pool in run.hardware if pool.count is not None]
    yield from (_Cause(count, f"the {count} GPUs: is one of them per GPU?") for count in sorted({sum(gpus), *gpus}))
    settings = run.algorithm
    if settings is None:
        return
    for number, words in (
        (settings.updates_per_batch, "updates_per_batch: is one of them counted for every update?"),
        (settings.minibatches_per_batch, "minibatches_per_batch: is one of them per minibatch?"),
        (settings.group_size, "the group size: are prompts taken for rollouts?"),
        (settings.rollout_steps, "rollout_steps: is one of them of a single step?"),
        (settings.optimizer_steps, "optimizer_steps: is one of them of a single step?"),
        (settings.prompts_per_step, "prompts_per_step: are steps taken for prompts?"),
    ):
        if number is not None:
            yield _Cause(number, words)
