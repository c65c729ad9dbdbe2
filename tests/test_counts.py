"""Counts from lengths, against an engine that goes token by token and looks at every key of its mask."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from race_report import counts as counts_module
from race_report.bounds_from_means import generation_from_means, reward_from_means, scoring_from_means
from race_report.counts import (
    GenerationCounts,
    Group,
    LogitRows,
    PrefixSharing,
    count_forward,
    count_generation,
    count_reward,
    count_scoring,
    count_served,
    count_stepwise_reward,
    count_update,
    sum_counts,
    windowed_pairs,
)
from race_report.flops import PassCounts

LENGTH = st.integers(1, 9)
WINDOW = st.none() | st.integers(1, 12)
GROUPS = st.lists(st.builds(Group, LENGTH, st.lists(st.integers(0, 9), max_size=4)), max_size=4)


@dataclass
class Engine:
    """Reads one position at a time and counts what it attends to."""

    window: int | None
    adapter: bool
    counts: list[int] = field(default_factory=lambda: [0] * 5)

    def read(self, positions: range, rows: int = 0) -> None:
        for position in positions:
            self.counts[0] += 1
            self.counts[2] += len([key for key in range(position + 1) if key <= position])
            if self.window is not None:
                self.counts[3] += len([key for key in range(position + 1) if position - key < self.window])
            self.counts[4] += self.adapter
        self.counts[1] += rows

    def total(self) -> PassCounts:
        return PassCounts(*self.counts)


def sampled_by_engine(
    groups: list[Group], sharing: str, block: int, chunk: int | None, prefill: Engine, decode: Engine
) -> int:
    """Sample with a cache, chunk by chunk; give how many prompt tokens were found."""
    found = 0
    for prompt, completions in groups:
        in_cache = 0
        for completion in completions:
            if completion == 0:
                continue
            found += in_cache
            begin = in_cache
            while begin < prompt:
                end = min(prompt, begin + chunk) if chunk else prompt
                prefill.read(range(begin, end), rows=1)
                begin = end
            for sampled in range(1, completion):
                decode.read(range(prompt + sampled - 1, prompt + sampled), rows=1)
            if sharing == "group":
                in_cache = prompt
            elif sharing == "blocks":
                in_cache = max(tokens for tokens in range(prompt) if tokens % block == 0)
    return found


@given(GROUPS, st.sampled_from(["none", "group", "blocks"]), LENGTH, st.none() | LENGTH, WINDOW, st.booleans())
def test_sampling_with_a_cache_is_what_an_engine_does(
    groups: list[Group], sharing: PrefixSharing, block: int, chunk: int | None, window: int | None, adapter: bool
) -> None:
    prefill, decode = Engine(window, adapter), Engine(window, adapter)
    found = sampled_by_engine(groups, sharing, block, chunk, prefill, decode)
    assert count_generation(
        groups, prefix_sharing=sharing, block_size=block, sampled_chunk=chunk, window=window, adapter=adapter
    ) == GenerationCounts(prefill.total(), decode.total(), found)


@given(GROUPS, WINDOW, st.booleans())
def test_without_a_cache_all_is_read_again_before_every_token(
    groups: list[Group], window: int | None, adapter: bool
) -> None:
    prefill, decode = Engine(window, adapter), Engine(window, adapter)
    for prompt, completions in groups:
        for completion in completions:
            for sampled in range(completion):
                length = prompt + sampled
                prefill.read(range(length if sampled == 0 else length - 1), rows=int(sampled == 0))
                if sampled:
                    decode.read(range(length - 1, length), rows=1)
    counted = count_generation(groups, kv_cache=False, window=window, adapter=adapter)
    assert counted == GenerationCounts(prefill.total(), decode.total(), 0)
    assert counted.decode == count_generation(groups, window=window, adapter=adapter).decode


@given(GROUPS, st.sampled_from(["completion", "all", "all_but_last"]), WINDOW, st.booleans(), st.integers(1, 3))
def test_scoring_and_updates_go_over_the_whole_of_each_rollout(
    groups: list[Group], rows: LogitRows, window: int | None, adapter: bool, times: int
) -> None:
    engine = Engine(window, adapter)
    for (prompt, completions), _ in itertools.product(groups, range(times)):
        for completion in completions:
            positions = range(prompt + completion)
            needed = {"completion": positions[prompt:], "all": positions, "all_but_last": positions[1:]}[rows]
            engine.read(positions, len(needed))
    assert count_update(groups, updates_per_batch=times, logit_rows=rows, window=window, adapter=adapter) == (
        engine.total()
    )
    if times == 1:
        assert count_scoring(groups, logit_rows=rows, window=window, adapter=adapter) == engine.total()


@given(st.lists(st.lists(st.integers(1, 20), max_size=5).map(sorted), max_size=4), st.booleans(), WINDOW)
def test_a_model_asked_at_every_step_reads_again_unless_it_has_a_cache(
    solutions: list[list[int]], kv_cache: bool, window: int | None
) -> None:
    engine = Engine(window, adapter=False)
    for ends in solutions:
        cached = 0
        for end in ends:
            engine.read(range(cached, end), rows=end - cached)
            cached = end if kv_cache else 0
    assert count_stepwise_reward(solutions, kv_cache=kv_cache, window=window) == engine.total()
    last = [ends[-1] for ends in solutions if ends]
    assert count_reward(last, window=window) == count_stepwise_reward(solutions, kv_cache=True, window=window)


@given(st.lists(LENGTH, min_size=1), WINDOW)
def test_a_sequence_read_in_turns_has_the_pairs_of_one_read_at_once(turns: list[int], window: int | None) -> None:
    starts = [sum(turns[:index]) for index in range(len(turns))]
    parts = [count_forward(turn, start, window=window) for turn, start in zip(turns, starts, strict=True)]
    assert sum_counts(parts) == count_forward(sum(turns), window=window)


def test_a_cached_rollout_costs_a_forward_over_all_but_its_last_token() -> None:
    prefill, decode, _ = count_generation([Group(256, [1024])])
    assert sum_counts([prefill, decode]) == count_forward(256 + 1024 - 1, logit_rows=1024)


def test_counts_are_integers_beyond_what_a_double_holds() -> None:
    length = 2**40 + 1
    assert count_reward([length]).attention_pairs == (2**40 + 1) * (2**39 + 1)


@given(st.integers(0, 30), st.integers(1, 12))
def test_passes_of_growing_length_are_summed_in_closed_form(longest: int, window: int) -> None:
    passes = [windowed_pairs(length, 0, window) for length in range(1, longest + 1)]
    assert counts_module._summed_pairs(longest, window) == sum(passes)


def test_what_is_not_said_is_the_common_case() -> None:
    groups = [Group(40, [3, 5])]
    assert count_update(groups) == count_scoring(groups)
    assert count_scoring(groups) == count_scoring(groups, logit_rows="completion", adapter=False)
    assert count_generation(groups) == count_generation(groups, prefix_sharing="none", kv_cache=True, adapter=False)
    assert count_generation(groups, prefix_sharing="blocks").cached_tokens == 32
    assert count_reward([4]) == count_reward([4], adapter=False)
    assert count_stepwise_reward([[4]], kv_cache=True) == count_reward([4])
    assert reward_from_means(2, 4).counts == reward_from_means(2, 4, adapter=False).counts
    assert count_reward([0]) == reward_from_means(1, 0).counts == PassCounts(0)


def test_lengths_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="a prompt has at least one token, not 0"):
        count_generation([Group(0, [1])])
    with pytest.raises(ValueError, match="0 or more"):
        count_scoring([Group(1, [3, -1])])
    with pytest.raises(ValueError, match="not -1"):
        count_reward([-1])
    with pytest.raises(ValueError, match="a step ends where it began or later"):
        count_stepwise_reward([[4, 3]], kv_cache=False)
    with pytest.raises(ValueError, match="window is 1 or more"):
        count_forward(3, window=0)


def test_what_needs_a_cache_is_refused_without_one() -> None:
    with pytest.raises(ValueError, match="nothing to share"):
        count_generation([Group(1, [1])], kv_cache=False, prefix_sharing="group")
    with pytest.raises(ValueError, match="nothing to read in chunks"):
        count_generation([Group(1, [1])], kv_cache=False, sampled_chunk=4)
    with pytest.raises(ValueError, match="a block or chunk holds at least one token"):
        count_generation([Group(1, [1])], block_size=0)
    with pytest.raises(ValueError, match="a block or chunk holds at least one token"):
        count_generation([Group(1, [1])], sampled_chunk=0)


# From means.

PAIRS_OF_LENGTHS = st.lists(st.tuples(LENGTH, LENGTH), min_size=1, max_size=8)


@given(PAIRS_OF_LENGTHS, WINDOW, st.sampled_from(["completion", "all", "all_but_last"]), st.booleans())
def test_means_give_tokens_and_rows_and_no_more_pairs_than_there_were(
    lengths: list[tuple[int, int]], window: int | None, rows: LogitRows, adapter: bool
) -> None:
    number = len(lengths)
    prompt, completion = (sum(each) / number for each in zip(*lengths, strict=True))
    groups = [Group(one, [other]) for one, other in lengths]
    scored = count_scoring(groups, logit_rows=rows, window=window, adapter=adapter)
    from_means = scoring_from_means(number, prompt, completion, logit_rows=rows, window=window, adapter=adapter)
    rewarded = reward_from_means(number, prompt, window=window, adapter=adapter)
    generated = count_generation(groups, window=window, adapter=adapter)
    prefill, decode = generation_from_means(number, prompt, completion, window=window, adapter=adapter)
    assert from_means.basis == rewarded.basis == prefill.basis == "lower_bound"
    assert decode.basis == "estimated"
    both = sum_counts([prefill.counts, decode.counts])
    for bound, exact in [
        (from_means.counts, scored),
        (rewarded.counts, count_reward([length for length, _ in lengths], window=window, adapter=adapter)),
        (prefill.counts, generated.prefill),
        (both, sum_counts(generated[:2])),
    ]:
        assert bound._replace(attention_pairs=0, bounded_attention_pairs=0) == exact._replace(
            attention_pairs=0, bounded_attention_pairs=0
        )
        assert bound.attention_pairs <= exact.attention_pairs
        assert bound.bounded_attention_pairs <= exact.bounded_attention_pairs


@given(LENGTH, st.lists(st.lists(LENGTH, min_size=3, max_size=3), min_size=1, max_size=4), WINDOW)
def test_with_one_prompt_length_each_phase_is_a_lower_bound(
    prompt: int, completions: list[list[int]], window: int | None
) -> None:
    exact = count_generation([Group(prompt, each) for each in completions], prefix_sharing="group", window=window)
    number = 3 * len(completions)
    mean = sum(map(sum, completions)) / number
    prefill, decode = generation_from_means(number, prompt, mean, group_size=3, one_prompt_length=True, window=window)
    assert prefill.counts == exact.prefill
    assert decode.basis == "lower_bound"
    assert decode.counts[:2] == exact.decode[:2]
    assert decode.counts.attention_pairs <= exact.decode.attention_pairs
    assert decode.counts.bounded_attention_pairs <= exact.decode.bounded_attention_pairs


@given(LENGTH, LENGTH, st.integers(1, 5), WINDOW)
def test_equal_lengths_are_counted_exactly_from_their_mean(
    prompt: int, completion: int, number: int, window: int | None
) -> None:
    exact = count_generation([Group(prompt, [completion])] * number, window=window)
    prefill, decode = generation_from_means(number, prompt, completion, window=window)
    assert (prefill.counts, decode.counts) == (exact.prefill, exact.decode)
    scored = count_scoring([Group(prompt, [completion])] * number, window=window)
    assert scoring_from_means(number, prompt, completion, window=window).counts == scored


@given(st.integers(1, 3), st.integers(0, 12), WINDOW)
def test_no_lengths_of_that_mean_have_fewer_pairs(number: int, tokens: int, window: int | None) -> None:
    bound = reward_from_means(number, tokens / number, window=window).counts
    possible = [
        count_reward(lengths, window=window)
        for lengths in itertools.product(range(tokens + 1), repeat=number)
        if sum(lengths) == tokens
    ]
    assert bound.attention_pairs == min(counts.attention_pairs for counts in possible)
    assert bound.bounded_attention_pairs == min(counts.bounded_attention_pairs for counts in possible)


def test_decode_alone_is_no_bound_where_long_prompts_have_short_completions() -> None:
    exact = count_generation([Group(1, [6]), Group(101, [4])])
    estimate = generation_from_means(2, 51, 5).decode
    assert estimate.basis == "estimated"
    assert estimate.counts.attention_pairs > exact.decode.attention_pairs


def test_a_mean_is_the_number_that_its_digits_say() -> None:
    assert reward_from_means(10, 1234.1).counts.tokens == 12341
    assert reward_from_means(3, 0.3).counts.tokens == 1


def test_means_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="no whole groups of 3"):
        generation_from_means(4, 1, 1, group_size=3)
    with pytest.raises(ValueError, match="at least one token of prompt"):
        generation_from_means(4, 0.5, 1)
    with pytest.raises(ValueError, match="at least one token of prompt"):
        generation_from_means(4, 1, 0.5)
    with pytest.raises(ValueError, match="at least one sequence"):
        reward_from_means(0, 1)
    with pytest.raises(ValueError, match="0 or more"):
        reward_from_means(1, -1)
    with pytest.raises(ValueError, match="no whole groups of 0"):
        generation_from_means(4, 1, 1, group_size=0)


def engine(prompt: int, completion: int, cached: int) -> list[tuple[str, int, int]]:
    """Run a rollout as an engine with a cache does: phase, and the positions that it computes."""
    if not completion:
        return []
    read = [("prefill", cached, prompt)] if prompt > cached else []
    return [*read, *(("decode", at, at + 1) for at in range(prompt, prompt + completion - 1))]


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 9), st.integers(0, 12)), max_size=5),
    st.none() | st.integers(1, 15),
    st.booleans(),
)
def test_what_an_engine_served_is_counted_as_it_ran(
    rows: list[tuple[int, int, int]], window: int | None, adapter: bool
) -> None:
    prompts, completions = [row[0] for row in rows], [row[1] for row in rows]
    cached = [min(row[0], row[2]) for row in rows]
    counted = count_served(prompts, completions, cached, window=window, adapter=adapter)
    ran = [step for row in zip(prompts, completions, cached, strict=True) for step in engine(*row)]
    for phase, counts in (("prefill", counted.prefill), ("decode", counted.decode)):
        steps = [(first, last) for name, first, last in ran if name == phase]
        keys = [query + 1 for first, last in steps for query in range(first, last)]
        assert counts.tokens == len(keys)
        assert counts.logit_rows == len(steps)
        assert counts.attention_pairs == sum(keys)
        assert counts.bounded_attention_pairs == (sum(min(key, window) for key in keys) if window else 0)
        assert counts.adapter_tokens == (len(keys) if adapter else 0)
    assert counted.cached_tokens == sum(hit for hit, length in zip(cached, completions, strict=True) if length)


def test_an_engine_that_shares_whole_prompts_says_what_sharing_gives() -> None:
    groups = [Group(7, [3, 1, 5]), Group(4, [2, 2])]
    told = count_served([7, 7, 7, 4, 4], [3, 1, 5, 2, 2], [0, 7, 7, 0, 4])
    assert told == count_generation(groups, prefix_sharing="group")
    assert count_served([7, 7, 7, 4, 4], [3, 1, 5, 2, 2]) == count_generation(groups)


@pytest.mark.parametrize("lengths", [([1], [1, 2]), ([4], [1], [5]), ([4], [1], [-1]), ([4], [-1]), ([0], [1])])
def test_lengths_that_no_engine_returns_are_refused(lengths: tuple[list[int], ...]) -> None:
    with pytest.raises(ValueError, match=r"completion|cached|prompt"):
        count_served(*lengths)
