"""A trace -> a report: the ledger that the records prove, its FLOPs and its totals."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from race_report import __version__
from race_report.accounting import COMPONENTS, account
from race_report.parsed import Places, Unparsable
from race_report.standard import VERSION, record_schema, view
from race_report.structure import structure_faults
from race_report.trace import read_trace, sums
from race_report.trace.reading import SECONDS
from race_report.trace.sums import is_redone, weakest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from race_report.document import Report
    from race_report.trace import Key, Sum, Trace

_ORDER: Final = (*COMPONENTS, "evaluation", "preparation")


def report_of(
    trace: str | os.PathLike[str],
    *,
    models: Sequence[Mapping[str, Any]],
    run: Mapping[str, Any] | None = None,
    multipliers: Mapping[str, Mapping[str, float]] | None = None,
    folder: str | os.PathLike[str] | None = None,
    **document: Any,
) -> dict[str, Any]:
    """Make the report of a run from its trace, as JSON has it.

    Args:
        trace: the trace, or the journal of the only worker.
        models: the models, by the keys of the standard.
        run: what else is known of the run, such as hardware and results; its `ledger` holds further entries only, such
            as preparation that was not metered.
        multipliers: factors of the formula for the updates of a model, by its id, where the defaults are not true.
        folder: where the report will be saved, from which the trace is named; the trace's own where not given.
        document: further keys of the report.

    Raises:
        ValueError: the trace cannot be read or is not whole, or what is given has not the shape of a report.

    """
    read = _whole(os.fspath(trace))
    proven = sums(read.records)
    entries = [_entry(key, proven[key], multipliers or {}) for key in sorted(proven, key=_place)]
    known = dict(run or {})
    policies = [model["id"] for model in models if model.get("role") == "policy"]
    made = {
        "id": "main",
        **({"policy": policies[0]} if len(policies) == 1 else {}),
        **known,
        "ledger": [*entries, *known.get("ledger", ())],
        "trace": _named(read, os.fspath(folder) if folder is not None else os.path.dirname(read.path)),
    }
    coverage = {**_steps(read), **known.get("coverage", {})}
    made |= {"coverage": coverage} if coverage else {}
    report = {
        "race_version": VERSION,
        "report": {"generator": f"race-compute {__version__}"},
        **document,
        "models": [dict(model) for model in models],
        "runs": [made],
    }
    _price(report, viewed(report))
    return report


def viewed(report: dict[str, Any]) -> Report:
    """View a document as a report.

    Raises:
        ValueError: it has not the shape of one.

    """
    faults = structure_faults(report, lambda: Places(text=""))
    if faults:
        message = f"{faults[0].pointer}: {faults[0].message}; {faults[0].hint}"
        raise ValueError(message)
    return view()(report)


def _whole(path: str) -> Trace:
    """Read a trace that can be added up to its last byte."""
    try:
        trace = read_trace(path)
    except Unparsable as error:
        message = f"{path}: {error}"
        raise ValueError(message) from error
    for fault in trace.faults:
        line, column = (fault.span.line, fault.span.column) if fault.span else (1, 1)
        message = f"{path}:{line}:{column}: {fault.message}; {fault.hint}"
        raise ValueError(message)
    return trace


def _named(trace: Trace, folder: str) -> dict[str, Any]:
    path = os.path.relpath(trace.path, folder or ".").replace(os.sep, "/")
    return {"path": path, "sha256": trace.sha256, "records": len(trace.records), "bytes": trace.size}


def _steps(trace: Trace) -> dict[str, int]:
    """Give the steps that were recorded, and how often a worker was resumed."""
    steps = [record.step for record in trace.records if record.step is not None]
    covered = {"first_step": min(steps), "last_step": max(steps)} if steps else {}
    restarts = max(trace.attempts.values(), default=0)
    return covered | ({"restarts": restarts} if restarts else {})


def _place(key: Key) -> tuple[int, int, bool]:
    """Give where an entry stands: by component and phase, what was redone behind the rest of its phase."""
    phases = record_schema()["properties"]["phase"]["enum"]
    return _ORDER.index(key.component), phases.index(key.phase) if key.phase else -1, is_redone(key)


def _entry(key: Key, found: Sum, multipliers: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    names = {name: value for name, value in key._asdict().items() if value is not None}
    entry = names | {name: value for name, value in found.amounts.items() if name != SECONDS}
    if key.model is not None:
        entry["basis"] = found.basis
        if key.operation == "update" and key.model in multipliers:
            entry["multipliers"] = dict(multipliers[key.model])
    return entry


def _price(report: dict[str, Any], seen: Report) -> None:
    """Write FLOPs where they follow from counts, and the totals that follow from all."""
    books = account(seen)
    run = report["runs"][0]
    for entry, recomputed in zip(run["ledger"], books.recomputed[0], strict=True):
        if recomputed.flops is not None and "flops" not in entry:
            entry |= {"flops": recomputed.flops, "method": "counts"}
    figures = books.sums[0]
    known = {name: figures[name].value for name in COMPONENTS if figures[name].value is not None}
    if not known or run.get("totals") is not None or run.get("role") == "preparation":
        return
    totals: dict[str, Any] = {f"{name}_flops": value for name, value in known.items()}
    is_whole = len(known) == len(COMPONENTS) and not any(figures[name].at_least for name in COMPONENTS)
    if len(known) == len(COMPONENTS):
        totals["total_flops"] = sum(value for value in known.values() if value is not None)
    bases = [entry["basis"] for entry in run["ledger"] if entry["component"] in COMPONENTS and "basis" in entry]
    if not is_whole or run.get("coverage", {}).get("complete") is False:
        bases.append("lower_bound")
    run["totals"] = {**totals, "basis": weakest(bases or ["measured"])}
