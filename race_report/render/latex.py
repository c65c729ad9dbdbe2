"""LaTeX tables of valid reports."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Final

import jinja2

from race_report._resources import resource
from race_report.accounting import (
    COMPONENTS,
    Figure,
    account,
    component_sums,
    run_gpu_hours,
    totals,
    trained_parameters,
)
from race_report.pointer import Pointed
from race_report.render.tex import UnprintableCharacter, escape, power_of_ten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from race_report.accounting import RunTotals
    from race_report.document import Report, Result, Run

__all__ = ["UnprintableCharacter", "summary"]

_WHOLE_FROM: Final = 100

_LARGEST_NAMED: Final = 999.5e12

_SMALLEST_PLAIN: Final = 1e-4
_LARGEST_PLAIN: Final = 1e4

MADE_BY: Final = "% Made by race render"
"""How every file that is made here begins."""

_REASONS: Final = {
    "not_measured": "not measured",
    "not_published": "not published",
    "not_applicable": "not applicable",
}


def summary(reports: Sequence[Report], *, unicode: bool = False) -> str:
    """Make the summary table: a row a run with model, trained parameters, FLOPs, shares, GPU-hours and result.

    Args:
        reports: valid reports.
        unicode: whether the table is for XeLaTeX or LuaLaTeX.

    Raises:
        UnprintableCharacter: pdflatex has no sign for a character of a name.

    """
    notes = _Notes(unicode=unicode)
    rows = [
        _summary_row(report, index, _label(report, run, alone=len(reports) == 1), notes)
        for report in reports
        for index, run in enumerate(report.runs)
    ]
    header = ["Run", "Model", "Trained", "FLOPs", "Search", "Learning", "Feedback", "GPU-hours", "Result"]
    first = header.index("Search")
    if len(rows) == 1:  # a name for the only row tells nothing
        header, rows, first = header[1:], [rows[0][1:]], first - 1
    last = first + len(COMPONENTS)
    group = [
        *[""] * first,
        rf"\multicolumn{{{len(COMPONENTS)}}}{{c}}{{Share of FLOPs (\%)}}",
        *[""] * (len(header) - last),
    ]
    return _template("summary.tex").render(
        made_by=MADE_BY,
        columns="l" * (first - 2) + "r" * (len(header) - first + 2),
        margin=r"\hspace{5pt}" if notes.listed() else "",
        group_header=" & ".join(group).strip(),
        first_share=first + 1,
        last_share=last,
        header=header,
        rows=rows,
        notes=notes.listed(),
    )


def _template(name: str) -> jinja2.Template:
    """Load a template; its marks are TeX's own, and an unknown name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource("templates", "latex")),
        block_start_string=r"\BLOCK{",
        block_end_string="}",
        variable_start_string=r"\VAR{",
        variable_end_string="}",
        line_statement_prefix="%%",
        comment_start_string=r"\#{",
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - TeX is escaped by `escape`, HTML's way would spoil it
    )
    return environment.get_template(name)


class _Notes:
    """Notes below a table: a dash says that a value is missing, its note says why."""

    def __init__(self, *, unicode: bool) -> None:
        self.unicode = unicode
        self._marks: dict[str, str] = {}

    def text(self, text: str) -> str:
        return escape(text, unicode=self.unicode)

    def dash(self, report: Report, pointer: str, otherwise: str) -> str:
        """Give a dash with the mark of its reason: the one that `not_reported` names, if any."""
        gaps = Pointed(report, [(gap.pointer, gap.reason) for gap in report.not_reported])
        reason = next(iter(gaps.covering(pointer)), otherwise)
        return "--" + self.mark(_REASONS.get(reason, reason))

    def mark(self, note: str) -> str:
        """Give the mark of a note, hanging over the edge of its cell so that figures stay aligned."""
        text = self.text(note).rstrip(".")
        mark = self._marks.setdefault(text, _mark(len(self._marks)))
        return rf"\rlap{{$^{{{mark}}}$}}"

    def listed(self) -> list[tuple[str, str]]:
        return [(mark, note) for note, mark in self._marks.items()]


def _mark(number: int) -> str:
    """Give a, b, ..., z, aa, ab, ... for 0, 1, ..."""
    rest, letter = divmod(number, 26)
    return (_mark(rest - 1) if rest else "") + string.ascii_lowercase[letter]


def _label(report: Report, run: Run, *, alone: bool) -> str:
    """Name a row: by the report where there are several, by the run where a report has several."""
    title = report.report.id if report.report is not None and report.report.id is not None else None
    if title is None and report.subject is not None:
        title = report.subject.title
    if alone or title is None:
        return run.id
    return title if len(report.runs) == 1 else f"{title}: {run.id}"


def _summary_row(report: Report, index: int, label: str, notes: _Notes) -> list[str]:
    run = report.runs[index]
    here = f"/runs/{index}"
    figures = totals(report)[index]
    position = next((at for at, model in enumerate(report.models) if model.id == run.policy), None)
    policy = report.models[position] if position is not None else None
    model = f"/models/{position}"

    def cell(figure: Figure, show: Callable[[float], str], pointer: str, otherwise: str) -> str:
        if figure.value is None:
            return notes.dash(report, pointer, otherwise)
        return _relation(figure) + show(figure.value)

    name = policy.name if policy is not None else None
    trained = trained_parameters(policy) if policy is not None else None
    result = _headline(run)
    return [
        notes.text(label),
        notes.text(_without_owner(name)) if name else notes.dash(report, f"{model}/name", "not stated"),
        cell(Figure(value=trained), _parameters, f"{model}/parameters/trainable", "not stated"),
        cell(
            _qualified(report, _flops_of_row(report, run, figures), f"{here}/totals/total_flops"),
            power_of_ten,
            f"{here}/totals/total_flops",
            "not stated",
        ),
        *(
            cell(
                figures.share(component),
                lambda share: f"{100 * share:.1f}",
                f"{here}/totals/{component}_flops",
                _why_no_share(run, figures, component),
            )
            for component in COMPONENTS
        ),
        cell(_qualified(report, run_gpu_hours(run), f"{here}/gpu_hours"), _hours, f"{here}/gpu_hours", "not stated"),
        _result(result, notes) if result is not None else notes.dash(report, f"{here}/results", "not stated"),
    ]


def _flops_of_row(report: Report, run: Run, figures: RunTotals) -> Figure:
    """Give the FLOPs of a run: its total, or of preparation, which is in no total, the sum of its entries."""
    if run.role == "preparation":
        at = report.runs.index(run)
        return component_sums(run, account(report).figures[at], ("preparation",))["preparation"]
    return figures.total


def _why_no_share(run: Run, figures: RunTotals, component: str) -> str:
    """Say why a share is not known where `not_reported` has no word on its component."""
    if run.role == "preparation":
        return "preparation has no split"
    if getattr(figures, component).value is None:
        return "not stated"
    return "the total is not known" if figures.total.value is None else "a part of the FLOPs is not known"


def _relation(figure: Figure) -> str:
    """Say in which direction a number is a bound; in both, it is about right."""
    if figure.at_least and figure.at_most:
        return r"$\approx$\,"
    return r"$\geq$\," if figure.at_least else r"$\leq$\," if figure.at_most else ""


def _qualified(report: Report, figure: Figure, pointer: str) -> Figure:
    """Take over what `qualifications` says of a number: that it is a bound."""
    bases = Pointed(report, [(entry.pointer, entry.basis) for entry in report.qualifications]).at(pointer)
    return Figure(
        value=figure.value,
        at_least=figure.at_least or "lower_bound" in bases,
        at_most=figure.at_most or "upper_bound" in bases,
    )


def _without_owner(name: str) -> str:
    """Leave the owner of a hub id out: a table has no room for it."""
    return name.partition("/")[2] if re.fullmatch(r"[\w.-]+/[\w.-]+", name) else name


def _parameters(count: float) -> str:
    """Show a number of parameters with three significant digits: 18.5M, 7.62B."""
    if count >= _LARGEST_NAMED:
        return power_of_ten(count)
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if count >= size * 0.9995:
            return f"{count / size:.3g}{unit}"
    return f"{count:g}"


def _hours(hours: float) -> str:
    """Show hours: whole ones from a hundred on, with separators."""
    return f"{hours:,.0f}" if round(hours) >= _WHOLE_FROM else f"{hours:.3g}"


def _headline(run: Run) -> Result | None:
    """Choose the result of a row: the first held-out one, else the first."""
    held_out = [result for result in run.results if result.target_kind == "held_out"]
    return next(iter(held_out or run.results), None)


def _result(result: Result, notes: _Notes) -> str:
    what = f"{result.metric} on {result.target}" if result.target else result.metric
    return _score(result.value) + notes.mark(what)


def _score(value: float) -> str:
    """Show the value of a result with four significant digits."""
    sign = "$-$" if value < 0 else ""
    size = abs(value)
    is_plain = size == 0 or _SMALLEST_PLAIN <= size < _LARGEST_PLAIN
    return sign + (f"{size:.4g}" if is_plain else power_of_ten(size))
