"""Reports -> Markdown: a table of runs, and the section of a model card with its metadata."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from race_report.render import shown
from race_report.render.facts import facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from race_report.document import Report
    from race_report.render.facts import Fact, RunFacts

MADE_BY: Final = "<!-- Made by race render"
"""How every table begins."""

_HEADS: Final = ("Run", "Policy", "Trained", "FLOPs", "Search", "Learning", "Feedback", "GPU-hours", "Result")
_RIGHT: Final = range(2, 8)
_SPECIAL: Final = re.compile(r"[\\`*_\[\]|~$#!^]")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
"""What would be HTML; and the sign that calls a user of a forge."""


def escape(words: str) -> str:
    """Escape text so that Markdown shows every sign of it."""
    safe = _SPECIAL.sub(lambda match: f"\\{match[0]}", words)
    return re.sub("[&<>@]", lambda match: _ENTITIES[match[0]], safe)


def table(reports: Sequence[Report]) -> str:
    """Make a table of the runs of valid reports, with a note for every bound, estimate and missing value."""
    notes: dict[str, int] = {}
    runs = [run for report in reports for run in facts(report, alone=len(reports) == 1)]
    rows = [_row(run, notes) for run in runs]
    lines = [
        f"{MADE_BY}; change the report, not this text. -->",
        "",
        f"| {' | '.join(_HEADS)} |",
        f"|{'|'.join('--:' if at in _RIGHT else ':--' for at in range(len(_HEADS)))}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    if notes:
        lines += ["", *(f"<sup>{mark}</sup> {escape(note)}.<br>" for note, mark in notes.items())]
        lines[-1] = lines[-1].removesuffix("<br>")
    return "\n".join(lines) + "\n"


def _row(run: RunFacts, notes: dict[str, int]) -> list[str]:
    return [
        escape(run.label),
        escape(run.policy or shown.UNKNOWN),
        _cell(run.trained, notes),
        _cell(run.total, notes),
        *(_cell(share, notes) for share in run.shares.values()),
        _cell(run.gpu_hours, notes),
        escape(run.result),
    ]


def _cell(fact: Fact, notes: dict[str, int]) -> str:
    """Give a cell, with the mark of its note where it is a bound or missing."""
    if fact.is_known and not fact.bound:
        return fact.text
    note = fact.note if not fact.is_known or fact.note else ""
    words = note if not fact.is_known else f"{fact.bound}: {note}"
    return f"{fact.text}<sup>{notes.setdefault(words, len(notes) + 1)}</sup>"
