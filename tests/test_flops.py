from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from race_report.accounting import account
from race_report.flops import (
    FORWARD,
    Factors,
    ModelCoefficients,
    PassCounts,
    default_factors,
    entry_flops,
    relative_difference,
)
from race_report.standard import view

COUNT = st.integers(0, 2**53)


def test_the_worked_example_is_exact_to_the_digit(example: dict[str, Any]) -> None:
    report = view()(example)
    recomputed = account(report).recomputed[0]
    assert [found.flops for found in recomputed] == [entry.flops for entry in report.runs[0].ledger]


@given(st.builds(ModelCoefficients, *[COUNT] * 5), st.builds(PassCounts, *[COUNT] * 5))
def test_an_update_is_three_times_a_forward_where_all_is_trained(
    coefficients: ModelCoefficients, counts: PassCounts
) -> None:
    full = default_factors("update", "full")
    assert full is not None
    assert entry_flops(coefficients, counts, full) == 3 * entry_flops(coefficients, counts, FORWARD)


@given(st.builds(ModelCoefficients, *[COUNT] * 5), st.builds(PassCounts, *[COUNT] * 5), st.integers(2, 9))
def test_flops_are_linear_in_counts_and_stay_integers(
    coefficients: ModelCoefficients, counts: PassCounts, times: int
) -> None:
    more = PassCounts(*(times * int(count) for count in counts))
    once = entry_flops(coefficients, counts, FORWARD)
    assert isinstance(once, int)
    assert entry_flops(coefficients, more, FORWARD) == times * once


def test_every_term_has_its_own_factor() -> None:
    coefficients = ModelCoefficients(1, 10, 100, 1000, 10000)
    counts = PassCounts(1, 1, 1, 1, 1)
    assert entry_flops(coefficients, counts, Factors(1, 0, 0, 0)) == 2
    assert entry_flops(coefficients, counts, Factors(0, 1, 0, 0)) == 20
    assert entry_flops(coefficients, counts, Factors(0, 0, 1, 0)) == 4 * 1100
    assert entry_flops(coefficients, counts, Factors(0, 0, 0, 1)) == 20000


def test_fractional_factors_and_pairs_are_taken_exactly() -> None:
    coefficients = ModelCoefficients(10**15 + 1, 0, 3)
    assert entry_flops(coefficients, PassCounts(10), Factors(1.1, 0, 0, 0)) == 22 * (10**15 + 1)
    assert entry_flops(coefficients, PassCounts(0, 0, 0.5), FORWARD) == 6


@pytest.mark.parametrize(
    ("trained", "policy", "reward_model", "p"),
    [
        ("adapter", 1.5e9, 0, 0.667),  # LoRA of vanishing rank, rule rewards
        ("full", 1.5e9, 0, 0.75),
        ("full", 3e9, 7e9, 0.47),  # under a process reward model
    ],
)
def test_p_is_fixed_by_the_constants_under_the_plain_parameter_rule(
    trained: str, policy: float, reward_model: float, p: float
) -> None:
    """The figures of the standard, section 2: the same tokens generated, trained on and scored."""
    counts = PassCounts(10**9)
    update = default_factors("update", trained)
    assert update is not None
    search = entry_flops(ModelCoefficients(round(policy)), counts, FORWARD)
    learning = entry_flops(ModelCoefficients(round(policy)), counts, update)
    feedback = entry_flops(ModelCoefficients(round(reward_model)), counts, FORWARD)
    assert learning / (search + learning + feedback) == pytest.approx(p, abs=0.005)


def test_what_is_not_given_costs_and_counts_nothing() -> None:
    assert ModelCoefficients(1) == (1, 0, 0, 0, 0)
    assert PassCounts(1) == (1, 0, 0, 0, 0)


def test_a_difference_is_relative_to_what_is_computed() -> None:
    assert relative_difference(3, 4) == 0.25
    assert relative_difference(5, 4) == 0.25
    assert relative_difference(7, 7) == relative_difference(0, 0) == 0
    assert relative_difference(1, 0) == float("inf")


@pytest.mark.parametrize("trained", [None, "none", "partial"])
def test_nothing_is_guessed_of_an_update_whose_extent_is_not_known(trained: str | None) -> None:
    assert default_factors("update", trained) is None
    assert default_factors("forward", trained) == FORWARD
