"""What a report says of its own figures: that they are missing, or lie within a range; and where its pointers lead."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.once import once_a_report
from race_report.pointer import Elements, Pointed, child, is_absent, tokens
from race_report.standard import shape

if TYPE_CHECKING:
    from race_report.document import NotReported, Qualification, Report
    from race_report.standard import Shape


_VAGUE: Final = frozenset({"contested", "estimated"})
"""Bases of a figure that may be another near it, without a range that says how near."""

_VAGUELY: Final = 2
"""How many times more or less such a figure may be."""

_INEXACT: Final = _VAGUE | {"lower_bound", "upper_bound"}


class _Said(NamedTuple):
    gaps: Pointed[NotReported]
    qualifications: Pointed[Qualification]


@once_a_report
def _said(report: Report) -> _Said:
    return _Said(
        Pointed(report, [(gap.pointer, gap) for gap in report.not_reported]),
        Pointed(report, [(entry.pointer, entry) for entry in report.qualifications]),
    )


class Range(NamedTuple):
    """What a figure may be, as the report says: one number, all between two, or anything."""

    low: float
    high: float

    def meets(self, other: Range) -> bool:
        """Tell whether two figures may be equal."""
        return self.low <= other.high and other.low <= self.high

    def plus(self, other: Range) -> Range:
        """Give what the sum of two figures may be."""
        return Range(self.low + other.low, self.high + other.high)

    def times(self, other: Range) -> Range:
        """Give what the product of two figures may be; nothing times anything is nothing."""
        return Range(self.low * other.low, self.high * other.high if self.high and other.high else 0)


def range_of(report: Report, pointer: str, value: float | None) -> Range:
    """Give what the figure at a plain pointer may be; a figure that is absent and named nowhere is 0.

    `low` and `high` of a qualification are the ends; where one is missing, a lower bound has no high end and an upper
    bound no low one. A contested or estimated figure without a range may be half or twice as much.
    """
    if value is None and report.not_reported and is_named(report, pointer):
        return Range(0, math.inf)
    low = high = value or 0
    if not report.qualifications:
        return Range(low, high)
    said = _said(report)
    for entry in said.qualifications.at(pointer):
        if entry.low is None and entry.high is None and entry.basis in _VAGUE:
            low, high = low / _VAGUELY, high * _VAGUELY
        if entry.low is not None or entry.basis == "upper_bound":
            low = min(low, entry.low or 0)
        if entry.high is not None or entry.basis == "lower_bound":
            high = max(high, math.inf if entry.high is None else entry.high)
    return Range(max(low, 0), high)


def is_open(report: Report, here: str, *keys: str) -> bool:
    """Tell whether one of some figures is named as not reported, or may be another than it is.

    Figures that need not be equal are not compared: a rule that takes the unknown for 0 would be wrong.
    """
    said = _said(report)
    return any(
        said.gaps.covering(f"{here}/{key}") or any(map(_is_inexact, said.qualifications.at(f"{here}/{key}")))
        for key in keys
    )


def _is_inexact(entry: Qualification) -> bool:
    return entry.low is not None or entry.high is not None or entry.basis in _INEXACT


def is_named(report: Report, pointer: str) -> bool:
    """Tell whether a place, by its plain pointer, is named as not reported, alone or with all that it lies in."""
    return bool(_said(report).gaps.covering(pointer))


class Trail(NamedTuple):
    """Where a pointer of a report leads."""

    lost: str | None
    """The first token that leads nowhere; the value at the end of a pointer may be missing."""
    stands: bool
    """Whether a value stands at its end; behind `*`, whether any does."""
    names: tuple[str, ...] = ()
    """What could stand in place of the lost token: ids of elements, or keys."""


def trail(report: Report, pointer: str) -> Trail:
    """Follow a pointer of the report's `qualifications` or `not_reported`."""
    return _trails(report)[pointer]


@once_a_report
def _trails(report: Report) -> dict[str, Trail]:
    elements = Elements()
    pointers = [item.pointer for items in (report.qualifications, report.not_reported) for item in items]
    return {pointer: _follow(report, pointer, elements) for pointer in dict.fromkeys(pointers)}


class _Step(NamedTuple):
    """A token of a pointer, as the schema reads it."""

    token: str
    is_element: bool
    """Whether it names elements of an array, and no key."""


@functools.lru_cache(maxsize=4096)
def _steps(pointer: str) -> tuple[tuple[_Step, ...], Trail | None]:
    """Read a pointer by the schema, up to a key that no report can have; what the schema leaves free has any key."""
    steps: list[_Step] = []
    here: Shape | None = shape()
    for token in tokens(pointer):
        is_element = here is not None and here.items is not None
        if here is not None and here.items is not None:
            here = here.items
        elif here is not None:
            inner = here.properties.get(token)
            if inner is None and not here.is_open and not token.startswith("x-"):
                return tuple(steps), Trail(token, stands=False, names=tuple(here.properties))
            here = inner
        steps.append(_Step(token, is_element))
    return tuple(steps), None


def _follow(report: Report, pointer: str, elements: Elements) -> Trail:
    """Walk a report along a pointer."""
    steps, lost = _steps(pointer)
    values: list[Any] = [report]
    for token, is_element in steps:
        if not is_element:
            values = [child(value, token) for value in values]
            continue
        found = [element for value in values for element in elements.find(value or (), token)]
        if not found and token != "*":  # noqa: S105 - a token of a pointer
            ids = (getattr(element, "id", None) for value in values for element in value or ())
            return Trail(token, stands=False, names=tuple(filter(None, ids)))
        values = found
    return lost or Trail(None, any(not is_absent(value) for value in values))


def is_bound(report: Report, here: str, *keys: str) -> bool:
    """Tell whether one of some figures is qualified as a bound: more or less than it may be true."""
    said = _said(report).qualifications if report.qualifications else None
    bounds = ("upper_bound", "lower_bound")
    return said is not None and any(entry.basis in bounds for key in keys for entry in said.at(f"{here}/{key}"))
