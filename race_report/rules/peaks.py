"""RACE41x: accelerators and their peaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.finding import Severity, rule
from race_report.numbers import show_rate
from race_report.rules.capacity import USUAL, devices, work
from race_report.rules.said import is_open, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from race_report.accelerators import Accelerator
    from race_report.document import HardwarePool, Report
    from race_report.finding import Violation

_SAME: Final = 0.02
"""Relative difference up to which a peak is a rounding of the one in the table."""

_NODE: Final = 8
"""Accelerators of a common node."""

_SLIPS: Final = (
    (1e12, "in TFLOP/s"),
    (1e15, "in PFLOP/s"),
    (1e9, "in GFLOP/s"),
    (1e-3, "times 1000"),
    (1e-12, "times 1e12"),
)
"""What a peak times a factor is, where it is then one of the table."""

_LEAST: Final = 1e10
"""Fewer FLOP/s than any accelerator has."""

_MOST: Final = 1e17
"""More FLOP/s than any one accelerator has."""


def _pools(report: Report) -> Iterator[tuple[str, HardwarePool]]:
    for index, run in enumerate(report.runs):
        for at, pool in enumerate(run.hardware):
            yield f"/runs/{index}/hardware/{at}", pool


@rule("RACE411", severity=Severity.WARNING)
def accelerator_unknown(report: Report) -> Iterator[Violation]:
    """An accelerator is none that the table of peaks has, and no peak is stated.

    What it checks: the name of each accelerator that served a component, by whole words, against
    `schema/accelerators.json`, where its pool has no `peak_flops_per_second`. A name is found once a report.

    Why it matters: without a peak nobody can tell the utilization, nor whether FLOPs and hours fit together; a peak
    that is guessed is worse than none.

    How to fix: write the name as the vendor or nvidia-smi prints it, one device a pool; for a device that the table
    lacks, state its dense peak and where it is published, or name the gap in `not_reported`.

    Before:

        hardware: [{id: node, components: [search, learning], accelerator: Ascend 910B, count: 8}]

    After:

        hardware: [{id: node, components: [search, learning], accelerator: Ascend 910B, count: 8,
                    peak_flops_per_second: 3.2e+14, peak_kind: dense, precision: fp16, peak_source: vendor's datasheet}]
    """
    seen: set[str] = set()
    for here, pool in _pools(report):
        name = pool.accelerator
        if name is None or name in seen or not pool.components or pool.peak_flops_per_second is not None:
            continue
        if not devices(pool) and not is_open(report, here, "peak_flops_per_second"):
            seen.add(name)
            message = f'"{name}" is not in the table of peaks: utilization stays unknown'
            yield f"{here}/accelerator", message, "write the device's own name, or state its peak and the source"


@rule("RACE412", severity=Severity.WARNING)
def peak_mismatch(report: Report) -> Iterator[Violation]:
    """A stated peak is not the dense peak of the accelerator in this precision.

    What it checks: `peak_flops_per_second` against `schema/accelerators.json` within 2 %, for every variant that the
    name may mean: the sparse figure only where `peak_kind` says so; bf16 or fp16 where no precision is stated, or any
    that the device has where `peak_kind` is dense. Of a device that the table lacks only the size is checked.

    Why it matters: vendors print the 2:4-sparse figure first, which is twice the dense one and halves the utilization;
    a peak of another device is wrong by as much as they differ.

    How to fix: write the dense peak of one accelerator in FLOP/s, with its precision; or say `peak_kind: sparse`.

    Before:

        hardware: [{id: node, accelerator: NVIDIA H100 SXM, precision: bf16, peak_flops_per_second: 1.979e+15}]

    After:

        hardware: [{id: node, accelerator: NVIDIA H100 SXM, precision: bf16, peak_flops_per_second: 9.894e+14}]
    """
    for here, pool in _pools(report):
        peak = pool.peak_flops_per_second
        if peak is None or is_open(report, here, "peak_flops_per_second"):
            continue
        known = [entry for entry in devices(pool) if entry.largest]
        reason = _reason(peak, pool, known) if known else _unlikely(peak)
        if reason:
            pointer = f"{here}/peak_flops_per_second"
            yield pointer, f"{show_rate(peak)} {reason}{_both(report, here, peak, known, pool)}", _hint(pool, known)


@rule("RACE413", severity=Severity.WARNING)
def precision_without_units(report: Report) -> Iterator[Violation]:
    """A pool works in a precision for which its accelerator has no matrix units.

    What it checks: `precision` of a pool against the formats that `schema/accelerators.json` says the device lacks,
    such as bf16 on a V100 or fp8 on an A100.

    Why it matters: the work ran in another format, at another peak, so the utilization is not what it seems.

    How to fix: write the format of the matrix multiplications; that of the weights belongs to `precision` of the model.

    Before:

        hardware: [{id: node, accelerator: Tesla V100-SXM2-32GB, precision: bf16}]

    After:

        hardware: [{id: node, accelerator: Tesla V100-SXM2-32GB, precision: fp16}]
    """
    for here, pool in _pools(report):
        if pool.precision is None or pool.accelerator is None:
            continue
        known = devices(pool)
        if known and all(entry.lacks(pool.precision) for entry in known):
            has = ", ".join(dict.fromkeys(precision for precision, _ in known[0].by_format()))
            message = f"{known[0].name} has no matrix units for {pool.precision}; it has them for {has}"
            yield f"{here}/precision", message, "write the format that the matrix multiplications ran in"


def _accepted(pool: HardwarePool, entry: Accelerator) -> tuple[float, ...]:
    """Give the peaks that a pool may state for a device, by its precision and kind of peak."""
    if pool.precision in (None, "mixed", "nf4", "int4") or not entry.peaks(pool.precision or ""):
        is_any = pool.peak_kind is not None or pool.precision is not None
        every = dict.fromkeys(peak for _, peak in entry.by_format())
        usual = dict.fromkeys(peak for precision in USUAL for peak in entry.peaks(precision))
        dense = tuple(every if is_any or not usual else usual)
    else:
        dense = entry.peaks(pool.precision)
    factor = entry.sparse_factor
    return tuple(peak * factor for peak in dense) if pool.peak_kind == "sparse" and factor else dense


def _is(peak: float, other: float) -> bool:
    return abs(peak - other) <= _SAME * other


def _reason(peak: float, pool: HardwarePool, known: Sequence[Accelerator]) -> str:
    """Say what a stated peak is, where it is none that the devices have; empty where it is one."""
    accepted = [(entry, other) for entry in known for other in _accepted(pool, entry)]
    if any(_is(peak, other) for _, other in accepted):
        return ""
    wanted = f"{pool.precision or 'bf16'} {pool.peak_kind or 'dense'}"
    for explain in (_of_another_kind, _of_another_format, _of_another_prefix, _of_several):
        for entry, other in accepted:
            what = explain(peak, other, entry, pool)
            if what:
                return f"is {what}; {wanted} of {entry.name} is {show_rate(other)}"
    entry, other = accepted[0]
    return (
        f"is no peak of {entry.name}{_of_another(peak, pool)}; {wanted} is {show_rate(other)}: ratio {peak / other:.3g}"
    )


def _of_another_kind(peak: float, other: float, entry: Accelerator, pool: HardwarePool) -> str:
    factor = entry.sparse_factor or 0
    if pool.peak_kind != "sparse" and _is(peak, other * factor):
        return "the 2:4-sparse figure"
    return "the dense figure" if pool.peak_kind == "sparse" and _is(peak * factor, other) else ""


def _of_another_format(peak: float, other: float, entry: Accelerator, pool: HardwarePool) -> str:  # noqa: ARG001
    return next((f"the {precision} figure" for precision, figure in entry.by_format() if _is(peak, figure)), "")


def _of_another_prefix(peak: float, other: float, entry: Accelerator, pool: HardwarePool) -> str:  # noqa: ARG001
    return next((f"the peak {slip}" for factor, slip in _SLIPS if _is(peak * factor, other)), "")


def _of_several(peak: float, other: float, entry: Accelerator, pool: HardwarePool) -> str:  # noqa: ARG001
    sizes = ((pool.count or 0, f"the peak of all {pool.count} of the pool"), (_NODE, f"the peak of a node of {_NODE}"))
    return next((whole for size, whole in sizes if size > 1 and _is(peak, other * size)), "")


def _of_another(peak: float, pool: HardwarePool) -> str:
    from race_report.accelerators import accelerators

    names = [entry.name for entry in accelerators() if any(_is(peak, other) for other in _accepted(pool, entry))]
    return f", but of {' or '.join(names[:3])}" if names else ""


def _unlikely(peak: float) -> str:
    """Say what is wrong with the size of a peak, whatever the device; empty where nothing is."""
    if peak < _LEAST:
        return "is less than any accelerator has: is it in TFLOP/s or GFLOP/s?"
    return "is more than any one accelerator has: is it of a cluster?" if peak > _MOST else ""


def _both(report: Report, here: str, peak: float, known: Sequence[Accelerator], pool: HardwarePool) -> str:
    """Add the utilization that follows with the stated peak and with the table's, where FLOPs are known."""
    right = [other for entry in known for other in _accepted(pool, entry)]
    if not right:
        return ""
    index = int(here.split("/")[2])
    every = [done for group in work(report)[index] for done in group if len(done.pools) == 1]
    alone = [done for done in every if done.pools[0].pointer == here]
    best = max(alone, key=lambda done: done.flops.low, default=None)
    if best is None or not best.flops.low or not best.hours.high:
        return ""
    rate = best.flops.low / (best.hours.high * 3600)
    stated = range_of(report, f"{here}/peak_flops_per_second", peak).high
    return f"; implied MFU is {rate / stated:.2g} with it and {rate / max(right):.2g} with {show_rate(max(right))}"


def _hint(pool: HardwarePool, known: Sequence[Accelerator]) -> str:
    if not known:
        return "write FLOP/s of one accelerator"
    right = list(dict.fromkeys(other for entry in known for other in _accepted(pool, entry)))
    return f"write {' or '.join(map(show_rate, right))}, with its precision and peak_kind"
