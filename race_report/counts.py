"""Counts of passes from the lengths of sequences: what an engine that is no torch module tells of its work.

All pairs are exact: a token attends to itself and to every token before it, or to as many as its window holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence


class Counts(TypedDict, total=False):
    """Counts by the names of the ledger."""

    sequences: int
    tokens: int
    attention_pairs: int
    bounded_attention_pairs: int
    logit_rows: int
    cached_tokens: int


def pairs(tokens: int, past: int = 0, window: int | None = None) -> int:
    """Give the keys that new tokens attend to, behind tokens that were computed before.

    Args:
        tokens: how many are new.
        past: how many stand before them.
        window: how many keys a token attends to at most, itself included; None where there is no such limit.

    """
    if window is None:
        return tokens * past + tokens * (tokens + 1) // 2
    growing = min(tokens, max(0, window - past))  # tokens that the window does not cut yet
    return pairs(growing, past) + (tokens - growing) * window


def prefill(
    prompt_tokens: Sequence[int],
    completion_tokens: Sequence[int],
    *,
    cached_tokens: Sequence[int] | None = None,
    window: int | None = None,
) -> Counts:
    """Count the passes that read prompts, one a completion.

    A pass gives the logits of the first sampled token, so it needs one row; a prompt that is wholly served from a
    cache runs no pass and needs none.

    Args:
        prompt_tokens: tokens of the prompt, for every completion.
        completion_tokens: tokens that were sampled behind each.
        cached_tokens: how many tokens of each prompt were served from a cache and not computed; none where not given.
        window: keys that a layer of bounded attention lets a token see; None for a model without such layers.

    Raises:
        ValueError: the lists differ in length, or more is cached than there was.

    """
    cached = _alike(prompt_tokens, cached_tokens if cached_tokens is not None else [0] * len(prompt_tokens))
    sampled = _alike(prompt_tokens, completion_tokens)
    if any(not 0 <= hit <= length for hit, length in zip(cached, prompt_tokens, strict=True)):
        message = "more tokens of a prompt are cached than it has"
        raise ValueError(message)
    new = [length - hit for length, hit in zip(prompt_tokens, cached, strict=True)]
    counts: Counts = {
        "sequences": sum(length > 0 for length in new),
        "tokens": sum(new),
        "attention_pairs": sum(map(pairs, new, cached)),
        "logit_rows": sum(length > 0 and reply > 0 for length, reply in zip(new, sampled, strict=True)),
    }
    if cached_tokens is not None:
        counts["cached_tokens"] = sum(cached)
    if window is not None:
        counts["bounded_attention_pairs"] = sum(pairs(*both, window) for both in zip(new, cached, strict=True))
    return counts


def decode(prompt_tokens: Sequence[int], completion_tokens: Sequence[int], *, window: int | None = None) -> Counts:
    """Count the steps that sample completions behind prompts, with a cache of keys and values.

    The first token comes from the prefill and the last is not fed back, so a completion of C tokens takes C - 1 steps,
    each of one token and one row.

    Args:
        prompt_tokens: tokens of the prompt, for every completion.
        completion_tokens: tokens that were sampled, the one that ends the sequence included.
        window: as in `prefill`.

    Raises:
        ValueError: the lists differ in length, or a length is negative.

    """
    lengths = _alike(prompt_tokens, completion_tokens)
    if any(length < 0 for length in lengths):
        message = "a completion has a negative length"
        raise ValueError(message)
    steps = [max(0, length - 1) for length in lengths]
    counts: Counts = {
        "sequences": sum(length > 0 for length in steps),
        "tokens": sum(steps),
        "attention_pairs": sum(map(pairs, steps, prompt_tokens)),
        "logit_rows": sum(steps),
    }
    if window is not None:
        counts["bounded_attention_pairs"] = sum(pairs(*both, window) for both in zip(steps, prompt_tokens, strict=True))
    return counts


def whole(
    sequence_tokens: Sequence[int], *, logit_rows: Sequence[int] | None = None, window: int | None = None
) -> Counts:
    """Count one pass over whole sequences: scoring, a reward, one epoch of an update.

    Args:
        sequence_tokens: tokens of every sequence, padding left out.
        logit_rows: rows of each that the head was needed for; all where not given, as of a value or reward head.
        window: as in `prefill`.

    Raises:
        ValueError: the lists differ in length, or a length is negative.

    """
    rows = _alike(sequence_tokens, logit_rows if logit_rows is not None else sequence_tokens)
    if any(length < 0 for length in (*sequence_tokens, *rows)):
        message = "a sequence has a negative length"
        raise ValueError(message)
    counts: Counts = {
        "sequences": len(sequence_tokens),
        "tokens": sum(sequence_tokens),
        "attention_pairs": sum(map(pairs, sequence_tokens)),
        "logit_rows": sum(rows),
    }
    if window is not None:
        counts["bounded_attention_pairs"] = sum(pairs(length, 0, window) for length in sequence_tokens)
    return counts


def _alike(first: Sequence[int], second: Sequence[int]) -> Sequence[int]:
    if len(first) != len(second):
        message = f"there are {len(first)} sequences in one list and {len(second)} in the other"
        raise ValueError(message)
    return second
