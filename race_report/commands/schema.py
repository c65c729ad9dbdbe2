"""The command `race schema`."""

from __future__ import annotations

import click

from race_report.commands.console import write_text


@click.command()
@click.option(
    "--of",
    "what",
    type=click.Choice(["report", "record"]),
    default="report",
    show_default=True,
    help="Of a report, or of a record of a trace.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; standard output otherwise.")
@click.option("--force", is_flag=True, help="Overwrite a file that is something else.")
def schema(what: str, output: str | None, force: bool) -> None:  # noqa: FBT001
    """Print the JSON Schema of the standard.

    \b
    Example:  race schema -o race-report.schema.json
    """
    from race_report._resources import read_text
    from race_report.standard import VERSION

    name = "race-report.schema.json" if what == "report" else "trace-record.schema.json"
    write_text(read_text("schema", VERSION, name), output, force=force, ours='{\n  "$schema"')
