"""A file of lengths -> the groups of a rollout step.

The file is JSON Lines, a line for each draw of a prompt: `{"prompt": 200, "completions": [310, 512]}`, in tokens, the
end token of a completion included.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from race_report.counts import Group
from race_report.finding import Exit
from race_report.model_page import NotDescribed, fault_lines
from race_report.parsed import Fault, Span, Unparsable, escape_pointer
from race_report.source import load_bytes, read_file

if TYPE_CHECKING:
    from race_report.source import Loaded

_KEYS: Final = {"prompt", "completions"}
_QUOTES: Final = 4
"""Of a line with two keys: with more, one of them stands twice."""

_FORM: Final = '{"prompt": 200, "completions": [310, 512]}'
_MOST: Final = 2**31
"""Tokens above which a length is a slip."""

MAX_BYTES: Final = 256 * 1024 * 1024
"""The largest file of lengths that is read."""


def read_lengths(path: str) -> list[Group]:
    """Read the groups of a step from a file, or from standard input for `-`.

    Raises:
        NotDescribed: the file cannot be read, or a line of it is not as it should be; the message has line and column.

    """
    try:
        data = read_file(path, MAX_BYTES)
    except Unparsable as error:
        raise NotDescribed(Exit.UNREADABLE, *fault_lines(path, error.fault)) from error
    if len(data) > MAX_BYTES:
        raise NotDescribed(Exit.UNREADABLE, f"{path}: lengths of one rollout step are at most {MAX_BYTES:,} bytes")
    groups = [
        _quick(line) or _group(path, number, line)
        for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
        if line.strip()
    ]
    if not groups:
        raise NotDescribed(Exit.UNREADABLE, f"{path}: there are no lengths in it; a line is {_FORM}")
    return groups


def _quick(line: bytes) -> Group | None:
    """Give the group of a line that is plainly right."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if type(value) is not dict or value.keys() != _KEYS or line.count(b'"') != _QUOTES:
        return None
    prompt, completions = value["prompt"], value["completions"]
    if type(completions) is not list or not completions or set(map(type, completions)) != {int}:
        return None
    is_right = type(prompt) is int and 1 <= prompt <= _MOST and min(completions) >= 1 and max(completions) <= _MOST
    return Group(prompt, completions) if is_right else None


def _group(path: str, number: int, line: bytes) -> Group:
    """Read a line that is doubtful, and say what is wrong with it."""
    try:
        loaded = load_bytes(line.rstrip(b"\r"), ".json")
    except Unparsable as error:
        raise _refused(path, number, error.fault) from error
    if loaded.faults:
        raise _refused(path, number, loaded.faults[0])
    value = loaded.value
    if not isinstance(value, dict):
        raise _wrong(path, number, loaded.places.of_value(""), f"a line is {_FORM}")
    for key in sorted(_KEYS - value.keys()):
        raise _wrong(path, number, loaded.places.of_value(""), f'the key "{key}" is missing; a line is {_FORM}')
    for key in value.keys() - _KEYS:
        span = loaded.places.of_key("/" + escape_pointer(key))
        raise _wrong(path, number, span, f'the key "{key}" is not known; a line is {_FORM}')
    completions = value["completions"]
    if not isinstance(completions, list) or not completions:
        raise _wrong(
            path, number, loaded.places.of_value("/completions"), "a list of one length or more should stand here"
        )
    lengths = [("/prompt", value["prompt"]), *((f"/completions/{at}", one) for at, one in enumerate(completions))]
    prompt, *others = [_length(path, number, loaded, pointer, length) for pointer, length in lengths]
    return Group(prompt, others)


def _length(path: str, number: int, loaded: Loaded, pointer: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        shown = json.dumps(value) if not isinstance(value, dict | list) else "this"
        raise _wrong(
            path,
            number,
            loaded.places.of_value(pointer),
            f"{shown} is no length; a whole number of tokens should stand here",
        )
    if not 1 <= value <= _MOST:
        what = "a prompt" if pointer == "/prompt" else "a completion"
        bound = "at least 1 token" if value < 1 else f"at most {_MOST:,} tokens"
        raise _wrong(path, number, loaded.places.of_value(pointer), f"{value} is no length: {what} has {bound}")
    return value


def _wrong(path: str, number: int, span: Span, message: str) -> NotDescribed:
    return NotDescribed(Exit.UNREADABLE, f"{path}:{number}:{span.column}: {message}")


def _refused(path: str, number: int, fault: Fault) -> NotDescribed:
    span = fault.span._replace(line=number) if fault.span is not None else None
    return NotDescribed(Exit.UNREADABLE, *fault_lines(path, fault._replace(span=span)))
