"""The steps of filling, in their order, and the guard: what was added must not contradict what stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from race_report.fill.draft import Draft, Filling
from race_report.fill.entries import fill_entries
from race_report.fill.models import fill_models
from race_report.fill.standing import fill_standing_entries
from race_report.fill.sums import fill_flops, fill_gpu_hours, fill_totals
from race_report.finding import Severity
from race_report.rules import BY_NAME
from race_report.schema_engines import is_valid
from race_report.standard import view
from race_report.structure import structure_faults
from race_report.validation import check_rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from race_report.parsed import Fault

STEPS: Final[tuple[Callable[[Draft], None], ...]] = (
    fill_models,
    fill_entries,
    fill_standing_entries,
    fill_flops,
    fill_totals,
    fill_gpu_hours,
)


def fill(value: Any, folder: str = ".") -> Filling:
    """Add to a report what follows from it; `folder` is where it lies, for the files that `architecture_file` names.

    Where additions bring an error that was not there, because they contradict what stands, the part of the report that
    they are in is left alone and the error is told. Raises ValueError for a report without valid structure.
    """
    if not is_valid(value):
        raise ValueError("a report is filled when its structure is valid: validate it first")
    before = _errors(value).keys()
    excluded: dict[str, Fault] = {}
    while True:
        draft = Draft(value, folder, frozenset(excluded))
        for step in STEPS:
            step(draft)
        new = {key: fault for key, fault in _errors(draft.value).items() if key not in before}
        if not new:
            break
        groups = _groups(draft, value)
        for fault in new.values():
            for group in _to_blame(fault.pointer, groups, draft):
                excluded.setdefault(group, fault)
    for group, fault in excluded.items():
        code = BY_NAME[fault.rule].code
        why = f"what follows contradicts what stands: {code} {fault.rule}: {fault.message} ({fault.pointer})"
        path = tuple(int(token) if token.isdecimal() else token for token in group.split("/")[1:])
        draft.miss(path, why, fault.hint or "correct what is wrong, and fill again")
    return Filling(
        value=draft.value,
        additions=draft.additions(),
        assumptions=tuple(draft.assumptions),
        gaps=tuple(dict.fromkeys(draft.gaps)),
    )


def _errors(value: Any) -> dict[tuple[str, str], Fault]:
    """Give the errors of a document in memory, by rule and pointer."""
    faults = structure_faults(value, _no_places) or check_rules(view()(value))
    return {(fault.rule, fault.pointer): fault for fault in faults if BY_NAME[fault.rule].severity is Severity.ERROR}


def _no_places() -> NoReturn:
    raise ValueError("a document in memory has no places")


def _groups(draft: Draft, old: Any) -> set[str]:
    """Give the parts of the report that were added to: models, and of each run its ledger with totals, its hardware."""
    found = {f"/models/{at}" for at, model in enumerate(draft.value["models"]) if model != old["models"][at]}
    for at, (new_run, old_run) in enumerate(zip(draft.value["runs"], old["runs"], strict=True)):
        if any(new_run.get(key) != old_run.get(key) for key in ("ledger", "totals")):
            found.add(f"/runs/{at}/ledger")
        if new_run.get("hardware") != old_run.get("hardware"):
            found.add(f"/runs/{at}/hardware")
    return found


def _to_blame(pointer: str, groups: set[str], draft: Draft) -> set[str]:
    """Give the parts whose additions may have brought an error at a place: the nearest first, at last all."""
    tokens = pointer.split("/")
    if len(tokens) > 2:  # noqa: PLR2004 - an array of the report and an index
        here = "/".join(tokens[:3])
        nearest = [f"{here}/hardware"] if tokens[3:4] in (["hardware"], ["gpu_hours"]) else []
        for group in (*nearest, here, f"{here}/ledger"):
            if group in groups:
                return {group}
    models = {group for group in groups if group.startswith("/models/")}
    assert groups, (pointer, draft.additions())
    return models or groups
