"""Reports and traces -> the numbers of figures, each with the direction in which it is only a bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from race_report.accounting import COMPONENTS, Figure, account, factors_of, totals
from race_report.flops import PassCounts, entry_flops
from race_report.numbers import listed
from race_report.render.facts import as_estimated, facts, segments, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from race_report.document import LedgerEntry, Report
    from race_report.flops import Factors
    from race_report.trace import Key, Trace
    from race_report.trace.reading import Record


class NothingToPlot(ValueError):
    """Reports that lack what a figure shows, and what they lack."""


class Bar(NamedTuple):
    """A bar of a figure: a row, its parts in percent by name, what stands in each, and what is said beside them."""

    label: str
    parts: dict[str, float]
    words: dict[str, str]
    note: str = ""


class Point(NamedTuple):
    """A figure of a row."""

    label: str
    figure: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What was spent up to each step of a run, by phase, and what was reached."""

    steps: list[int]
    cumulative: dict[str, list[float]]
    """FLOPs up to and with each step, by component and phase."""
    results: dict[str, list[tuple[int, float]]]
    """Results with a step, by metric and target."""
    missing: list[str]
    """Phases of which no FLOPs follow: no coefficients, or a count that was not recorded."""


def splits(reports: Sequence[Report]) -> list[Bar]:
    """Give a bar a run with the percentages of its components, and of what of a stated total is not divided.

    Raises:
        NothingToPlot: no run has a split.

    """
    bars = []
    for label, report, at in _runs(reports):
        drawn, figures = list(segments(report, at)), totals(report)[at]
        lacking = [name for name in COMPONENTS if getattr(figures, name).value is None]
        note = f"{listed(lacking)} not known" if drawn and lacking else "" if drawn else "not known"
        parts, words = ({part.name: part.width for part in drawn}, {part.name: part.text for part in drawn})
        bars.append(Bar(label, parts, words, note))
    if not any(bar.parts for bar in bars):
        message = "no run has a known split: its total and a component must be known"
        raise NothingToPlot(message)
    return bars


def splits_by_model(reports: Sequence[Report]) -> list[Bar]:
    """Give a bar a run with the percentages of its FLOPs by model and its size, largest first; runs summed within.

    Raises:
        NothingToPlot: no run has entries with FLOPs of every model.

    """
    bars = []
    labels = [run.label for report in reports for run in facts(report, alone=len(reports) == 1)]
    position = iter(labels)
    for report in reports:
        names = {model.id: _sized(report, model.id) for model in report.models}
        for run, figures in zip(report.runs, account(report).figures, strict=True):
            spent: dict[str, float] = {}
            known = True
            for entry, figure in zip(run.ledger, figures, strict=True):
                if entry.component not in COMPONENTS:
                    continue
                known = known and figure.value is not None
                name = names.get(entry.model or "", "no model named")
                spent[name] = spent.get(name, 0) + (figure.value or 0)
            total = sum(spent.values())
            is_whole = known and total > 0
            parts = {name: 100 * value / total for name, value in spent.items() if value} if is_whole else {}
            words = {name: f"{part:.1f}" for name, part in parts.items()}
            bars.append(Bar(next(position), parts, words, "" if parts else "not known"))
    if not any(bar.parts for bar in bars):
        message = "no run has the FLOPs of all its ledger entries, by which they are divided among models"
        raise NothingToPlot(message)
    return bars


def learning_shares(reports: Sequence[Report]) -> list[Point]:
    """Give p of every run.

    Raises:
        NothingToPlot: it is known of none.

    """
    points = [
        Point(label, as_estimated(report, at, totals(report)[at].learning_share))
        for label, report, at in _runs(reports)
    ]
    if all(point.figure.value is None for point in points):
        message = "no run has a known learning share p"
        raise NothingToPlot(message)
    return points


def utilizations(reports: Sequence[Report]) -> list[Point]:
    """Give the MFU that each pool of hardware states.

    Raises:
        NothingToPlot: none states it.

    """
    points = [
        Point(f"{said.label}: {text(pool.id)}", Figure(pool.utilization))
        for report in reports
        for run, said in zip(report.runs, facts(report, alone=len(reports) == 1), strict=True)
        for pool in run.hardware
    ]
    if all(point.figure.value is None for point in points):
        message = "no hardware has `utilization`, the MFU"
        raise NothingToPlot(message)
    return points


def course(report: Report, at: int, trace: Trace) -> Course:
    """Add up the FLOPs of a trace by phase, step by step; work that was done again is in it.

    Raises:
        NothingToPlot: no record has a step, or no FLOPs follow from any.

    """
    stepped = [record for record in trace.records if record.step is not None]
    steps = sorted({record.step for record in stepped if record.step is not None})
    spent: dict[str, dict[int, int]] = {}
    missing: dict[str, None] = {}
    for record in stepped:
        assert record.step is not None
        name = f"{record.key.component}: {(record.key.phase or 'no phase').replace('_', ' ')}"
        flops = _flops(report, at, record)
        if flops is None:
            missing[name] = None
        elif flops:
            of_phase = spent.setdefault(name, {})
            of_phase[record.step] = of_phase.get(record.step, 0) + flops
    if not spent:
        message = "from no record of the trace with a step do FLOPs follow"
        raise NothingToPlot(message)
    order = sorted(
        spent, key=lambda name: COMPONENTS.index(part) if (part := name.partition(":")[0]) in COMPONENTS else 9
    )
    return Course(
        steps=steps,
        cumulative={name: list(_running(spent[name], steps)) for name in order},
        results=_results(report, at),
        missing=list(missing),
    )


def _runs(reports: Sequence[Report]) -> Iterator[tuple[str, Report, int]]:
    for report in reports:
        for at, run in enumerate(facts(report, alone=len(reports) == 1)):
            if run.role != "preparation":
                yield run.label, report, at


def _sized(report: Report, model_id: str) -> str:
    from race_report.render import shown

    model = next(model for model in report.models if model.id == model_id)
    size = model.parameters.total if model.parameters is not None else None
    name = text(model.name or model.id)
    return f"{name} ({shown.parameters(size)})" if size is not None else name


def _flops(report: Report, at: int, record: Record) -> int | None:
    """Give the FLOPs of a record by its counts; 0 where no model ran, None where they do not follow."""
    if record.key.model is None:
        return 0
    priced = account(report).models.get(record.key.model)
    if priced is None or priced.coefficients is None or "tokens" not in record.amounts:
        return None
    if any(count not in record.amounts for count in priced.asked):
        return None
    factors = _factors(report, at, record.key)
    if factors is None:
        return None
    counts = PassCounts(*(record.amounts.get(name, 0) for name in PassCounts._fields))  # type: ignore[arg-type]
    return entry_flops(priced.coefficients, counts, factors)


def _factors(report: Report, at: int, key: Key) -> Factors | None:
    """Give the multipliers of the ledger's entry for records of a key, else those of its operation."""
    entries: list[LedgerEntry] = [
        entry for entry in report.runs[at].ledger if entry.model == key.model and entry.operation == key.operation
    ]
    model = account(report).models[key.model or ""].model
    same = [entry for entry in entries if entry.phase == key.phase]
    return factors_of((same or entries)[0], model) if entries else None


def _running(of_step: dict[int, int], steps: list[int]) -> Iterator[float]:
    total = 0
    for step in steps:
        total += of_step.get(step, 0)
        yield total


def _results(report: Report, at: int) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for result in report.runs[at].results:
        if result.step is not None:
            name = text(f"{result.metric} on {result.target}" if result.target else result.metric)
            found.setdefault(name, []).append((result.step, result.value))
    return {name: sorted(points) for name, points in found.items()}
