from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from race_report.conventions import LAYERS_RECOMPUTED, NOTHING_RECOMPUTED, Conventions, flops_under
from race_report.counts import Group, count_generation, count_reward
from race_report.flops import FORWARD, Factors, ModelCoefficients, default_factors, entry_flops

SIZE = st.integers(0, 10**6)
MODEL = st.builds(ModelCoefficients, SIZE, SIZE, SIZE, st.just(0), SIZE)
LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=6)
UPDATE = default_factors("update", "full") or FORWARD


@given(MODEL, LENGTHS, st.booleans())
def test_the_canonical_conventions_change_nothing(model: ModelCoefficients, lengths: list[int], adapter: bool) -> None:
    counts = count_reward(lengths, adapter=adapter)
    assert flops_under(Conventions(), model, counts, FORWARD) == entry_flops(model, counts, FORWARD)


@given(MODEL, LENGTHS)
def test_full_attention_is_every_query_with_every_key(model: ModelCoefficients, lengths: list[int]) -> None:
    counts = count_reward(lengths)
    squares = counts._replace(
        attention_pairs=sum(1 for length in lengths for _ in itertools.product(range(length), repeat=2))
    )
    full = flops_under(Conventions(attention="full"), model, counts, UPDATE, shape="whole")
    half = flops_under(Conventions(attention="causal_half"), model, counts, UPDATE, shape="whole")
    none = flops_under(Conventions(attention="omitted"), model, counts, UPDATE)
    assert full == entry_flops(model, squares, UPDATE)
    assert none == entry_flops(model, counts._replace(attention_pairs=0), UPDATE)
    assert half is not None
    assert 2 * half == full + none


def test_a_decoded_token_attends_to_all_there_is() -> None:
    model = ModelCoefficients(1000, 100, 10)
    decode = count_generation([Group(5, [7])]).decode
    exact = entry_flops(model, decode, FORWARD)
    assert flops_under(Conventions(attention="full"), model, decode, FORWARD, shape="decode") == exact


@pytest.mark.parametrize("attention", ["full", "causal_half"])
def test_masked_pairs_are_not_guessed(attention: str) -> None:
    conventions = Conventions(attention="full" if attention == "full" else "causal_half")
    counts = count_reward([9], window=4)
    assert flops_under(conventions, ModelCoefficients(10, 1, 4), counts, FORWARD) is None
    sliding = ModelCoefficients(10, 1, 4, bounded_attention_width=4)
    assert flops_under(conventions, sliding, counts, FORWARD, shape="whole") is None
    assert flops_under(conventions, ModelCoefficients(10), counts, FORWARD) == 2 * 10 * 9


@given(MODEL, st.integers(1, 30), st.integers(0, 30))
def test_all_logit_rows_are_one_a_token(model: ModelCoefficients, tokens: int, rows: int) -> None:
    counts = count_reward([tokens])
    needed = counts._replace(logit_rows=rows)
    assert flops_under(Conventions(logit_rows="all"), model, needed, FORWARD) == entry_flops(model, counts, FORWARD)


@given(MODEL, LENGTHS)
def test_multiply_adds_are_half_the_operations(model: ModelCoefficients, lengths: list[int]) -> None:
    counts = count_reward(lengths)
    halved = flops_under(Conventions(multiply_add=1), model, counts, FORWARD)
    assert halved is not None
    assert 2 * halved == entry_flops(model, counts, FORWARD)


@given(MODEL, LENGTHS)
def test_layers_run_again_cost_a_forward_without_head(model: ModelCoefficients, lengths: list[int]) -> None:
    counts = count_reward(lengths, adapter=True)
    included = Conventions(recomputation="included")
    body = entry_flops(model._replace(head_parameters=0), counts, FORWARD)
    once = entry_flops(model, counts, UPDATE)
    assert flops_under(included, model, counts, UPDATE, recomputed=LAYERS_RECOMPUTED) == once + body
    assert flops_under(included, model, counts, UPDATE, recomputed=NOTHING_RECOMPUTED) == once
    assert flops_under(included, model, counts, UPDATE) is None


def test_conventions_combine() -> None:
    model = ModelCoefficients(100, 10, 6, adapter_parameters=3)
    counts = count_reward([4, 6])._replace(logit_rows=2, adapter_tokens=10)
    conventions = Conventions("full", "all", 1, "included")
    flops = flops_under(conventions, model, counts, Factors(2, 2, 3, 3), shape="whole", recomputed=LAYERS_RECOMPUTED)
    assert flops == 3 * 100 * 10 + 2 * 10 * 10 + 4 * 2 * 6 * (16 + 36) + 4 * 3 * 10
