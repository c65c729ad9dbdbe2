"""What went through a model, from the lengths of its sequences: lengths -> `PassCounts`.

SPEC.md section 2 is the source of what each count means. Every function sums over sequences in closed form and in
integers; a mean length stands for its sequences only in `race_report.bounds_from_means`, because pairs grow with the
square of a length. P is the length of a prompt, C that of a completion (the end token included), T = P + C.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Literal, NamedTuple

from race_report.flops import PassCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PrefixSharing = Literal["none", "group", "blocks"]
"""How a group shares the keys and values of its prompt: not at all, whole, or in full blocks."""

LogitRows = Literal["completion", "all", "all_but_last"]
"""The rows of a scored sequence that go through the head: those that predict the completion, T, or T - 1."""


class Group(NamedTuple):
    """One draw of a prompt, in tokens: the prompt's length, and the length of each completion."""

    prompt: int
    completions: Sequence[int]


class GenerationCounts(NamedTuple):
    """What sampling costs, by the phases of the ledger."""

    prefill: PassCounts
    """Tokens that the model read: prompts, and whatever it had to read again."""
    decode: PassCounts
    """Sampled tokens that were fed back, one at a time: all but the last of each completion."""
    cached_tokens: int
    """Prompt tokens served from the cache of another completion of the group."""


def causal_pairs(tokens: int, cached: int = 0) -> int:
    """Give the pairs of `tokens` new positions after `cached` ones: tokens·cached + tokens·(tokens + 1)/2."""
    return tokens * cached + tokens * (tokens + 1) // 2


def windowed_pairs(tokens: int, cached: int, window: int) -> int:
    """Give the pairs of a sliding window: the sum over the new positions of min(position + 1, window), from 0."""
    if window < 1:
        raise ValueError(f"a token attends to itself at least, so a window is 1 or more, not {window}")
    growing = max(0, min(tokens, window - cached))
    return causal_pairs(growing, cached) + (tokens - growing) * window


def sum_counts(passes: Iterable[PassCounts]) -> PassCounts:
    """Add passes, count by count; of none, all counts are 0."""
    return PassCounts(*map(sum, zip(*passes, strict=True))) if (passes := list(passes)) else PassCounts(0)


def scale_counts(counts: PassCounts, number: int, parts: int = 1) -> PassCounts:
    """Multiply whole counts by a number; with `parts`, by so many parts of one, to the nearest integer, halves up."""
    return PassCounts(*[(2 * int(count) * number + parts) // (2 * parts) for count in counts])


def count_forward(
    tokens: int, cached: int = 0, *, logit_rows: int = 0, window: int | None = None, adapter: bool = False
) -> PassCounts:
    """Count one causal pass of `tokens` positions over `cached` ones, of which `logit_rows` go through the head.

    Pairs are T·c + T·(T + 1)/2; with a `window`, `bounded_attention_pairs` are those of the layers that slide. With
    `adapter`, every token goes through adapters that are not merged. It is the part that all other counts are made of,
    and by itself a turn of a conversation (rows 0 for text that is read) or a prefix that an engine computed again.
    """
    bounded = 0 if window is None else windowed_pairs(tokens, cached, window)
    return PassCounts(tokens, logit_rows, causal_pairs(tokens, cached), bounded, tokens if adapter else 0)


def count_generation(
    groups: Iterable[Group],
    *,
    prefix_sharing: PrefixSharing = "none",
    block_size: int = 16,
    kv_cache: bool = True,
    sampled_chunk: int | None = None,
    window: int | None = None,
    adapter: bool = False,
) -> GenerationCounts:
    """Count the sampling of completions by a policy, or by a judge (`judge_prefill`, `judge_decode`).

    C sampled tokens need C logit rows, but only P + C - 1 tokens go through the body: the first row belongs to the
    prefill, and the last token is never fed back. A completion of length 0 was not begun and costs nothing.

    - `none`: each completion reads its prompt: P tokens, P·(P + 1)/2 pairs, 1 row.
    - `group`: the first reads it for all, and all sample their first token from its one row.
    - `blocks`: the first reads it; the others find the full blocks below its last token, b·⌊(P - 1)/b⌋ tokens of
      blocks of b, and read the rest, with a row each.
    - Without `kv_cache` every token after the first costs a pass over all before it. What is read again is prefill,
      and decode is the same as with a cache.
    - Chunks change nothing but for an engine that computes a row at the end of each: `sampled_chunk` is their size.

    Decode has (C - 1)·P + C·(C - 1)/2 pairs a completion, whatever is shared. Raises ValueError for lengths that cannot
    be, and where sharing or chunks are asked for without a cache.
    """
    if not kv_cache and (prefix_sharing != "none" or sampled_chunk is not None):
        raise ValueError("without a KV cache there is nothing to share and nothing to read in chunks")
    if block_size < 1 or (sampled_chunk is not None and sampled_chunk < 1):
        raise ValueError("a block or chunk holds at least one token")
    reads: list[PassCounts] = []
    decodes: list[PassCounts] = []
    cached_tokens = 0
    for group in groups:
        _check(group)
        prompt, begun = group.prompt, [length for length in group.completions if length]
        hit = {"none": 0, "group": prompt, "blocks": (prompt - 1) // block_size * block_size}[prefix_sharing]
        others = max(0, len(begun) - 1)
        cached_tokens += others * hit
        for cached, number in ((0, len(begun) - others), (hit, others)):
            if cached < prompt:
                rows = 1 if sampled_chunk is None else -(-(prompt - cached) // sampled_chunk)
                read = count_forward(prompt - cached, cached, logit_rows=rows, window=window, adapter=adapter)
                reads.append(scale_counts(read, number))
        if not kv_cache:
            reads += [_read_again(prompt, completion, window, adapter=adapter) for completion in begun]
        fed_back = [completion - 1 for completion in begun]
        decodes.append(_count_forwards(fed_back, prompt, logit_rows=sum(fed_back), window=window, adapter=adapter))
    return GenerationCounts(sum_counts(reads), sum_counts(decodes), cached_tokens)


def count_served(
    prompt_tokens: Sequence[int],
    completion_tokens: Sequence[int],
    cached_tokens: Sequence[int] | None = None,
    *,
    window: int | None = None,
    adapter: bool = False,
) -> GenerationCounts:
    """Count what an engine in another process did, from the lengths that it returns for every completion.

    `cached_tokens` are the prompt tokens that were served from a cache: what the engine says (vLLM's
    `num_cached_tokens`), not what sharing would allow. A prompt that is all cached runs no pass and needs no row. Else
    as `count_generation`. Raises ValueError for lists that differ in length and lengths that cannot be.
    """
    reads, decodes = [], []
    cached_tokens = [0] * len(prompt_tokens) if cached_tokens is None else cached_tokens
    if not len(prompt_tokens) == len(completion_tokens) == len(cached_tokens):
        numbers = f"{len(prompt_tokens)}, {len(completion_tokens)} and {len(cached_tokens)}"
        raise ValueError(f"every completion has a prompt, a length and what was cached: there are {numbers}")
    served = 0
    for prompt, completion, cached in zip(prompt_tokens, completion_tokens, cached_tokens, strict=True):
        _check(Group(prompt, [completion]))
        if not 0 <= cached <= prompt:
            raise ValueError(f"of a prompt of {prompt} tokens, 0 to {prompt} are cached, not {cached}")
        if not completion:
            continue
        served += cached
        if cached < prompt:
            reads.append(count_forward(prompt - cached, cached, logit_rows=1, window=window, adapter=adapter))
        rows = completion - 1
        decodes.append(count_forward(rows, prompt, logit_rows=rows, window=window, adapter=adapter))
    return GenerationCounts(sum_counts(reads), sum_counts(decodes), served)


def count_scoring(
    groups: Iterable[Group],
    *,
    logit_rows: LogitRows = "completion",
    window: int | None = None,
    adapter: bool = False,
) -> PassCounts:
    """Count one pass over prompt and completion of each rollout: old and reference log-probabilities, a teacher's.

    T tokens, T·(T + 1)/2 pairs a rollout, and C, T or T - 1 logit rows. `adapter` where adapters are active and not
    merged: in old log-probabilities, not in those of a reference that is the policy without them.
    """
    passes = []
    for group in groups:
        _check(group)
        lengths = [group.prompt + completion for completion in group.completions]
        tokens = sum(lengths)
        rows = {"completion": sum(group.completions), "all": tokens, "all_but_last": tokens - len(lengths)}[logit_rows]
        passes.append(_count_forwards(lengths, 0, logit_rows=rows, window=window, adapter=adapter))
    return sum_counts(passes)


def count_update(
    groups: Iterable[Group],
    *,
    updates_per_batch: int = 1,
    logit_rows: LogitRows = "completion",
    window: int | None = None,
    adapter: bool = False,
) -> PassCounts:
    """Count the update on rollouts, `updates_per_batch` times (mu): the counts of scoring, times mu.

    The groups hold the completions that are trained on: m of n, where some were left out. Forward and backward go
    through the same counts; their multipliers tell them apart. `adapter` where adapters are trained.
    """
    once = count_scoring(groups, logit_rows=logit_rows, window=window, adapter=adapter)
    return scale_counts(once, updates_per_batch)


def count_reward(lengths: Iterable[int], *, window: int | None = None, adapter: bool = False) -> PassCounts:
    """Count one pass of a reward, value or process reward model over sequences of its own template and tokens.

    T tokens, T·(T + 1)/2 pairs and T rows each: such a head runs on every token, whichever row is read.
    """
    passes = []
    for length in lengths:
        if length < 0:
            raise ValueError(f"a sequence has a length of 0 or more, not {length}")
        passes.append(count_forward(length, logit_rows=length, window=window, adapter=adapter))
    return sum_counts(passes)


def count_stepwise_reward(
    solutions: Iterable[Sequence[int]], *, kv_cache: bool, window: int | None = None, adapter: bool = False
) -> PassCounts:
    """Count a process reward model that is asked after every step; a solution is the length T_s at each step's end.

    With a cache, all steps of a solution cost one pass over its last length. Without one, each step is a pass over all
    up to its end. Raises ValueError where lengths fall.
    """
    lengths: list[int] = []
    for ends in solutions:
        if list(ends) != sorted(ends):
            raise ValueError(f"a step ends where it began or later: {list(ends)}")
        lengths += ends[-1:] if kv_cache else ends
    return count_reward(lengths, window=window, adapter=adapter)


def _count_forwards(
    lengths: Sequence[int], cached: int, *, logit_rows: int, window: int | None, adapter: bool
) -> PassCounts:
    """Count passes of `count_forward` together, each over its own length and the same cached tokens."""
    tokens = sum(lengths)
    pairs = tokens * cached + (sum(map(mul, lengths, lengths)) + tokens) // 2
    bounded = 0 if window is None else sum(windowed_pairs(length, cached, window) for length in lengths)
    return PassCounts(tokens, logit_rows, pairs, bounded, tokens if adapter else 0)


def _check(group: Group) -> None:
    if group.prompt < 1:
        raise ValueError(f"a prompt has at least one token, not {group.prompt}")
    if any(length < 0 for length in group.completions):
        raise ValueError(f"a completion has a length of 0 or more: {list(group.completions)}")


def _read_again(prompt: int, completion: int, window: int | None, *, adapter: bool) -> PassCounts:
    """Count what is read again without a cache: before each token but the first, all P, P + 1, ..., P + C - 2."""
    first, last = prompt, prompt + completion - 2
    tokens = causal_pairs(last) - causal_pairs(first - 1)
    pairs = _summed_pairs(last, last) - _summed_pairs(first - 1, last)
    bounded = 0 if window is None else _summed_pairs(last, window) - _summed_pairs(first - 1, window)
    return PassCounts(tokens, 0, pairs, bounded, tokens if adapter else 0)


def _summed_pairs(longest: int, window: int) -> int:
    """Give the windowed pairs of a pass of 1 token, of 2, and so on up to `longest`, added."""
    growing = min(longest, window)
    full = longest - growing
    tetrahedron = growing * (growing + 1) * (growing + 2) // 6
    return tetrahedron + full * causal_pairs(window) + window * causal_pairs(full)
