"""What all commands share: options, and how they print and write."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

import click

from race_report.finding import Exit

format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="For people or programs.",
)


def print_text(text: str, end: str = "\n") -> None:
    """Print to standard output. A reader who has gone is no error: `race validate | head`."""
    try:
        click.echo(text + end, nl=False)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print_error(f"race: cannot write to standard output: {(error.strerror or str(error)).lower()}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.UNREADABLE)


def print_error(text: str) -> None:
    """Print to standard error, if anybody can be told."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def write_text(text: str, output: str | None, *, force: bool, ours: str = "") -> None:
    """Write to a file, whole or not at all; or to standard output.

    A file that is there is overwritten only if it begins with `ours`, or by force.
    """
    if output is None:
        print_text(text, end="")
        return
    try:
        if os.path.isfile(output) and not force:
            with open(output, encoding="utf-8", errors="replace") as file:
                if not ours or file.read(len(ours)) != ours:
                    message = f"{output} is there already; overwrite it with --force"
                    raise click.UsageError(message)
    except OSError as error:
        _refuse(output, error)
    _write(text.encode("utf-8"), output)


def write_data(data: bytes, output: str, *, force: bool) -> None:
    """Write the bytes of a file, whole or not at all; one that is there is overwritten by force only."""
    if os.path.isfile(output) and not force:
        message = f"{output} is there already; overwrite it with --force"
        raise click.UsageError(message)
    _write(data, output)


def _write(data: bytes, output: str) -> None:
    try:
        is_replaceable = not os.path.exists(output) or os.path.isfile(output)  # /dev/stdout is not
        with click.open_file(output, "wb", atomic=is_replaceable) as file:
            file.write(data)
    except OSError as error:
        _refuse(output, error)


def _refuse(output: str, error: OSError) -> NoReturn:
    print_error(f"race: cannot write {output}: {(error.strerror or str(error)).lower()}")
    sys.exit(Exit.UNREADABLE)
