"""File -> value: bytes, text, parsed; refuses what the standard refuses.

The C parser of the standard library reads what is plainly right. Anything it refuses, and anything doubtful, goes to
the parser that explains (`json_text`, `yaml_text`), which also knows where each value stands. So a valid JSON report
costs nothing but `json`, and neither a YAML parser nor positions are loaded.
"""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn

from race_report.parsed import MAX_DEPTH, SURE_DIGITS, Fault, Parsed, Places, Span, Unparsable

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BYTES: Final = 16 * 1024 * 1024
"""The largest file that is read unless more is asked for."""

STDIN: Final = "-"
SUFFIXES: Final = (".json", ".yaml", ".yml")
TOP: Final = Span(1, 1, 1, 1)
"""Where findings about a whole file stand."""

_BOM: Final = b"\xef\xbb\xbf"
_OTHER_BOMS: Final = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


class Loaded:
    """A file that was read: its value, and where its parts stand once somebody asks."""

    def __init__(self, text: str, parse: Callable[[str], Parsed], notes: list[Fault]) -> None:
        """Read a text. Raises Unparsable where it has no value."""
        self.text = text
        self.is_json = parse is _parse_json
        self._parse = parse
        self._parsed: Parsed | None = None
        try:
            if not self.is_json:
                raise _Doubtful
            self.value: Any = quick_json(text)
        except (ValueError, RecursionError):
            self._parsed = parse(text)
            self.value = self._parsed.value
        self.faults = notes + (self._parsed.faults if self._parsed is not None else [])

    @property
    def places(self) -> Places:
        """Where the values stand; found by parsing once more where that was not needed before."""
        if self._parsed is None:
            self._parsed = self._parse(self.text)
        return self._parsed.places

    def read_again(self, text: str) -> Parsed:
        """Read another text as this one was read. Raises Unparsable where it has no value."""
        return self._parse(text)


def read_file(path: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a file, or standard input for `-`, up to one byte more than is allowed.

    Raises:
        Unparsable: it is missing or unreadable.

    """
    if path == STDIN and sys.stdin is None:
        raise Unparsable(Fault("unreadable-file", "", "standard input is closed", "name a file", TOP))
    try:
        if path == STDIN:
            return _read(sys.stdin.buffer, max_bytes + 1)
        with open(path, "rb") as file:
            return _read(file, max_bytes + 1)
    except IsADirectoryError as error:
        hint = "name the reports in it"
        raise Unparsable(Fault("unreadable-file", "", "this is a folder and no file", hint, TOP)) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "check the path and your permission to read it"
        raise Unparsable(Fault("unreadable-file", "", f"cannot read this file: {reason}", hint, TOP)) from error
    except ValueError as error:
        raise Unparsable(
            Fault("unreadable-file", "", f"cannot read this file: {error}", "check the path", TOP)
        ) from error


def _read(file: BinaryIO, size: int) -> bytes:
    """Read up to a size in pieces: asked for all at once, memory would be set aside for all of it."""
    pieces = []
    while size > 0 and (piece := file.read(min(size, MAX_BYTES + 1))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def within(data: bytes, max_bytes: int) -> bytes:
    """Give bytes that are no more than is allowed.

    Raises:
        Unparsable: they are more.

    """
    if len(data) > max_bytes:
        message = f"the file is larger than {_show_size(max_bytes)}; a report is a few thousand bytes"
        hint = "is it the right file? race validate --max-bytes allows more"
        raise Unparsable(Fault("file-too-large", "", message, hint, TOP))
    return data


def load_bytes(data: bytes, name: str = STDIN) -> Loaded:
    """Read a report from bytes; the name's suffix tells its language, else its first character.

    Raises:
        Unparsable: the bytes are no UTF-8, or no JSON or YAML.

    """
    notes = []
    if data.startswith(_BOM):
        data = data[len(_BOM) :].removeprefix(_BOM)
        message = "the file begins with a byte order mark, which is read over"
        notes.append(Fault("byte-order-mark", "", message, "save it as UTF-8 without BOM", TOP))
    text = _decode(data)
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    is_json = suffix == ".json" or (suffix not in SUFFIXES and text.lstrip()[:1] in ("{", "["))
    return Loaded(text, _parse_json if is_json else _parse_yaml, notes)


def _decode(data: bytes) -> str:
    for bom, encoding in _OTHER_BOMS:
        if data.startswith(bom):
            raise Unparsable(Fault("wrong-encoding", "", f"the file is {encoding}", "save it as UTF-8", TOP))
    if b"\x00" in data:
        message = "the file holds zero bytes: it is binary, or UTF-16 without a mark"
        raise Unparsable(Fault("wrong-encoding", "", message, "a report is a text file in UTF-8", TOP))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        here = Places(text=before).span(len(before), len(before))
        message = f"the byte 0x{data[error.start]:02X} is not UTF-8"
        hint = "save the file as UTF-8; it may be in an older code page such as Windows-1252"
        raise Unparsable(Fault("wrong-encoding", "", message, hint, here)) from error


def _parse_json(text: str) -> Parsed:
    from race_report import json_text

    return json_text.parse(text)


def _parse_yaml(text: str) -> Parsed:
    from race_report import yaml_text

    return yaml_text.parse(text)


_MANY_DIGITS: Final = b"0" * (SURE_DIGITS + 1)
_ANY_DIGIT: Final = bytes.maketrans(b"123456789", b"0" * 9)


class _Doubtful(ValueError):
    """The quick way has met something that the parser which explains should look at."""


def quick_json(text: str) -> Any:
    """Parse a JSON text that is plainly right; raise ValueError or RecursionError for any other."""
    if "\\u" in text and "\\ud" in text.lower():
        raise _Doubtful
    if _MANY_DIGITS in text.encode().translate(_ANY_DIGIT):  # a hook for every integer costs as much as all the rest
        raise _Doubtful
    value = _QUICK.decode(text)
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_too_deep(value):
        raise _Doubtful
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Doubtful
    return result


def _real(literal: str) -> float:
    number = float(literal)
    if math.isinf(number):
        raise _Doubtful
    return number


def _refuse(_: str) -> NoReturn:
    raise _Doubtful


_QUICK: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_real, parse_constant=_refuse)


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _show_size(size: int) -> str:
    mebibytes = size / 1024 / 1024
    return f"{mebibytes:g} MiB" if mebibytes >= 1 else f"{size:,} bytes"
