"""The command `race init`."""

from __future__ import annotations

import click

from race_report.commands.console import write_text


@click.command()
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; standard output otherwise.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def init(output: str | None, force: bool) -> None:  # noqa: FBT001
    """Write a commented report to fill in.

    Values that are yours to write are empty; race validate lists those that still are.

    \b
    Example:  race init -o report.yaml
    """
    from race_report._resources import read_text

    if output is not None and output.lower().endswith(".json"):
        stem = output[: -len(".json")]
        message = f"the report to fill in is YAML, which has comments: name it {stem}.yaml"
        raise click.UsageError(message)
    write_text(read_text("templates", "report", "minimal.yaml"), output, force=force)
