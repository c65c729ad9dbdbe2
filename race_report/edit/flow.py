"""Values in brackets, of JSON and of YAML: where an addition goes, and how it is written there."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from race_report.parsed import Place
    from race_report.source import Loaded

WIDTH: Final = 120
"""Columns that a line should not exceed where it can be broken."""

_BEFORE: Final = r"(?:[&!]\S*\s+|\#[^\r\n]*\s+)*"
"""Anchor, tag and comments before a value in YAML."""
_OPENING: Final = re.compile(rf"{_BEFORE}[\[{{]")
_COMMENT_BEHIND: Final = re.compile(r"[ \t]*(,)?[ \t]+\#[^\r\n]*")
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_PLAIN: Final = re.compile(r"[A-Za-z/](?:[A-Za-z0-9_./+-]|:(?=[A-Za-z0-9_/]))*\Z")
_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_FORBIDDEN: Final = re.compile("[^\t\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class Insertion(NamedTuple):
    """A piece of text, and the offset at which it goes in."""

    offset: int
    text: str


class Style(NamedTuple):
    """How a text is written."""

    newline: str
    is_json: bool
    """Whether keys and text are quoted as in JSON."""
    unit: str
    """One step of indentation."""
    colon: str
    comma: str

    @classmethod
    def of(cls, loaded: Loaded) -> Style:
        """Find out how a text is written."""
        text = loaded.text
        newline = _LINE_END.search(text)
        first = next(iter(loaded.places.root.children.values()), None)
        is_quoted = loaded.is_json or (
            first is not None and is_flow(text, loaded.places.root) and text[first.key_start] == '"'
        )
        indent = "" if first is None else _indent_of(text, first.key_start)
        is_compact = first is not None and text[first.key_end : first.start] == ":"
        return cls(
            newline=newline[0] if newline is not None else "\n",
            is_json=is_quoted,
            unit=indent or "  ",
            colon=":" if is_quoted and is_compact else ": ",
            comma="," if is_quoted and is_compact and newline is None else ", ",
        )


def is_flow(text: str, place: Place) -> bool:
    """Tell whether an object or array stands in brackets; in YAML, others are in block style."""
    return _OPENING.match(text, place.start) is not None


def line_end(text: str, offset: int) -> int:
    """Give the offset of the end of a line, its break excluded."""
    match = _LINE_END.search(text, offset)
    return match.start() if match is not None else len(text)


def line_start(text: str, offset: int) -> int:
    """Give the offset of the first character of a line."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def insertions(
    text: str, style: Style, place: Place, added: Sequence[tuple[str | None, Any]], column: int
) -> Iterator[Insertion]:
    """Yield the insertions into an object or array in brackets.

    `added` are keys and values, or values of an array with None for a key. Where the elements that stand have lines of
    their own, so have those that are added. `column` is that of the block around, which every line must exceed.
    """
    opening = _OPENING.match(text, place.start)
    assert opening is not None
    if not place.children:
        yield Insertion(opening.end(), _first_items(text, style, place, added, column))
        return
    last = max(place.children.values(), key=lambda child: child.end)
    start = _beginning(next(iter(place.children.values())))
    if not _LINE_END.search(text, opening.end(), start):
        yield Insertion(last.end, "".join(f"{style.comma}{_inline_item(item, style)}" for item in added))
        return
    indent = _indent_of(text, start)
    lines = ",".join(f"{style.newline}{indent}{_item(item, style, indent)}" for item in added)
    comment = _COMMENT_BEHIND.match(text, last.end)
    if comment is None:
        yield Insertion(last.end, f",{lines}")
        return
    if comment[1] is None:
        yield Insertion(last.end, ",")
    yield Insertion(comment.end(), lines)


def _first_items(text: str, style: Style, place: Place, added: Sequence[tuple[str | None, Any]], column: int) -> str:
    """Write the first elements of an object or array that is empty."""
    around = _indent_of(text, place.start)
    if style.is_json and _LINE_END.search(text):
        indent = around + style.unit
        return (
            ",".join(f"{style.newline}{indent}{_item(item, style, indent)}" for item in added) + style.newline + around
        )
    items = [_inline_item(item, style) for item in added]
    if sum(map(len, items)) > WIDTH // 2 and not style.is_json:
        indent = " " * (column + len(style.unit) + 1)
        return ",".join(f"{style.newline}{indent}{item}" for item in items)
    return style.comma.join(items)


def _beginning(place: Place) -> int:
    return place.key_start if place.key_start >= 0 else place.start


def _indent_of(text: str, offset: int) -> str:
    """Give the blanks that the line of an offset begins with."""
    start = line_start(text, offset)
    return text[start:offset][: len(text[start:offset]) - len(text[start:offset].lstrip(" \t"))]


def _inline_item(item: tuple[str | None, Any], style: Style) -> str:
    key, value = item
    return inline(value, style) if key is None else f"{_key(key, style)}{inline(value, style)}"


def _item(item: tuple[str | None, Any], style: Style, indent: str) -> str:
    """Write an addition on a line of its own, its value over several lines where the language is JSON."""
    key, value = item
    if not style.is_json:
        return _inline_item(item, style)
    lines = _escaped(json.dumps(value, indent=style.unit, ensure_ascii=False)).split("\n")
    return ("" if key is None else _key(key, style)) + f"{style.newline}{indent}".join(lines)


def _key(key: str, style: Style) -> str:
    return (json.dumps(key) if style.is_json else text_of(key)) + style.colon


def inline(value: Any, style: Style) -> str:
    """Write a value on one line."""
    if style.is_json:
        return _escaped(json.dumps(value, separators=(style.comma, style.colon), ensure_ascii=False))
    return in_brackets(value)


def in_brackets(value: Any) -> str:
    """Write a value of YAML on one line, in brackets where it is an object or an array."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text_of(key)}: {in_brackets(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(in_brackets, value)) + "]"
    if isinstance(value, str):
        return text_of(value)
    written = json.dumps(value)
    if isinstance(value, float) and "." not in written:
        written = written.replace("e", ".0e")  # readers of YAML 1.1 take 1e+21 for text
    return written


def text_of(text: str) -> str:
    """Write text in YAML: as it is where no reader takes it for anything else, else in double quotes."""
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return _escaped(json.dumps(text, ensure_ascii=False))


def _escaped(quoted: str) -> str:
    """Escape what YAML does not let stand in text; new lines between values are none of it."""
    return _FORBIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
