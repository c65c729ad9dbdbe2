"""A report -> a model card: front matter with emissions in grams, the statement and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.render import carbon, markdown
from race_report.render.statement import statement

if TYPE_CHECKING:
    from race_report.validation import Result

MADE_BY: Final = f"---\n{carbon.MADE_BY}"
"""How every card begins."""


def model_card(result: Result) -> str:
    """Make the part of a model card that is about compute; emissions that are not known are left out."""
    report, level = result.view, result.level
    assert report is not None
    assert level is not None
    try:
        front = carbon.hub_yaml(report)
    except carbon.NotExportable:
        front = f"{carbon.MADE_BY}; the report has no emissions\n"
    body = statement(report, level, "model-card").partition("\n\n")[2]
    table = markdown.table([report]).partition("\n\n")[2]
    return f"---\n{front}---\n\n{body}\n{table}"
