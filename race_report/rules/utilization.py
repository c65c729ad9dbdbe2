"""RACE42x: whether FLOPs, hours and peaks fit together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.accounting import COMPONENTS
from race_report.finding import Severity, rule
from race_report.numbers import listed, show_number, show_rate
from race_report.once import once_a_report
from race_report.rules.capacity import HOURS_AGREE, PLAUSIBLE, SECONDS, Work, work
from race_report.rules.said import Range, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import Report, Run
    from race_report.finding import Violation

_LIKELY: Final = (0.05, PLAUSIBLE)

_NODE: Final = 8
"""Accelerators of a common node."""

_PREFIX: Final = 1000


@rule("RACE421")
def mfu_above_one(report: Report) -> Iterator[Violation]:
    """More FLOPs are reported than the accelerators could do in their hours.

    What it checks: the model FLOPs of the components that share pools, over GPU-hours x 3600 x peak; the peak as
    stated, else the largest of the devices that the name may mean. A lower bound of the FLOPs is enough for an error,
    an upper bound is not. FLOPs of entries with a price are left out, because they may have run elsewhere.

    Why it matters: one of FLOPs, hours, count and peak is wrong, often by the number of accelerators or a unit of time.

    How to fix: check all four; the hint names the factor that would give a likely utilization.

    Before:

        hardware: [{id: node, components: [search, learning, feedback], accelerator: NVIDIA H100 SXM, precision: bf16,
                    count: 1, wall_clock_hours: 0.1}]
        totals: {search_flops: 2.3e+17, learning_flops: 7.2e+17, feedback_flops: 0, total_flops: 9.5e+17}

    After:

        hardware: [{id: node, components: [search, learning, feedback], accelerator: NVIDIA H100 SXM, precision: bf16,
                    count: 8, wall_clock_hours: 0.1}]
        totals: {search_flops: 2.3e+17, learning_flops: 7.2e+17, feedback_flops: 0, total_flops: 9.5e+17}
    """
    for run, done in _busiest(report):
        if done.mfu > 1:
            least = "at least " if done.is_open else ""
            message = f"implied MFU is {least}{_show(done.mfu)}, above 1: {_inputs(done)}"
            yield _pointer(done), message, _causes(run, done)


@rule("RACE422", severity=Severity.WARNING)
def mfu_implausible(report: Report) -> Iterator[Violation]:
    """Utilization is higher than training is known to reach, or 0 where work was done.

    What it checks: implied MFU as in mfu-above-one, and stated `utilization`: above 0.65. Where no precision is stated,
    by the peak in bf16 or fp16. A stated 0 where search or learning was served.

    Why it matters: real runs reach a third or half of the peak; more is most often a unit, a count or a sparse peak.
    Loggers write 0 for a device or a model that they do not know.

    How to fix: check FLOPs, hours, count and peak; state the precision that the peak is for. Leave an unknown
    utilization out.

    Before:

        hardware: [{id: node, components: [search, learning], accelerator: NVIDIA A100, utilization: 0.0}]

    After:

        hardware: [{id: node, components: [search, learning], accelerator: NVIDIA A100}]
    """
    for _, done in _busiest(report):
        if done.mfu <= 1 and done.usual_mfu > PLAUSIBLE:
            rate = f"implied MFU is {_show(done.usual_mfu)}, and training hardly exceeds {PLAUSIBLE}"
            hint = "check FLOPs, hours, count and peak; state the precision that the work was in"
            yield _pointer(done), f"{rate}: {_inputs(done, usual=True)}", hint
    for index, run in enumerate(report.runs):
        for at, pool in enumerate(run.hardware):
            if pool.utilization is None:
                continue
            pointer = f"/runs/{index}/hardware/{at}/utilization"
            if range_of(report, pointer, pool.utilization).low > PLAUSIBLE:
                message = f"utilization is {show_number(pool.utilization)}, and training hardly exceeds {PLAUSIBLE}"
                yield pointer, message, "is it a fraction of the dense peak, and of model FLOPs?"
            elif pool.utilization == 0 and not {"search", "learning"}.isdisjoint(pool.components):
                message = "utilization is 0, and the pool served " + listed(pool.components)
                yield pointer, message, "0 is measured, absent is unknown: leave it out"


@rule("RACE423", severity=Severity.WARNING)
def utilization_mismatch(report: Report) -> Iterator[Violation]:
    """A stated `utilization` is not what FLOPs, hours and peak give.

    What it checks: for pools that share components, the sum of utilization x GPU-hours x 3600 x peak against the model
    FLOPs of all components served; within 2 % and the rounding of the stated digits. FLOPs with an unknown part may be
    less, not more.

    Why it matters: a utilization from executed FLOPs, from another attention convention, or from one phase alone is
    not comparable.

    How to fix: leave `utilization` out, and readers compute it; or correct the figure that is wrong.

    Before:

        hardware: [{id: node, components: [search, learning, feedback], accelerator: NVIDIA H100 SXM, precision: bf16,
                    count: 8, wall_clock_hours: 1.5, utilization: 0.4}]
        totals: {search_flops: 2.3e+17, learning_flops: 7.2e+17, feedback_flops: 0, total_flops: 9.5e+17}

    After:

        hardware: [{id: node, components: [search, learning, feedback], accelerator: NVIDIA H100 SXM, precision: bf16,
                    count: 8, wall_clock_hours: 1.5}]
        totals: {search_flops: 2.3e+17, learning_flops: 7.2e+17, feedback_flops: 0, total_flops: 9.5e+17}
    """
    yield from (found.violation for found in _compared(report) if not found.is_by_hardware)


@rule("RACE424")
def hardware_flops_mismatch(report: Report) -> Iterator[Violation]:
    """FLOPs of method `hardware` are not device-hours x peak x utilization.

    What it checks: for pools whose components have entries of method `hardware` only, and that state peak and
    utilization: the sum of GPU-hours x 3600 x peak x utilization against the FLOPs of these entries, within 2 % and the
    rounding of the utilization.

    Why it matters: this method is arithmetic on figures of the report; anyone repeats it and gets another number.

    How to fix: correct the FLOPs, or the hours, peak or utilization that they were computed from.

    Before:

        hardware: [{id: train, components: [learning], count: 8, wall_clock_hours: 10, peak_flops_per_second: 9.894e+14,
                    utilization: 0.35}]
        ledger: [{component: learning, flops: 1.0e+19, method: hardware, basis: estimated}]

    After:

        hardware: [{id: train, components: [learning], count: 8, wall_clock_hours: 10, peak_flops_per_second: 9.894e+14,
                    utilization: 0.35}]
        ledger: [{component: learning, flops: 9.973e+19, method: hardware, basis: estimated}]
    """
    yield from (found.violation for found in _compared(report) if found.is_by_hardware)


@once_a_report
def _busiest(report: Report) -> list[tuple[Run, Work]]:
    """Give of each group of pools the components with the highest utilization."""
    return [
        (run, max(group, key=lambda done: (done.mfu, done.usual_mfu, len(done.components))))
        for run, groups in zip(report.runs, work(report), strict=True)
        for group in groups
        if group
    ]


def _pointer(done: Work) -> str:
    """Point to the pool, or to all of them where there are several."""
    return done.pools[0].pointer if len(done.pools) == 1 else done.pools[0].pointer.rpartition("/")[0]


def _inputs(done: Work, *, usual: bool = False) -> str:
    """Print what a utilization follows from: FLOPs, hours, accelerators and peak."""
    peaks = [peak.usual if usual else peak.high for peak in (pool.peak for pool in done.pools) if peak is not None]
    same = show_rate(peaks[0]) if min(peaks) == max(peaks) else f"{show_rate(min(peaks))} to {show_rate(max(peaks))}"
    parts = [
        f"{pool.said.count} for {show_number(pool.said.wall_clock_hours)} hours"
        for pool in done.pools
        if pool.said.count is not None and pool.said.wall_clock_hours is not None
    ]
    counts = f" ({', '.join(parts)})" if parts else ""
    rate = done.flops.low / (done.hours.high * SECONDS) if done.hours.high else 0
    each = f"; {show_rate(rate)} FLOP/s by each accelerator" if rate else ""
    names = listed(done.components)
    return f"{done.flops.low:.4g} FLOPs of {names} in {done.hours.high:.6g} GPU-hours{counts} at {same} FLOP/s{each}"


def _causes(run: Run, done: Work) -> str:
    """Name the factors that would make a utilization a likely one."""
    sizes = {pool.said.count for pool in done.pools if pool.said.count is not None}
    steps = {run.algorithm.rollout_steps, run.algorithm.optimizer_steps} if run.algorithm is not None else set()
    causes: list[tuple[float, str]] = [
        (_NODE, f"is a node of {_NODE} counted as one accelerator?"),
        *_clusters(done),
        *((size, f"did each of {size} accelerators count the FLOPs of all?") for size in sorted(sizes)),
        *((number, f"are these the hours of one of {number} steps?") for number in sorted(filter(None, steps))),
        (60, "are hours too few by 60, minutes for seconds?"),
        (SECONDS, "were seconds divided by 3600 twice?"),
        *((10.0**power, f"are FLOPs or peak off by 1e{power}?") for power in (3, 6, 9, 12)),
    ]
    stated = {pool.said.utilization for pool in done.pools if pool.said.utilization}
    aims = [(0.9 * value, 1.1 * value) for value in stated] if len(stated) == 1 else []
    for low, high in [*aims, _LIKELY]:
        fitting: dict[float, str] = {}
        for factor, cause in causes:
            # a prefix is told apart from other slips by its size, so a low utilization beside it is likely enough
            least = low if factor < _PREFIX else low / 50
            if factor > 1 and least <= done.mfu / factor <= high:
                fitting.setdefault(factor, f"divided by {factor:.6g} it is {done.mfu / factor:.2g}: {cause}")
        if fitting:
            return "; or ".join(list(fitting.values())[:2])
    return "check FLOPs, hours, count and peak: seconds for steps, a cluster for a device?"


def _clusters(done: Work) -> Iterator[tuple[float, str]]:
    """Name the size of a cluster, where the hours of one accelerator stand beside the FLOPs of many."""
    if sum(pool.said.count or 1 for pool in done.pools) == 1 and _NODE * PLAUSIBLE < done.mfu < 2**20:
        size = 2 ** math.ceil(math.log2(done.mfu / PLAUSIBLE))
        yield size, f"are these FLOPs of a cluster, {size} or more, and hours of one accelerator?"


class _Compared(NamedTuple):
    violation: Violation
    is_by_hardware: bool


@once_a_report
def _compared(report: Report) -> list[_Compared]:
    return list(_find_compared(report))


def _find_compared(report: Report) -> Iterator[_Compared]:
    """Compare FLOPs with what stated utilizations give, group by group of pools, where all of them state one."""
    for run, groups in zip(report.runs, work(report), strict=True):
        for group in groups:
            if not group or any(not pool.said.utilization or pool.hours is None for pool in group[-1].pools):
                continue
            done = group[-1]
            served: set[str] = {component for pool in done.pools for component in pool.said.components}
            if served.intersection(COMPONENTS) - set(done.components) or done.mfu > 1:
                continue
            is_by_hardware = _is_by_hardware(run, done, served)
            most = done.flops.high if served == set(done.components) else float("inf")
            expected = [_by_utilization(report, done), *(_by_entries(run, done) if is_by_hardware else ())]
            if any(
                done.flops.low <= span.high * (1 + HOURS_AGREE) and most >= span.low * (1 - HOURS_AGREE)
                for span in expected
            ):
                continue
            implied = (done.flops.low or most) / (done.most or 1)
            stated = listed([show_number(pool.said.utilization or 0) for pool in done.pools])
            message = f"utilization is {stated}, and FLOPs, hours and peak give {_show(implied)}: {_inputs(done)}"
            hint = (
                "write the FLOPs that hours, peak and utilization give"
                if is_by_hardware
                else "leave it out, or correct"
            )
            yield _Compared((_pointer(done), message, hint), is_by_hardware)


def _is_by_hardware(run: Run, done: Work, served: set[str]) -> bool:
    """Tell whether all FLOPs of some pools were computed from their hours, stated peak and utilization."""
    entries = [entry for entry in run.ledger if entry.component in served and entry.flops != 0]
    is_stated = all(pool.said.peak_flops_per_second is not None for pool in done.pools)
    return is_stated and bool(entries) and all(entry.method == "hardware" and entry.flops for entry in entries)


def _by_utilization(report: Report, done: Work) -> Range:
    """Give the FLOPs that stated utilizations of some pools mean, their last digit rounded."""
    low = high = 0.0
    for pool in done.pools:
        if pool.hours is None or pool.peak is None or pool.said.utilization is None:
            continue
        used = range_of(report, f"{pool.pointer}/utilization", pool.said.utilization)
        half = _half_of_last_digit(pool.said.utilization)
        low += max(used.low - half, 0) * pool.hours.low * pool.peak.low * SECONDS
        high += (used.high + half) * pool.hours.high * pool.peak.high * SECONDS
    return Range(low, high)


def _by_entries(run: Run, done: Work) -> Iterator[Range]:
    """Give the same from the busy hours of the entries, where each of them has some."""
    hours = [entry.gpu_hours for entry in run.ledger if entry.component in done.components and entry.flops]
    known = [value for value in hours if value is not None]
    if len(known) == len(hours):
        rates = [(pool.said.utilization or 0) * peak.high for pool in done.pools if (peak := pool.peak) is not None]
        half = max(_half_of_last_digit(pool.said.utilization or 0) for pool in done.pools)
        slack = half * max(pool.peak.high for pool in done.pools if pool.peak is not None)
        yield Range(sum(known) * SECONDS * (min(rates) - slack), sum(known) * SECONDS * (max(rates) + slack))


def _half_of_last_digit(value: float) -> float:
    """Give half a unit of the last digit that a number is written with: 0.005 of 0.35."""
    text = repr(float(value))
    return 0.0 if "e" in text else 0.5 * 10.0 ** -len(text.partition(".")[2])


def _show(ratio: float) -> str:
    return f"{ratio:.3g}"
