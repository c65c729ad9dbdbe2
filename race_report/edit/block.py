"""Block style of YAML: where an addition goes, and how it is written there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from race_report.edit.flow import WIDTH, Insertion, in_brackets, line_end, line_start, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from race_report.parsed import Place

_DASH: Final = re.compile(r"(?:[&!]\S*\s+|\#[^\r\n]*\s+)*-")
_MARK: Final = re.compile(r"\?[ \t]+\Z")
_COMMENT: Final = re.compile(r"(?:\r\n|\n|\r)([ \t]*)\#")
_SPACE: Final = re.compile(r"\s*")
_KEPT: Final = re.compile(r"(?:[&!]\S*\s+)*[|>][1-9]?\+")
_NEWLINE: Final = re.compile(r"\r\n|\n|\r")

_SHORT: Final = 48
"""Characters up to which a text stands in brackets among other values."""


def column_of(text: str, place: Place, *, is_object: bool) -> int:
    """Give the column, from 0, at which the keys of a mapping or the dashes of a sequence begin."""
    if not is_object:
        dash = _DASH.match(text, place.start)
        assert dash is not None
        return dash.end() - 1 - line_start(text, dash.end())
    first = next(iter(place.children.values()))
    start = line_start(text, first.key_start)
    before = text[start : first.key_start]
    mark = _MARK.search(before)
    return mark.start() if mark is not None else len(before)


def insertion(text: str, place: Place, added: Sequence[tuple[str | None, Any]], column: int) -> Insertion:
    """Give offset and text of an insertion at the end of a mapping or sequence: whole lines at its column.

    They go behind the comments that directly follow its last line and are indented as it is, or more.
    """
    newline = _NEWLINE.search(text)
    end = "\n" if newline is None else newline[0]
    last = max(place.children.values(), key=lambda child: child.end)
    offset = line_end(text, _end_of_text(text, last))
    while (comment := _COMMENT.match(text, offset)) is not None and len(comment[1]) >= column:
        offset = line_end(text, comment.end())
    lines = [line for key, value in added for line in _lines(key, value, WIDTH - column)]
    return Insertion(offset, "".join(f"{end}{' ' * column}{line}" for line in lines))


def _end_of_text(text: str, place: Place) -> int:
    """Give the end of a value; of a text that keeps its blank lines, the end of those."""
    while place.children and place.anchored is None:
        place = max(place.children.values(), key=lambda child: child.end)
    if _KEPT.match(text, place.start) is None:
        return place.end
    space = _SPACE.match(text, place.end)
    assert space is not None
    start = line_start(text, space.end())
    return max(place.end, start - (2 if text.startswith("\r\n", start - 2) else 1))


def _lines(key: str | None, value: Any, width: int) -> Iterator[str]:
    """Yield the lines of an addition, without the indentation that all share; `width` is what that leaves."""
    head = "-" if key is None else f"{text_of(key)}:"
    step = "  "
    if not isinstance(value, dict | list) or not value or _is_brief(value):
        yield from _wrapped(f"{head} {in_brackets(value)}", width)
        return
    items = value.items() if isinstance(value, dict) else [(None, element) for element in value]
    within = [line for inner, child in items for line in _lines(inner, child, width - len(step))]
    if key is None:
        yield f"- {within[0]}"
        yield from (f"{step}{line}" for line in within[1:])
        return
    yield head
    yield from (f"{step}{line}" for line in within)


def _is_brief(value: Any) -> bool:
    """Tell whether a value reads well in brackets: numbers and words, no lists of objects, no sentences."""
    if isinstance(value, dict):
        return all(not isinstance(child, dict | list) and _is_brief(child) for child in value.values())
    if isinstance(value, list):
        return all(not isinstance(child, dict | list) and _is_brief(child) for child in value)
    return not isinstance(value, str) or len(value) <= _SHORT


def _wrapped(line: str, width: int) -> Iterator[str]:
    """Break a line in brackets behind commas, so that its parts stay within the width."""
    indent = " " * (line.index("{") + 1) if "{" in line else "  "
    while len(line) > width and (cut := line.rfind(", ", len(indent) + 1, width)) > 0 and '"' not in line[:cut]:
        yield line[: cut + 1]
        line = indent + line[cut + 2 :]
    yield line
