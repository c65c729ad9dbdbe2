"""Counts from lengths are those that a walk over every token gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from race_report.counts import decode, pairs, prefill, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

sizes = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12), st.integers(0, 12)), max_size=5).map(
    lambda rows: [(prompt, completion, min(prompt, cached)) for prompt, completion, cached in rows]
)
windows = st.none() | st.integers(1, 15)


def walk(first: int, last: int, window: int | None) -> int:
    """Count the keys of tokens at positions, one by one by the mask."""
    return sum(1 for query in range(first, last) for key in range(query + 1) if window is None or query - key < window)


def engine(prompt: int, completion: int, cached: int) -> Iterator[tuple[str, int, int, bool]]:
    """Run a rollout as an engine with a cache does: phase, positions computed, and whether logits are needed."""
    if prompt > cached:
        yield "prefill", cached, prompt, completion > 0
    for at in range(prompt, prompt + completion - 1):
        yield "decode", at, at + 1, True


@given(sizes, windows)
def test_prefill_and_decode_are_what_an_engine_runs(rows: list[tuple[int, int, int]], window: int | None) -> None:
    prompts, completions, cached = ([row[at] for row in rows] for at in range(3))
    by_phase = {
        "prefill": prefill(prompts, completions, cached_tokens=cached, window=window),
        "decode": decode(prompts, completions, window=window),
    }
    for phase, counts in by_phase.items():
        steps = [step for row in rows for step in engine(*row) if step[0] == phase]
        assert counts["tokens"] == sum(last - first for _, first, last, _ in steps)
        assert counts["logit_rows"] == sum(needed for *_, needed in steps)
        assert counts["attention_pairs"] == sum(walk(first, last, None) for _, first, last, _ in steps)
        if window is not None:
            bounded = sum(walk(first, last, window) for _, first, last, _ in steps)
            assert counts["bounded_attention_pairs"] == bounded
        assert counts["sequences"] == sum(any(step[0] == phase for step in engine(*row)) for row in rows)


@given(st.lists(st.integers(0, 20), max_size=5), windows)
def test_a_pass_over_whole_sequences_is_their_triangle(lengths: list[int], window: int | None) -> None:
    counts = whole(lengths, window=window)
    assert counts["attention_pairs"] == sum(walk(0, length, None) for length in lengths)
    assert counts["tokens"] == counts["logit_rows"] == sum(lengths)
    if window is not None:
        assert counts["bounded_attention_pairs"] == sum(walk(0, length, window) for length in lengths)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 40))
def test_pairs_are_those_of_the_mask(tokens: int, past: int, window: int) -> None:
    assert pairs(tokens, past) == walk(past, past + tokens, None)
    assert pairs(tokens, past, window) == walk(past, past + tokens, window)


def test_the_worked_example_has_these_counts(example: dict[str, Any]) -> None:
    """Made by hand in the report: 102,400 rollouts of 256 prompt and 512 completion tokens."""
    reading, sampling, *_, update, _ = example["runs"][0]["ledger"]
    of_one = prefill([256], [512]), decode([256], [512]), whole([768], logit_rows=[512])
    for entry, counts in zip((reading, sampling, update), of_one, strict=True):
        figures: dict[str, Any] = {**counts}
        assert {name: 102400 * number for name, number in figures.items()} == {name: entry[name] for name in figures}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: prefill([1], [1, 2]), "1 sequences in one list and 2"),
        (lambda: prefill([4], [1], cached_tokens=[5]), "more tokens of a prompt are cached"),
        (lambda: prefill([4], [1], cached_tokens=[-1]), "more tokens of a prompt are cached"),
        (lambda: decode([4], [-1]), "negative length"),
        (lambda: decode([4], []), "1 sequences in one list and 0"),
        (lambda: whole([-4]), "negative length"),
        (lambda: whole([4], logit_rows=[1, 2]), "1 sequences in one list and 2"),
    ],
)
def test_lengths_that_cannot_be_are_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]
