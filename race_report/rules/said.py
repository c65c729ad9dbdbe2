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


@once_a_report
def _said(report: Report) -> _Said:
    ranges = [entry for entry in report.qualifications if entry.low is not None and entry.high is not None]
    return _Said(
        Pointed(report, [(gap.pointer, gap) for gap in report.not_reported]),
        Pointed(report, [(entry.pointer, entry) for entry in ranges]),
    )


def is_open(report: Report, here: str, *keys: str) -> bool:
    """Tell whether one of some figures is named as not reported, or as lying within a range.

    Figures that need not be equal are not compared: a rule that takes the unknown for 0 would be wrong.
    """
    said = _said(report)
    return any(said.gaps.covering(f"{here}/{key}") or said.ranges.at(f"{here}/{key}") for key in keys)
