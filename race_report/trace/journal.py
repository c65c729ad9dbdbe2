"""An append-only journal of one worker: a record is in the file as soon as it is written.

A line is written by one call of the operating system, so a process that is killed loses at most the record that was
being written. The file is synced to the disk between steps, and no more often than every few seconds, because a sync
takes milliseconds; only a machine that stops loses what was written after it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, Final, Self

from race_report.parsed import Unparsable
from race_report.trace.reading import Trace, read_trace
from race_report.trace.record import Malformed, line_of, record_of

if TYPE_CHECKING:
    from types import TracebackType

SYNC_SECONDS: Final = 5.0
"""Seconds between two syncs: what a machine that stops may lose."""

_BUSY: Final = (errno.EACCES, errno.EAGAIN)


class Journal:
    """The records of one worker, from its first attempt to this one."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        worker: str = "main",
        attempt: int | None = None,
        sync_seconds: float = SYNC_SECONDS,
    ) -> None:
        """Open a journal, or begin one; a torn last line is dropped with a warning.

        Args:
            path: where it is.
            worker: the name of this process; every process has a journal of its own.
            attempt: how often the run had been resumed; counted on from the journal where it is not given.
            sync_seconds: the least time between two syncs, of which there is at most one a step.

        Raises:
            ValueError: the file is no journal of this worker, another process writes it, or `attempt` goes back.

        """
        self.path = os.fspath(path)
        self.worker = worker
        self.sync_seconds = sync_seconds
        self._step: int | None = None
        self._synced = time.monotonic()
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        try:
            self._open(attempt)
        except BaseException:
            os.close(self._file)
            self._file = -1
            raise

    def _open(self, attempt: int | None) -> None:
        """Go on where the journal ends."""
        self._keep_others_out()
        trace = self._resumed()
        before = trace.attempts.get(self.worker)
        self.attempt = attempt if attempt is not None else 0 if before is None else before + 1
        if before is not None and self.attempt < before:
            message = f"{self.path}: attempt {self.attempt} cannot follow attempt {before}"
            raise ValueError(message)
        self.sequence_number = trace.next_numbers.get(self.worker, 0)
        self.earlier = trace.records
        self._line({"component": "search"})  # is the name of the worker one?

    def _line(self, values: dict[str, Any]) -> bytes:
        """Give the line of the next record. Raises ValueError where it is none."""
        keys = {"worker": self.worker, "sequence_number": self.sequence_number, "attempt": self.attempt}
        line = line_of(keys | values)
        try:
            record_of(line[:-1])
        except Malformed as malformed:
            raise ValueError(malformed.message) from malformed
        return line

    def _keep_others_out(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on Windows
            return
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not inherited by what this process forks
        except OSError as error:
            if error.errno in _BUSY:
                message = f"{self.path}: another process writes this journal; every worker needs one of its own"
                raise ValueError(message) from error

    def _resumed(self) -> Trace:
        """Read what is there, and cut off a last line that is torn."""
        try:
            trace = read_trace(self.path)
        except Unparsable as error:
            message = f"{self.path}: {error}"
            raise ValueError(message) from error
        for fault in trace.faults:
            if fault.rule != "record-torn":
                line, column = (fault.span.line, fault.span.column) if fault.span else (1, 1)
                message = f"{self.path}:{line}:{column}: {fault.message}"
                raise ValueError(message)
        others = sorted(trace.next_numbers.keys() - {self.worker})
        if others:
            message = f'{self.path}: this is the journal of worker "{others[0]}", not of "{self.worker}"'
            raise ValueError(message)
        if trace.torn:
            os.ftruncate(self._file, trace.whole)
            message = f"{self.path}: the last line was torn; its {trace.torn} bytes are dropped"
            warnings.warn(message, RuntimeWarning, stacklevel=4)
        self._keep_others_out()  # closing the file that was read has given the lock up
        return trace

    def append(self, **values: Any) -> int:
        """Write a record, and give its sequence number; values of None are left out.

        The first record of a later step than any before syncs the file first, where it is time.

        Raises:
            ValueError: it is no record, the journal is closed, or another process than the one that opened it writes.
            OSError: it cannot be written; the journal is then as it was before.

        """
        with self._lock:
            self._refuse_strangers()
            line = self._line({key: value for key, value in values.items() if value is not None})
            step: int | None = values.get("step")
            if step is not None and (self._step is None or step > self._step):
                if self._step is not None and time.monotonic() - self._synced >= self.sync_seconds:
                    os.fsync(self._file)
                    self._synced = time.monotonic()
                self._step = step
            self._write(line)
            self.sequence_number += 1
            return self.sequence_number - 1

    def _refuse_strangers(self) -> None:
        if self._file < 0:
            message = f"{self.path}: the journal is closed"
            raise ValueError(message)
        if os.getpid() != self._owner:
            message = f"{self.path}: this process was forked from the one that opened the journal; give it its own"
            raise ValueError(message)

    def _write(self, line: bytes) -> None:
        """Write a line whole or not at all, as far as this process lives."""
        before = os.fstat(self._file).st_size
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            raise

    def sync(self) -> None:
        """Have the operating system store everything that was written."""
        with self._lock:
            self._refuse_strangers()
            os.fsync(self._file)

    def relock(self) -> None:
        """Keep other processes out again after this one has closed another handle of the file."""
        self._keep_others_out()

    def close(self) -> None:
        """Sync and close the file; closing again does nothing."""
        with self._lock:
            if self._file >= 0:
                if os.getpid() == self._owner:
                    os.fsync(self._file)
                os.close(self._file)
                self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
