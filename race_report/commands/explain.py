"""The command `race explain`."""

from __future__ import annotations

import click

from race_report.commands.console import print_text


@click.command()
@click.argument("name", metavar="CODE|NAME")
def explain(name: str) -> None:
    """Show what a rule checks, why it matters and how to fix it, with an example.

    \b
    Example:  race explain RACE301
              race explain flops-mismatch
    """
    from difflib import get_close_matches

    from race_report.pages import find_rule, page_of
    from race_report.rules import BY_CODE, BY_NAME

    rule = find_rule(name)
    if rule is None:
        near = get_close_matches(name, [*BY_NAME, *BY_CODE], n=1)
        hint = f"did you mean {near[0]}?" if near else "race rules lists them"
        message = f"no rule has the code or the name {name}; {hint}"
        raise click.UsageError(message)
    page = page_of(rule)
    lines = [click.style(f"{rule.code} {rule.name} ({rule.severity})", bold=True), "", page.summary]
    for heading, text in page.sections.items():
        lines += ["", click.style(heading, bold=True), click.wrap_text(text, 78, "  ", "  ")]
    for heading, example in (("Before", page.before), ("After", page.after)):
        lines += ["", click.style(heading, bold=True), *(f"  {line}" for line in example.splitlines())]
    print_text("\n".join(lines))
