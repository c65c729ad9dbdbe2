"""Old text and new value -> new text: where each addition goes, and the proof that nothing else changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from race_report.edit import block, flow
from race_report.parsed import Unparsable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.edit.flow import Insertion
    from race_report.parsed import Place
    from race_report.source import Loaded


class Uneditable(ValueError):
    """Additions that cannot be written into a text without changing what stands in it."""


def with_additions(loaded: Loaded, value: Any) -> str:
    """Give the text of a file with what a new value of it has more: keys at the end of objects, elements of arrays.

    Every character of the old text stays, in its order.

    Raises:
        Uneditable: the new value lacks or changes something that stands, or what reads the result would not see it.

    """
    style = flow.Style.of(loaded)
    insertions = _walk(loaded, style, loaded.places.root, loaded.value, value, -1)
    pieces, done = [], 0
    for insertion in sorted(insertions, key=lambda insertion: insertion.offset):  # of those at one offset, inner first
        pieces += [loaded.text[done : insertion.offset], insertion.text]
        done = insertion.offset
    text = "".join([*pieces, loaded.text[done:]])
    try:
        written = loaded.read_again(text)
    except Unparsable as error:
        raise Uneditable(f"the text around an addition leaves no room for it: {error}") from error
    if len(written.faults) > len(loaded.faults) or not is_same(written.value, value):
        why = "does an anchor stand for places that now differ, or does the last line lack its end?"
        raise Uneditable(f"the text does not say the same with the additions: {why}")
    return text


def is_same(first: Any, second: Any) -> bool:
    """Tell whether two values of JSON are one, types and the order of keys included."""
    return json.dumps(first) == json.dumps(second)


def _walk(loaded: Loaded, style: flow.Style, place: Place, old: Any, new: Any, column: int) -> Iterator[Insertion]:
    """Yield the insertions into a value, those of the values within it first.

    `column` is that of the innermost block around it, which the lines of a value in brackets must exceed.
    """
    if place.anchored is not None or old is new:
        return  # what an alias stands for is edited where it is written
    added: list[tuple[str | None, Any]]
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = [(key, old[key], new.get(key)) for key in old]
        added = [(key, new[key]) for key in new if key not in old]
    elif isinstance(old, list) and isinstance(new, list):
        pairs = [(str(at), element, new[at] if at < len(new) else None) for at, element in enumerate(old)]
        added = [(None, element) for element in new[len(old) :]]
    elif is_same(old, new):
        return
    else:
        raise Uneditable(f"{place.pointer or 'the report'} would change, and nothing that stands may")
    text = loaded.text
    is_flow = loaded.is_json or flow.is_flow(text, place)
    inner = column if is_flow else block.column_of(text, place, is_object=isinstance(old, dict))
    for token, before, after in pairs:
        yield from _walk(loaded, style, place.children[token], before, after, inner)
    if added and is_flow:
        yield from flow.insertions(text, style, place, added, column)
    elif added:
        yield block.insertion(text, place, added, inner)
