"""Counts -> FLOPs of entries; entries -> totals; pools -> GPU-hours."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from race_report.accounting import COMPONENTS, account
from race_report.fill.draft import weakest
from race_report.numbers import listed
from race_report.pointer import Pointed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.accounting import Account
    from race_report.document import HardwarePool, Report, Run
    from race_report.fill.draft import Draft, Path

_COUNTED: Final = ("tokens", "sequences", "attention_pairs", "bounded_attention_pairs", "logit_rows", "adapter_tokens")

_NO_MODEL: Final = frozenset({"rule", "environment", "human"})
"""Kinds of feedback that no neural network gives."""

_DERIVED_ROLES: Final = frozenset({"policy", "rollout_policy", "reference"})
"""Roles of models whose passes follow from rollouts; of others nothing but the ledger tells."""


def fill_flops(draft: Draft) -> None:
    """Add FLOPs by counts to entries whose counts and coefficients stand."""
    report = draft.report()
    books = account(report)
    for run_at, run in enumerate(report.runs):
        if draft.is_excluded("runs", run_at, "ledger"):
            continue
        for at, entry in enumerate(run.ledger):
            if entry.flops is not None or entry.model is None or entry.model in draft.closed:
                continue
            path: Path = ("runs", run_at, "ledger", at)
            found = books.recomputed[run_at][at]
            if found.flops is None:
                lacks = " and ".join(lack.what for lack in found.missing)
                is_bare = entry.tokens is None and entry.component in ("search", "learning")
                mend = "; or delete the entries of its component, and they follow from rollouts" if is_bare else ""
                draft.miss((*path, "flops"), f"the entry lacks {lacks}", f"add it{mend}")
            elif entry.method not in (None, "counts"):
                draft.miss((*path, "flops"), f"the method is {entry.method}", "add flops, or write method: counts")
            elif draft.add((*path, "flops"), found.flops, "follows from coefficients and counts"):
                draft.add((*path, "method"), "counts", "follows from coefficients and counts")
                if entry.basis is None:
                    draft.miss((*path, "basis"), "nothing says how the counts were come by", "add basis: measured, ...")


def fill_totals(draft: Draft) -> None:
    """Add the sums of components, and the total, to runs of which every part is settled.

    A total of what happens to be known would have to be taken back as soon as more is: it is not written.
    """
    report = draft.report()
    books = account(report)
    aside = _left_aside(draft, report)
    said = Pointed(report, [(entry.pointer, str(entry.basis)) for entry in report.qualifications])
    for at, run in enumerate(report.runs):
        if run.role == "preparation" or draft.is_excluded("runs", at, "ledger"):
            continue
        gaps = [*aside, *_unsettled_feedback(draft, at, run, books)]
        for gap in gaps:
            draft.miss(*gap)
        if not gaps and not any(_is_open(draft, books, at, run, component) for component in COMPONENTS):
            _fill_total(draft, report, at, run, said)


def _left_aside(draft: Draft, report: Report) -> list[tuple[Path, str, str]]:
    """Give what is open because models are in no entry of any run."""
    named = {entry.model for run in report.runs for entry in run.ledger}
    named |= {item.model for run in report.runs for item in run.feedback}
    return [
        (
            ("models", at),
            f'the passes of "{model.id}" ({model.role}) are in no ledger entry',
            "add entries of it, with sequences and tokens",
        )
        for at, model in enumerate(report.models)
        if model.role not in _DERIVED_ROLES and model.id not in named and model.id not in draft.closed
    ]


def _is_open(draft: Draft, books: Account, at: int, run: Run, component: str) -> bool:
    """Tell whether the sum of a component may become more: an entry has no figure, or nothing is entered or stated."""
    lines = [index for index, entry in enumerate(run.ledger) if entry.component == component]
    if component != "feedback" and not lines:
        return run.totals is None or getattr(run.totals, f"{component}_flops") is None
    return any(
        books.figures[at][index].value is None and run.ledger[index].model not in draft.closed for index in lines
    )


def _unsettled_feedback(draft: Draft, at: int, run: Run, books: Account) -> Iterator[tuple[Path, str, str]]:
    """Yield the feedback of open models that are in no entry: only the author knows how many tokens they read."""
    used = {entry.model for entry in run.ledger}
    for item in run.feedback:
        if item.model in books.models and item.model not in used | draft.closed:
            judge = f'"{item.model}", which gives the feedback "{item.id}",'
            why = f"{judge} reads tokens of its own template and tokenizer, and no field says how many"
            fields = f"component: feedback, phase: reward, model: {item.model}, operation: forward"
            mend = f"add an entry {{{fields}, sequences: ..., tokens: ..., basis: measured}}, and fill again"
            yield ("runs", at, "ledger"), why, mend
    is_entered = any(entry.component == "feedback" for entry in run.ledger)
    is_stated = run.totals is not None and run.totals.feedback_flops is not None
    if not (is_entered or is_stated or _is_by_rules(run) or any(item.model in books.models for item in run.feedback)):
        mend = "add feedback, with what judged; where a model did, its entry in the ledger"
        yield ("runs", at, "feedback"), "nothing says what the feedback cost", mend


def _is_by_rules(run: Run) -> bool:
    return bool(run.feedback) and all(item.kind in _NO_MODEL and item.model is None for item in run.feedback)


def _fill_total(draft: Draft, report: Report, at: int, run: Run, said: Pointed[str]) -> None:
    figures: dict[str, Any] = {}
    books = account(report)
    for component in COMPONENTS:
        key = f"{component}_flops"
        value = books.sums[at][component].value
        if component == "feedback" and not any(entry.component == component for entry in run.ledger):
            value = 0
        stated = None if run.totals is None else getattr(run.totals, key)
        figures[key] = value if stated is None else stated
    known = {key: value for key, value in figures.items() if value is not None}
    total = {**known, "total_flops": sum(known.values())}
    basis = _basis(at, run, said)
    if basis is not None:
        total["basis"] = basis
    why = "sums of the ledger"
    path: Path = ("runs", at, "totals")
    if run.totals is None:
        draft.add(path, total, why)
    else:
        for key, value in total.items():
            draft.add((*path, key), value, why)
    has_zero = draft.value["runs"][at].get("totals", {}).get("feedback_flops") == 0
    if has_zero and _is_by_rules(run) and (run.totals is None or run.totals.feedback_flops is None):
        kinds = listed(sorted({f"{item.kind}" for item in run.feedback}))
        draft.qualify((*path, "feedback_flops"), "derived", f"feedback is of kind {kinds}, and no model runs for it")


def _basis(at: int, run: Run, said: Pointed[str]) -> str | None:
    """Give the weakest basis of the entries of the total; None where one says nothing of it."""
    bases: list[str] = []
    for index, entry in enumerate(run.ledger):
        if entry.component not in COMPONENTS or (entry.model is None and entry.flops is None):
            continue
        if entry.flops is None:
            bases.append("lower_bound")  # of a closed model
        elif entry.basis is None:
            return None
        else:
            counts = [f"/runs/{at}/ledger/{index}/{key}" for key in _COUNTED]
            own = weakest([entry.basis, *(basis for pointer in counts for basis in said.at(pointer))])
            bases.append(own or entry.basis)
    if run.coverage is not None and run.coverage.complete is False:
        bases.append("lower_bound")
    return weakest(bases)


def fill_gpu_hours(draft: Draft) -> None:
    """Add the GPU-hours of pools: count x wall_clock_hours."""
    for run_at, run in enumerate(draft.report().runs):
        if draft.is_excluded("runs", run_at, "hardware"):
            continue
        for at, pool in enumerate(run.hardware):
            if pool.gpu_hours is None and pool.count is not None and pool.wall_clock_hours is not None:
                _fill_pool(draft, ("runs", run_at, "hardware", at), pool)


def _fill_pool(draft: Draft, path: Path, pool: HardwarePool) -> None:
    assert pool.count is not None
    assert pool.wall_clock_hours is not None
    hours = float(pool.count * Fraction(repr(pool.wall_clock_hours)))
    why = "count x wall_clock_hours"
    if draft.add((*path, "gpu_hours"), hours, why):
        basis = weakest(["derived", *draft.bases((*path, "count"), (*path, "wall_clock_hours"))])
        draft.qualify((*path, "gpu_hours"), basis or "derived", f"{why}, by race fill")
