"""The command `race`: arguments in, exit codes out; the work is done elsewhere.

Imports stay within the commands: `race validate` on a JSON file must not wait for what it does not use.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from race_report import __version__
from race_report.finding import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HELP: Final = {"help_option_names": ["-h", "--help"]}


_HEADS: Final = ("causal_lm", "sequence_classification", "token_classification", "process_reward", "reward", "none")

format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="For people or programs.",
)


@click.group(context_settings=HELP)
@click.version_option(__version__, prog_name="race")
def race() -> None:
    """Report the compute of RL post-training: check reports, make tables.

    A report says how many FLOPs went into search, learning and feedback.

    \b
    Start:    race init -o report.yaml
    Fill:     race fill report.yaml --in-place
    Check:    race validate report.yaml
    Table:    race render report.yaml --to latex -o table.tex
    Model:    race model Qwen/Qwen2.5-1.5B
    Plan:     race count --help
    Proof:    race replay report.json
    """


@race.command()
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


@race.command()
@click.option(
    "--of",
    "what",
    type=click.Choice(["report", "record"]),
    default="report",
    show_default=True,
    help="Of a report, or of a record of a trace.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; standard output otherwise.")
@click.option("--force", is_flag=True, help="Overwrite a file that is something else.")
def schema(what: str, output: str | None, force: bool) -> None:  # noqa: FBT001
    """Print the JSON Schema of the standard.

    \b
    Example:  race schema -o race-report.schema.json
    """
    from race_report._resources import read_text
    from race_report.standard import VERSION

    name = "race-report.schema.json" if what == "report" else "trace-record.schema.json"
    _write(read_text("schema", VERSION, name), output, force=force, ours='{\n  "$schema"')


@race.command()
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; standard output otherwise.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def init(output: str | None, force: bool) -> None:  # noqa: FBT001
    """Write a commented report to fill in.

    Values that are yours to write are empty; race validate lists those that still are.

    \b
    Example:  race init -o report.yaml
    """
    from race_report._resources import read_text

    if output is not None and output.lower().endswith(".json"):
        stem = output[: -len(".json")]
        message = f"the report to fill in is YAML, which has comments: name it {stem}.yaml"
        raise click.UsageError(message)
    _write(read_text("templates", "report", "minimal.yaml"), output, force=force)


@race.command()
@click.argument("report")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; standard output otherwise.")
@click.option("--in-place", is_flag=True, help="Write the report itself.")
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@format_option
def fill(
    report: str,
    output: str | None,
    in_place: bool,  # noqa: FBT001
    force: bool,  # noqa: FBT001
    output_format: str,
) -> None:
    """Add to a report what follows from it.

    REPORT is a file, or - for standard input. Parameters and coefficients follow
    from a known name, an architecture or the config.json of architecture_file;
    ledger entries from rollouts; then FLOPs, totals and GPU-hours. Nothing that
    stands is changed, and comments and order stay. What was assumed becomes an
    entry of qualifications; what does not follow is listed, with what to add.

    The report goes to standard output or to a file, the list to standard error.
    With --format json the list goes to standard output, and the report only to a file.

    \b
    Example:  race fill report.yaml -o filled.yaml
              race fill report.yaml --in-place

    \b
    Exit code: 0 filled, as far as it follows; 1 the report has errors; 2 wrong
    usage; 3 a file that cannot be read; 4 an unknown version of the standard.
    """
    from race_report.fill.file import NotFilled, fill_file
    from race_report.one_line import on_one_line
    from race_report.output import text_lines

    if in_place and (output is not None or report == "-"):
        message = "--in-place writes the report itself: give a file, and no -o"
        raise click.UsageError(message)
    if output is not None:
        _refuse_target(report, output)
    try:
        filled = fill_file(report)
    except NotFilled as error:
        found = [] if error.result is None else list(text_lines([error.result]))
        print_error("\n".join([*found, on_one_line(str(error))]))
        sys.exit(error.code)
    is_json = output_format == "json"
    lines = "" if is_json else "\n".join(map(on_one_line, filled.text_lines()))
    if in_place:
        if filled.is_changed:
            _write(filled.text, report, force=True)
    elif output is not None or not is_json:
        _write(filled.text, output, force=force)
    if is_json:
        print_text(filled.json_text())
    else:
        print_error(lines)


def _refuse_target(report: str, output: str) -> None:
    """Refuse an output that is the report, or that its name says to be in another language."""
    if os.path.exists(output) and os.path.exists(report) and os.path.samefile(output, report):
        message = f"{output} is the report: write it with --in-place"
        raise click.UsageError(message)
    is_json, was_json = (path.lower().endswith(".json") for path in (output, report))
    if report != "-" and is_json != was_json:
        message = f"the text of {report} is kept as it is: name the output {'.json' if was_json else '.yaml'}"
        raise click.UsageError(message)


@race.command()
@click.argument("name", metavar="CONFIG|NAME")
@click.option("--adapter", metavar="FILE", help="The adapter_config.json of an adapter that the model carries.")
@click.option(
    "--head",
    type=click.Choice(_HEADS),
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


@race.command()
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
@click.option("--reward-head", type=click.Choice(_HEADS[1:]), help="Its head, where its configuration names another.")
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
    _write(text, output, force=force)


@race.command()
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
    _write(text, output, force=force, ours=MADE_BY)


@race.command()
@click.argument("report")
@click.argument("trace", required=False)
@click.option("--run", "run_id", metavar="ID", help="The run that TRACE is of, where the report has several.")
@format_option
def replay(report: str, trace: str | None, run_id: str | None, output_format: str) -> None:
    """Prove that a ledger is the sum of its trace.

    REPORT names its trace and the digest of it; TRACE is another place where the
    trace lies. Every figure of every entry is shown by the trace and by the
    ledger; they agree to the integer, or the difference is named.

    \b
    Example:  race replay report.json
              race replay report.json /archive/trace.jsonl

    \b
    Exit code: 0 all agree; 1 a figure differs, or the trace was changed; 2 wrong
    usage; 3 report or trace cannot be read; 4 an unknown version of the standard.
    """
    from race_report.one_line import on_one_line
    from race_report.output import text_lines
    from race_report.replay_page import NotReplayable, replay_page

    try:
        page = replay_page(report, trace, run_id)
    except NotReplayable as error:
        raise click.UsageError(str(error)) from error
    if output_format == "json":
        print_text(page.json_text())
    elif page.result.view is None:
        print_text("\n".join(text_lines([page.result])))
    else:
        print_text("\n".join(map(on_one_line, page.text_lines())))
    sys.exit(page.exit_code)


@race.command()
@click.argument("journals", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="The trace to write.")
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def merge(journals: tuple[str, ...], output: str, force: bool) -> None:  # noqa: FBT001
    """Merge the journals of all workers of a run into one trace.

    Lines are kept as they were written, sorted by worker and sequence number, so
    that the same records give the same digest. A torn last line is left out.

    \b
    Example:  race merge rank-0.jsonl rank-1.jsonl -o trace.jsonl
    """
    from race_report.one_line import on_one_line
    from race_report.parsed import Unparsable
    from race_report.trace import merge as merged_of
    from race_report.trace import write_lines

    if os.path.exists(output) and any(os.path.exists(path) and os.path.samefile(output, path) for path in journals):
        message = f"{output} is one of the journals: name another file for the trace"
        raise click.UsageError(message)
    if os.path.exists(output) and not force:
        message = f"{output} is there already; overwrite it with --force"
        raise click.UsageError(message)
    try:
        merged = merged_of(journals)
    except Unparsable as error:
        print_error(on_one_line(f"{error.fault.path}: {error.fault.message}"))
        sys.exit(Exit.UNREADABLE)
    for fault in merged.faults:
        line, column = (fault.span.line, fault.span.column) if fault.span else (1, 1)
        print_error(on_one_line(f"{fault.path}:{line}:{column}: {fault.message}"))
    if not merged.is_whole:
        print_error("nothing was written: mend the errors first")
        sys.exit(Exit.FINDINGS)
    try:
        write_lines(merged.lines, output)
    except OSError as error:
        print_error(f"race: cannot write {output}: {(error.strerror or str(error)).lower()}")
        sys.exit(Exit.UNREADABLE)
    print_text(f"{output}: {len(merged.lines)} records, sha256 {merged.sha256}")


@race.command()
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


@race.command()
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


def _write(text: str, output: str | None, *, force: bool, ours: str = "") -> None:
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
        is_replaceable = not os.path.exists(output) or os.path.isfile(output)  # /dev/stdout is not
        with click.open_file(output, "wb", atomic=is_replaceable) as file:
            file.write(text.encode("utf-8"))
    except OSError as error:
        print_error(f"race: cannot write {output}: {(error.strerror or str(error)).lower()}")
        sys.exit(Exit.UNREADABLE)
