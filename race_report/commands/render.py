"""The command `race render`."""

from __future__ import annotations

import os
import sys

import click

from race_report.commands.console import print_error, write_text
from race_report.finding import Exit
from race_report.render.formats import FORMATS


@click.command()
@click.argument("reports", nargs=-1, required=True)
@click.option("--to", type=click.Choice(["latex", *FORMATS]), required=True, help="What to make.")
@click.option(
    "--table",
    type=click.Choice(["summary", "ledger"]),
    default="summary",
    show_default=True,
    help="Which table; the ledger is for csv.",
)
@click.option(
    "--for",
    "venue",
    type=click.Choice(["neurips", "acl", "model-card"]),
    default="neurips",
    show_default=True,
    help="Whom the statement is for.",
)
@click.option("--unicode", is_flag=True, help="For XeLaTeX and LuaLaTeX, with a font that has the letters.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; standard output otherwise.")
@click.option("--force", is_flag=True, help="Overwrite a file that race render did not make.")
def render(
    reports: tuple[str, ...],
    to: str,
    table: str,
    venue: str,
    unicode: bool,  # noqa: FBT001
    output: str | None,
    force: bool,  # noqa: FBT001
) -> None:
    """Make a table, a page, a statement or an export of valid reports.

    \b
    latex       a tabular to \\input in a float of your own; needs booktabs
    statement   sentences on compute: NeurIPS checklist item 8, ACL
                Responsible NLP C1 (LaTeX), or a model card (Markdown)
    html        one page that loads nothing, for a browser, a phone, print
    markdown    a table of the runs
    model-card  front matter, statement and table of a model card
    text, csv   for a terminal; for a spreadsheet, numbers in full
    hub         co2_eq_emissions of a model card, in grams
    cyclonedx   a machine-learning bill of materials (CycloneDX 1.6)
    boamps      an energy report (BoAmps)

    What is not known is a dash, or empty, with the reason; never a 0.

    \b
    Example:  race render report.yaml --to latex -o table.tex
              race render report.yaml --to statement --for neurips
              race render report.yaml --to html -o compute.html
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
    made_by = MADE_BY
    try:
        if to == "latex":
            if table != "summary":
                message = f"the {table} is for --to csv"
                raise click.UsageError(message)
            text = summary([result.view for result in results if result.view is not None], unicode=unicode)
        else:
            from race_report.render.formats import rendered

            text, made_by = rendered(results, to, table=table, venue=venue, unicode=unicode)
    except (UnprintableCharacter, ValueError) as error:
        print_error(f"race render: {error}")
        sys.exit(Exit.FINDINGS)
    if output is not None and os.path.exists(output) and any(os.path.samefile(output, path) for path in reports):
        message = f"{output} is one of the reports: name another file"
        raise click.UsageError(message)
    write_text(text, output, force=force, ours=made_by)
