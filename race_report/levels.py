"""Which level of disclosure a report reaches, and what the next one lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from race_report.accounting import (
    COMPONENTS,
    Figure,
    RunTotals,
    entry_figure,
    is_left_to_accounting,
    ledger_figure,
    missing_for_recomputation,
    models_by_id,
    recompute,
    run_totals,
)
from race_report.flops import ROUNDED, relative_difference
from race_report.pointer import Pointed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import LedgerEntry, Model, Report, Run

NAMES: Final = ("Well-formed", "Declared", "Recomputable", "Replayable")
"""The levels, from 0."""


_NO_MODEL: Final = frozenset({"rule", "environment", "human"})
"""Kinds of feedback that no neural network gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The level that a report reaches."""

    number: int
    is_lower_bound: bool
    """Whether a total is a lower bound, because a part of it is unknown."""
    lacking: tuple[str, ...]
    """What the next level lacks, a sentence each."""

    @property
    def name(self) -> str:
        """The level's name."""
        return NAMES[self.number]


def reached_level(report: Report, *, has_errors: bool) -> Level:
    """Decide the level of a structurally valid report; levels above 0 need a report without errors."""
    known = _Known(report)
    lacking: list[str] = ["the errors above mended"] if has_errors else []
    number = 0
    for step in (_lacking_for_declared, _lacking_for_recomputable, _lacking_for_replayable):
        lacking += step(report, known)
        if lacking:
            break
        number += 1
    is_lower_bound = any(figures.total.at_least for figures in known.totals.values())
    return Level(number=number, is_lower_bound=number > 0 and is_lower_bound, lacking=tuple(dict.fromkeys(lacking)))


def _has_split(run: Run) -> bool:
    """Tell whether a run has search, learning and feedback: all but preparation, which is beside every total."""
    return run.role != "preparation"


def _counted(run: Run) -> Iterator[tuple[str, LedgerEntry]]:
    """Give the entries that a level is about, each with its name in words: those of the total, or of preparation."""
    components = COMPONENTS if _has_split(run) else ("preparation",)
    for index, entry in enumerate(run.ledger):
        if entry.component in components:
            yield f"/runs/{run.id}/ledger/{index} ({entry.component})", entry


def _lacking_for_declared(report: Report, known: _Known) -> list[str]:
    """Level 1: policy, total, split, method and basis of each, hardware."""
    lacking = []
    for run in report.runs:
        where = f"/runs/{run.id}"
        if _has_split(run):
            lacking += [f"{where}: {what}" for what in _lacking_policy(run, known)]
            lacking += [f"{where}: {what}" for what in _lacking_split(run, known)]
        elif not any(_counted(run)):
            lacking.append(f"{where}: ledger entries of component preparation")
        for name, entry in _counted(run):
            if entry.flops is not None and entry.method is None:
                lacking.append(f"{name}: `method`")
            if (entry.flops is not None or entry.tokens is not None) and entry.basis is None:
                lacking.append(f"{name}: `basis`")
        if not any(pool.accelerator and pool.count for pool in run.hardware):
            lacking.append(f"{where}: `hardware` with accelerator and count")
    return lacking


def _lacking_policy(run: Run, known: _Known) -> Iterator[str]:
    policy = known.models.get(run.policy or "")
    if run.policy is None:
        yield "`policy`, the id of the model that is trained"
    elif policy is None:
        yield f'the policy "{run.policy}" under `models`, which has {", ".join(known.models)}'
    elif policy.name is None and policy.architecture is None and policy.architecture_file is None:
        yield "the policy's `name` or `architecture`"


def _lacking_split(run: Run, known: _Known) -> Iterator[str]:
    """Name the components and the total that are neither known nor known to be unknowable."""
    figures = known.totals[run.id]
    for component in COMPONENTS:
        figure: Figure = getattr(figures, component)
        entries = [entry for entry in run.ledger if entry.component == component]
        if figure.value is None and not known.are_closed(entries):
            yield f"{component} FLOPs, as entries of the ledger or in `totals`{_hint(run, component, known, entries)}"
        elif figure.value == 0 and not _is_none(run, component, entries):
            yield f"{component} FLOPs; 0 are stated, and nothing says how a run can do without"
        elif figure.value and not any(entry.flops or entry.tokens for entry in entries):
            yield f"a ledger entry that says how the {component} FLOPs were come by"
    if figures.total.value is None:
        yield "total FLOPs"
    used = {entry.model for entry in run.ledger}
    for item in run.feedback:
        if item.model is not None and item.model not in used:
            yield f'a ledger entry of the model "{item.model}", which gives the feedback "{item.id}"'


def _hint(run: Run, component: str, known: _Known, entries: list[LedgerEntry]) -> str:
    """Say what would make a component known."""
    if component == "feedback" and not entries and _is_none(run, component, entries):
        return "; where no model judges, write feedback_flops: 0"
    for entry in entries:
        if entry.model is not None and entry.flops is None:
            return f"; its entries lack {' and '.join(missing_for_recomputation(entry, known.models))}"
    return ""


def _is_none(run: Run, component: str, entries: list[LedgerEntry]) -> bool:
    """Tell whether the report says how a component can have no FLOPs; learning always has some."""
    if component == "search":
        return run.rollouts is not None and run.rollouts.generated == 0
    if component == "learning":
        return False
    judges = [item.kind for item in run.feedback]
    return any(entry.model is None for entry in entries) or (bool(judges) and _NO_MODEL.issuperset(judges))


def _lacking_for_recomputable(report: Report, known: _Known) -> list[str]:
    """Level 2: coefficients of every open model, and counts on every entry that has one; recomputation agrees."""
    lacking = []
    for run in report.runs:
        lacking += [
            f"/runs/{run.id}: {component} FLOPs from entries; the figure in `totals` follows from none"
            for component in COMPONENTS
            if known.is_stated_only(run, component)
        ]
        for name, entry in _counted(run):
            if known.is_no_compute(entry) or known.is_closed(entry):
                continue
            missing = missing_for_recomputation(entry, known.models)
            model = known.models.get(entry.model or "")
            if missing and is_left_to_accounting(entry, known.models):
                lacking.append(
                    f'coefficients of the model "{entry.model}": this version of race does not yet derive them from '
                    "its architecture, so state them"
                )
                continue
            lacking += [f"{name}: {what}" for what in missing]
            if model is not None and model.coefficients is None and model.trained in (None, "none"):
                lacking.append(f'for the model "{model.id}", if it is closed: its coefficients in `not_reported`')
            if not missing and not known.agrees(entry):
                lacking.append(f"{name}: FLOPs that its counts give; the stated ones are by another method")
    return lacking


def _lacking_for_replayable(report: Report, known: _Known) -> list[str]:  # noqa: ARG001 - one signature a level
    """Level 3: a trace whose sums are the ledger; this version cannot replay one."""
    lacking = [f"/runs/{run.id}: a `trace`" for run in report.runs if run.trace is None]
    return lacking or ["a replay of the trace, which this version of race cannot do yet"]


class _Known:
    """What all levels ask of a report: its models, which of them are closed, its totals by run."""

    def __init__(self, report: Report) -> None:
        self.models: dict[str, Model] = models_by_id(report)
        self.totals: dict[str, RunTotals] = {
            run.id: run_totals(run, self.models) for run in report.runs if _has_split(run)
        }
        gaps = Pointed(report, [(gap.pointer, gap) for gap in report.not_reported])
        trained = {run.policy for run in report.runs}
        self._closed = {
            model.id
            for index, model in enumerate(report.models)
            if model.coefficients is None
            and model.architecture is None
            and model.trained in (None, "none")
            and model.id not in trained
            and gaps.covering(f"/models/{index}/coefficients")
        }

    def is_stated_only(self, run: Run, component: str) -> bool:
        """Tell whether a figure of `totals` has entries beside it, of which nothing is known."""
        stated = getattr(run.totals, f"{component}_flops") if run.totals is not None else None
        is_entered = any(entry.component == component for entry in run.ledger)
        return bool(stated) and is_entered and ledger_figure(run, component, self.models).value is None

    def is_closed(self, entry: LedgerEntry) -> bool:
        """Tell whether the FLOPs of an entry are unknown because its model is closed.

        A model is closed where its coefficients are named as not reported; one that this work trains never is: whoever
        trains a model knows its shape.
        """
        return entry.model in self._closed and entry.flops is None

    def are_closed(self, entries: list[LedgerEntry]) -> bool:
        """Tell whether entries are unknown for no other reason than closed models."""
        others = [entry for entry in entries if not self.is_closed(entry)]
        return len(others) < len(entries) and all(self.is_no_compute(entry) for entry in others)

    def is_no_compute(self, entry: LedgerEntry) -> bool:
        """Tell whether no model ran for an entry."""
        return entry.model is None and entry_figure(entry, self.models).value == 0

    def agrees(self, entry: LedgerEntry) -> bool:
        """Tell whether FLOPs stated by another method than counts are those that the counts give.

        Of method `counts`, flops-mismatch has said so.
        """
        if entry.flops is None or entry.method in (None, "counts"):
            return True
        computed = recompute(entry, self.models)
        return computed is not None and relative_difference(entry.flops, computed) <= ROUNDED
