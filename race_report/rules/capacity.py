"""What the pools of a run could have done, and the FLOPs that the report says they did.

Every figure is a range: as stated, widened by its qualifications and by what the report leaves open. A rule that calls
a report wrong takes the end of each range that is best for the report.
"""

from __future__ import annotations

import functools
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.accounting import COMPONENTS, account
from race_report.once import once_a_report
from race_report.rules.said import Range, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from race_report.accelerators import Accelerator
    from race_report.document import HardwarePool, LedgerEntry, Report, Run

SECONDS: Final = 3600
"""Seconds in an hour."""

HOURS_AGREE: Final = 0.02
"""Relative difference up to which GPU-hours agree."""

PLAUSIBLE: Final = 0.65
"""MFU that no training is known to exceed."""

_UNKNOWN: Final = Range(0, float("inf"))
_NOTHING: Final = Range(0, 0)
USUAL: Final = ("bf16", "fp16")
_OPEN: Final = frozenset({None, "mixed", "nf4", "int4"})
"""Precisions that do not say which matrix units ran: formats of weights that are computed in another."""


class Peak(NamedTuple):
    """The peak of one accelerator of a pool in FLOP/s."""

    low: float
    usual: float
    """The largest that is likely: in bf16 or fp16, where no precision is stated."""
    high: float
    """The largest that is possible."""


class Pool(NamedTuple):
    """A pool of a run, with what is known of it."""

    pointer: str
    said: HardwarePool
    hours: Range | None
    """GPU-hours; None where nothing is known."""
    peak: Peak | None


class Work(NamedTuple):
    """The FLOPs of some components, and the pools that serve them."""

    components: tuple[str, ...]
    pools: tuple[Pool, ...]
    flops: Range
    hours: Range
    least: float
    """FLOPs that the pools could do in these hours, at the least."""
    usual: float
    most: float

    @property
    def mfu(self) -> float:
        """The smallest MFU that the figures allow."""
        return _ratio(self.flops.low, self.most)

    @property
    def is_open(self) -> bool:
        """Tell whether the figures leave open what the MFU is, because one of them is a bound or a range."""
        return self.flops.low < self.flops.high or self.least < self.most

    @property
    def usual_mfu(self) -> float:
        """The MFU that is likely, where precision or variant are open."""
        return _ratio(self.flops.low, self.usual)


def _times(one: float, other: float) -> float:
    """Multiply figures of which one may be without end: nothing of it is nothing."""
    return one * other if one and other else 0


def _ratio(flops: float, capacity: float) -> float:
    return flops / capacity if capacity else (float("inf") if flops else 0)


def pool_hours(report: Report, pointer: str, pool: HardwarePool) -> Range | None:
    """Give the GPU-hours of a pool: as stated, as count x wall_clock_hours, or from one to the other."""
    ranges = []
    if pool.gpu_hours is not None:
        ranges.append(range_of(report, f"{pointer}/gpu_hours", pool.gpu_hours))
    product = count_times_hours(report, pointer, pool)
    if product is not None:
        ranges.append(product)
    return Range(min(low for low, _ in ranges), max(high for _, high in ranges)) if ranges else None


def count_times_hours(report: Report, pointer: str, pool: HardwarePool) -> Range | None:
    """Give count x wall_clock_hours of a pool, or None where one of them is not stated."""
    if pool.count is None or pool.wall_clock_hours is None:
        return None
    count = range_of(report, f"{pointer}/count", pool.count)
    hours = range_of(report, f"{pointer}/wall_clock_hours", pool.wall_clock_hours)
    return Range(_times(count.low, hours.low), _times(count.high, hours.high))


def devices(pool: HardwarePool) -> tuple[Accelerator, ...]:
    """Give the accelerators that a pool may be of; none where it names none, or one that the table does not have."""
    return () if pool.accelerator is None else _candidates(pool.accelerator)


@functools.lru_cache(maxsize=1024)
def _candidates(name: str) -> tuple[Accelerator, ...]:
    from race_report.accelerators import candidates

    return candidates(name)


def _pool_peak(report: Report, pointer: str, pool: HardwarePool, precisions: frozenset[str | None]) -> Peak | None:
    """Give the peak of a pool: as stated, else as the table has it for the precisions at work; None if unknown."""
    if pool.peak_flops_per_second is None:
        return _table_peak(pool.accelerator, precisions) if pool.accelerator is not None else None
    low, high = range_of(report, f"{pointer}/peak_flops_per_second", pool.peak_flops_per_second)
    largest = max(((entry.largest or 0) * (entry.sparse_factor or 1) for entry in devices(pool)), default=0)
    high = min(high, largest or high)
    return Peak(min(low, high), high, high)


@functools.lru_cache(maxsize=1024)
def _table_peak(accelerator: str, precisions: frozenset[str | None]) -> Peak | None:
    """Give the peak that the table has for a name, or None where it has none for one of the devices it may mean."""
    from race_report.accelerators import candidates

    known = candidates(accelerator)
    every = [peak for entry in known for _, peak in entry.by_format()]
    if not every or not all(entry.largest for entry in known):
        return None
    stated = [peak for entry in known for precision in precisions for peak in _at_work(entry, precision)]
    if _OPEN.isdisjoint(precisions) and stated:
        return Peak(min(stated), max(stated), max(stated))
    usual = [peak for entry in known for precision in USUAL for peak in entry.peaks(precision)] or every
    return Peak(min(usual), max(usual), max(every))


def _at_work(entry: Accelerator, precision: str | None) -> tuple[float, ...]:
    """Give the rates of a number format; fp32 may run on the units for tf32 without anyone saying so."""
    if precision is None:
        return ()
    return entry.peaks(precision) + (entry.peaks("tf32") if precision == "fp32" else ())


def _pools(report: Report, index: int, run: Run) -> list[Pool]:
    used: dict[str, set[str | None]] = {}
    for entry in run.ledger:
        if entry.model is not None or entry.flops:
            used.setdefault(entry.component, set()).add(entry.precision)
    pools = []
    for at, pool in enumerate(run.hardware):
        pointer = f"/runs/{index}/hardware/{at}"
        entered = {precision for component in pool.components for precision in used.get(component, ())}
        if pool.precision is not None or not entered:
            entered = {pool.precision, *(entered - {None})}
        hours = pool_hours(report, pointer, pool)
        pools.append(Pool(pointer, pool, hours, _pool_peak(report, pointer, pool, frozenset(entered))))
    return pools


@once_a_report
def work(report: Report) -> list[list[list[Work]]]:
    """Give, for each run and each group of pools that share components, the work of every set of these components.

    The last of a group is the work of all its components. Sets with a pool of unknown hours or peak are left out.
    """
    return [list(_groups(report, index, run)) for index, run in enumerate(report.runs)]


def _groups(report: Report, index: int, run: Run) -> Iterator[list[Work]]:
    if _is_plainly_possible(report, index, run):
        return
    has_hours = run.gpu_hours is not None or any(
        pool.gpu_hours is not None or pool.wall_clock_hours is not None for pool in run.hardware
    )
    if not has_hours:
        return
    pools = _pools(report, index, run)
    flops = _flops(report, index, run)
    for components in _sharing(run.hardware):
        counted: tuple[str, ...] = tuple(name for name in COMPONENTS if name in components)
        counted = counted or tuple(sorted(components))
        found = [_work(report, index, run, chosen, pools, flops) for chosen in _sets(counted, pools)]
        yield [done for done in found if done is not None]


def _is_plainly_possible(report: Report, index: int, run: Run) -> bool:
    """Tell at little cost that the smallest pool alone could have done all FLOPs of a run, as is the case of most."""
    if report.qualifications:
        return False
    entered: float = 0
    for entry, figure in zip(run.ledger, account(report).figures[index], strict=True):
        if entry.precision is not None:
            return False
        entered += figure.value or 0
    least = float("inf")
    for pool in run.hardware:
        if pool.utilization is not None or pool.accelerator is None or pool.count is None:
            return False
        peak = _table_peak(pool.accelerator, frozenset({pool.precision}))
        hours = [pool.gpu_hours] if pool.gpu_hours is not None else []
        hours += [pool.count * pool.wall_clock_hours] if pool.wall_clock_hours is not None else []
        if pool.peak_flops_per_second is not None or peak is None or not hours:
            return False
        least = min(least, min(hours) * SECONDS * peak.low)
    stated = (run.totals.total_flops or 0) if run.totals is not None else 0
    return max(entered, stated) <= PLAUSIBLE * least


def _sets(counted: tuple[str, ...], pools: list[Pool]) -> list[tuple[str, ...]]:
    """Give the sets of components that may be busier than all of them together, and all of them at the end."""
    served = [set(counted).intersection(pool.said.components) for pool in pools]
    are_alike = all(len(components) in (0, len(counted)) for components in served)
    if are_alike and not any(pool.said.time_basis == "train" for pool in pools):
        return [counted]  # the same pools serve every set, so none has more FLOPs than all
    return [chosen for size in range(1, len(counted) + 1) for chosen in combinations(counted, size)]


def _sharing(pools: Sequence[HardwarePool]) -> list[set[str]]:
    """Give the sets of components whose pools are linked by components that they share."""
    groups: list[set[str]] = []
    for pool in pools:
        served = set(pool.components)
        apart = [group for group in groups if group.isdisjoint(served)]
        groups = [*apart, served.union(*(group for group in groups if not group.isdisjoint(served)))]
    return [group for group in groups if group]


def _work(
    report: Report, index: int, run: Run, chosen: tuple[str, ...], pools: list[Pool], flops: dict[str, Range]
) -> Work | None:
    serving = tuple(pool for pool in pools if not set(chosen).isdisjoint(pool.said.components))
    peaks = [pool.peak for pool in serving if pool.peak is not None]
    if not serving or len(peaks) < len(serving):
        return None
    done = _hidden_by_time(chosen, serving, _done(report, index, run, chosen, flops))
    spans = [pool.hours for pool in serving if pool.hours is not None]
    if len(spans) == len(serving):
        hours = Range(sum(span.low for span in spans), sum(span.high for span in spans))
        both = list(zip(spans, peaks, strict=True))
        least = sum(_times(span.low, peak.low) for span, peak in both) * SECONDS
        usual = sum(_times(span.high, peak.usual) for span, peak in both) * SECONDS
        most = sum(_times(span.high, peak.high) for span, peak in both) * SECONDS
        return Work(chosen, serving, done, hours, least, usual, most)
    if run.gpu_hours is None or not set(chosen).issubset(COMPONENTS):
        return None
    hours = Range(0, range_of(report, f"/runs/{index}/gpu_hours", run.gpu_hours).high)
    usual, most = max(peak.usual for peak in peaks), max(peak.high for peak in peaks)
    most_hours = hours.high * SECONDS
    return Work(chosen, serving, done, hours, 0, _times(most_hours, usual), _times(most_hours, most))


def _hidden_by_time(chosen: tuple[str, ...], serving: tuple[Pool, ...], done: Range) -> Range:
    """Take away the lower end where hours of training alone stand beside FLOPs of more than learning."""
    is_hidden = any(pool.said.time_basis == "train" for pool in serving) and chosen != ("learning",)
    return Range(0, done.high) if is_hidden else done


def _done(report: Report, index: int, run: Run, chosen: tuple[str, ...], flops: dict[str, Range]) -> Range:
    """Give the FLOPs of some components: of their entries, or where some are unknown what the total leaves for them."""
    low, high = sum(flops[name].low for name in chosen), sum(flops[name].high for name in chosen)
    if run.totals is not None and run.totals.total_flops is not None and not _is_known(high):
        # a total that holds an upper bound, or what may have run elsewhere, is none to subtract from
        is_most = any(entry.cost_usd is not None or entry.basis == "upper_bound" for entry in run.ledger)
        others = sum(flops[name].high for name in COMPONENTS if name not in chosen)
        if not is_most and set(chosen) <= set(COMPONENTS):
            low = max(low, _stated(report, index, run, "total_flops").low - others)
    return Range(low, max(low, high))


def _is_known(high: float) -> bool:
    return high < float("inf")


def _flops(report: Report, index: int, run: Run) -> dict[str, Range]:
    """Give the FLOPs of every component, from its entries, else from `totals`."""
    found: dict[str, Range] = {}
    ran: set[str] = {"feedback"}  # rules that judge are all that there is; a tool beside rollouts tells nothing of them
    for at, entry in enumerate(run.ledger):
        low, high = _entry_flops(report, index, run, at)
        so_far = found.get(entry.component, _NOTHING)
        found[entry.component] = Range(so_far.low + low, so_far.high + high)
        if entry.model is not None or entry.flops is not None:
            ran.add(entry.component)
    for name in (*COMPONENTS, "evaluation", "preparation"):
        if name not in ran or found.get(name, _UNKNOWN) == _UNKNOWN:
            found[name] = _stated(report, index, run, f"{name}_flops") if name in COMPONENTS else _UNKNOWN
    return found


def _stated(report: Report, index: int, run: Run, key: str) -> Range:
    value: float | None = getattr(run.totals, key) if run.totals is not None else None
    if value is None or run.totals is None:
        return _UNKNOWN
    return _weakened(report, run, None, range_of(report, f"/runs/{index}/totals/{key}", value), run.totals.basis)


def _entry_flops(report: Report, index: int, run: Run, at: int) -> Range:
    """Give the FLOPs of an entry; from 0 on where it has a price, because it may have run on hired machines."""
    entry = run.ledger[at]
    value = account(report).figures[index][at].value
    if value is None:
        return _UNKNOWN
    known = _weakened(report, run, entry, range_of(report, f"/runs/{index}/ledger/{at}/flops", value), entry.basis)
    return Range(0, known.high) if entry.cost_usd is not None else known


def _weakened(report: Report, run: Run, entry: LedgerEntry | None, known: Range, basis: str | None) -> Range:
    """Widen a figure by its basis, and by half where attention is counted in full: the mask hides half of it."""
    low, high = known
    by_nearness = (entry.conventions if entry is not None else None, run.conventions, report.conventions)
    if any(by_nearness) and (entry is None or entry.method != "counts"):
        attention = [said.attention for said in by_nearness if said is not None and said.attention]
        low = low / 2 if attention[:1] == ["full"] else low
    return Range(0 if basis == "upper_bound" else low, float("inf") if basis == "lower_bound" else high)
