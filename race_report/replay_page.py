"""What `race replay` prints: every figure of a ledger, by the trace and as it is stated."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from race_report.finding import Exit
from race_report.numbers import show_number
from race_report.replay import replay_run
from race_report.source import STDIN
from race_report.validation import gravest, validate_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.parsed import Fault
    from race_report.proof import Figure, Line, Replay
    from race_report.validation import Result


class NotReplayable(ValueError):
    """There is nothing to replay; the message says what would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPage:
    """A report and the replays of its runs."""

    result: Result
    """What validation gave; without a view the report has no ledger to compare."""
    replays: tuple[Replay, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """The gravest of what happened: 3 unreadable, 4 an unknown version, 1 a difference."""
        if self.result.view is None:
            return self.result.exit_code()
        return gravest([_code(replay) for replay in self.replays])

    def text_lines(self) -> Iterator[str]:
        """Yield the page for people."""
        for replay in self.replays:
            yield f"{self.result.path}: run {replay.run}, trace {replay.path}"
            yield from _about_trace(replay)
            for line in replay.lines:
                yield from _line_text(line)
            yield _verdict(replay)
        others = sum(not finding.code.startswith("RACE9") for finding in self.result.findings)
        if self.result.errors and others:
            yield f"{self.result.path}: race validate has more to say of this report"

    def json_text(self) -> str:
        """Give the page for programs; the keys are always the same."""
        data = {
            "exit_code": int(self.exit_code),
            "report": self.result.path.encode("utf-8", "backslashreplace").decode("utf-8"),
            "level": None if self.result.level is None else self.result.level.number,
            "runs": [_run_data(replay) for replay in self.replays],
        }
        return json.dumps(data, indent=2)


def replay_page(report: str, trace: str | None = None, run_id: str | None = None) -> ReplayPage:
    """Replay the runs of a report.

    Args:
        report: path of the report.
        trace: where the trace of one run is, if not where the report says.
        run_id: that run, where the report has several.

    Raises:
        NotReplayable: no run has a trace, or it is open which run one is of.

    """
    result = validate_file(report)
    if result.view is None:
        return ReplayPage(result=result)
    runs = result.view.runs
    chosen = [at for at, run in enumerate(runs) if run_id in (None, run.id)]
    if not chosen:
        message = f'{report} has no run "{run_id}"; it has {", ".join(run.id for run in runs)}'
        raise NotReplayable(message)
    if trace is None:
        found = tuple(result.replays[at] for at in chosen if at in result.replays)
        if not found and report == STDIN:
            message = "nothing lies beside standard input: name the trace, race replay - TRACE"
            raise NotReplayable(message)
        if not found:
            message = f"no run of {report} has a `trace`: name the file, race replay REPORT TRACE"
            raise NotReplayable(message)
        return ReplayPage(result=result, replays=found)
    if len(chosen) > 1:
        message = f"{report} has {len(runs)} runs: say with --run which of them {trace} is of"
        raise NotReplayable(message)
    return ReplayPage(result=result, replays=(replay_run(result.view, chosen[0], os.fspath(trace)),))


def _code(replay: Replay) -> Exit:
    if replay.trace is None:
        return Exit.UNREADABLE
    return Exit.CLEAN if replay.agrees else Exit.FINDINGS


def _place(fault: Fault) -> str:
    if fault.span is None:
        return fault.pointer
    return f"{fault.path}:{fault.span.line}:{fault.span.column}"


def _about_trace(replay: Replay) -> Iterator[str]:
    trace = replay.trace
    if trace is not None:
        attempts, workers = max(trace.attempts.values(), default=0) + 1, len(trace.next_numbers)
        steps = sorted({record.step for record in trace.records if record.step is not None})
        where = f", steps {steps[0]} to {steps[-1]}" if steps else ""
        yield f"    {len(trace.records):,} records, workers: {workers}, attempts: {attempts}{where}"
        yield f"    sha256 {trace.sha256}"
    for fault in replay.faults:
        if fault.rule != "ledger-beside-trace":
            yield f"    {_place(fault)}: {fault.rule}: {fault.message}"


def _line_text(line: Line) -> Iterator[str]:
    records = f" ({line.records:,} records)" if line.records else ""
    yield f"{line.pointer} {line.words}{records}{': ' + line.note if line.note else ''}"
    if line.missing:
        yield f"    differs: {line.missing}"
    width = max((len(_shown(figure.trace)) for figure in line.figures), default=0)
    for figure in line.figures:
        yield f"    {figure.name:<23} {_shown(figure.trace):>{width}}  {_said(figure)}"


def _said(figure: Figure) -> str:
    if figure.agrees:
        return "agrees"
    why = ", ".join(filter(None, (figure.apart, figure.cause)))
    return f"differs, the report says {_shown(figure.ledger)}: {why}".removesuffix(": ")


def _shown(value: float | None) -> str:
    if value is None:
        return "nothing"
    return f"{value:,}" if isinstance(value, int) else show_number(value)


def _verdict(replay: Replay) -> str:
    figures = [figure for line in replay.lines for figure in line.figures]
    entries = sum(line.records > 0 for line in replay.lines)
    if replay.agrees:
        return f"replayed: {entries} entries, {len(figures)} figures agree to the integer"
    differing = sum(not figure.agrees for figure in figures)
    missing = sum(bool(line.missing) for line in replay.lines)
    if replay.trace is None:
        return "not replayed: there is nothing to replay"
    if not differing and not missing:
        return "not replayed: the trace is not the one that the report was made from"
    return f"not replayed: {differing} of {len(figures)} figures differ, {missing} entries are missing"


def _run_data(replay: Replay) -> dict[str, Any]:
    trace = replay.trace
    return {
        "run": replay.run,
        "pointer": replay.pointer,
        "agrees": replay.agrees,
        "trace": {
            "path": replay.path.encode("utf-8", "backslashreplace").decode("utf-8"),
            "sha256": None if trace is None else trace.sha256,
            "bytes": None if trace is None else trace.size,
            "records": None if trace is None else len(trace.records),
            "workers": [] if trace is None else sorted(trace.next_numbers),
            "attempts": None if trace is None else max(trace.attempts.values(), default=0) + 1,
        },
        "lines": [_line_data(line) for line in replay.lines],
        "findings": [
            {
                "name": fault.rule,
                "pointer": fault.pointer,
                "path": fault.path,
                "line": None if fault.span is None else fault.span.line,
                "column": None if fault.span is None else fault.span.column,
                "message": fault.message,
                "hint": fault.hint,
            }
            for fault in replay.faults
        ],
    }


def _line_data(line: Line) -> dict[str, Any]:
    return {
        "pointer": line.pointer,
        "words": line.words,
        "records": line.records,
        "agrees": line.agrees,
        "missing": line.missing,
        "note": line.note,
        "figures": [
            {
                "name": figure.name,
                "trace": figure.trace,
                "ledger": figure.ledger,
                "agrees": figure.agrees,
                "ratio": figure.ratio,
                "cause": figure.cause,
            }
            for figure in line.figures
        ],
    }
