"""JSON text -> value, places and every fault.

The C parser of the standard library accepts or refuses; this one explains. It runs only when there is something to
explain, reads exactly the language of RFC 8259, and goes on after a fault wherever the rest can still be read.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from race_report.parsed import (
    MAX_DEPTH,
    MAX_FAULTS,
    Fault,
    Parsed,
    Place,
    Places,
    Unparsable,
    duplicate_key,
    has_lone_surrogate,
    lone_surrogate,
    nested_too_deeply,
    not_finite,
    number_overflow,
)

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_OPEN_STRING: Final = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![0-9A-Za-z_.+])")
_WORD: Final = re.compile(r"[-+]?[A-Za-z_][A-Za-z0-9_]*|[-+.0-9][-+.0-9A-Za-z_]*")
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_NOT_FINITE: Final = frozenset({"nan", "inf", "infinity"})

_MENDS: Final[dict[str, str]] = {
    "True": "write true",
    "False": "write false",
    "None": "leave the key out, and name the gap in not_reported",
    "#": "JSON has no comments: delete it, or name the file .yaml",
    "/": "JSON has no comments: delete it",
    "'": 'write strings in double quotes: "..."',
    "“": 'write straight double quotes: "..."',
    "”": 'write straight double quotes: "..."',
    "}": "delete the comma before it",
    "]": "delete the comma before it",
    ",": "delete one of the commas, or write the value that is missing",
}


def parse(text: str) -> Parsed:
    """Read a JSON text.

    Raises:
        Unparsable: the text is not JSON, or nests deeper than the standard allows.

    """
    parser = _Parser(text)
    parser.skip_space()
    if parser.at == len(text):
        raise Unparsable(parser.fault("empty-file", "the file is empty", "start one with: race init"))
    value = parser.value(parser.places.root, 0)
    parser.skip_space()
    if parser.at < len(text):
        raise parser.unexpected("the document ends before this", "a file holds one JSON value: delete what follows")
    return Parsed(value=value, places=parser.places, faults=parser.faults)


class _Parser:
    """A recursive descent over the text; the depth limit bounds the recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.places = Places(text=text)
        self.faults: list[Fault] = []
        self.open_brackets: list[int] = []

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def value(self, place: Place, depth: int) -> Any:
        """Read one value; `at` is on its first character."""
        place.start = self.at
        character = self.text[self.at : self.at + 1]
        if character == "{":
            result: Any = self.object(place, depth + 1)
        elif character == "[":
            result = self.array(place, depth + 1)
        elif character == '"':
            result = self.string(place)
        else:
            result = self.scalar(place)
        place.end = self.at
        return result

    def object(self, place: Place, depth: int) -> dict[str, Any]:
        """Read an object; of a key that stands twice, the last value is kept and a fault is noted."""
        self.open(place, depth)
        result: dict[str, Any] = {}
        while self.another("}", first=not result, what="object"):
            if self.text[self.at : self.at + 1] != '"':
                raise self.unexpected("a key in double quotes should stand here")
            start = self.at
            key = self.string(place)
            earlier = place.children.get(key)
            child = Place(place, key, (start, self.at))
            if earlier is not None:
                first = self.places.span(earlier.key_start, earlier.key_end)
                self.note(duplicate_key(key, child.pointer, self.places.span(start, self.at), first))
            self.skip_space()
            if self.text[self.at : self.at + 1] != ":":
                raise self.unexpected(f'a colon should follow the key "{key}"', "put a colon between key and value")
            self.at += 1
            self.skip_space()
            result[key] = self.value(child, depth)
        return result

    def array(self, place: Place, depth: int) -> list[Any]:
        """Read an array."""
        self.open(place, depth)
        result: list[Any] = []
        while self.another("]", first=not result, what="array"):
            result.append(self.value(Place(place, str(len(result))), depth))
        return result

    def open(self, place: Place, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Unparsable(nested_too_deeply(place.pointer, self.places.span(self.at, self.at + 1)))
        self.open_brackets.append(self.at)
        self.at += 1

    def another(self, closing: str, *, first: bool, what: str) -> bool:
        """Step to the next element and tell whether there is one; step over the closing bracket if not."""
        self.skip_space()
        character = self.text[self.at : self.at + 1]
        if character == closing:
            self.open_brackets.pop()
            self.at += 1
            return False
        if first:
            return True
        if character != ",":
            raise self.unexpected(f"a comma or {closing} should stand here, to go on with or end the {what}")
        self.at += 1
        self.skip_space()
        if self.text[self.at : self.at + 1] in (closing, ","):
            raise self.unexpected("a value should follow the comma")
        return True

    def string(self, place: Place) -> str:
        """Read a string, with a fault for half a surrogate pair; what stands in its place tells nothing."""
        start, self.at = self.at, self.end_of_string()
        literal = self.text[start : self.at]
        if "\\" not in literal:
            return literal[1:-1]
        result: str = json.loads(literal)
        if has_lone_surrogate(result):
            self.note(lone_surrogate(literal, place.pointer, self.places.span(start, self.at)))
            return f"\ufffd{start}"
        return result

    def end_of_string(self) -> int:
        """Give the offset behind the closing quote, or say where the string goes wrong."""
        match = _OPEN_STRING.match(self.text, self.at)
        assert match is not None
        end = match.end()
        character = self.text[end : end + 1]
        if character == '"':
            return end + 1
        self.at = end
        if character == "\\":
            message = f"{self.text[end : end + 2]} is no escape of JSON"
            is_unicode = self.text[end + 1 : end + 2] == "u"
            hint = "\\u needs four hexadecimal digits" if is_unicode else "write a backslash as \\\\"
        elif character in ("", "\n", "\r"):
            message, hint = "this text is not closed on its line", 'put a closing " at its end; write a new line as \\n'
        else:
            message = f"the control character U+{ord(character):04X} may not stand in text"
            hint = f"write it as \\u{ord(character):04x}, a tab as \\t"
        raise Unparsable(self.fault("invalid-syntax", message, hint))

    def scalar(self, place: Place) -> Any:
        """Read a number or one of the three words."""
        start = self.at
        match = _NUMBER.match(self.text, start)
        if match is not None:
            self.at = match.end()
            return self.number(match[0], place, whole=match[1] is None and match[2] is None)
        match = _WORD.match(self.text, start)
        word = match[0] if match is not None else ""
        if word in _WORDS:
            self.at = start + len(word)
            return _WORDS[word]
        if word.lstrip("+-").lower() in _NOT_FINITE:
            self.at = start + len(word)
            self.note(not_finite(word, place.pointer, self.places.span(start, self.at)))
            return None
        raise self.unexpected("a value should stand here", length=len(word) or 1)

    def number(self, literal: str, place: Place, *, whole: bool) -> int | float | None:
        """Give an integer exactly and anything else as a double, with a fault where it overflows."""
        result = float(literal)
        if math.isinf(result):
            here = self.places.span(self.at - len(literal), self.at)
            self.note(number_overflow(literal, place.pointer, here))
            return None
        return int(literal) if whole else result

    def note(self, fault: Fault) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)

    def fault(self, rule: str, message: str, hint: str, length: int = 1) -> Fault:
        end = min(len(self.text), self.at + length)
        return Fault(rule, "", message, hint, self.places.span(self.at, end))

    def unexpected(self, expected: str, hint: str = "", length: int = 1) -> Unparsable:
        """Say what stands where something else should."""
        if self.at >= len(self.text):
            message = f"the file ends too early: {expected}"
            hint = "is the file cut off?"
            if self.open_brackets:
                opened = self.places.span(self.open_brackets[-1], self.open_brackets[-1])
                hint += f" The bracket opened on line {opened.line}, column {opened.column} is not closed"
            return Unparsable(self.fault("invalid-syntax", message, hint))
        found = self.text[self.at : self.at + length]
        if not hint:
            hint = _MENDS.get(found, "") or _MENDS.get(found[0], "")
        if not hint and not found[0].isascii() and (found[0].isspace() or not found[0].isprintable()):
            found = f"U+{ord(found[0]):04X}"
            hint = "this character does not show: replace it with a plain space, or delete it"
        elif not hint and found[0] in "+.0123456789-":
            hint = "write numbers as 12, 0.5 or 1.2e21: no leading zero or plus, no bare point, no separators"
        elif not hint and (found[0].isalpha() or found[0] == "_"):
            hint = "put names and text in double quotes"
        elif not hint and found[0] == '"':
            hint = "put a comma before it"
        return Unparsable(self.fault("invalid-syntax", f"found {found!r}: {expected}", hint, length))
