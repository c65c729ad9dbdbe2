"""The command `race render`."""

from __future__ import annotations

import os
import sys

import click

from race_report.commands.console import print_error, write_text
from race_report.finding import Exit


@click.command()
@click.argument("reports", nargs=-1, required=True)
@click.option("--to", type=click.Choice(["latex"]), required=True, help="What to make.")
@click.option("--table", type=click.Choice(["summary"]), default="summary", show_default=True, help="Which table.")
@click.option("--unicode", is_flag=True, help="For XeLaTeX and LuaLaTeX, with a font that has the letters.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; standard output otherwise.")
@click.option("--force", is_flag=True, help="Overwrite a file that race render did not make.")
def render(
    reports: tuple[str, ...],
    to: str,  # noqa: ARG001 - one choice so far
    table: str,  # noqa: ARG001 - one choice so far
    unicode: bool,  # noqa: FBT001
    output: str | None,
    force: bool,  # noqa: FBT001
) -> None:
    """Make a table of one or more valid reports.

    The LaTeX table is a tabular to \\input in a float of your own; it needs the package booktabs.

    \b
    Example:  race render report.yaml --to latex -o table.tex
    """
    from race_report.output import text_lines
    from race_report.render.latex import MADE_BY, UnprintableCharacter, summary
    from race_report.validation import gravest, validate_file

    results = [validate_file(path) for path in reports]
    code = gravest([result.exit_code() for result in results])
    if code != Exit.CLEAN:
        print_error("\n".join(text_lines([result for result in results if result.errors])))
        print_error("nothing was rendered: mend the errors first")
        sys.exit(code)
    try:
        text = summary([result.view for result in results if result.view is not None], unicode=unicode)
    except UnprintableCharacter as error:
        print_error(f"race render: {error}")
        sys.exit(Exit.FINDINGS)
    if output is not None and os.path.exists(output) and any(os.path.samefile(output, path) for path in reports):
        message = f"{output} is one of the reports: name another file for the table"
        raise click.UsageError(message)
    write_text(text, output, force=force, ours=MADE_BY)
