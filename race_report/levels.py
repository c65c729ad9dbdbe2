"""Which level of disclosure a report reaches, and what the next one lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from race_report.ledger import (
    COMPONENTS,
    Figure,
    is_left_to_accounting,
    missing_for_recomputation,
    models_by_id,
    run_totals,
)
from race_report.pointer import is_covered, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import LedgerEntry, Model, Report, Run

NAMES: Final = ("Well-formed", "Declared", "Recomputable", "Replayable")
"""The levels, from 0."""


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
    is_lower_bound = any(run_totals(report, run).total.at_least for run in _measured_runs(report))
    lacking: list[str] = ["a report without errors"] if has_errors else []
    number = 0
    for step in (_lacking_for_declared, _lacking_for_recomputable, _lacking_for_replayable):
        lacking += step(report)
        if lacking:
            break
        number += 1
    return Level(number=number, is_lower_bound=number > 0 and is_lower_bound, lacking=tuple(dict.fromkeys(lacking)))


def _measured_runs(report: Report) -> Iterator[Run]:
    """Give the runs that have a split: all but preparation, which is beside every total."""
    return (run for run in report.runs if run.role != "preparation")


def _lacking_for_declared(report: Report) -> list[str]:
    """Level 1: policy, total, split, method and basis of each, hardware."""
    gaps = _Gaps(report)
    models = gaps.models
    lacking = []
    for run in _measured_runs(report):
        where = f"run {run.id}"
        figures = run_totals(report, run)
        policy = models.get(run.policy or "")
        if policy is None:
            lacking.append(f"{where}: `policy`, the id of the model that is trained")
        elif policy.name is None and policy.architecture is None and policy.architecture_file is None:
            lacking.append(f"{where}: the policy's `name` or `architecture`")
        for component in COMPONENTS:
            figure: Figure = getattr(figures, component)
            entries = [entry for entry in run.ledger if entry.component == component]
            if figure.value is None and not (entries and all(gaps.is_closed(entry) for entry in entries)):
                lacking.append(f"{where}: {component} FLOPs, as entries of the ledger or in `totals`")
            elif figure.value and not any(entry.flops for entry in entries) and not gaps.has_counts(entries):
                lacking.append(f"{where}: a ledger entry that says how the {component} FLOPs were come by")
        if figures.total.value is None:
            lacking.append(f"{where}: total FLOPs")
        lacking += [
            f"{where}: `{key}` of ledger entry {index} ({entry.component})"
            for index, entry in enumerate(run.ledger)
            for key, is_needed in (("method", entry.flops), ("basis", entry.flops or entry.tokens))
            if is_needed and getattr(entry, key) is None
        ]
        if not any(pool.accelerator and pool.count for pool in run.hardware):
            lacking.append(f"{where}: `hardware` with accelerator and count")
    return lacking


def _lacking_for_recomputable(report: Report) -> list[str]:
    """Level 2: coefficients of every open model, and counts on every entry that has one."""
    gaps = _Gaps(report)
    lacking = []
    for run in _measured_runs(report):
        for index, entry in enumerate(run.ledger):
            if entry.component not in COMPONENTS or gaps.is_closed(entry) or gaps.is_no_compute(entry):
                continue
            where = f"run {run.id}, ledger entry {index} ({entry.component})"
            if is_left_to_accounting(entry, gaps.models):
                lacking.append(
                    f'coefficients of the model "{entry.model}": this version of race does not yet derive them from '
                    "its architecture, so state them"
                )
            else:
                lacking += [f"{where}: {what}" for what in missing_for_recomputation(entry, gaps.models)]
                model = gaps.models.get(entry.model or "")
                if model is not None and model.coefficients is None:
                    lacking.append(f'for the model "{model.id}", if it is closed: its coefficients in not_reported')
    return lacking


def _lacking_for_replayable(report: Report) -> list[str]:
    """Level 3: a trace whose sums are the ledger; this version cannot replay one."""
    lacking = [f"run {run.id}: a `trace`" for run in _measured_runs(report) if run.trace is None]
    return lacking or ["a replay of the trace, which this version of race cannot do yet"]


class _Gaps:
    """Which models are closed, by what `not_reported` says."""

    def __init__(self, report: Report) -> None:
        self.models: dict[str, Model] = models_by_id(report)
        named = [plain for gap in report.not_reported for plain in resolve(report, gap.pointer)]
        self._closed = {
            model.id
            for index, model in enumerate(report.models)
            if model.coefficients is None
            and model.architecture is None
            and model.trained in (None, "none")
            and is_covered(f"/models/{index}/coefficients", named)
        }

    def is_closed(self, entry: LedgerEntry) -> bool:
        """Tell whether the entry is of a model whose coefficients are named as not reported.

        A model that this work trains is never closed: its shape is known to whoever trains it.
        """
        return entry.model in self._closed

    def is_no_compute(self, entry: LedgerEntry) -> bool:
        """Tell whether the entry adds 0: no model ran."""
        return entry.model is None and entry.flops in (None, 0)

    def has_counts(self, entries: list[LedgerEntry]) -> bool:
        """Tell whether an entry's FLOPs follow from its counts."""
        return any(not missing_for_recomputation(entry, self.models) for entry in entries)
