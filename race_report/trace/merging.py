"""Journals of several workers -> one trace.

Lines are taken as they were written and sorted by worker and sequence number, so the same records give the same bytes
and the same digest, whatever the order of the files.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from race_report.parsed import Fault, Span
from race_report.trace.reading import IN_SEQUENCE, open_trace, out_of_sequence, read_trace
from race_report.trace.record import record_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Merged(NamedTuple):
    """What merging gave: the lines of the trace, and what was found in the files."""

    lines: list[bytes]
    faults: list[Fault]
    """Torn lines, which are left out; and errors, with which nothing should be written."""

    @property
    def is_whole(self) -> bool:
        """Whether there is no fault but torn lines."""
        return all(fault.rule == "record-torn" for fault in self.faults)

    @property
    def sha256(self) -> str:
        """The digest of the trace."""
        return hashlib.sha256(b"".join(self.lines)).hexdigest()


class _Found(NamedTuple):
    """A record and where it was found."""

    line: bytes
    attempt: int
    path: str
    number: int

    def fault(self, message: str, hint: str = IN_SEQUENCE) -> Fault:
        here = Span(self.number, 1, self.number, len(self.line))
        return Fault("record-out-of-sequence", "", message, hint, here, self.path)


def merge(paths: Iterable[str | os.PathLike[str]]) -> Merged:
    """Merge journals; a record that stands in several of them is one record.

    Raises:
        Unparsable: a file cannot be read.

    """
    found: dict[tuple[str, int], _Found] = {}
    faults: list[Fault] = []
    for path in dict.fromkeys(os.fspath(path) for path in paths):
        trace = read_trace(path)
        of_lines = [fault for fault in trace.faults if fault.rule != "record-out-of-sequence"]
        faults += of_lines
        if all(fault.rule == "record-torn" for fault in of_lines):
            with open_trace(path) as file:
                faults += _collect(path, file.read(trace.whole), found)
    if all(fault.rule == "record-torn" for fault in faults):  # else what is missing stands in a bad line
        faults += _gaps(found)
    return Merged([found[key].line for key in sorted(found)], faults)


def _collect(path: str, data: bytes, found: dict[tuple[str, int], _Found]) -> Iterator[Fault]:
    """Add the records of a file; say which key stands for two of them."""
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        record = record_of(line)
        key = record["worker"], int(record["sequence_number"])
        here = _Found(line + b"\n", int(record["attempt"]), path, number)
        other = found.setdefault(key, here)
        if other.line != here.line:
            message = f'record {key[1]} of worker "{key[0]}" is another one in {other.path}, line {other.number}'
            hint = "every worker needs a name of its own, and goes on with its own journal when it is resumed"
            yield here.fault(message, hint)
            return


def _gaps(found: dict[tuple[str, int], _Found]) -> Iterator[Fault]:
    """Say which records are missing, or of an attempt that was over."""
    worker, expected, attempt = "", 0, 0
    for name, number in sorted(found):
        here = found[name, number]
        if name != worker:
            worker, expected, attempt = name, 0, 0
        wrong = out_of_sequence(name, number, expected, here.attempt, attempt)
        if wrong:
            yield here.fault(wrong)
        expected, attempt = number + 1, max(attempt, here.attempt)


def write_lines(lines: list[bytes], path: str | os.PathLike[str]) -> None:
    """Write a trace, whole or not at all.

    Raises:
        OSError: it cannot be written.

    """
    folder, name = os.path.split(os.path.abspath(path))
    handle, beside = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
