"""The command `race fill`."""

from __future__ import annotations

import os
import sys

import click

from race_report.commands.console import format_option, print_error, print_text, write_text


@click.command()
@click.argument("report")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; standard output otherwise.")
@click.option("--in-place", is_flag=True, help="Write the report itself.")
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@format_option
def fill(
    report: str,
    output: str | None,
    in_place: bool,  # noqa: FBT001
    force: bool,  # noqa: FBT001
    output_format: str,
) -> None:
    """Add to a report what follows from it.

    REPORT is a file, or - for standard input. Parameters and coefficients follow
    from a known name, an architecture or the config.json of architecture_file;
    ledger entries from rollouts; then FLOPs, totals and GPU-hours. Nothing that
    stands is changed, and comments and order stay. What was assumed becomes an
    entry of qualifications; what does not follow is listed, with what to add.

    The report goes to standard output or to a file, the list to standard error.
    With --format json the list goes to standard output, and the report only to a file.

    \b
    Example:  race fill report.yaml -o filled.yaml
              race fill report.yaml --in-place

    \b
    Exit code: 0 filled, as far as it follows; 1 the report has errors; 2 wrong
    usage; 3 a file that cannot be read; 4 an unknown version of the standard.
    """
    from race_report.fill.file import NotFilled, fill_file
    from race_report.one_line import on_one_line
    from race_report.output import text_lines

    if in_place and (output is not None or report == "-"):
        message = "--in-place writes the report itself: give a file, and no -o"
        raise click.UsageError(message)
    if output is not None:
        _refuse_target(report, output)
    try:
        filled = fill_file(report)
    except NotFilled as error:
        found = [] if error.result is None else list(text_lines([error.result]))
        print_error("\n".join([*found, on_one_line(str(error))]))
        sys.exit(error.code)
    is_json = output_format == "json"
    lines = "" if is_json else "\n".join(map(on_one_line, filled.text_lines()))
    if in_place:
        if filled.is_changed:
            write_text(filled.text, report, force=True)
    elif output is not None or not is_json:
        write_text(filled.text, output, force=force)
    if is_json:
        print_text(filled.json_text())
    else:
        print_error(lines)


def _refuse_target(report: str, output: str) -> None:
    """Refuse an output that is the report, or that its name says to be in another language."""
    if os.path.exists(output) and os.path.exists(report) and os.path.samefile(output, report):
        message = f"{output} is the report: write it with --in-place"
        raise click.UsageError(message)
    is_json, was_json = (path.lower().endswith(".json") for path in (output, report))
    if report != "-" and is_json != was_json:
        message = f"the text of {report} is kept as it is: name the output {'.json' if was_json else '.yaml'}"
        raise click.UsageError(message)
