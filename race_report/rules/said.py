"""What a report says of its own figures: that they are missing, or lie within a range; and where its pointers lead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from race_report.once import once_a_report
from race_report.pointer import Elements, Pointed, child, is_absent, tokens
from race_report.standard import resolved, schema

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


def is_named(report: Report, pointer: str) -> bool:
    """Tell whether a place, by its plain pointer, is named as not reported, alone or with all that it lies in."""
    return bool(_said(report).gaps.covering(pointer))


class Trail(NamedTuple):
    """Where a pointer of a report leads."""

    lost: str | None
    """The first token that leads nowhere; the value at the end of a pointer may be missing."""
    stands: bool
    """Whether a value stands at its end; behind `*`, whether any does."""


def trail(report: Report, pointer: str) -> Trail:
    """Follow a pointer of the report's `qualifications` or `not_reported`."""
    return _trails(report)[pointer]


@once_a_report
def _trails(report: Report) -> dict[str, Trail]:
    elements = Elements()
    pointers = [item.pointer for items in (report.qualifications, report.not_reported) for item in items]
    return {pointer: _follow(report, pointer, elements) for pointer in dict.fromkeys(pointers)}


def _follow(report: Report, pointer: str, elements: Elements) -> Trail:
    """Walk schema and report together; what the schema leaves free, the report alone."""
    values: list[Any] = [report]
    node: dict[str, Any] | None = schema()
    for token in tokens(pointer):
        if node is not None and "items" in node:
            values = [element for value in values for element in elements.find(value or (), token)]
            if not values and token != "*":  # noqa: S105 - a token of a pointer
                return Trail(token, stands=False)
            node = resolved(node["items"])
            continue
        if node is not None:
            inner = node["properties"].get(token) if "properties" in node else None
            if inner is None and not _is_free(node, token):
                return Trail(token, stands=False)
            node = resolved(inner) if inner is not None else None
        values = [child(value, token) for value in values]
    return Trail(None, any(not is_absent(value) for value in values))


def _is_free(node: dict[str, Any], token: str) -> bool:
    """Tell whether an object of the schema takes a key that the schema does not name."""
    if token.startswith("x-") or (node.get("type") == "object" and "additionalProperties" not in node):
        return True
    return "properties" not in node and "patternProperties" in node
