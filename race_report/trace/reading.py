"""Trace file -> records, digest and every fault.

A process that is killed leaves at most one line without its end; that line is left out with a word. Whatever else is
not as it was written is an error with its line.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.parsed import Fault, Span, Unparsable
from race_report.source import TOP
from race_report.trace.record import LONGEST, Malformed, end_of_record, record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

MAX_FAULTS: Final = 20
"""Faults of a trace after which no more are looked for: one changed line upsets those behind it."""

COUNTED: Final = (
    *("sequences", "tokens", "attention_pairs", "bounded_attention_pairs", "logit_rows", "adapter_tokens"),
    *("extra_tokens", "cached_tokens", "executed_flops", "calls"),
)
"""What records count, and whose sums are the ledger."""

BESIDE: Final = ("cpu_seconds", "gpu_hours", "cost_usd")
"""What may stand beside FLOPs in a record; its sums are the ledger's where records have it."""

SECONDS: Final = "seconds"

IN_SEQUENCE: Final = "the records of a worker stand in the order of their numbers, from 0, each once; take all of them"


class Key(NamedTuple):
    """What makes entries of a ledger different: each is the sum of the records of one key."""

    component: str
    phase: str | None = None
    model: str | None = None
    operation: str | None = None
    stage: str | None = None
    part: str | None = None

    @property
    def words(self) -> str:
        """The key as a message says it: search decode policy forward."""
        return " ".join(filter(None, self))


class Record(NamedTuple):
    """A record as sums need it."""

    worker: str
    attempt: int
    step: int | None
    key: Key
    amounts: dict[str, float]
    basis: str | None
    line: int


@dataclass(slots=True, kw_only=True)
class Trace:
    """What a trace file holds."""

    path: str
    records: list[Record] = field(default_factory=list)
    sha256: str = ""
    size: int = 0
    """Bytes, those of a torn line included."""
    whole: int = 0
    """Bytes up to the end of the last whole line."""
    next_numbers: dict[str, int] = field(default_factory=dict)
    """The sequence number that the next record of each worker will have."""
    attempts: dict[str, int] = field(default_factory=dict)
    """The last attempt of each worker."""
    faults: list[Fault] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether its records can be added up: there is no fault but a torn last line."""
        return all(fault.rule == "record-torn" for fault in self.faults)

    @property
    def torn(self) -> int:
        """Bytes of a last line that has no end."""
        return self.size - self.whole


def open_trace(path: str) -> BinaryIO:
    """Open a trace file to be read.

    Raises:
        Unparsable: it is no regular file that can be read.

    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened: a pipe would wait for its writer
            raise Unparsable(_missing(path, "the trace is no regular file"))
        return open(path, "rb")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Unparsable(_missing(path, f"the trace cannot be read: {reason}")) from error


def _missing(path: str, message: str) -> Fault:
    return Fault("trace-missing", "", message, "put the trace where `path` says, relative to the report", TOP, path)


def read_trace(path: str) -> Trace:
    """Read a trace; its faults are in it.

    Raises:
        Unparsable: there is no such file, or it cannot be read.

    """
    trace = Trace(path=path)
    digest = hashlib.sha256()

    def take(data: bytes) -> None:
        digest.update(data)
        trace.size += len(data)

    with open_trace(path) as file:
        for number, line in enumerate(_lines(file, take), 1):
            if not line.endswith(b"\n") and len(line) <= LONGEST:
                trace.faults += _torn(path, number, line)
                break
            trace.whole = trace.size
            if len(trace.faults) < MAX_FAULTS:
                _take(trace, number, line)
    trace.sha256 = digest.hexdigest()
    return trace


def _lines(file: BinaryIO, take: Callable[[bytes], None]) -> Iterator[bytes]:
    """Give the lines of a file, the beginning of one that is longer than any record; `take` gets every byte."""
    while line := file.readline(LONGEST + 1):
        take(line)
        rest = line
        while len(rest) > LONGEST and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST + 1)
            take(rest)
        yield line


def _torn(path: str, number: int, line: bytes) -> Iterator[Fault]:
    """Say that the last line has no end: a note where it was being written, an error where it was whole."""
    here = Span(number, 1, number, len(line) + 1)
    behind = end_of_record(line)
    if behind is not None and behind < len(line):
        message = "the last line goes on behind its record: it was changed after it was written"
        yield Malformed(message, behind + 1, len(line) + 1).fault(path, number)
        return
    message = f"the last line has no end and is left out: its {len(line):,} bytes were being written at the end"
    hint = "nothing is lost but that record; race merge writes a trace without it"
    yield Fault("record-torn", "", message, hint, here, path)


def _take(trace: Trace, number: int, line: bytes) -> None:
    """Take one line into a trace, as a record or as a fault."""
    try:
        value = record_of(line.removesuffix(b"\n"))
    except Malformed as malformed:
        trace.faults.append(malformed.fault(trace.path, number))
        return
    worker, place, attempt = value["worker"], int(value["sequence_number"]), int(value["attempt"])
    expected = trace.next_numbers.get(worker, 0)
    wrong = out_of_sequence(worker, place, expected, attempt, trace.attempts.get(worker, 0))
    is_first = not any(fault.rule == "record-malformed" for fault in trace.faults)  # a lost line leaves a gap
    if wrong and is_first:
        here = Span(number, 1, number, len(line))
        trace.faults.append(Fault("record-out-of-sequence", "", wrong, IN_SEQUENCE, here, trace.path))
    trace.next_numbers[worker] = max(place + 1, expected)
    trace.attempts[worker] = attempt  # also where it went back, which is said once
    trace.records.append(_slim(value, number))


def out_of_sequence(worker: str, number: int, expected: int, attempt: int, last_attempt: int) -> str:
    """Say what is wrong with a record that stands where another of its worker should; nothing where it is right."""
    if number < expected:
        return f'record {number} of worker "{worker}" stands here again: number {expected} should follow'
    if number > expected:
        missing = f"{expected}" if number == expected + 1 else f"{expected} to {number - 1}"
        return f'record {number} of worker "{worker}" stands here, and {missing} before it is missing'
    if attempt < last_attempt:
        return f'record {number} of worker "{worker}" is of attempt {attempt}, behind one of attempt {last_attempt}'
    return ""


_KEYS: dict[Key, Key] = {}
"""Keys that were seen, so that records share them."""


def _slim(value: dict[str, Any], line: int) -> Record:
    key = Key(**{name: value[name] for name in Key._fields if name in value})
    amounts: dict[str, float] = {name: _plain(value[name]) for name in (*COUNTED, *BESIDE, SECONDS) if name in value}
    step = value.get("step")
    return Record(
        worker=value["worker"],
        attempt=int(value["attempt"]),
        step=None if step is None else int(step),
        key=_KEYS.setdefault(key, key),
        amounts=amounts,
        basis=value.get("basis"),
        line=line,
    )


def _plain(number: float) -> float:
    """Give a whole number as an integer, so that sums of counts are exact."""
    return int(number) if isinstance(number, float) and number.is_integer() else number
