"""A record of a trace and the line that it is stored as.

A line is one JSON object and a line end. Its last key is a checksum of the bytes before it, so that a line that was
changed is told from one that is whole.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any, Final

from race_report.parsed import Fault, Span, Unparsable, escape_pointer
from race_report.schema_engines import is_valid, schema_errors
from race_report.slips import shorten
from race_report.source import quick_json
from race_report.standard import record_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST: Final = 64 * 1024
"""Bytes that a line may have."""

_CHECK: Final = b',"crc32":"'
_CHECK_END: Final = b'"}'
_SHOWN: Final = 4
"""Words that a message lists where any would do."""


class Malformed(ValueError):
    """A line that is no record: the column, from 1, and what is wrong with it."""

    def __init__(self, message: str, column: int = 1, end: int = 0) -> None:
        """Keep where the fault begins and ends."""
        super().__init__(message)
        self.message = message
        self.column = column
        self.end = max(end, column)

    def fault(self, path: str, line: int) -> Fault:
        """Give the finding of this line in its file."""
        hint = "a line that was changed cannot be mended: take the trace as it was written, or leave it out"
        return Fault("record-malformed", "", self.message, hint, Span(line, self.column, line, self.end), path)


def line_of(record: Mapping[str, Any]) -> bytes:
    """Give the line of a record, with its checksum and its line end.

    Raises:
        ValueError: it has a number that JSON lacks, or is longer than a line may be.

    """
    body = json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii")[:-1]
    line = body + _CHECK + b"%08x" % zlib.crc32(body) + _CHECK_END + b"\n"
    if len(line) > LONGEST:
        message = f"a record of {len(line):,} bytes is longer than the {LONGEST:,} that a line may have"
        raise ValueError(message)
    return line


def record_of(line: bytes) -> dict[str, Any]:
    """Read the record of a line, which is given without its line end.

    Raises:
        Malformed: it is none.

    """
    if len(line) >= LONGEST:
        raise Malformed(f"the line has {len(line):,} bytes, more than the {LONGEST:,} of any record")
    _check(line)
    value = _parsed(line)
    if not isinstance(value, dict):
        raise Malformed("this is no record, which is an object with keys", 1, len(line) + 1)
    if not is_valid(value, None, record_schema):
        raise _misshapen(value, line)
    return value


def end_of_record(line: bytes) -> int | None:
    """Give the offset behind a record at the beginning of a line, by its checksum; None where there is none."""
    body, mark, rest = line.rpartition(_CHECK)
    check = b"%08x" % zlib.crc32(body) + _CHECK_END
    return len(body) + len(mark) + len(check) if mark and rest.startswith(check) else None


def _check(line: bytes) -> None:
    body, mark, _ = line.rpartition(_CHECK)
    if mark and end_of_record(line) != len(line):
        message = "the checksum of this line is not that of its bytes: they were changed after it was written"
        raise Malformed(message, len(body) + 2, len(line) + 1)


def _parsed(line: bytes) -> Any:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"the byte 0x{line[error.start]:02X} is not UTF-8", error.start + 1) from error
    try:
        return quick_json(text)
    except (ValueError, RecursionError):
        from race_report import json_text

        try:
            parsed = json_text.parse(text)
        except Unparsable as error:
            raise _at(error.fault) from error
        if parsed.faults:
            raise _at(parsed.faults[0]) from None
        return parsed.value


def _at(fault: Fault) -> Malformed:
    span = fault.span or Span(1, 1, 1, 1)
    return Malformed(fault.message.replace("the file", "the line"), span.column, span.end_column)


def _misshapen(value: dict[str, Any], line: bytes) -> Malformed:
    """Say what keeps an object from being a record, the first fault of it only."""
    from race_report import json_text

    places = json_text.parse(line.decode("utf-8")).places
    properties = record_schema()["properties"]
    error = next(schema_errors(value, None, record_schema))
    key = str(error.path[0]) if error.path else ""
    span = places.of_value(f"/{escape_pointer(key)}") if key else places.of_value("")
    if error.keyword == "additionalProperties":
        unknown = error.details["unexpected"][0]
        message, span = f'"{shorten(unknown)}" is no key of a record', places.of_key(f"/{escape_pointer(unknown)}")
    elif error.keyword in ("required", "dependentRequired"):
        message = f'the record needs "{error.details["property"]}"'
    elif "enum" in properties[key]:
        options = error.details.get("options") or properties[key]["enum"]
        more = ", ..." if len(options) > _SHOWN else ""
        message = f"{_shown(value[key])} is none of the words for {key}: {', '.join(options[:_SHOWN])}{more}"
    else:
        message = f"{_shown(value[key])} cannot stand for {key}: {properties[key]['description']}"
    return Malformed(message, span.column, span.end_column)


def _shown(value: Any) -> str:
    return shorten(json.dumps(value))
