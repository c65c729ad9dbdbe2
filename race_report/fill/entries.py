"""Rollouts -> ledger entries of search and learning, where a run has none of that component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.fill.learning import learning_entries
from race_report.fill.lengths import NotDerived
from race_report.fill.models import Unshaped
from race_report.fill.search import search_entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from race_report.document import Run
    from race_report.fill.draft import Draft, Path
    from race_report.fill.passes import Entry

_COMPONENTS: Final[tuple[tuple[str, Callable[..., list[Entry]]], ...]] = (
    ("search", search_entries),
    ("learning", learning_entries),
)


def fill_entries(draft: Draft) -> None:
    """Add the entries of search and learning to runs that have none of them."""
    report = draft.report()
    for at, run in enumerate(report.runs):
        if run.role == "preparation" or draft.is_excluded("runs", at, "ledger"):
            continue
        for component, derive in _COMPONENTS:
            if any(entry.component == component for entry in run.ledger):
                continue
            if draft.is_named("runs", at, "ledger"):
                mend = "delete it there, and it is filled in"
                draft.miss(("runs", at, "ledger"), "the ledger is named in not_reported", mend)
                break
            try:
                entries = derive(draft, report, at, run)
            except (NotDerived, Unshaped) as error:
                draft.miss(("runs", at, "ledger"), f"{component}: {error}", error.mend)
                continue
            for entry in entries:
                _enter(draft, at, entry)
            _say_what_is_left_out(draft, at, run, component)


def _enter(draft: Draft, at: int, entry: Entry) -> None:
    """Add an entry to a run's ledger, with an id that is free, and what has to be said of it."""
    ledger = draft.value["runs"][at].setdefault("ledger", [])
    path: Path = ("runs", at, "ledger", len(ledger))
    draft.add(path, {"id": draft.free_id(at, entry.fields["phase"]), **entry.fields}, "from rollouts and algorithm")
    for said in entry.said:
        draft.qualify((*path, said.key), said.basis, said.reason, **said.ends)


def _say_what_is_left_out(draft: Draft, at: int, run: Run, component: str) -> None:
    """Qualify the sum of a component by the passes that may have run and that nothing tells of."""
    path: Path = ("runs", at, "totals", f"{component}_flops")
    kl = run.algorithm.kl_coefficient if run.algorithm is not None else None
    versions = run.rollouts.max_policy_versions if run.rollouts is not None else None
    if component == "learning":
        of_reference = "or for reference log-probabilities, as kl_coefficient is not stated" if kl is None else ""
        reason = f"assumed: no pass ran for old log-probabilities {of_reference}".rstrip()
        draft.qualify(path, "lower_bound", reason)
    elif (versions or 1) > 1:
        reason = "prefixes that were read again under new weights (max_policy_versions) are not counted"
        draft.qualify(path, "lower_bound", reason)
