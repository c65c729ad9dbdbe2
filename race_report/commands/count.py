"""The command `race count`."""

from __future__ import annotations

import sys
from typing import Any, Final

import click

from race_report.architecture.heads import HEADS
from race_report.commands.console import print_error, write_text


class _Number(click.FloatRange):
    """A number that is one: nan and inf are refused."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number: float = super().convert(value, param, ctx)
        if number - number != 0:
            self.fail(f"{value} is no number that anything can be counted with", param, ctx)
        return number


_N: Final = click.IntRange(1)


_N.name = "number"


_TOKENS: Final = _Number(1)


_PRECISIONS: Final = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4")


@click.command()
@click.option("--model", metavar="NAME|CONFIG", required=True, help="The policy, as race model reads it.")
@click.option("--rank", type=_N, help="Train LoRA of this rank; without an adapter, all weights.")
@click.option("--target-modules", metavar="NAME", multiple=True, help="What carries it; repeatable. (all-linear)")
@click.option("--adapter", metavar="FILE", help="Train the adapter of this adapter_config.json.")
@click.option("--prompts", type=_N, help="Prompts of a rollout step. (1)")
@click.option("--group-size", type=_N, help="Rollouts for a prompt, n. (1)")
@click.option("--steps", type=_N, default=1, show_default=True, help="Rollout steps.")
@click.option("--prompt-tokens", type=_TOKENS, help="Mean tokens of a prompt.")
@click.option("--completion-tokens", type=_TOKENS, help="Mean tokens of a completion, its end token included.")
@click.option("--lengths", metavar="FILE", help="Every length of one step instead, as JSON Lines.")
@click.option("--updates-per-batch", type=_N, default=1, show_default=True, help="Updates on each batch, mu.")
@click.option("--trained-per-group", type=_N, help="Rollouts of a group that are trained on, m of n. (all)")
@click.option("--old-logprobs", is_flag=True, help="A pass for old log-probabilities.")
@click.option("--kl-coefficient", type=_Number(0), default=0, help="Above 0: a pass of the reference model.")
@click.option("--reward-model", metavar="NAME|CONFIG", help="What scores every rollout; without one, rules do.")
@click.option("--reward-tokens", type=_TOKENS, help="Mean tokens that it reads of a rollout. (prompt and completion)")
@click.option("--reward-head", type=click.Choice(HEADS[1:]), help="Its head, where its configuration names another.")
@click.option("--reward-labels", type=_N, help="Outputs of that head.")
@click.option("--judge", metavar="NAME|CONFIG", help="A model that judges every rollout in words.")
@click.option("--judge-tokens", type=_TOKENS, nargs=2, metavar="READ WRITTEN", help="Its mean tokens for a rollout.")
@click.option(
    "--prefix-sharing",
    type=click.Choice(["none", "group", "blocks"]),
    default="none",
    show_default=True,
    help="How a group shares its prompt: not, whole, or in full blocks of 16.",
)
@click.option("--unmerged-adapter", is_flag=True, help="In rollouts the adapter runs beside the weights, not in them.")
@click.option("--parameter-rule", is_flag=True, help="Count 2N and 6N a completion token; a model may be a size: 1.5B.")
@click.option("--accelerator", metavar="NAME", help="What it is to run on, for GPU-hours and the report.")
@click.option("--count", type=_N, help="How many there are.")
@click.option("--mfu", type=_Number(0, 1, min_open=True), help="Fraction of the peak that is hoped for.")
@click.option("--peak", type=_Number(0, min_open=True), help="Dense FLOP/s, where the table has none.")
@click.option("--precision", type=click.Choice(_PRECISIONS), default="bf16", help="Number format of the peak. (bf16)")
@click.option("--format", "output_format", type=click.Choice(["text", "json", "report"]), help="What to print. (text)")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; a report if .json or .yaml.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def count(output_format: str | None, output: str | None, force: bool, **options: Any) -> None:  # noqa: FBT001
    """Count the FLOPs of a run before it runs, and how they divide.

    The file of --lengths has a line for each prompt of a step:
    {"prompt": 200, "completions": [310, 512]}. Every assumption is printed.
    As a report the plan is a level-2 document whose counts are estimated.

    \b
    Example:  race count --model Qwen/Qwen2.5-1.5B --rank 16 --prompts 64
                --group-size 8 --steps 200 --prompt-tokens 256
                --completion-tokens 1024 --reward-model Qwen/Qwen2.5-Math-PRM-7B
                --accelerator "H100 SXM" --count 8 --mfu 0.3
              race count --model ./config.json --lengths step.jsonl -o plan.yaml
    """
    from race_report.count_page import CountPage
    from race_report.model_page import NotDescribed
    from race_report.one_line import on_one_line
    from race_report.plan_options import hardware_of, ledger_of, plan_of

    try:
        plan = plan_of(options)
        page = CountPage(plan=plan, ledger=ledger_of(plan), hardware=hardware_of(options))
    except NotDescribed as error:
        print_error("\n".join(map(on_one_line, error.lines)))
        sys.exit(error.code)
    is_report = output is not None and output.lower().endswith((".json", ".yaml", ".yml"))
    kind = output_format or ("report" if is_report else "text")
    if kind == "report":
        text = page.report_text(is_yaml=output is not None and output.lower().endswith((".yaml", ".yml")))
    elif kind == "json":
        text = page.json_text()
    else:
        text = "\n".join(map(on_one_line, page.text_lines())) + "\n"
    write_text(text, output, force=force)
