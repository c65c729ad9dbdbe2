"""The command `race rules`."""

from __future__ import annotations

import click

from race_report.commands.console import format_option, print_text


@click.command()
@format_option
def rules(output_format: str) -> None:
    """List all rules: code, severity, name and what each finds.

    \b
    Example:  race rules
    """
    from race_report.pages import page_of
    from race_report.rules import RULES

    pages = [page_of(rule) for rule in RULES]
    if output_format == "json":
        import json

        data = [
            {"code": page.rule.code, "name": page.rule.name, "severity": page.rule.severity, "summary": page.summary}
            for page in pages
        ]
        print_text(json.dumps({"rules": data}, indent=2))
        return
    lines = [f"{page.rule.code} {page.rule.severity:7} {page.rule.name}\n        {page.summary}" for page in pages]
    print_text("\n".join(lines))
