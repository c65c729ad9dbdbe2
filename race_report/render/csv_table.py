"""Reports -> CSV: full numbers, empty for unknown, and a column that says in which direction one is a bound."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

from race_report.accounting import account
from race_report.numbers import show_number
from race_report.render import shown
from race_report.render.facts import facts, headline, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from race_report.document import Report
    from race_report.render.facts import Fact

_COUNTS: Final = ("sequences", "tokens", "attention_pairs", "bounded_attention_pairs", "logit_rows", "adapter_tokens")
_FIGURES: Final = ("parameters", "trained", "total", "gpu_hours", "energy", "carbon", "cost")
_COLUMNS: Final = (
    *("parameters", "trained_parameters", "total_flops", "gpu_hours", "energy_kwh", "kg_co2e", "cost_usd"),
)
SUMMARY: Final = (
    *("report", "run", "role", "policy"),
    *(column for name in _COLUMNS for column in (name, f"{name}_bound")),
    *(column for name in ("search", "learning", "feedback") for column in (f"{name}_share", f"{name}_share_bound")),
    *("metric", "target", "result"),
)
"""The columns of the summary: a row a run."""

LEDGER: Final = (
    *("report", "run", "component", "phase", "stage", "part", "model", "operation"),
    *_COUNTS,
    *("flops", "flops_bound", "method", "basis", "note"),
)
"""The columns of the ledger: a row an entry."""

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - spreadsheets read them alike
"""What makes a spreadsheet read text as a formula."""


def table(reports: Sequence[Report], kind: str) -> str:
    """Write the `summary` or the `ledger` of valid reports as RFC 4180 has it."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(SUMMARY if kind == "summary" else LEDGER)
    for report in reports:
        rows = _summary(report) if kind == "summary" else _ledger(report)
        writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> str:
    """Give a cell; text that a spreadsheet would take for a formula gets an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return show_number(value)
    words = text(value)
    return f"'{words}" if words.startswith(_FORMULA) else words


def _name(report: Report) -> str | None:
    if report.report is not None and report.report.id is not None:
        return report.report.id
    return report.subject.title if report.subject is not None else None


def _summary(report: Report) -> Iterator[list[Any]]:
    for run, said in zip(report.runs, facts(report), strict=True):
        result = headline(run)
        figures: list[Fact] = [getattr(said, name) for name in _FIGURES]
        yield [
            *(_name(report), run.id, said.role, said.policy or None),
            *(cell for fact in [*figures, *said.shares.values()] for cell in (fact.value, fact.bound)),
            *((result.metric, result.target, result.value) if result is not None else (None, None, None)),
        ]


def _ledger(report: Report) -> Iterator[list[Any]]:
    for run, figures in zip(report.runs, account(report).figures, strict=True):
        for entry, figure in zip(run.ledger, figures, strict=True):
            yield [
                *(_name(report), run.id, entry.component, entry.phase, entry.stage, entry.part),
                *(entry.model, entry.operation),
                *(getattr(entry, name) for name in _COUNTS),
                *(figure.value, shown.bound(figure), entry.method, entry.basis, entry.note),
            ]
