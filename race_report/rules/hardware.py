"""RACE40x: GPU-hours."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from race_report.accounting import COMPONENTS
from race_report.finding import Severity, rule
from race_report.numbers import show_number
from race_report.once import once_a_report
from race_report.rules.capacity import HOURS_AGREE, count_times_hours, pool_hours
from race_report.rules.said import is_bound, is_open, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from race_report.document import HardwarePool, LedgerEntry, Report, Run
    from race_report.finding import Violation

_MINUTES = 60
_SECONDS = 3600
_DAY = 24
_NODES = range(2, 17)
"""GPUs that a node may have."""


class _Apart(NamedTuple):
    """GPU-hours that are not what they should be."""

    violation: Violation
    is_error: bool


@rule("RACE401")
def gpu_hours_mismatch(report: Report) -> Iterator[Violation]:
    """GPU-hours are more than count x wall_clock_hours, or are wall-clock hours.

    What it checks: `gpu_hours` of a pool against count x wall_clock_hours, within 2 %. More is an error; less is one
    where the count was left out or the unit is another. The same of a run whose hours are those of its pools' clock.

    Why it matters: GPU-hours are what most papers report, and readers compare cost and energy by them.

    How to fix: multiply the hours by the number of accelerators; a pool that grew and shrank is several pools, or has
    its `count` qualified with low and high.

    Before:

        hardware: [{id: node, count: 8, wall_clock_hours: 12, gpu_hours: 12}]

    After:

        hardware: [{id: node, count: 8, wall_clock_hours: 12, gpu_hours: 96}]
    """
    yield from (found.violation for found in _apart(report) if found.is_error)


@rule("RACE402", severity=Severity.WARNING)
def gpu_hours_doubtful(report: Report) -> Iterator[Violation]:
    """GPU-hours are fewer than count x wall_clock_hours, or differ from it within a stated range.

    What it checks: as gpu-hours-mismatch and pools-over-run: fewer hours than the count gives, as of a pool that grew
    and shrank; more, where the hours contain steps or training only; figures that differ by more than 2 % but lie
    within low and high of a qualification.

    Why it matters: reserved, serving and busy hours differ, and a reader cannot tell which ones these are.

    How to fix: split the pool where its size changed, or state low and high of its `count`.

    Before:

        hardware: [{id: cluster, count: 224, wall_clock_hours: 624, gpu_hours: 125000}]

    After:

        hardware: [{id: cluster, count: 224, wall_clock_hours: 558, gpu_hours: 125000}]
    """
    yield from (found.violation for found in _apart(report) if not found.is_error)
    yield from (found.violation for found in _pools_over_run(report) if not found.is_error)


@rule("RACE403")
def pools_over_run(report: Report) -> Iterator[Violation]:
    """The pools of a run have more GPU-hours than the run.

    What it checks: that the `gpu_hours` of the pools add up to no more than the run's, within 2 %. Less is right: a run
    may have more than its pools tell.

    Why it matters: pools are disjoint, so their sum is a part of the run's hours or all of them.

    How to fix: count every accelerator in one pool only; add idle pools to the run's hours.

    Before:

        gpu_hours: 96
        hardware: [{id: rollout, count: 8, gpu_hours: 96}, {id: train, count: 8, gpu_hours: 96}]

    After:

        gpu_hours: 192
        hardware: [{id: rollout, count: 8, gpu_hours: 96}, {id: train, count: 8, gpu_hours: 96}]
    """
    yield from (found.violation for found in _pools_over_run(report) if found.is_error)


@rule("RACE404", severity=Severity.WARNING)
def busy_hours_over_pool(report: Report) -> Iterator[Violation]:
    """A ledger entry was busy for more GPU-hours than the pools that serve its component had.

    What it checks: `gpu_hours` of each entry against the hours of the pools that list its component (in its stage,
    where it has one), and of search, learning and feedback against the run's; within 2 %. Entries may overlap, so
    their sum is not checked.

    Why it matters: either the pools leave out accelerators, or the entry counts hours of others.

    How to fix: add the pool that is missing, or list the component with the pool that served it.

    Before:

        hardware: [{id: train, components: [learning], count: 8, wall_clock_hours: 10}]
        ledger: [{component: learning, flops: 5.0e+17, method: stated, basis: estimated, gpu_hours: 160}]

    After:

        hardware: [{id: train, components: [learning], count: 16, wall_clock_hours: 10}]
        ledger: [{component: learning, flops: 5.0e+17, method: stated, basis: estimated, gpu_hours: 160}]
    """
    for index, run in enumerate(report.runs):
        busy = [(at, entry) for at, entry in enumerate(run.ledger) if entry.gpu_hours is not None]
        if not busy:
            continue
        served = _Served(report, index, run)
        for at, entry in busy:
            pointer = f"/runs/{index}/ledger/{at}/gpu_hours"
            least = range_of(report, pointer, entry.gpu_hours or 0).low
            limits = [(served.most_hours(entry), f"the pools that serve {entry.component}")]
            if run.gpu_hours is not None and entry.component in COMPONENTS:
                limits.append((range_of(report, f"/runs/{index}/gpu_hours", run.gpu_hours).high, "the run"))
            limit, whose = min(limits)
            if least > limit * (1 + HOURS_AGREE):
                stated = show_number(entry.gpu_hours or 0)
                message = f"the entry was busy for {stated} GPU-hours, and {whose} had {limit:.6g}"
                yield pointer, message, "is a pool missing, or does it not list the component?"


class _Served:
    """The GPU-hours of the pools of a run by component and stage, as many as they can be."""

    def __init__(self, report: Report, index: int, run: Run) -> None:
        self._hours: dict[tuple[str, str | None], float] = {}
        for at, pool in enumerate(run.hardware):
            known = pool_hours(report, f"/runs/{index}/hardware/{at}", pool)
            most = known.high if known is not None else float("inf")
            for component in dict.fromkeys(pool.components):
                for stage in dict.fromkeys((None, *(pool.stages or ("",)))):
                    key = (component, stage)
                    self._hours[key] = self._hours.get(key, 0) + most

    def most_hours(self, entry: LedgerEntry) -> float:
        """Give the hours of the pools that may have run an entry; without end where none is known to."""
        stages = (None,) if entry.stage is None else ("", entry.stage)
        found = [hours for stage in stages if (hours := self._hours.get((entry.component, stage))) is not None]
        return sum(found) if found else float("inf")


@once_a_report
def _apart(report: Report) -> list[_Apart]:
    return list(_find_apart(report))


def _find_apart(report: Report) -> Iterator[_Apart]:
    for index, run in enumerate(report.runs):
        for at, pool in enumerate(run.hardware):
            yield from _pool_apart(report, f"/runs/{index}/hardware/{at}", pool)
        if _is_clock_of_pools(report, index, run):
            message = (
                f"the run has {show_number(run.gpu_hours or 0)} GPU-hours, which are the wall-clock hours of its pools"
            )
            count = sum(pool.count or 0 for pool in run.hardware)
            yield _Apart((f"/runs/{index}/gpu_hours", message, f"multiply them by {count} accelerators"), is_error=True)


def _is_clock_of_pools(report: Report, index: int, run: Run) -> bool:
    """Tell whether the hours of a run are those on the clock of each of its pools, which have several accelerators."""
    if not run.gpu_hours or not run.hardware or _is_bounded(report, index, run):
        return False
    hours = [pool.wall_clock_hours for pool in run.hardware if pool.gpu_hours is None and pool.count is not None]
    are_alike = len(hours) == len(run.hardware) and all(_agree(run.gpu_hours, clock) for clock in hours)
    return are_alike and sum(pool.count or 0 for pool in run.hardware) > 1


def _is_bounded(report: Report, index: int, run: Run) -> bool:
    """Tell whether hours of a run or of its pools are a bound, so that less or more may be true."""
    places = (f"/runs/{index}", *(f"/runs/{index}/hardware/{at}" for at in range(len(run.hardware))))
    return bool(report.qualifications) and any(
        is_bound(report, here, "gpu_hours", "count", "wall_clock_hours") for here in places
    )


def _agree(stated: float, other: float | None) -> bool:
    return other is not None and abs(stated - other) <= HOURS_AGREE * other


def _pool_apart(report: Report, here: str, pool: HardwarePool) -> Iterator[_Apart]:
    product = count_times_hours(report, here, pool)
    if pool.gpu_hours is None or product is None or pool.count is None or pool.wall_clock_hours is None:
        return
    stated, expected = pool.gpu_hours, pool.count * pool.wall_clock_hours
    if _agree(stated, expected):
        return
    low, high = range_of(report, f"{here}/gpu_hours", stated)
    is_within = low <= product.high * (1 + HOURS_AGREE) and high >= product.low * (1 - HOURS_AGREE)
    if is_within and (
        is_bound(report, here, "gpu_hours", "count", "wall_clock_hours") or is_open(report, here, "count")
    ):
        return
    slip = _slip(stated, expected, pool.count)
    is_more = stated > expected and pool.time_basis not in ("step", "train")
    message = (
        f"gpu_hours is {show_number(stated)}, and {pool.count} x {show_number(pool.wall_clock_hours)} hours are "
        f"{expected:.6g}"
    )
    message += f": ratio {stated / expected:.4g}" if expected else ""
    hint = slip or "count every accelerator while it was reserved; a pool that grew or shrank has low and high of count"
    yield _Apart((f"{here}/gpu_hours", message, hint), is_error=not is_within and (is_more or bool(slip)))


def _slip(stated: float, expected: float, count: int) -> str:
    """Name the likely cause of a factor between GPU-hours and count x hours; empty where there is none."""
    if not stated or not expected:
        return ""
    causes: Sequence[tuple[float, str]] = [
        *([(1 / count, f"these are wall-clock hours: multiply by {count} accelerators")] if count > 1 else []),
        (1 / _MINUTES, "is wall_clock_hours in minutes?"),
        (1 / _SECONDS, "is wall_clock_hours in seconds?"),
        *([(count, f"was the count of {count} multiplied in twice?")] if count > 1 else []),
        (_DAY, "is wall_clock_hours in days?"),
        (_MINUTES, "is gpu_hours in minutes?"),
        (_SECONDS, "is gpu_hours in seconds?"),
        *((size, f"does count give nodes of {size}?") for size in _NODES),
    ]
    return next((cause for factor, cause in causes if _agree(stated / expected, factor)), "")


@once_a_report
def _pools_over_run(report: Report) -> list[_Apart]:
    return list(_find_pools_over_run(report))


def _find_pools_over_run(report: Report) -> Iterator[_Apart]:
    """Compare the hours of a run with those of its pools: as they state, and as their counts give."""
    for index, run in enumerate(report.runs):
        if run.gpu_hours is None or _is_clock_of_pools(report, index, run):
            continue
        pointer = f"/runs/{index}/gpu_hours"
        most = range_of(report, pointer, run.gpu_hours).high * (1 + HOURS_AGREE)
        stated, given, least = 0.0, 0.0, 0.0
        for at, pool in enumerate(run.hardware):
            if pool.gpu_hours is not None:
                stated += pool.gpu_hours
                least += range_of(report, f"/runs/{index}/hardware/{at}/gpu_hours", pool.gpu_hours).low
            elif pool.count is not None and pool.wall_clock_hours is not None:
                given += pool.count * pool.wall_clock_hours
        if stated + given <= run.gpu_hours * (1 + HOURS_AGREE) or (least <= most and _is_bounded(report, index, run)):
            continue
        message = f"the pools have {stated + given:.6g} GPU-hours, and the run has {show_number(run.gpu_hours)}"
        yield _Apart(
            (pointer, message, "pools are disjoint, and all of them are part of the run"), is_error=least > most
        )
