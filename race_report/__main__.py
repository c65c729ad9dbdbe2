"""The entry of the command `race`: whatever happens, a documented exit code and never a traceback."""

from __future__ import annotations

import contextlib
import gc
import os
import sys


def main() -> None:
    """Run the command."""
    gc.set_threshold(100_000)  # a command is short: collecting what its imports leave costs more than it frees
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(130)


def _run() -> None:
    for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open as long as we run
        else:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]

    import click

    from race_report.cli import race
    from race_report.commands.console import print_error
    from race_report.finding import Exit

    try:
        race(standalone_mode=False)
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:  # the promise of this module
        print_error(f"race: internal error, please report it: {type(error).__name__}: {error}")
        print_error("RACE_DEBUG=1 shows where it happened")
        if os.environ.get("RACE_DEBUG"):
            raise
        sys.exit(Exit.INTERNAL)


if __name__ == "__main__":
    main()
