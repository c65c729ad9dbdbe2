"""What a replay gives: figures by the trace and by the report, and whether they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.numbers import show_number

if TYPE_CHECKING:
    from race_report.parsed import Fault
    from race_report.trace import Trace

_HARMLESS: Final = frozenset({"record-torn", "counter-not-reset"})
"""Findings that are warnings: the records are whole, and are added up."""

_MORE: Final = ("less", "more")


class Figure(NamedTuple):
    """One figure by the trace and by the report."""

    name: str
    trace: float | None
    """None where no record has it."""
    ledger: float | None
    """None where the report is silent."""
    cause: str = ""
    """What the difference most likely comes from, where there is one."""

    @property
    def agrees(self) -> bool:
        """Whether the two are equal: to the integer, or as doubles where the report has no integer."""
        return _agree(self.trace, self.ledger)

    @property
    def ratio(self) -> float | None:
        """The report's figure over the trace's."""
        return self.ledger / self.trace if self.trace and self.ledger is not None else None

    @property
    def apart(self) -> str:
        """How far the report's figure is from the trace's: a ratio, or a difference where that would be 1."""
        if not self.trace or not self.ledger:
            return ""
        ratio = f"{self.ledger / self.trace:.4g}"
        difference = self.ledger - self.trace
        return f"ratio {ratio}" if ratio != "1" else f"{show_number(abs(difference))} {_MORE[difference > 0]}"


def _agree(trace: float | None, ledger: float | None) -> bool:
    proven, stated = trace or 0, ledger or 0
    if isinstance(stated, int) and isinstance(proven, int):
        return stated == proven
    return float(stated) == float(proven)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An entry of the ledger, the records of a key that has none, or the totals."""

    pointer: str
    """Plain pointer to the entry; to the ledger where it has none."""
    words: str
    """What it is, in the words of the standard."""
    figures: tuple[Figure, ...] = ()
    missing: str = ""
    """Says what is missing: the entry in the ledger, or its records in the trace."""
    records: int = 0
    note: str = ""
    """Why nothing is compared, where that is no disagreement."""

    @property
    def agrees(self) -> bool:
        """Whether trace and report say the same."""
        return not self.missing and all(figure.agrees for figure in self.figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What the trace of a run proves of its report."""

    run: str
    pointer: str
    path: str
    """The trace's."""
    trace: Trace | None = None
    """None where it could not be read."""
    lines: tuple[Line, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the trace is the one that the report names, and its sums are the ledger, to the integer."""
        return not self.why_not

    @property
    def why_not(self) -> str:
        """What level 3 lacks; empty where nothing."""
        for fault in self.faults:
            if fault.rule not in _HARMLESS:
                return f"a trace that is the ledger: {fault.message}"
        for line in self.lines:
            for figure in line.figures:
                if not figure.agrees:
                    exact = show_number(figure.trace or 0)
                    return f"the exact {figure.name} of {line.words}, which the trace gives as {exact}"
        return ""
