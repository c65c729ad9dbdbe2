"""What both parsers give: the value of a text, where each part of it stands, and what is wrong with it."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, Final, NamedTuple

MAX_DEPTH: Final = 100
"""How deep objects and arrays may nest, as the standard says."""

SURE_DIGITS: Final = 308
"""Digits that an integer may have without a doubt whether a double can hold it."""

_LONGEST_POINTER: Final = 1000

_SHOWN_DIGITS: Final = 24
"""Above so many characters, a number is not shown in full."""

_PROPERTIES: Final = r"(?:[&!]\S*\s+)+"
"""The anchor and the tag before a value in YAML."""

MAX_FAULTS: Final = 1000
"""Faults of one file after which no more are looked for."""

_LINE_END: Final = r"\r\n|\n|\r"


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
    path: str = ""
    """The file where it stands, if that is not the report's own: its trace."""


class Unparsable(ValueError):
    """A text that has no value: nothing after this fault can be trusted."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class Place:
    """Where one value stands in a text, by offsets, and the key that leads to it.

    Places form the tree that the values form. Pointers are made from it when somebody asks: a pointer for every value
    would cost a hostile file's reader the product of its depth and its length.
    """

    __slots__ = ("anchored", "children", "end", "key_end", "key_start", "parent", "start", "token")

    def __init__(self, parent: Place | None = None, token: str = "", key: tuple[int, int] = (-1, -1)) -> None:
        """Make a place whose extent is still to be found."""
        self.parent = parent
        self.token = token
        self.key_start, self.key_end = key
        self.start = self.end = 0
        self.children: dict[str, Place] = {}
        self.anchored: Place | None = None  # where the value of an alias is written
        if parent is not None:
            parent.children[token] = self

    @property
    def pointer(self) -> str:
        """The RFC 6901 pointer to this place, cut where it is longer than anybody reads."""
        tokens = []
        place: Place | None = self
        while place is not None and place.parent is not None:
            tokens.append(f"/{escape_pointer(place.token[:_LONGEST_POINTER])}")
            place = place.parent
        return "".join(reversed(tokens))[:_LONGEST_POINTER]


class Places:
    """The places of a text's values; `root` is that of the whole."""

    __slots__ = ("_line_starts", "root", "text")

    def __init__(self, text: str) -> None:
        """Begin with no place but that of the whole."""
        self.text = text
        self.root = Place()
        self._line_starts: list[int] = []

    def span(self, start: int, end: int) -> Span:
        """Turn two offsets into lines and columns."""
        if not self._line_starts:
            self._line_starts = [0, *(match.end() for match in re.finditer(_LINE_END, self.text))]
        return Span(*self._line_and_column(start), *self._line_and_column(max(start, end)))

    def _line_and_column(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def _find(self, pointer: str) -> tuple[Place, bool]:
        """Give the place of a value, or of the innermost one around it, and whether it is the value's own."""
        place = self.root
        for token in pointer.split("/")[1:]:
            child = place.children.get(token.replace("~1", "/").replace("~0", "~"))
            if child is None:
                return place, False
            place = child
        return place, True

    def of_value(self, pointer: str) -> Span:
        """Give the span of a value; of one that the text does not have, the place where its parent begins."""
        place, is_own = self._find(pointer)
        return self.span(place.start, place.end if is_own else min(place.end, place.start + 1))

    def of_key(self, pointer: str) -> Span:
        """Give the span of the key that leads to a value; of an element, which has none, that of the value."""
        place, is_own = self._find(pointer)
        return self.span(place.key_start, place.key_end) if is_own and place.key_start >= 0 else self.of_value(pointer)

    def literal(self, pointer: str) -> str | None:
        """Give a value as it is written, without its anchor and tag; None where the text does not have it."""
        place, is_own = self._find(pointer)
        place = place.anchored or place
        literal = re.sub(_PROPERTIES, "", self.text[place.start : place.end])
        return literal if is_own and literal else None


class Parsed(NamedTuple):
    """A text that was read: its value, its places, and faults that leave the rest of it readable.

    Where a fault stands, the value is None and tells nothing; `Places` still knows the spot.
    """

    value: Any
    places: Places
    faults: list[Fault]


def escape_pointer(token: str) -> str:
    """Escape a key for an RFC 6901 pointer."""
    return token.replace("~", "~0").replace("/", "~1")


_SURROGATE_ESCAPE: Final = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"


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


def lone_surrogate(literal: str, pointer: str, here: Span) -> Fault:
    """Say that a string has an escape that stands for no character."""
    escape = next(iter(re.findall(_SURROGATE_ESCAPE, literal)), "this text")
    return Fault(
        "lone-surrogate",
        pointer,
        f"{escape} is half of a surrogate pair, which is no character",
        "write the character itself, or both halves as \\uXXXX\\uXXXX",
        here,
    )


def number_overflow(literal: str, pointer: str, here: Span, *, quotable: bool = False) -> Fault:
    """Say that a number is beyond what a double holds."""
    shown = literal if len(literal) <= _SHOWN_DIGITS else f"{literal[:10]}...{literal[-4:]}"
    hint = "FLOPs and other amounts stay far below 1e308: check the exponent"
    if quotable:
        hint += f'; if this is text, such as a revision, quote it: "{shown}"'
    return Fault("number-overflow", pointer, f"{shown} is beyond any number that can be stored", hint, here)


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
        pointer,
        f"objects and arrays nest deeper than {MAX_DEPTH} here",
        "a report is at most about ten deep: look for a bracket that is not closed",
        here,
    )
