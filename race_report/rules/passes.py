"""RACE208, RACE210 and RACE211: what went through the models, beside what happened to rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.finding import Severity, rule
from race_report.numbers import show_number
from race_report.rules.causes import count_cause, factor
from race_report.rules.said import is_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import LedgerEntry, Report, Rollouts, Run
    from race_report.finding import Violation

_ROUNDED: Final = 0.005
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
    within 2 %; a rollout that is masked in the batch is trained too. Of passes that score rollouts, no fewer sequences
    than were scored or trained on. Redone steps, parts of a run, buffers, stages with settings of their own and figures
    within a range are left alone.

    Why it matters: a ledger that was counted on one rank, or of one step, recomputes to the digit and is wrong by a
    factor.

    How to fix: sum the counts over all ranks and all steps of the run.

    Before:

        # on one of eight ranks
        rollouts: {generated: 1000, completion_tokens: 512000}
        ledger: [{component: search, phase: decode, model: policy, operation: forward, sequences: 125, tokens: 63875}]

    After:

        rollouts: {generated: 1000, completion_tokens: 512000}
        ledger: [{component: search, phase: decode, model: policy, operation: forward, sequences: 1000, tokens: 511000}]
    """
    policies = {model.id for model in report.models if model.role in ("policy", "rollout_policy")}
    for index, run in enumerate(report.runs):
        counts = run.rollouts
        is_part = run.coverage is not None and run.coverage.complete is False
        if counts is None or is_part or counts.carried_in or not run.ledger:
            continue
        here = f"/runs/{index}"
        yield from _decoded(report, here, run, counts, policies)
        yield from _updated(report, here, run, counts)
        yield from _scored(report, here, run, counts)


def _decoded(report: Report, here: str, run: Run, counts: Rollouts, policies: set[str]) -> Iterator[Violation]:
    entries = [
        (at, entry)
        for at, entry in enumerate(run.ledger)
        if entry.phase == "decode" and entry.part != "redone" and entry.model in policies
    ]
    has_cache = run.conventions is None or run.conventions.kv_cache is not False
    if not entries or not counts.completion_tokens or not counts.generated or not has_cache:
        return
    turns = (run.algorithm.max_turns if run.algorithm is not None else None) or 1
    decoded = sequences = 0
    for _, entry in entries:
        if entry.tokens is None:
            return
        decoded += entry.tokens
        sequences += entry.sequences if entry.sequences is not None else counts.generated * turns
    ratio = (decoded + sequences) / counts.completion_tokens  # with the last token of each, which is never fed back
    if abs(ratio - 1) <= _SLACK:
        return
    if not count_cause(ratio, run) and counts.completion_tokens > counts.generated:
        ratio = decoded / (counts.completion_tokens - counts.generated)
    is_apart = ratio < 1 - _SLACK or (ratio > 1 + _SLACK and bool(count_cause(ratio, run)))
    places = [f"ledger/{at}/tokens" for at, _ in entries]
    if is_apart and not is_open(report, here, "rollouts/completion_tokens", "rollouts/generated", *places):
        message = f"{decoded} tokens of {sequences} sequences were decoded, and the rollouts have "
        message += f"{counts.completion_tokens} completion tokens"
        yield f"{here}/{places[0]}", f"{message}: {factor(ratio, run)}", "sum over all ranks and steps of the run"


def _updated(report: Report, here: str, run: Run, counts: Rollouts) -> Iterator[Violation]:
    settings = run.algorithm
    is_staged = any(stage.algorithm is not None and stage.algorithm.updates_per_batch for stage in run.stages)
    if settings is None or settings.updates_per_batch is None or not counts.trained or is_staged:
        return
    entries = [
        (at, entry)
        for at, entry in enumerate(run.ledger)
        if entry.phase == "update"
        and entry.part != "redone"
        and entry.operation == "update"
        and entry.model == run.policy
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
        yield (
            f"{here}/{places[0]}",
            f"{message}: {factor(passes / expected, run)}",
            "count each rollout of the batch, masked or not, once for every update pass",
        )


_SCORES: Final = {"old_logprobs": "trained", "reference_logprobs": "trained", "reward": "scored"}
"""Phases that look at whole rollouts, and the count of rollouts that they look at at least."""


def _scored(report: Report, here: str, run: Run, counts: Rollouts) -> Iterator[Violation]:
    passes: dict[tuple[str, str], list[int]] = {}
    for at, entry in enumerate(run.ledger):
        if entry.phase in _SCORES and entry.model is not None and entry.part != "redone":
            passes.setdefault((entry.phase, entry.model), []).append(at)
    for (phase, model), entries in passes.items():
        known = [run.ledger[at].sequences for at in entries]
        least: int | None = getattr(counts, _SCORES[phase])
        if least is None or None in known:
            continue
        sequences = sum(number or 0 for number in known)
        if sequences >= (1 - _SLACK) * least:
            continue
        places = [f"ledger/{at}/sequences" for at in entries]
        if not is_open(report, here, f"rollouts/{_SCORES[phase]}", *places):
            message = f"{sequences} sequences went through {model} in {phase}, and {_SCORES[phase]} is {least}"
            hint = "sum over all ranks and steps of the run"
            yield f"{here}/{places[0]}", f"{message}: {factor(sequences / least, run)}", hint


@rule("RACE211")
def counts_impossible(report: Report) -> Iterator[Violation]:
    """Counts of an entry contradict one another.

    What it checks: that no more tokens went through adapters than through the body, no more rows through the head than
    tokens and sequences, and that there are no fewer attention pairs than so many sequences of one length have, which
    is the least; within 0.5 %. Pairs are not looked at where layers attend to a bounded set.

    Why it matters: FLOPs follow from the counts; one that cannot be makes all of them wrong.

    How to fix: sum each count over the same passes. Pairs of a causal pass over T tokens are T x (T + 1) / 2: of the
    sum over sequences, not of their mean length or of one sequence alone.

    Before:

        - {component: search, model: policy, operation: forward, sequences: 10, tokens: 10000, attention_pairs: 500500}

    After:

        - {component: search, model: policy, operation: forward, sequences: 10, tokens: 10000, attention_pairs: 5005000}
    """
    bounded = {
        model.id
        for model in report.models
        if model.coefficients is not None and model.coefficients.bounded_attention_width
    }
    for run_index, run in enumerate(report.runs):
        for at, entry in enumerate(run.ledger):
            for key, message, hint in _impossible(entry, is_bounded=entry.model in bounded):
                here = f"/runs/{run_index}/ledger/{at}"
                if not is_open(report, here, key, "tokens", "sequences"):
                    yield f"{here}/{key}", message, hint


def _impossible(entry: LedgerEntry, *, is_bounded: bool) -> Iterator[Violation]:
    tokens, sequences, pairs = entry.tokens, entry.sequences, entry.attention_pairs
    if tokens is None:
        return
    if (entry.adapter_tokens or 0) > tokens:
        message = f"{entry.adapter_tokens} tokens went through adapters, and {tokens} through the body"
        yield "adapter_tokens", message, "adapter_tokens are those of `tokens` that met unmerged adapters"
    if entry.logit_rows is not None and sequences is not None and entry.logit_rows > tokens + sequences:
        message = f"{entry.logit_rows} rows went through the head, and {tokens} tokens through the body"
        yield "logit_rows", message, "a token makes one row at most"
    if pairs and sequences and entry.phase != "decode" and not is_bounded:
        least = tokens * (tokens / sequences + 1) / 2
        if tokens <= pairs < (1 - _ROUNDED) * least:
            message = f"{show_number(pairs)} pairs are fewer than {sequences} sequences of {tokens} tokens can have"
            yield "attention_pairs", message, f"they have {least:.4g} at least, when all have one length"
