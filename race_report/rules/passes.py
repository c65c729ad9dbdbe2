"""RACE208 and RACE210: what went through the models, beside what happened to rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.finding import Severity, rule
from race_report.numbers import show_number
from race_report.rules.causes import count_cause, factor
from race_report.rules.said import is_open

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from race_report.document import Report, Rollouts, Run
    from race_report.finding import Violation

_SLACK: Final = 0.02
"""Relative difference that a last, partial batch and rollouts cut short may make."""


@rule("RACE208")
def pairs_below_tokens(report: Report) -> Iterator[Violation]:
    """An entry has fewer attention pairs than tokens.

    What it checks: attention_pairs against tokens, where both stand: a token attends to itself at least.

    Why it matters: the pairs are of one sequence, of one layer, or in thousands.

    How to fix: sum, over all tokens, the keys that each attends to; of a causal pass over T tokens after P that is
    T x P + T x (T + 1) / 2.

    Before:

        - {component: search, model: policy, operation: forward, tokens: 1000, attention_pairs: 500}

    After:

        - {component: search, model: policy, operation: forward, tokens: 1000, attention_pairs: 500500}
    """
    for run_index, run in enumerate(report.runs):
        for index, entry in enumerate(run.ledger):
            if entry.attention_pairs and entry.tokens is not None and entry.attention_pairs < entry.tokens:
                message = f"{show_number(entry.attention_pairs)} pairs for {entry.tokens} tokens are less than one each"
                hint = "sum over all tokens the keys that each attends to"
                yield f"/runs/{run_index}/ledger/{index}/attention_pairs", message, hint


@rule("RACE210", severity=Severity.WARNING)
def ledger_beside_rollouts(report: Report) -> Iterator[Violation]:
    """The ledger's tokens or sequences are not those of the rollouts.

    What it checks: tokens of the decode entries of policy and rollout policy against completion_tokens, less the last
    token of every sequence, which is never fed back: 2 % fewer, or more by a factor that has a cause (GPUs, steps,
    updates), is warned of. And sequences of the policy's update entries against (trained + reused) x updates_per_batch,
    within 2 %. Parts of a run, buffers, stages with settings of their own and figures within a range are left alone.

    Why it matters: a ledger that was counted on one rank, or of one step, recomputes to the digit and is wrong by a
    factor.

    How to fix: sum the counts over all ranks and all steps of the run.

    Before:

        # on one of eight ranks
        rollouts: {generated: 1000, completion_tokens: 512000}
        ledger: [{component: search, phase: decode, model: policy, operation: forward, tokens: 63875}]

    After:

        rollouts: {generated: 1000, completion_tokens: 512000}
        ledger: [{component: search, phase: decode, model: policy, operation: forward, tokens: 511000}]
    """
    roles = {model.id: model.role for model in report.models}
    for index, run in enumerate(report.runs):
        counts = run.rollouts
        is_part = run.coverage is not None and run.coverage.complete is False
        if counts is None or is_part or counts.carried_in or not run.ledger:
            continue
        here = f"/runs/{index}"
        yield from _decoded(report, here, run, counts, roles)
        yield from _updated(report, here, run, counts)


def _decoded(report: Report, here: str, run: Run, counts: Rollouts, roles: Mapping[str, str]) -> Iterator[Violation]:
    entries = [
        (at, entry)
        for at, entry in enumerate(run.ledger)
        if entry.phase == "decode" and roles.get(entry.model or "") in ("policy", "rollout_policy")
    ]
    if not entries or not counts.completion_tokens or not counts.generated:
        return
    turns = (run.algorithm.max_turns if run.algorithm is not None else None) or 1
    decoded = sequences = 0
    for _, entry in entries:
        if entry.tokens is None:
            return
        decoded += entry.tokens
        sequences += entry.sequences if entry.sequences is not None else counts.generated * turns
    fed = counts.completion_tokens - sequences
    if fed <= 0:
        return
    ratio = decoded / fed
    is_apart = ratio < 1 - _SLACK or (ratio > 1 + _SLACK and bool(count_cause(ratio, run)))
    places = [f"ledger/{at}/tokens" for at, _ in entries]
    if is_apart and not is_open(report, here, "rollouts/completion_tokens", "rollouts/generated", *places):
        message = f"{decoded} tokens were decoded, and the rollouts have {fed} to decode"
        yield f"{here}/{places[0]}", f"{message}: {factor(ratio, run)}", "sum over all ranks and steps of the run"


def _updated(report: Report, here: str, run: Run, counts: Rollouts) -> Iterator[Violation]:
    settings = run.algorithm
    is_staged = any(stage.algorithm is not None and stage.algorithm.updates_per_batch for stage in run.stages)
    if settings is None or settings.updates_per_batch is None or not counts.trained or is_staged:
        return
    entries = [
        (at, entry)
        for at, entry in enumerate(run.ledger)
        if entry.phase == "update" and entry.operation == "update" and entry.model == run.policy
    ]
    passes = 0
    for _, entry in entries:
        if entry.sequences is None:
            return
        passes += entry.sequences
    expected = (counts.trained + (counts.reused or 0)) * settings.updates_per_batch
    if not entries or abs(passes - expected) <= _SLACK * expected:
        return
    places = [f"ledger/{at}/sequences" for at, _ in entries]
    keys = ("rollouts/trained", "rollouts/reused", "algorithm/updates_per_batch")
    if not is_open(report, here, *keys, *places):
        message = f"{passes} sequences were updated on, and trained x updates_per_batch are {expected}"
        yield f"{here}/{places[0]}", f"{message}: {factor(passes / expected, run)}", "a rollout of every update is one"
