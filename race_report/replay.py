"""Trace and ledger side by side: what the records of a run add up to, and what its report states."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from race_report.accounting import COMPONENTS, account, factors_of
from race_report.flops import ROUNDED, PassCounts, entry_flops, relative_difference
from race_report.numbers import show_number
from race_report.parsed import Fault, Span, Unparsable
from race_report.proof import Figure, Line, Replay
from race_report.rules.causes import count_cause, flops_cause, sum_cause
from race_report.trace.climbing import climbs
from race_report.trace.reading import BESIDE, COUNTED, Key, Trace, read_trace
from race_report.trace.sums import REDONE, as_redone, sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import LedgerEntry, Report, Run
    from race_report.trace.sums import Sum


_OF_RECORDS: Final = frozenset((*COUNTED, *BESIDE))
"""Figures that records have; FLOPs follow from them, and have rules of their own."""


def replays(report: Report, folder: str) -> dict[int, Replay]:
    """Replay every run that has a trace, by its position.

    Args:
        report: a view of a valid report.
        folder: where the report is, from which the paths of its traces lead.

    """
    return {at: replay_run(report, at, _path(folder, run)) for at, run in enumerate(report.runs) if run.trace}


def _path(folder: str, run: Run) -> str:
    assert run.trace is not None
    return os.path.join(folder, *run.trace.path.split("/"))


def replay_run(report: Report, at: int, path: str) -> Replay:
    """Replay one run from the trace at a path."""
    run, pointer = report.runs[at], f"/runs/{at}"
    here = f"{pointer}/trace"
    try:
        trace = read_trace(path)
    except Unparsable as error:
        fault = Fault("trace-missing", f"{here}/path", error.fault.message, error.fault.hint)
        return Replay(run=run.id, pointer=pointer, path=path, faults=(fault,))
    faults = [*_changed(run, here, trace), *trace.faults]
    lines = tuple(_lines(report, at, trace)) if trace.is_whole else ()
    faults += _climbing(trace) if trace.is_whole else ()
    faults += _beside(lines)
    return Replay(run=run.id, pointer=pointer, path=path, trace=trace, lines=lines, faults=tuple(faults))


def _changed(run: Run, here: str, trace: Trace) -> Iterator[Fault]:
    """Say what of the file is not as the report says; the digest alone where that is all that differs."""
    stated = run.trace
    if stated is None:
        return
    hint = "take the trace from which the report was made, or make the report again from this one"
    for key, value, found in (
        ("bytes", stated.bytes, trace.size),
        ("records", stated.records, len(trace.records) if trace.is_whole else None),
        ("sha256", stated.sha256, trace.sha256),
    ):
        if value is not None and found is not None and value != found:
            message = f"the trace has {found} {key}, and the report says {value}"
            if key == "sha256":
                message = f"the SHA-256 of the trace is {found}, and the report says {value}"
            yield Fault("trace-changed", f"{here}/{key}", message, hint)
            return


def _climbing(trace: Trace) -> Iterator[Fault]:
    """Warn of executed FLOPs that are readings of a counter which was not reset."""
    for record in climbs(trace.records):
        message = f"executed_flops of {record.key.words} climb by one difference while the counts stay the same"
        hint = "is it a counter that was not reset? A record has what it alone did"
        yield Fault("counter-not-reset", "", message, hint, Span(record.line, 1, record.line, 1), trace.path)


def _beside(lines: tuple[Line, ...]) -> Iterator[Fault]:
    """Give the findings of lines that differ; a rounding of FLOPs, which level 2 allows, is none."""
    for line in lines:
        if line.missing:
            is_of_redone = f" {REDONE}" in line.words
            hint = "what was done twice was spent: enter it too" if is_of_redone else "make the ledger from the trace"
            yield Fault("ledger-beside-trace", line.pointer, line.missing, hint)
        for figure in line.figures:
            if figure.agrees or figure.name not in _OF_RECORDS:
                continue
            stated = "not stated" if figure.ledger is None else show_number(figure.ledger)
            message = f"{figure.name} is {stated}, and the records of the trace give {show_number(figure.trace or 0)}"
            message = f"{message}: {', '.join(filter(None, (figure.apart, figure.cause)))}".removesuffix(": ")
            pointer = f"{line.pointer}/{figure.name}"
            hint = f"if the trace is whole, write {show_number(figure.trace or 0)}"
            yield Fault("ledger-beside-trace", pointer, message, hint)


def _lines(report: Report, at: int, trace: Trace) -> Iterator[Line]:
    run, proven = report.runs[at], sums(trace.records)
    workers = len(trace.next_numbers)
    flops: dict[str, list[tuple[str, float | None]]] = {}
    left = dict(proven)
    for position, entry in enumerate(run.ledger):
        key = Key(*(getattr(entry, name) for name in Key._fields))
        here, found = f"/runs/{at}/ledger/{position}", left.pop(key, None)
        if found is None:
            yield _without_records(report, at, position, key)
            value = account(report).figures[at][position].value
        else:
            line = Line(
                pointer=here,
                words=key.words,
                figures=tuple(_figures(report, at, position, found, proven, workers)),
                records=found.records,
            )
            yield line
            value = _exact_flops(report, at, position, found)
        flops.setdefault(entry.component, []).append((key.words, value))
    for key, found in left.items():
        missing = f"the ledger has no entry of {key.words}, and the trace {_records(found.records)} of it"
        yield Line(pointer=f"/runs/{at}/ledger", words=key.words, missing=missing, records=found.records)
    yield from _totals(run, at, flops)


def _records(number: int) -> str:
    return "a record" if number == 1 else f"{number} records"


def _without_records(report: Report, at: int, position: int, key: Key) -> Line:
    """Judge an entry that the trace has nothing of."""
    run = report.runs[at]
    entry, pointer = run.ledger[position], f"/runs/{at}/ledger/{position}"
    held = COMPONENTS if run.role != "preparation" else ("preparation",)
    says = entry.model is not None or any(getattr(entry, name) for name in (*COUNTED, "flops"))
    if entry.component not in held:
        return Line(pointer=pointer, words=key.words, note=f"{entry.component} that was not metered")
    if not says:
        return Line(pointer=pointer, words=key.words, note="nothing is counted")
    return Line(pointer=pointer, words=key.words, missing=f"the trace has no record of {key.words}")


def _figures(
    report: Report, at: int, position: int, found: Sum, proven: dict[Key, Sum], workers: int
) -> Iterator[Figure]:
    run = report.runs[at]
    entry = run.ledger[position]
    counts_agree = True
    for name in (*COUNTED, *BESIDE):
        by_trace, stated = found.amounts.get(name), getattr(entry, name)
        if by_trace is None and (stated is None or name in BESIDE):
            continue
        figure = Figure(name, by_trace, stated)
        counts_agree = counts_agree and figure.agrees
        yield figure if figure.agrees else figure._replace(cause=_cause(figure, entry, proven, workers, run))
    exact, priced = _exact_flops(report, at, position, found), account(report).models.get(entry.model or "")
    if entry.flops is not None and exact is not None and priced is not None:
        figure = Figure("flops", exact, entry.flops)
        is_slip = counts_agree and not figure.agrees and relative_difference(entry.flops, exact) > ROUNDED
        yield figure._replace(cause=flops_cause(entry.flops, exact, entry, priced, run)) if is_slip else figure


def _exact_flops(report: Report, at: int, position: int, found: Sum) -> int | None:
    """Give the FLOPs of an entry by the counts of its records; 0 where no model ran, None where nothing follows."""
    books, entry = account(report), report.runs[at].ledger[position]
    if entry.model is None and books.figures[at][position].value == 0:
        return 0
    priced = books.models.get(entry.model or "")
    if priced is None or priced.coefficients is None or books.recomputed[at][position].missing:
        return None
    factors = factors_of(entry, priced.model)
    assert factors is not None
    counts = PassCounts(*(found.amounts.get(name, 0) for name in PassCounts._fields))  # type: ignore[arg-type]
    return entry_flops(priced.coefficients, counts, factors)


def _cause(figure: Figure, entry: LedgerEntry, proven: dict[Key, Sum], workers: int, run: Run) -> str:
    """Name what makes a count of the ledger another than that of the trace."""
    ratio = figure.ratio
    if ratio is None:
        return ""
    mine = Key(*(getattr(entry, name) for name in Key._fields))
    redone = proven.get(as_redone(mine))
    again = redone.amounts.get(figure.name, 0) if redone is not None else 0
    if again and figure.trace is not None and figure.ledger == figure.trace + again:
        return "the redone steps are in this entry: enter them with part: redone?"
    if workers > 1 and ratio in (workers, 1 / workers):
        return f"the {workers} workers: is one of them of a single worker?"
    return count_cause(ratio, run)


def _totals(run: Run, at: int, flops: dict[str, list[tuple[str, float | None]]]) -> Iterator[Line]:
    """Compare the totals with sums of what the trace gives, where all of it is known."""
    if run.totals is None:
        return
    figures = []
    parts: list[tuple[str, float]] = []
    for component in COMPONENTS:
        known = [(words, value) for words, value in flops.get(component, ()) if value is not None]
        stated = getattr(run.totals, f"{component}_flops")
        if len(known) == len(flops.get(component, ())) and (known or stated == 0):
            value = sum(value for _, value in known)
            parts.append((component, value))
            figures.append(_total(f"{component}_flops", value, stated, known, run))
    if len(parts) == len(COMPONENTS):
        figures.append(_total("total_flops", sum(value for _, value in parts), run.totals.total_flops, parts, run))
    figures = [figure for figure in figures if figure.ledger is not None]
    if figures:
        yield Line(pointer=f"/runs/{at}/totals", words="totals", figures=tuple(figures))


def _total(name: str, value: float, stated: float | None, parts: list[tuple[str, float]], run: Run) -> Figure:
    figure = Figure(name, value, stated)
    if stated is None or figure.agrees:
        return figure
    return figure._replace(cause=sum_cause(stated, parts, run))
