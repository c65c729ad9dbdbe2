"""The command `race merge`."""

from __future__ import annotations

import os
import sys

import click

from race_report.commands.console import print_error, print_text
from race_report.finding import Exit


@click.command()
@click.argument("journals", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="The trace to write.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def merge(journals: tuple[str, ...], output: str, force: bool) -> None:  # noqa: FBT001
    """Merge the journals of all workers of a run into one trace.

    Lines are kept as they were written, sorted by worker and sequence number, so
    that the same records give the same digest. A torn last line is left out.

    \b
    Example:  race merge rank-0.jsonl rank-1.jsonl -o trace.jsonl
    """
    from race_report.one_line import on_one_line
    from race_report.parsed import Unparsable
    from race_report.trace import merge as merged_of
    from race_report.trace import write_lines

    if os.path.exists(output) and any(os.path.exists(path) and os.path.samefile(output, path) for path in journals):
        message = f"{output} is one of the journals: name another file for the trace"
        raise click.UsageError(message)
    if os.path.exists(output) and not force:
        message = f"{output} is there already; overwrite it with --force"
        raise click.UsageError(message)
    try:
        merged = merged_of(journals)
    except Unparsable as error:
        print_error(on_one_line(f"{error.fault.path}: {error.fault.message}"))
        sys.exit(Exit.UNREADABLE)
    for fault in merged.faults:
        line, column = (fault.span.line, fault.span.column) if fault.span else (1, 1)
        print_error(on_one_line(f"{fault.path}:{line}:{column}: {fault.message}"))
    if not merged.is_whole:
        print_error("nothing was written: mend the errors first")
        sys.exit(Exit.FINDINGS)
    try:
        write_lines(merged.lines, output)
    except OSError as error:
        print_error(f"race: cannot write {output}: {(error.strerror or str(error)).lower()}")
        sys.exit(Exit.UNREADABLE)
    print_text(f"{output}: {len(merged.lines)} records, sha256 {merged.sha256}")
