"""The compute statement: complete sentences from a report alone, and what it does not report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from race_report.accelerators import candidates
from race_report.accounting import COMPONENTS, Figure, run_gpu_hours, totals, trained_parameters
from race_report.numbers import listed
from race_report.render import shown
from race_report.render.facts import Reading, as_estimated, run_flops, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from race_report.document import HardwarePool, Model, OtherCompute, Report, Run
    from race_report.levels import Level

VENUES: Final = ("neurips", "acl", "model-card")
"""What statements are made for: NeurIPS checklist item 8, ACL Responsible NLP C1, a section of a model card."""

_MADE_BY: Final = "Made by race render"

MADE_BY: Final = {
    "neurips": f"% {_MADE_BY}",
    "acl": f"% {_MADE_BY}",
    "model-card": f"<!-- {_MADE_BY}",
}
"""How each statement begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run and what is needed to speak of it."""

    reading: Reading
    at: int

    @property
    def run(self) -> Run:
        return self.reading.report.runs[self.at]

    @property
    def pointer(self) -> str:
        return f"/runs/{self.at}"


def statement(report: Report, level: Level, venue: str, *, unicode: bool = False) -> str:
    """Write the statement of a valid report: LaTeX for a venue, Markdown for a model card.

    Args:
        report: a view of it.
        level: the level that it reaches.
        venue: one of `VENUES`.
        unicode: whether the LaTeX is for XeLaTeX or LuaLaTeX.

    Raises:
        UnprintableCharacter: pdflatex has no sign for a character of a name.

    """
    paragraphs = [" ".join(sentences) for sentences in _paragraphs(report, level, venue) if sentences]
    if venue == "model-card":
        from race_report.render.markdown import escape

        body = "\n\n".join(map(escape, paragraphs))
        return f"{MADE_BY[venue]}; change the report, not this text. -->\n\n## Compute\n\n{body}\n"
    from race_report.render.tex import escape as tex

    body = "\n\n".join(_in_tex(paragraph, lambda words: tex(words, unicode=unicode)) for paragraph in paragraphs)
    return f"{MADE_BY[venue]}; change the report, not this file.\n{body}\n"


def _in_tex(paragraph: str, escape: Callable[[str], str]) -> str:
    """Set a paragraph in LaTeX; powers of ten become mathematics, everything else is text."""
    powers = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    pieces = re.split(r"(\d\.\d\d × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", paragraph)
    return "".join(
        _spaced(piece, escape) if at % 2 == 0 else _power_in_tex(piece.translate(powers))
        for at, piece in enumerate(pieces)
    )


def _spaced(piece: str, escape: Callable[[str], str]) -> str:
    """Escape a piece of a paragraph and keep the spaces at its ends."""
    return " " * piece.startswith(" ") + escape(piece.strip()) + " " * (piece.endswith(" ") and piece != " ")


def _power_in_tex(piece: str) -> str:
    digits, _, power = piece.partition(" × 10")
    return rf"${digits}\times10^{{{power}}}$"


def _paragraphs(report: Report, level: Level, venue: str) -> Iterator[list[str]]:
    reading = Reading(report)
    bound = ", with totals that are lower bounds" if level.is_lower_bound else ""
    yield [f"These figures follow from a RACE report of level {level.number} ({level.name}){bound}."]
    if venue == "acl":
        yield [_model_sentence(reading, at, model) for at, model in enumerate(report.models)]
    for at in range(len(report.runs)):
        yield list(_run_sentences(_Run(reading=reading, at=at), venue))
    yield list(_study_sentences(report))
    yield list(_gap_sentences(reading, venue))


def _model_sentence(reading: Reading, at: int, model: Model) -> str:
    count = model.parameters.total if model.parameters is not None else None
    role = model.role.replace("_", " ")
    name = text(model.name or model.id)
    if count is None:
        why = _because(reading, f"/models/{at}/parameters/total")
        return f"The parameters of {name} ({role}) are not reported{why}."
    trained = trained_parameters(model)
    changed = f", {shown.parameters(trained)} of them trained" if trained not in (None, count) else ""
    return f"{name} ({role}) has {shown.parameters(count)} parameters{changed}."


def _run_sentences(one: _Run, venue: str) -> Iterator[str]:
    run, reading = one.run, one.reading
    yield _opening(one)
    yield from _hardware_sentences(one)
    hours = reading.qualified(run_gpu_hours(run), f"{one.pointer}/gpu_hours")
    if hours.value is None:
        yield f"Its GPU-hours are not reported{_because(reading, f'{one.pointer}/gpu_hours')}."
    else:
        yield f"In all it took {in_words(hours, shown.amount)} GPU-hours."
    yield from _flops_sentences(one)
    energy = run.energy
    if energy is not None and energy.energy_kwh is not None:
        tracker = f", by {text(energy.tracker)}" if energy.tracker else ""
        carbon = f" and {shown.amount(energy.kg_co2e)} kg of CO2 equivalent" if energy.kg_co2e is not None else ""
        yield f"It used {shown.amount(energy.energy_kwh)} kWh{carbon}{tracker}."
    elif venue == "model-card":
        yield f"Its energy is not reported{_because(reading, f'{one.pointer}/energy/energy_kwh')}."


def _because(reading: Reading, pointer: str) -> str:
    """Give the reason that the report names for a gap, in brackets; nothing where it names none."""
    why = reading.why_missing(pointer, "")
    return f" ({why})" if why else ""


def _opening(one: _Run) -> str:
    run, reading = one.run, one.reading
    what = f"Run {text(run.id)}" + (f" ({run.role})" if run.role not in (None, "main") else "")
    if run.policy is None:
        return f"{what} names no policy."
    model = next(model for model in reading.report.models if model.id == run.policy)
    settings = run.algorithm
    by = f" with {text(settings.name)}" if settings is not None and settings.name else ""
    steps = settings.optimizer_steps if settings is not None else None
    for_steps = f" for {steps:,} optimizer steps" if steps is not None else ""
    size = model.parameters.total if model.parameters is not None else None
    trained = trained_parameters(model)
    counts = [f"{shown.parameters(size)} parameters"] if size is not None else []
    if trained is not None and trained != size:
        counts.append(f"{shown.parameters(trained)} trained")
    of = f" ({', '.join(counts)})" if counts else ""
    return f"{what} trained {reading.name_of(run.policy)}{of}{by}{for_steps}."


def _hardware_sentences(one: _Run) -> Iterator[str]:
    pools = one.run.hardware
    if not pools:
        yield f"Its hardware is not reported{_because(one.reading, f'{one.pointer}/hardware')}."
        return
    yield f"It ran on {listed([_pool(one, at, pool) for at, pool in enumerate(pools)])}."


def _pool(one: _Run, at: int, pool: HardwarePool) -> str:
    here = f"{one.pointer}/hardware/{at}"
    count = f"{pool.count:,} × " if pool.count is not None else ""
    if pool.accelerator is None:
        return f"{count}accelerators whose kind is not reported{_because(one.reading, f'{here}/accelerator')}"
    sizes = {size for device in candidates(pool.accelerator) for size in device.memory_gb}
    memory = f" of {sizes.pop()} GB memory each" if len(sizes) == 1 else ""
    hours = f" for {shown.amount(pool.wall_clock_hours)} hours" if pool.wall_clock_hours is not None else ""
    use = f" ({listed(pool.components)})" if pool.components else ""
    return f"{count}{text(pool.accelerator)}{memory}{hours}{use}"


def _flops_sentences(one: _Run) -> Iterator[str]:
    report = one.reading.report
    total = one.reading.qualified(
        as_estimated(report, one.at, run_flops(report, one.at)), f"{one.pointer}/totals/total_flops"
    )
    if total.value is None:
        yield f"Its FLOPs are not reported{_because(one.reading, f'{one.pointer}/totals/total_flops')}."
        return
    yield f"Its model FLOPs are {in_words(total, shown.power_of_ten)}."
    if one.run.role == "preparation":
        return
    shares = {name: as_estimated(report, one.at, totals(report)[one.at].share(name)) for name in COMPONENTS}
    known = [
        f"{name} took {in_words(share, shown.percent)}" for name, share in shares.items() if share.value is not None
    ]
    lacking = [name for name, share in shares.items() if share.value is None]
    if known:
        yield f"Of these FLOPs, {listed(known)}."
    if lacking:
        yield f"The share of {listed(lacking)} is not known."


def _study_sentences(report: Report) -> Iterator[str]:
    study, in_total = report.study, [at for at, run in enumerate(report.runs)]
    if len(in_total) > 1:
        flops = add([as_estimated(report, at, run_flops(report, at)) for at in in_total])
        hours = add([run_gpu_hours(run) for run in report.runs])
        parts = [
            f"{in_words(flops, shown.power_of_ten)} model FLOPs" if flops.value is not None else "",
            f"{in_words(hours, shown.amount)} GPU-hours" if hours.value is not None else "",
        ]
        if any(parts):
            yield f"The reported runs together took {listed(list(filter(None, parts)))}."
    if study is not None and study.other_compute:
        yield f"Beside them the project used: {'; '.join(map(other_compute, study.other_compute))}."
    if study is None or study.complete is None:
        yield "The report does not say whether the project used more compute than this."
    elif study.complete:
        yield "This is all the compute that the project used."
    else:
        yield "The project used more compute than this, which is not reported."


def other_compute(entry: OtherCompute) -> str:
    """Say what other compute of a project was, and how much."""
    amounts = [
        f"{_of_basis(entry.basis)}{show(value)} {unit}"
        for value, show, unit in (
            (entry.flops, shown.power_of_ten, "FLOPs"),
            (entry.gpu_hours, shown.amount, "GPU-hours"),
            (entry.cost_usd, shown.amount, "US dollars"),
        )
        if value is not None
    ]
    note = f", {text(entry.note)}" if entry.note else ""
    return f"{text(entry.what)} ({', '.join(amounts) or 'amount not reported'}{note})"


def _of_basis(basis: str | None) -> str:
    return {"lower_bound": "at least ", "upper_bound": "at most ", "estimated": "about "}.get(basis or "", "")


def _gap_sentences(reading: Reading, venue: str) -> Iterator[str]:
    report = reading.report
    named = [f"{text(gap.pointer)} ({text(gap.reason.replace('_', ' '))})" for gap in report.not_reported]
    if named:
        yield f"The report names as not reported: {'; '.join(named)}."
    if venue == "neurips":
        yield "The memory of the hosts and the storage are not reported."


def in_words(figure: Figure, show: Callable[[float], str]) -> str:
    """Show a known figure within a sentence: at least, at most, about."""
    assert figure.value is not None
    return f"{shown.bound(figure)} {show(figure.value)}".lstrip()


def add(figures: list[Figure]) -> Figure:
    """Add figures of runs; an unknown one makes a lower bound of the rest."""
    known = [figure for figure in figures if figure.value is not None]
    if not known:
        return Figure()
    return Figure(
        sum(figure.value for figure in known if figure.value is not None),
        len(known) < len(figures) or any(figure.at_least for figure in known),
        any(figure.at_most for figure in known),
    )
