"""What every page says of a run: figures with their bounds, where each comes from, and why one is missing.

Templates print what stands here and compute nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.accounting import (
    COMPONENTS,
    Figure,
    account,
    component_sums,
    run_gpu_hours,
    totals,
    trained_parameters,
)
from race_report.numbers import listed
from race_report.one_line import on_one_line
from race_report.pointer import Pointed
from race_report.render import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from race_report.accounting import RunTotals
    from race_report.document import LedgerEntry, Model, Qualification, Report, Result, Run

_REASONS: Final = {
    "not_measured": "not measured",
    "not_published": "not published",
    "not_applicable": "not applicable",
}
_SETTINGS: Final = {"name": "Algorithm", "kl_coefficient": "KL coefficient"}
_SECONDS_AN_HOUR: Final = 3600


class Fact(NamedTuple):
    """A figure as it is read: its text, the number behind it, and a note on where it comes from or why it lacks."""

    text: str
    value: float | None = None
    note: str = ""
    bound: str = ""
    """`at least`, `at most` or `about`; empty where the number is exact."""

    @property
    def is_known(self) -> bool:
        """Whether there is a number."""
        return self.value is not None


class Segment(NamedTuple):
    """A part of the picture of a split, in percent of its width."""

    name: str
    start: float
    width: float
    text: str


class Line(NamedTuple):
    """An entry of the ledger."""

    component: str
    phase: str
    part: str
    model: str
    operation: str
    tokens: Fact
    flops: Fact
    share: Fact
    method: str
    basis: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is said of a run."""

    label: str
    id: str
    role: str
    policy: str
    parameters: Fact
    trained: Fact
    total: Fact
    components: dict[str, Fact]
    shares: dict[str, Fact]
    segments: tuple[Segment, ...]
    gpu_hours: Fact
    throughput: Fact
    energy: Fact
    carbon: Fact
    cost: Fact
    result: str
    settings: tuple[tuple[str, str], ...]
    hardware: tuple[str, ...]
    ledger: tuple[Line, ...]
    results: tuple[tuple[str, str], ...]
    note: str


class Reading:
    """A report with what it says of its own figures: qualifications and gaps."""

    def __init__(self, report: Report) -> None:
        """Sort what is said by the place that it is said of."""
        self.report = report
        self._gaps = Pointed(report, [(gap.pointer, gap.reason) for gap in report.not_reported])
        self._qualifications = Pointed(report, [(entry.pointer, entry) for entry in report.qualifications])
        self._names = {model.id: text(model.name or model.id) for model in report.models}

    def why_missing(self, pointer: str, otherwise: str = "not reported") -> str:
        """Say why nothing stands at a place: in the report's words, where it has some."""
        reasons = self._gaps.covering(pointer)
        return text(_REASONS.get(reasons[-1], reasons[-1])) if reasons else otherwise

    def name_of(self, model: str | None) -> str:
        """Give the name of a model by the id that entries use."""
        return "" if model is None else self._names.get(model, text(model))

    def qualified(self, figure: Figure, pointer: str) -> Figure:
        """Take over what `qualifications` says of a number: that it is a bound or an estimate."""
        bases = [entry.basis for entry in self._qualifications.at(pointer)]
        is_about = "estimated" in bases or "contested" in bases
        return Figure(
            figure.value,
            figure.at_least or "lower_bound" in bases or is_about,
            figure.at_most or "upper_bound" in bases or is_about,
        )

    def fact(
        self,
        figure: Figure,
        show: Callable[[float], str],
        pointer: str,
        source: str = "as stated",
        otherwise: str = "not reported",
    ) -> Fact:
        """Give a figure as it is read, with what is said of it."""
        figure = self.qualified(figure, pointer)
        if figure.value is None:
            return Fact(shown.UNKNOWN, None, self.why_missing(pointer, otherwise))
        notes = [source, *map(_qualification, self._qualifications.at(pointer))]
        return Fact(shown.bounded(figure, show), figure.value, "; ".join(filter(None, notes)), shown.bound(figure))

    def stated(self, value: float | None, show: Callable[[float], str], pointer: str) -> Fact:
        """Give a figure that the report states, as it is read."""
        return self.fact(Figure(value), show, pointer)


def text(words: str) -> str:
    """Give text of a report for a page: one line, with every sign that drives or turns text made visible."""
    return on_one_line(words)


def facts(report: Report, *, alone: bool = True) -> list[RunFacts]:
    """Give the facts of every run of a valid report, in its order.

    Args:
        report: a view of a valid report.
        alone: whether the page is of this report only; else a run is named with its report.

    """
    reading = Reading(report)
    return [_run_facts(reading, at, alone=alone) for at in range(len(report.runs))]


def _run_facts(reading: Reading, at: int, *, alone: bool) -> RunFacts:
    report, run, here = reading.report, reading.report.runs[at], f"/runs/{at}"
    figures, place = totals(report)[at], next((at for at, m in enumerate(report.models) if m.id == run.policy), None)
    policy = report.models[place] if place is not None else None
    total = reading.fact(
        as_estimated(report, at, run_flops(report, at)),
        shown.power_of_ten,
        f"{here}/totals/total_flops",
        _source(report, at),
    )
    return RunFacts(
        label=_label(report, run, alone=alone),
        id=text(run.id),
        role=run.role or "main",
        policy=reading.name_of(run.policy),
        parameters=_parameters(reading, policy, place),
        trained=_trained(reading, policy, place),
        total=total,
        components=_components(reading, at, figures),
        shares=_shares(reading, at, figures),
        segments=tuple(segments(report, at)) if run.role != "preparation" else (),
        gpu_hours=_gpu_hours(reading, run, here),
        throughput=_throughput(run),
        energy=_energy(reading, run, "energy_kwh", here),
        carbon=_energy(reading, run, "kg_co2e", here),
        cost=reading.stated(run.cost_usd, shown.amount, f"{here}/cost_usd"),
        result=_result(run) or shown.UNKNOWN,
        settings=tuple(_settings(reading, run)),
        hardware=tuple(_hardware(reading, run)),
        ledger=tuple(_ledger(reading, at)),
        results=tuple((_result_words(result), shown.score(result.value)) for result in run.results),
        note=text(run.note or ""),
    )


def run_flops(report: Report, at: int) -> Figure:
    """Give the FLOPs of a run: its total, or of preparation, which is in no total, the sum of its entries."""
    run = report.runs[at]
    if run.role == "preparation":
        return component_sums(run, account(report).figures[at], ("preparation",))["preparation"]
    return totals(report)[at].total


def as_estimated(report: Report, at: int, figure: Figure, *components: str) -> Figure:
    """Mark a figure of a run as about right where an entry of its components, or its totals, are estimated."""
    run = report.runs[at]
    bases = [entry.basis for entry in run.ledger if entry.component in (components or COMPONENTS)]
    if run.totals is not None:
        bases.append(run.totals.basis)
    if "estimated" not in bases or not figure.is_exact or not figure.value:
        return figure
    return Figure(figure.value, at_least=True, at_most=True)


def segments(report: Report, at: int) -> Iterator[Segment]:
    """Give the picture of a split: the components, and what of a stated total nobody divided; none where unknown."""
    figures = totals(report)[at]
    values = {name: getattr(figures, name).value for name in COMPONENTS}
    total = figures.total.value
    known = sum(value for value in values.values() if value is not None)
    if not total or known > total * (1 + 1e-9) or not known:
        return
    start = 0.0
    for name, value in values.items():
        if value:
            width = 100 * value / total
            share = figures.share(name)
            said = (
                as_estimated(report, at, share)
                if share.value is not None
                else Figure(value / total, at_least=True, at_most=True)
            )
            yield Segment(name, start, width, shown.bounded(said, shown.percent))
            start += width
    if None in values.values() and 100 - start > 0.05:  # noqa: PLR2004 - less is not seen
        yield Segment("not divided", start, 100 - start, shown.percent(1 - start / 100))


def _label(report: Report, run: Run, *, alone: bool) -> str:
    title = report.report.id if report.report is not None else None
    if title is None and report.subject is not None:
        title = report.subject.title
    if alone or title is None:
        return text(run.id)
    return text(title if len(report.runs) == 1 else f"{title}: {run.id}")


def _qualification(said: Qualification) -> str:
    ends = [shown.power_of_ten(end) if end >= 1e4 else f"{end:g}" for end in (said.low, said.high) if end is not None]  # noqa: PLR2004
    between = ""
    if len(ends) == 2:  # noqa: PLR2004 - a range has two ends
        between = f"between {ends[0]} and {ends[1]}"
    elif ends:
        between = f"at {'least' if said.low is not None else 'most'} {ends[0]}"
    return text(": ".join(filter(None, (said.basis.replace("_", " "), between, said.reason, said.source))))


def _source(report: Report, at: int) -> str:
    """Say where the total of a run comes from."""
    entries = [entry for entry in report.runs[at].ledger if entry.component in COMPONENTS]
    if totals(report)[at].total.value is None or not any(figure.value for figure in account(report).sums[at].values()):
        return "as stated in totals"
    methods = list(dict.fromkeys(entry.method.replace("_", " ") for entry in entries if entry.method))
    return "sum of the ledger" + (f", by {listed(methods)}" if methods else "")


def _parameters(reading: Reading, policy: Model | None, place: int | None) -> Fact:
    count = policy.parameters.total if policy is not None and policy.parameters is not None else None
    return reading.stated(count, shown.parameters, f"/models/{place}/parameters/total")


def _trained(reading: Reading, policy: Model | None, place: int | None) -> Fact:
    count = trained_parameters(policy) if policy is not None else None
    return reading.stated(count, shown.parameters, f"/models/{place}/parameters/trainable")


def _components(reading: Reading, at: int, figures: RunTotals) -> dict[str, Fact]:
    sums = account(reading.report).sums[at]
    return {
        name: reading.fact(
            as_estimated(reading.report, at, getattr(figures, name), name),
            shown.power_of_ten,
            f"/runs/{at}/totals/{name}_flops",
            "sum of the ledger" if sums[name].value is not None else "as stated in totals",
        )
        for name in COMPONENTS
    }


def _shares(reading: Reading, at: int, figures: RunTotals) -> dict[str, Fact]:
    why = "preparation has no split" if reading.report.runs[at].role == "preparation" else "the split is not known"
    return {
        name: reading.fact(
            as_estimated(reading.report, at, figures.share(name)),
            shown.percent,
            f"/runs/{at}/totals/{name}_flops",
            "share of the total",
            why,
        )
        for name in COMPONENTS
    }


def _gpu_hours(reading: Reading, run: Run, here: str) -> Fact:
    source = "as stated" if run.gpu_hours is not None else "sum over the hardware"
    return reading.fact(run_gpu_hours(run), shown.amount, f"{here}/gpu_hours", source)


def _energy(reading: Reading, run: Run, name: str, here: str) -> Fact:
    value = getattr(run.energy, name) if run.energy is not None else None
    return reading.stated(value, shown.amount, f"{here}/energy/{name}")


def _throughput(run: Run) -> Fact:
    """Derive sampled tokens a second and accelerator, over all the hours of the run."""
    hours, tokens = run_gpu_hours(run), run.rollouts.completion_tokens if run.rollouts is not None else None
    if not hours.value or tokens is None:
        return Fact(shown.UNKNOWN, None, "follows from completion tokens and GPU-hours, which are not both reported")
    rate = Figure(tokens / (hours.value * _SECONDS_AN_HOUR), hours.at_most, hours.at_least)
    note = "derived: completion tokens over all GPU-seconds of the run, those of learning and feedback included"
    return Fact(shown.bounded(rate, shown.amount), rate.value, note, shown.bound(rate))


def headline(run: Run) -> Result | None:
    """Choose the result of a row: the first held-out one, else the first."""
    held_out = [result for result in run.results if result.target_kind == "held_out"]
    return next(iter(held_out or run.results), None)


def _result(run: Run) -> str:
    result = headline(run)
    return "" if result is None else f"{shown.score(result.value)} {_result_words(result)}"


def _result_words(result: Result) -> str:
    at_step = f" at step {result.step:,}" if result.step is not None else ""
    return text((f"{result.metric} on {result.target}" if result.target else result.metric) + at_step)


def _settings(reading: Reading, run: Run) -> Iterator[tuple[str, str]]:
    settings, rollouts = run.algorithm, run.rollouts
    if settings is not None:
        yield from (
            (_SETTINGS.get(name, name.replace("_", " ").capitalize()), _value(value))
            for name in (
                *("name", "rollout_steps", "optimizer_steps", "prompts_per_step", "group_size", "updates_per_batch"),
                *("kl_coefficient", "max_prompt_tokens", "max_completion_tokens"),
            )
            if (value := getattr(settings, name)) is not None
        )
    if rollouts is not None:
        yield from (
            (f"Rollouts {name}" if "tokens" not in name else name.replace("_", " ").capitalize(), f"{value:,}")
            for name in ("generated", "trained", "discarded", "prompt_tokens", "completion_tokens")
            if (value := getattr(rollouts, name)) is not None
        )
    if run.feedback:
        kinds = [
            item.kind.replace("_", " ") + (f" ({reading.name_of(item.model)})" if item.model else "")
            for item in run.feedback
        ]
        yield "Feedback", listed(list(dict.fromkeys(kinds)))


def _value(value: str | float) -> str:
    return text(value) if isinstance(value, str) else f"{value:,}"


def _hardware(reading: Reading, run: Run) -> Iterator[str]:
    at = reading.report.runs.index(run)
    for position, pool in enumerate(run.hardware):
        here = f"/runs/{at}/hardware/{position}"
        what = text(pool.accelerator or f"accelerators ({reading.why_missing(f'{here}/accelerator')})")
        words = f"{pool.count:,} × {what}" if pool.count is not None else what
        if pool.wall_clock_hours is not None:
            words += f" for {shown.amount(pool.wall_clock_hours)} hours"
        if pool.components:
            words += f", for {listed(pool.components)}"
        if pool.utilization is not None:
            words += f", MFU {shown.percent(pool.utilization)}"
        yield words


def _ledger(reading: Reading, at: int) -> Iterator[Line]:
    report = reading.report
    total = totals(report)[at].total
    for position, (entry, figure) in enumerate(zip(report.runs[at].ledger, account(report).figures[at], strict=True)):
        here = f"/runs/{at}/ledger/{position}"
        share = Figure()
        if entry.component in COMPONENTS and figure.value is not None and total.is_exact and total.value:
            share = Figure(figure.value / total.value, figure.at_least, figure.at_most)
        yield Line(
            component=entry.component,
            phase=(entry.phase or "").replace("_", " "),
            part=text(": ".join(filter(None, (entry.stage, entry.part)))),
            model=reading.name_of(entry.model),
            operation=entry.operation or "",
            tokens=reading.stated(entry.tokens, shown.amount, f"{here}/tokens"),
            flops=reading.fact(figure, shown.power_of_ten, f"{here}/flops", _line_source(entry, figure)),
            share=Fact(shown.bounded(share, shown.percent), share.value, "", shown.bound(share)),
            method=(entry.method or "").replace("_", " "),
            basis=(entry.basis or "").replace("_", " "),
            note=text(entry.note or ""),
        )


def _line_source(entry: LedgerEntry, figure: Figure) -> str:
    if entry.flops is not None:
        return "as stated"
    return "no model ran" if figure.value == 0 and entry.model is None else "recomputed from the counts"
