"""Entries that stand: the counts that follow from their own tokens and sequences."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from race_report.bounds_from_means import reward_from_means
from race_report.fill.lengths import NotDerived
from race_report.fill.models import Unshaped
from race_report.fill.passes import FROM_MEANS, Said, bearer_of, said_of_pairs

if TYPE_CHECKING:
    from race_report.document import LedgerEntry, Model, Report
    from race_report.fill.draft import Draft, Path

_ROW_A_TOKEN: Final = frozenset({"value", "value_update", "reward", "reward_update"})
"""Phases of heads that run on every token."""

_WHOLE: Final = _ROW_A_TOKEN | {"old_logprobs", "reference_logprobs", "teacher_logprobs", "update"}
"""Phases whose passes read sequences whole, from their first token."""

_SCORERS: Final = frozenset({"value", "reward_model", "process_reward_model"})
"""Roles of models with such heads."""


def fill_standing_entries(draft: Draft) -> None:
    """Add to entries that state sequences and tokens of whole sequences what follows: pairs, rows, adapter tokens."""
    report = draft.report()
    models = {model.id: model for model in report.models}
    for run_at, run in enumerate(report.runs):
        if draft.is_excluded("runs", run_at, "ledger"):
            continue
        for at, entry in enumerate(run.ledger):
            model = models.get(entry.model or "")
            if model is not None and entry.tokens and entry.flops is None and entry.phase in _WHOLE:
                _fill_entry(draft, report, ("runs", run_at, "ledger", at), entry, model)


def _fill_entry(draft: Draft, report: Report, path: Path, entry: LedgerEntry, model: Model) -> None:
    assert entry.tokens is not None
    try:
        bearer = bearer_of(draft, report, model.id)
    except (NotDerived, Unshaped):
        return  # said of the model, and of the entry's FLOPs
    if bearer.adapters and entry.operation == "update":
        _add(draft, path, "adapter_tokens", entry.tokens)
    if entry.phase in _ROW_A_TOKEN and model.role in _SCORERS and _add(draft, path, "logit_rows", entry.tokens):
        _qualify(draft, path, Said("logit_rows", "derived", "assumed: the head runs on every token"))
    if not entry.sequences or entry.tokens < entry.sequences:
        return
    counts = reward_from_means(entry.sequences, Fraction(entry.tokens, entry.sequences), window=bearer.window).counts
    for said in said_of_pairs("lower_bound", FROM_MEANS, bearer):
        if _add(draft, path, said.key, getattr(counts, said.key)):
            _qualify(draft, path, said)
            draft.add((*path, "basis"), said.basis, "the weakest of its counts")


def _add(draft: Draft, path: Path, key: str, value: float) -> bool:
    return draft.add((*path, key), value, "follows from its tokens and sequences")


def _qualify(draft: Draft, path: Path, said: Said) -> None:
    """Qualify a count of an entry, which gets an id where it has none, so that pointers survive an insertion."""
    run = int(path[1])
    fields = draft.value["runs"][run]["ledger"][path[3]]
    if "id" not in fields:
        draft.add((*path, "id"), draft.free_id(run, fields["phase"]), "a name for pointers")
    draft.qualify((*path, said.key), said.basis, said.reason)
