"""The command `race validate`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from race_report.commands.console import format_option, print_error, print_text
from race_report.finding import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@click.command()
@click.argument("paths", nargs=-1)
@format_option
@click.option("--require-level", type=click.IntRange(0, 3), help="Fail where a report does not reach this level.")
@click.option("--werror", is_flag=True, help="Fail on warnings too.")
@click.option("--hook", is_flag=True, help="As a pre-commit hook: skip files that are no reports; no file is fine.")
@click.option(
    "--select",
    multiple=True,
    metavar="CODE",
    help="Show only findings of these codes or names; repeatable.",
)
@click.option("--ignore", multiple=True, metavar="CODE=REASON", help="Leave a rule out, for a reason; repeatable.")
@click.option("--engine", type=click.Choice(["jsonschema-rs", "jsonschema"]), help="What checks the schema.")
@click.option("--max-bytes", type=click.IntRange(1, 2**40), help="Largest file that is read. (16 MiB unless given)")
def validate(
    paths: tuple[str, ...],
    output_format: str,
    require_level: int | None,
    werror: bool,  # noqa: FBT001 - click passes options by name
    hook: bool,  # noqa: FBT001
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    engine: str | None,
    max_bytes: int | None,
) -> None:
    """Check reports: every fault, with its place and how to mend it.

    PATHS are files, folders to search for reports, or - for standard input;
    without one, the current folder is searched.

    \b
    Example:  race validate report.yaml
              race validate --require-level 2 results/

    Settings of a project stand in pyproject.toml, [tool.race]: select (a list of
    codes), ignore (reasons by code), severity (error, warning or note by code).

    \b
    Exit code: 0 clean; 1 errors; 2 wrong usage; 3 a file that cannot be read or
    parsed; 4 a version of the standard that this tool does not know.
    """
    from importlib.util import find_spec

    from race_report.config import ConfigError, read_config
    from race_report.output import json_text, text_lines
    from race_report.source import MAX_BYTES
    from race_report.validation import gravest, validate_file

    try:
        config = read_config(".", select, ignore)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    if engine is not None and find_spec(engine.replace("-", "_")) is None:
        message = f"{engine} is not installed: pip install {engine}"
        raise click.UsageError(message)
    limit = max_bytes or MAX_BYTES
    options: dict[str, Any] = {"max_bytes": limit, "require_level": require_level or 0, "engine": engine}
    results = []
    for path, is_found in _files(paths, limit, hook=hook):
        result = validate_file(path, skip_others=hook or is_found, **options)
        if not (is_found and result.skipped):  # a search of a folder passes over what is no report
            results.append(config.applied(result))
    code = gravest([result.exit_code(werror=werror) for result in results])
    if not results and not hook:
        where = ", ".join(paths) or "the current folder"
        print_error(f"no report in {where}: a report is a .json, .yaml or .yml file with a race_version")
        code = Exit.USAGE
    if output_format == "json":
        print_text(json_text(results, code, config.ignore))
    elif results or hook:
        print_text("\n".join(text_lines(results, config.ignore)))
    sys.exit(code)


def _files(paths: Sequence[str], max_bytes: int, *, hook: bool) -> Iterator[tuple[str, bool]]:
    """Give the files to validate, and whether each was found in a folder, not named."""
    for path in paths or (() if hook else (".",)):
        if os.path.isdir(path):
            from race_report.discovery import reports_below

            yield from ((found, True) for found in reports_below(path, max_bytes))
        else:
            yield path, False
