"""What a report says of its own figures: that they are missing, or lie within a range."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from race_report.once import once_a_report
from race_report.pointer import Pointed

if TYPE_CHECKING:
    from race_report.document import NotReported, Qualification, Report


class _Said(NamedTuple):
    gaps: Pointed[NotReported]
    ranges: Pointed[Qualification]
    qualified: Pointed[Qualification]


class Range(NamedTuple):
    """What a figure may be: at least `low`, at most `high`."""

    low: float
    high: float


@once_a_report
def _said(report: Report) -> _Said:
    ranges = [entry for entry in report.qualifications if entry.low is not None and entry.high is not None]
    return _Said(
        Pointed(report, [(gap.pointer, gap) for gap in report.not_reported]),
        Pointed(report, [(entry.pointer, entry) for entry in ranges]),
        Pointed(report, [(entry.pointer, entry) for entry in report.qualifications]),
    )


def is_open(report: Report, here: str, *keys: str) -> bool:
    """Tell whether one of some figures is named as not reported, or as lying within a range.

    Figures that need not be equal are not compared: a rule that takes the unknown for 0 would be wrong.
    """
    said = _said(report)
    return any(said.gaps.covering(f"{here}/{key}") or said.ranges.at(f"{here}/{key}") for key in keys)


def range_of(report: Report, pointer: str, value: float) -> Range:
    """Give what a figure that is not negative may be, as its qualifications say; itself alone where there are none."""
    if not report.qualifications:
        return Range(value, value)
    low, high = value, value
    for entry in _said(report).qualified.at(pointer):
        least = 0 if entry.basis == "upper_bound" else low
        most = float("inf") if entry.basis == "lower_bound" else high
        low = min(low, least if entry.low is None else entry.low)
        high = max(high, most if entry.high is None else entry.high)
    return Range(max(low, 0), high)


def is_bound(report: Report, here: str, *keys: str) -> bool:
    """Tell whether one of some figures is qualified as a bound: more or less than it may be true."""
    said = _said(report).qualified if report.qualifications else None
    bounds = ("upper_bound", "lower_bound")
    return said is not None and any(entry.basis in bounds for key in keys for entry in said.at(f"{here}/{key}"))
