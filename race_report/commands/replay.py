"""The command `race replay`."""

from __future__ import annotations

import sys

import click

from race_report.commands.console import format_option, print_text


@click.command()
@click.argument("report")
@click.argument("trace", required=False)
@click.option("--run", "run_id", metavar="ID", help="The run that TRACE is of, where the report has several.")
@format_option
def replay(report: str, trace: str | None, run_id: str | None, output_format: str) -> None:
    """Prove that a ledger is the sum of its trace.

    REPORT names its trace and the digest of it; TRACE is another place where the
    trace lies. Every figure of every entry is shown by the trace and by the
    ledger; they agree to the integer, or the difference is named.

    \b
    Example:  race replay report.json
              race replay report.json /archive/trace.jsonl

    \b
    Exit code: 0 all agree; 1 a figure differs, or the trace was changed; 2 wrong
    usage; 3 report or trace cannot be read; 4 an unknown version of the standard.
    """
    from race_report.one_line import on_one_line
    from race_report.output import text_lines
    from race_report.replay_page import NotReplayable, replay_page

    try:
        page = replay_page(report, trace, run_id)
    except NotReplayable as error:
        raise click.UsageError(str(error)) from error
    if output_format == "json":
        print_text(page.json_text())
    elif page.result.view is None:
        print_text("\n".join(text_lines([page.result])))
    else:
        print_text("\n".join(map(on_one_line, page.text_lines())))
    sys.exit(page.exit_code)
