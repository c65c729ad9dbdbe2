"""RACE20x: what happened to rollouts and their tokens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from race_report.finding import Severity, rule
from race_report.rules.causes import factor
from race_report.rules.said import Range, is_open, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import Report, Rollouts, Run
    from race_report.finding import Violation


_TWICE: Final = 2
_LOST: Final = 0.02
"""Part of the rollouts that failed requests may make."""


def _with_rollouts(report: Report) -> Iterator[tuple[str, Run, Rollouts]]:
    for index, run in enumerate(report.runs):
        if run.rollouts is not None:
            yield f"/runs/{index}/rollouts", run, run.rollouts


def _range(report: Report, pointer: str, counts: Rollouts, key: str) -> Range:
    """Give what a count of rollouts or tokens may be."""
    return range_of(report, f"{pointer}/{key}", getattr(counts, key))


@rule("RACE201")
def rollouts_lost(report: Report) -> Iterator[Violation]:
    """Rollouts came in that did not go out, or the reverse.

    What it checks: generated + carried_in = trained + discarded + carried_out, where generated, trained and discarded
    stand; a carried count that is absent is 0.

    Why it matters: discarded rollouts are search compute like any other; the ones that are lost here are lost in the
    total too.

    How to fix: count what was filtered, expired or down-sampled as discarded. A rollout that is trained on again in a
    later batch is `reused`, and counts once as trained.

    Before:

        rollouts: {generated: 1000, trained: 250, discarded: 0}

    After:

        rollouts: {generated: 1000, trained: 250, discarded: 750}
    """
    for pointer, _, counts in _with_rollouts(report):
        if counts.generated is None or counts.trained is None or counts.discarded is None:
            continue
        came = counts.generated + (counts.carried_in or 0)
        went = counts.trained + counts.discarded + (counts.carried_out or 0)
        if came == went or _may_balance(report, pointer, counts):
            continue
        message = f"{came} rollouts came in (generated, carried_in), {went} went out (trained, discarded, carried_out)"
        hint = f"{came - went} are lost: were they filtered, expired or left in a buffer?"
        if went > came:
            hint = f"{went - came} came from nowhere: are they carried_in, or `reused` from an earlier batch?"
        yield pointer, message, hint


def _may_balance(report: Report, pointer: str, counts: Rollouts) -> bool:
    """Tell whether what came in and what went out may be equal within the ranges that the report states."""
    generated, carried_in, trained, discarded, carried_out = (
        _range(report, pointer, counts, key)
        for key in ("generated", "carried_in", "trained", "discarded", "carried_out")
    )
    return generated.plus(carried_in).meets(trained.plus(discarded).plus(carried_out))


@rule("RACE202")
def group_sizes_mismatch(report: Report) -> Iterator[Violation]:
    """Group sizes do not add up to the rollouts, or to the prompts.

    What it checks: the sum of size x groups in `group_sizes` against generated, its groups against prompts; and the sum
    in `trained_group_sizes` against trained.

    Why it matters: the distribution of group sizes is what tells adaptive sampling from uniform sampling.

    How to fix: list every draw once, pilot and commit apart, failed groups included.

    Before:

        rollouts: {generated: 1000, group_sizes: [{size: 8, groups: 100}]}

    After:

        rollouts: {generated: 1000, group_sizes: [{size: 8, groups: 100}, {size: 4, groups: 50}]}
    """
    for pointer, _, counts in _with_rollouts(report):
        groups = sum(item.groups for item in counts.group_sizes)
        checks = (
            ("group_sizes", counts.group_sizes, "generated", counts.generated),
            ("trained_group_sizes", counts.trained_group_sizes, "trained", counts.trained),
        )
        for name, sizes, key, count in checks:
            total = sum(item.size * item.groups for item in sizes)
            if sizes and count is not None and total != count and not is_open(report, pointer, name, key):
                message = f"the groups hold {total} rollouts, and {key} says {count}"
                yield f"{pointer}/{name}", message, "list every draw once, with its size"
        is_apart = bool(counts.group_sizes) and counts.prompts is not None and groups != counts.prompts
        if is_apart and not is_open(report, pointer, "group_sizes", "prompts"):
            message = f"there are {groups} groups, and prompts says {counts.prompts}"
            yield f"{pointer}/group_sizes", message, "a prompt that is drawn twice counts twice"


@rule("RACE203")
def prompts_times_group(report: Report) -> Iterator[Violation]:
    """Prompts times group size are not the rollouts that were generated.

    What it checks: prompts x group_size = generated, in a run that has one group size: no `group_sizes`, no stage with
    a group size of its own, no item of the pipeline that controls or replays. Up to 2 % fewer are requests that failed.

    Why it matters: either the group size is not what was run, or rollouts were generated that nobody counted.

    How to fix: give the sizes that happened in `group_sizes`; count groups that were drawn and discarded.

    Before:

        algorithm: {group_size: 8}
        rollouts: {prompts: 1000, generated: 4000}

    After:

        algorithm: {group_size: 4}
        rollouts: {prompts: 1000, generated: 4000}
    """
    for pointer, run, counts in _with_rollouts(report):
        size = run.algorithm.group_size if run.algorithm is not None else None
        if size is None or counts.prompts is None or not counts.generated or counts.group_sizes:
            continue
        is_varied = any(stage.algorithm is not None and stage.algorithm.group_size for stage in run.stages)
        is_steered = any(item.stage in ("control", "replay") for item in run.pipeline)
        expected = counts.prompts * size
        is_apart = expected != counts.generated and not is_varied and not is_steered
        if not is_apart or is_open(report, pointer, "group_sizes"):
            continue
        sizes = range_of(report, f"{pointer.removesuffix('/rollouts')}/algorithm/group_size", size)
        product = _range(report, pointer, counts, "prompts").times(sizes)
        generated = _range(report, pointer, counts, "generated")
        if not product.meets(Range(generated.low, generated.high * (1 + _LOST))):
            ratio = counts.generated / expected if expected else math.inf
            message = f"{counts.prompts} prompts in groups of {size} are {expected} rollouts, not {counts.generated}"
            yield (
                f"{pointer}/generated",
                f"{message}: {factor(ratio, run)}",
                "prompts are draws, so one drawn again counts again; sizes that differ go into group_sizes",
            )


@rule("RACE204")
def more_than_there_were(report: Report) -> Iterator[Violation]:
    """More rollouts were trained on, scored, discarded or truncated than there were.

    What it checks: that trained, scored and discarded are at most generated + carried_in, and truncated at most
    generated.

    Why it matters: the figure counts uses of rollouts, or rollouts of another run.

    How to fix: count distinct rollouts; uses in later batches are `reused`.

    Before:

        rollouts: {generated: 1000, trained: 4000}

    After:

        rollouts: {generated: 1000, trained: 1000, reused: 3000}
    """
    for pointer, _, counts in _with_rollouts(report):
        if counts.generated is None:
            continue
        there = counts.generated + (counts.carried_in or 0)
        for key, most in (
            *(("trained", there), ("discarded", there)),
            *(("scored", there), ("truncated", counts.generated)),
        ):
            count = getattr(counts, key)
            if count is None or count <= most:
                continue
            there_at_most = _range(report, pointer, counts, "generated").high
            if key != "truncated":
                there_at_most += _range(report, pointer, counts, "carried_in").high
            if _range(report, pointer, counts, key).low > there_at_most:
                message = f"{key} is {count}, and there were {most} rollouts"
                yield f"{pointer}/{key}", message, "count distinct rollouts; uses in later batches are `reused`"


@rule("RACE205", severity=Severity.WARNING)
def all_truncated(report: Report) -> Iterator[Violation]:
    """Every rollout was cut at the cap.

    What it checks: truncated = generated, where any were generated.

    Why it matters: compute was spent on completions that never ended, and most rewards see no answer in them. It is
    most often the cap that is wrong.

    How to fix: correct the count. If it is true, leave the rule out and say why: --ignore "RACE205=...".

    Before:

        rollouts: {generated: 1000, truncated: 1000}

    After:

        rollouts: {generated: 1000, truncated: 120}
    """
    for pointer, _, counts in _with_rollouts(report):
        if counts.generated and counts.truncated == counts.generated:
            message = f"all {counts.generated} rollouts were cut at the cap"
            yield (
                f"{pointer}/truncated",
                message,
                "is it a count of completions? if it is true, leave this rule out with the reason",
            )


@rule("RACE206")
def tokens_over_cap(report: Report) -> Iterator[Violation]:
    """More tokens are reported than the caps allow.

    What it checks: completion_tokens against generated x max_completion_tokens (x max_turns), prompt_tokens against
    generated x max_prompt_tokens, with the largest cap of any stage.

    Why it matters: a total beyond the cap is most often a sum over ranks, epochs or updates that counts rollouts twice.

    How to fix: count each rollout once. Text that tools return is `read_tokens`.

    Before:

        algorithm: {max_completion_tokens: 512}
        rollouts: {generated: 100, completion_tokens: 409600}

    After:

        algorithm: {max_completion_tokens: 512}
        rollouts: {generated: 100, completion_tokens: 51200}
    """
    for pointer, run, counts in _with_rollouts(report):
        if counts.generated is None:
            continue
        rollouts = counts.generated + (counts.carried_in or 0)
        turns = _most_turns(run)
        for key, tokens, cap in (
            ("prompt_tokens", counts.prompt_tokens, _largest(run, "max_prompt_tokens")),
            ("completion_tokens", counts.completion_tokens, _largest(run, "max_completion_tokens")),
        ):
            most = None if cap is None else rollouts * cap * (turns if key == "completion_tokens" else 1)
            if tokens is None or most is None or tokens <= most or _may_fit(report, pointer, run, counts, key, turns):
                continue
            message = f"{tokens} tokens are more than {rollouts} rollouts with a cap of {cap} can have ({most})"
            hint = "does the cap count tool text, or is it per turn?"
            if most and tokens >= _TWICE * most:
                hint = f"that is {tokens / most:.4g} times the most: were ranks, epochs or updates summed?"
            yield f"{pointer}/{key}", message, hint if most else "no rollout was generated"


def _may_fit(report: Report, pointer: str, run: Run, counts: Rollouts, key: str, turns: int) -> bool:
    """Tell whether tokens may be within the cap, by the ranges that the report states."""
    here, name = pointer.removesuffix("/rollouts"), f"max_{key}"
    owners = [(f"{here}/algorithm", run.algorithm)]
    owners += [(f"{here}/stages/{at}/algorithm", stage.algorithm) for at, stage in enumerate(run.stages)]
    caps = [range_of(report, f"{place}/{name}", getattr(owner, name)).high for place, owner in owners if owner]
    rollouts = _range(report, pointer, counts, "generated").plus(_range(report, pointer, counts, "carried_in"))
    most = rollouts.times(Range(0, max(caps) * (turns if key == "completion_tokens" else 1)))
    return _range(report, pointer, counts, key).low <= most.high


def _most_turns(run: Run) -> int:
    settings = [run.algorithm, *(stage.algorithm for stage in run.stages)] if run.stages else [run.algorithm]
    return max(setting.max_turns or 1 if setting is not None else 1 for setting in settings)


def _largest(run: Run, name: str) -> int | None:
    """Give the largest value of a setting in run and stages; None where the run leaves it open."""
    own: int | None = getattr(run.algorithm, name) if run.algorithm is not None else None
    if own is None or not run.stages:
        return own
    caps: list[int | None] = [getattr(stage.algorithm, name) for stage in run.stages if stage.algorithm is not None]
    return max(own, *(cap for cap in caps if cap is not None), own)


@rule("RACE207")
def tokens_below_rollouts(report: Report) -> Iterator[Violation]:
    """Fewer tokens are reported than rollouts.

    What it checks: that every rollout has a prompt token and a completion token at least.

    Why it matters: the figure is a mean, or in thousands or millions, or of one step only.

    How to fix: write sums over all rollouts of the run.

    Before:

        rollouts: {generated: 1000, completion_tokens: 310}

    After:

        rollouts: {generated: 1000, completion_tokens: 310000}
    """
    for pointer, _, counts in _with_rollouts(report):
        for key, tokens in (("prompt_tokens", counts.prompt_tokens), ("completion_tokens", counts.completion_tokens)):
            if tokens is None or counts.generated is None or tokens >= counts.generated:
                continue
            if _range(report, pointer, counts, key).high < _range(report, pointer, counts, "generated").low:
                message = f"{tokens} tokens for {counts.generated} rollouts are less than one each"
                yield f"{pointer}/{key}", message, "write the sum over all rollouts: is this a mean, or in thousands?"


@rule("RACE209")
def filter_adds(report: Report) -> Iterator[Violation]:
    """More came out of a filter than went in.

    What it checks: items_out against items_in, of items of the pipeline whose stage is `filter`.

    Why it matters: the two are exchanged, or counted in different units; either hides how much was thrown away.

    How to fix: count both in the item's `unit`, and write what went in as `items_in`.

    Before:

        pipeline: [{id: solvable, stage: filter, unit: prompt, items_in: 4000, items_out: 10000}]

    After:

        pipeline: [{id: solvable, stage: filter, unit: prompt, items_in: 10000, items_out: 4000}]
    """
    for index, run in enumerate(report.runs):
        for at, item in enumerate(run.pipeline):
            if item.stage != "filter" or item.items_in is None or item.items_out is None:
                continue
            here = f"/runs/{index}/pipeline/{at}"
            if item.items_out > item.items_in and not is_open(report, here, "items_in", "items_out"):
                message = f"{item.items_out} came out of the filter, and {item.items_in} went in"
                yield f"{here}/items_out", message, "are the two exchanged, or in different units?"
