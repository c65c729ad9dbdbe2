"""What a rule is, and what it finds."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from race_report.document import Report
    from race_report.parsed import Span

    Violation = tuple[str, str, str]
    """Pointer, message, hint."""
    Check = Callable[[Report], Iterator[Violation]]


class Severity(StrEnum):
    """How grave a finding is: an error breaks a MUST, a warning a SHOULD, a note is for information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Exit(IntEnum):
    """Exit codes of the command; of several files the gravest counts: 3 before 4 before 1."""

    CLEAN = 0
    FINDINGS = 1
    USAGE = 2
    UNREADABLE = 3
    UNSUPPORTED_VERSION = 4
    INTERNAL = 70
    INTERRUPTED = 130


class Rule(NamedTuple):
    """A rule of the standard: its code never changes meaning and is never given to another rule."""

    code: str
    name: str
    explanation: str
    severity: Severity = Severity.ERROR
    exit_code: Exit = Exit.FINDINGS
    check: Check | None = None
    """What finds violations; None where reading or structure does."""


class Finding(NamedTuple):
    """One violation of a rule at one place of one document."""

    code: str
    name: str
    severity: Severity
    pointer: str
    """RFC 6901 pointer to the value."""
    message: str
    hint: str
    span: Span
    path: str = ""
    """The file where it stands, where that is the trace; empty for the report."""


def rule(code: str, *, severity: Severity = Severity.ERROR) -> Callable[[Check], Rule]:
    """Make a rule of a generator function whose name says what it finds and whose docstring explains it."""

    def decorate(check: Check) -> Rule:
        name = check.__name__.replace("_", "-")
        return Rule(code=code, name=name, severity=severity, explanation=check.__doc__ or "", check=check)

    return decorate
