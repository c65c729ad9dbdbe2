"""Counts from mean lengths: what follows exactly, and what is only a lower bound.

Tokens and logit rows follow from means. Pairs grow with the square of a length, with or without a window they are
convex in it, so of all lengths with the same sum the most even ones have the fewest pairs (Jensen's inequality). That
minimum is given, over whole lengths: r sequences of q + 1 tokens and n - r of q, where the sum is n·q + r. SPEC.md
section 2 is the source of what each count means.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

from race_report.counts import causal_pairs, windowed_pairs
from race_report.flops import PassCounts

if TYPE_CHECKING:
    from race_report.counts import LogitRows


class CountsFromMeans(NamedTuple):
    """Counts of a pass; tokens and rows are exact, and `basis` is that of the pairs, in the ledger's words."""

    counts: PassCounts
    basis: Literal["lower_bound", "estimated"]


class GenerationFromMeans(NamedTuple):
    """The phases of sampling, each with its own basis."""

    prefill: CountsFromMeans
    decode: CountsFromMeans


def generation_from_means(
    rollouts: int,
    mean_prompt: float,
    mean_completion: float,
    *,
    group_size: int = 1,
    one_prompt_length: bool = False,
    window: int | None = None,
    adapter: bool = False,
) -> GenerationFromMeans:
    """Give the counts of `race_report.counts.count_generation` with a cache, from means over rollouts.

    `group_size` is the number of completions that share one reading of their prompt: 1 where prompts are not shared.
    The pairs of prefill are a lower bound. Those of decode hold P·C, which is not convex in both: they are a lower
    bound where all prompts have one length, which `one_prompt_length` says, else an estimate. Where no prompt is shared
    the *sum* of prefill and decode is a lower bound in any case, because it depends on P + C alone.
    """
    if group_size < 1 or rollouts % group_size:
        raise ValueError(f"{rollouts} rollouts are no whole groups of {group_size}")
    prompts, completions = _total(rollouts, mean_prompt), _total(rollouts, mean_completion)
    if completions < rollouts or prompts < rollouts:
        raise ValueError("a rollout has at least one token of prompt and of completion")
    read = _even(rollouts // group_size, _total(rollouts // group_size, mean_prompt), window)
    with_decode = _even(rollouts, prompts + completions - rollouts, window)
    without = _even(rollouts, prompts, window)
    decoded = _Pairs(with_decode.causal - without.causal, with_decode.windowed - without.windowed)
    fed_back = completions - rollouts
    return GenerationFromMeans(
        prefill=_counts(_total(rollouts // group_size, mean_prompt), rollouts // group_size, read, adapter=adapter),
        decode=_counts(fed_back, fed_back, decoded, adapter=adapter, is_bound=one_prompt_length),
    )


def scoring_from_means(
    sequences: int,
    mean_prompt: float,
    mean_completion: float,
    *,
    logit_rows: LogitRows = "completion",
    window: int | None = None,
    adapter: bool = False,
) -> CountsFromMeans:
    """Give the counts of `count_scoring`, and of `count_update` for mu times as many sequences; pairs are a bound."""
    completions = _total(sequences, mean_completion)
    tokens = _total(sequences, mean_prompt) + completions
    rows = {"completion": completions, "all": tokens, "all_but_last": tokens - sequences}[logit_rows]
    return _counts(tokens, rows, _even(sequences, tokens, window), adapter=adapter)


def reward_from_means(
    sequences: int, mean_length: float, *, window: int | None = None, adapter: bool = False
) -> CountsFromMeans:
    """Give the counts of `count_reward`, a row for every token; pairs are a lower bound."""
    tokens = _total(sequences, mean_length)
    return _counts(tokens, tokens, _even(sequences, tokens, window), adapter=adapter)


class _Pairs(NamedTuple):
    causal: int
    windowed: int


def _total(sequences: int, mean: float) -> int:
    """Give the whole number of tokens whose mean is nearest to what the mean's digits say."""
    if sequences < 1 or mean < 0:
        raise ValueError("a mean is of at least one sequence, and 0 or more")
    return round(sequences * Fraction(repr(mean)))


def _even(sequences: int, tokens: int, window: int | None) -> _Pairs:
    """Give the fewest pairs that so many sequences of so many tokens together can have."""
    shorter, longer_ones = divmod(tokens, sequences)
    lengths = ((shorter, sequences - longer_ones), (shorter + 1, longer_ones))
    causal = sum(number * causal_pairs(length) for length, number in lengths)
    if window is None:
        return _Pairs(causal, 0)
    return _Pairs(causal, sum(number * windowed_pairs(length, 0, window) for length, number in lengths))


def _counts(tokens: int, rows: int, pairs: _Pairs, *, adapter: bool, is_bound: bool = True) -> CountsFromMeans:
    counts = PassCounts(tokens, rows, pairs.causal, pairs.windowed, tokens if adapter else 0)
    return CountsFromMeans(counts, "lower_bound" if is_bound else "estimated")
