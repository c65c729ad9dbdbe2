"""The command `race model`."""

from __future__ import annotations

import sys

import click

from race_report.architecture.heads import HEADS
from race_report.commands.console import format_option, print_error, print_text


@click.command()
@click.argument("name", metavar="CONFIG|NAME")
@click.option("--adapter", metavar="FILE", help="The adapter_config.json of an adapter that the model carries.")
@click.option(
    "--head",
    type=click.Choice(HEADS),
    help="What runs on logit rows, where the configuration names no class or another.",
)
@click.option("--labels", type=click.IntRange(1, 2**20), help="Outputs of a head that is no LM head.")
@format_option
def model(name: str, adapter: str | None, head: str | None, labels: int | None, output_format: str) -> None:
    """Print the parameters and coefficients of a model.

    CONFIG is a config.json, its folder, or - for standard input; NAME is the hub
    name of a common model. Nothing is fetched. What does not follow from the
    keys is refused: a report then states `coefficients`.

    \b
    Example:  race model Qwen/Qwen2.5-1.5B-Instruct
              race model ./my-model/config.json --adapter adapter_config.json
    """
    from race_report.model_page import NotDescribed, describe
    from race_report.one_line import on_one_line

    try:
        page = describe(name, adapter=adapter, head=head, labels=labels)
    except NotDescribed as error:
        print_error("\n".join(map(on_one_line, error.lines)))
        sys.exit(error.code)
    if output_format == "json":
        print_text(page.json_text())
    else:
        print_text("\n".join(map(on_one_line, page.text_lines())))
