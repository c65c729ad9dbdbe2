"""The renderings that are no LaTeX table, by the word that `race render --to` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from race_report.document import Report
    from race_report.validation import Result

FORMATS: Final = ("boamps", "csv", "cyclonedx", "html", "hub", "markdown", "model-card", "statement", "text")
"""The words."""

OF_ONE: Final = frozenset({"boamps", "cyclonedx", "hub", "model-card", "statement"})
"""Renderings of a single report."""


class Rendering(NamedTuple):
    """A text and how every one of its kind begins; nothing where that says not who made it."""

    text: str
    made_by: str = ""


def rendered(results: Sequence[Result], to: str, *, table: str, venue: str, unicode: bool) -> Rendering:
    """Render valid reports.

    Args:
        results: of the validation of each.
        to: one of `FORMATS`.
        table: `summary` or `ledger`, of CSV.
        venue: whom a statement is for.
        unicode: whether the LaTeX of a statement is for XeLaTeX or LuaLaTeX.

    Raises:
        ValueError: the report lacks what the format is about, or LaTeX a sign; or there are several reports, and the
            format is of one.

    """
    reports = [result.view for result in results if result.view is not None]
    if to in OF_ONE:
        if len(reports) != 1:
            message = f"{to} is made of one report, and there are {len(reports)}"
            raise ValueError(message)
        return _of_one(results[0], reports[0], to, venue, unicode=unicode)
    if to == "html":
        from race_report.render import html

        return Rendering(html.page(results), html.MADE_BY)
    if to == "markdown":
        from race_report.render import markdown

        return Rendering(markdown.table(reports), markdown.MADE_BY)
    if to == "csv":
        from race_report.render import csv_table

        heads = csv_table.SUMMARY if table == "summary" else csv_table.LEDGER
        return Rendering(csv_table.table(reports, table), ",".join(heads))
    from race_report.render.text import plain

    return Rendering(plain(reports))


def _of_one(result: Result, report: Report, to: str, venue: str, *, unicode: bool) -> Rendering:
    if to == "statement":
        from race_report.render import statement

        assert result.level is not None
        text = statement.statement(report, result.level, venue, unicode=unicode)
        return Rendering(text, statement.MADE_BY[venue])
    if to == "hub":
        from race_report.render import carbon

        return Rendering(carbon.hub_yaml(report), carbon.MADE_BY)
    if to == "cyclonedx":
        from race_report.render.cyclonedx import bill_of_materials

        return Rendering(bill_of_materials(report, result.document))
    if to == "boamps":
        from race_report.render.boamps import energy_report

        return Rendering(energy_report(report))
    from race_report.render import card

    return Rendering(card.model_card(result), card.MADE_BY)
