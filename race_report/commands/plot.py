"""The command `race plot`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from race_report.commands.console import print_error, write_data
from race_report.finding import Exit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from race_report.validation import Result

_FIGURES = ("split", "models", "p", "mfu", "course")


@click.command()
@click.argument("reports", nargs=-1, required=True)
@click.option("--figure", type=click.Choice(_FIGURES), default="split", show_default=True, help="Which figure.")
@click.option(
    "--columns", type=click.Choice(["1", "2"]), default="1", show_default=True, help="Columns of a paper that it fills."
)
@click.option("--run", "run_id", metavar="ID", help="The run of a course, where the report has several with a trace.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), required=True, help="A .pdf, .svg or .png to write.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def plot(
    reports: tuple[str, ...],
    figure: str,
    columns: str,
    run_id: str | None,
    output: str,
    force: bool,  # noqa: FBT001
) -> None:
    """Draw a figure of valid reports, sized for a paper.

    \b
    split    the shares of search, learning and feedback, a bar a run
    models   the share of each model, a bar a run
    p        the learning share p of each run
    mfu      the MFU that each pool of hardware states
    course   cumulative FLOPs by phase over the steps of a trace, and above
             them the results that have a step

    Colours differ in grey too. What is only a bound is marked, and what is not
    known is said to be. Needs matplotlib: pip install 'race-compute[plot]'.

    \b
    Example:  race plot a.yaml b.yaml -o split.pdf
              race plot report.json --figure course --columns 2 -o course.svg
    """
    suffix = os.path.splitext(output)[1].removeprefix(".").lower()
    if suffix not in ("pdf", "svg", "png"):
        message = f"{output} must end in .pdf, .svg or .png"
        raise click.UsageError(message)
    if find_spec("matplotlib") is None:
        print_error("race plot needs matplotlib: pip install 'race-compute[plot]'")
        sys.exit(Exit.USAGE)
    results = _validated(reports)
    from race_report.plot.series import NothingToPlot
    from race_report.plot.style import data_of

    try:
        drawn = _drawn(results, figure, int(columns), run_id)
    except NothingToPlot as error:
        print_error(f"race plot: {error}")
        sys.exit(Exit.FINDINGS)
    write_data(data_of(drawn, suffix), output, force=force)


def _validated(reports: tuple[str, ...]) -> list[Result]:
    from race_report.output import text_lines
    from race_report.validation import gravest, validate_file

    results = [validate_file(path) for path in reports]
    code = gravest([result.exit_code() for result in results])
    if code != Exit.CLEAN:
        print_error("\n".join(text_lines([result for result in results if result.errors])))
        print_error("nothing was drawn: mend the errors first")
        sys.exit(code)
    return results


def _drawn(results: list[Result], figure: str, columns: int, run_id: str | None) -> Figure:
    from race_report.plot import drawing, series

    views = [result.view for result in results if result.view is not None]
    if figure == "split":
        return drawing.draw_splits(series.splits(views), columns)
    if figure == "models":
        return drawing.draw_splits(series.splits_by_model(views), columns)
    if figure == "p":
        return drawing.draw_points(series.learning_shares(views), columns, "learning share p of FLOPs")
    if figure == "mfu":
        return drawing.draw_points(series.utilizations(views), columns, "model FLOPs utilization (MFU)")
    return _course(results, columns, run_id)


def _course(results: list[Result], columns: int, run_id: str | None) -> Figure:
    from race_report.plot import drawing, series

    if len(results) != 1 or results[0].view is None:
        message = f"the course is that of one report, and there are {len(results)}"
        raise click.UsageError(message)
    report, replays = results[0].view, results[0].replays
    traces = {
        report.runs[at].id: (at, replay.trace)
        for at, replay in replays.items()
        if replay.trace is not None and replay.trace.is_whole
    }
    if not traces:
        message = "no run has a trace that is there and whole"
        raise series.NothingToPlot(message)
    if run_id is None and len(traces) > 1:
        message = f"several runs have a trace: name one with --run: {', '.join(traces)}"
        raise click.UsageError(message)
    name = next(iter(traces)) if run_id is None else run_id
    if name not in traces:
        message = f"--run {name} has no trace; those that have: {', '.join(traces)}"
        raise click.UsageError(message)
    at, trace = traces[name]
    return drawing.draw_course(series.course(report, at, trace), columns)
