"""The command `race`: the list of its commands, each loaded when it is asked for."""

from __future__ import annotations

from typing import Final

import click

from race_report import __version__

HELP: Final = {"help_option_names": ["-h", "--help"]}

COMMANDS: Final = (
    *("count", "explain", "fill", "init", "merge", "model"),
    *("plot", "render", "replay", "rules", "schema", "validate"),
)
"""The commands: each is the function of its name in the module of its name under `race_report.commands`."""


class _Commands(click.Group):
    """A group that loads a command when it is asked for: `race validate` must not wait for the options of others."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        command: click.Command = getattr(import_module(f"race_report.commands.{cmd_name}"), cmd_name)
        return command


@click.group(cls=_Commands, context_settings=HELP)
@click.version_option(__version__, prog_name="race")
def race() -> None:
    """Report the compute of RL post-training: check reports, make tables.

    A report says how many FLOPs went into search, learning and feedback.

    \b
    Start:    race init -o report.yaml
    Fill:     race fill report.yaml --in-place
    Check:    race validate report.yaml
    Table:    race render report.yaml --to latex -o table.tex
    Picture:  race plot report.yaml -o split.pdf
    Model:    race model Qwen/Qwen2.5-1.5B
    Plan:     race count --help
    Proof:    race replay report.json
    """
