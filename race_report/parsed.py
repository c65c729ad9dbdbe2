"""What both parsers give: the value of a text, where each part of it stands, and what is wrong with it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

MAX_DEPTH: Final = 100
"""How deep objects and arrays may nest, as the standard says."""

MAX_DIGITS: Final = 308
"""Digits of the longest integer that a double can hold; a longer one overflows in every other reader."""

_SHOWN_DIGITS: Final = 24
"""Above so many characters, a number is not shown in full."""

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class Span(NamedTuple):
    """A stretch of a text: lines and columns from 1, columns in characters, the end excluded."""

    line: int
    column: int
    end_line: int
    end_column: int


class Fault(NamedTuple):
    """Something that the standard refuses in a text: the rule's name, where, what is wrong and how to mend it."""

    rule: str
    pointer: str
    message: str
    hint: str = ""
    span: Span | None = None


class Unparsable(ValueError):
    """A text that has no value: nothing after this fault can be trusted."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(slots=True, kw_only=True)
class Places:
    """Where the values of a text and the keys of its objects stand, by RFC 6901 pointer."""

    text: str
    values: dict[str, tuple[int, int]] = field(default_factory=dict)
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)

    def span(self, start: int, end: int) -> Span:
        """Turn two offsets into lines and columns."""
        if not self._starts:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        return Span(*self._place(start), *self._place(max(start, end)))

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def of_value(self, pointer: str) -> Span | None:
        """Give the span of a value, or None where the text has none there."""
        return self.span(*self.values[pointer]) if pointer in self.values else None

    def of_key(self, pointer: str) -> Span | None:
        """Give the span of the key that leads to a value."""
        return self.span(*self.keys[pointer]) if pointer in self.keys else None

    def nearest(self, pointer: str) -> Span:
        """Give the span of a value; of one that is missing, the place where its parent begins."""
        if pointer in self.values:
            return self.span(*self.values[pointer])
        while pointer and pointer not in self.values:
            pointer = pointer.rpartition("/")[0]
        start, end = self.values.get(pointer, (0, 0))
        return self.span(start, min(end, start + 1))


@dataclass(slots=True, kw_only=True)
class Parsed:
    """A text that was read: its value, its places, and faults that leave the rest of it readable.

    Where a fault stands, the value is None and tells nothing; `Places` still knows the spot.
    """

    value: Any
    places: Places
    faults: list[Fault]


def escape_pointer(token: str) -> str:
    """Escape a key for an RFC 6901 pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def has_lone_surrogate(text: str) -> bool:
    """Tell whether a string holds half of a surrogate pair, which no UTF-8 file can store."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def duplicate_key(key: str, pointer: str, here: Span, first: Span) -> Fault:
    """Say that an object has a key twice; readers disagree about which value counts."""
    return Fault(
        "duplicate-key",
        pointer,
        f'the key "{key}" stands twice in this object, first on line {first.line}',
        "keep one of the two; readers disagree about which counts",
        here,
    )


def lone_surrogate(pointer: str, here: Span) -> Fault:
    """Say that a string has an escape that stands for no character."""
    return Fault(
        "lone-surrogate",
        pointer,
        "this text holds half of a surrogate pair, which is no character",
        "write the character itself, or both halves as \\uXXXX\\uXXXX",
        here,
    )


def number_overflow(literal: str, pointer: str, here: Span, *, quotable: bool = False) -> Fault:
    """Say that a number is beyond what a double holds."""
    shown = literal if len(literal) <= _SHOWN_DIGITS else f"{literal[:10]}...{literal[-4:]}"
    hint = "FLOPs and other amounts stay far below 1e308: check the exponent"
    if quotable:
        hint += f'; if this is text, such as a revision, quote it: "{shown}"'
    return Fault("number-overflow", pointer, f"{shown} is larger than any number that can be stored", hint, here)


def not_finite(literal: str, pointer: str, here: Span) -> Fault:
    """Say that NaN and infinities are no numbers of a report."""
    return Fault(
        "not-finite",
        pointer,
        f"{literal} is not a number that a report can hold",
        "leave the key out and name it in not_reported, with the reason",
        here,
    )


def nested_too_deeply(pointer: str, here: Span) -> Fault:
    """Say that a text nests deeper than any report does."""
    return Fault(
        "nested-too-deeply",
        pointer[:200],
        f"objects and arrays nest deeper than {MAX_DEPTH} here",
        "a report is at most about ten deep: look for a bracket that is not closed",
        here,
    )
