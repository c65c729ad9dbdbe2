"""A plan against sums over its rollouts, one by one."""

from __future__ import annotations

import itertools
import json
import tempfile
from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from race_report.counts import Group, count_forward, count_generation, count_reward, count_scoring, sum_counts
from race_report.flops import ModelCoefficients, PassCounts
from race_report.lengths import read_lengths
from race_report.plan import JudgedTokens, Plan, PlannedModel, planned_ledger, planned_totals
from race_report.planned_lengths import LengthsByMeans, LengthsOfStep, Means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from race_report.counts import PrefixSharing
    from race_report.plan import Line

LENGTH = st.integers(1, 50)
GROUPS = st.lists(st.builds(Group, LENGTH, st.lists(LENGTH, min_size=1, max_size=5)), min_size=1, max_size=5)
EVEN_GROUPS = st.integers(1, 4).flatmap(
    lambda size: st.lists(
        st.builds(Group, LENGTH, st.lists(LENGTH, min_size=size, max_size=size)), min_size=1, max_size=5
    )
)
WINDOW = st.none() | st.integers(1, 60)
SHARING: list[PrefixSharing] = ["none", "group", "blocks"]

POLICY = PlannedModel("policy", "policy", ModelCoefficients(1000, 100, 10, 3, 7), trained="adapter", window=20)
SCORER = PlannedModel("scorer", "reward_model", ModelCoefficients(5000, 5, 20), window=None)


def by_phase(plan: Plan) -> dict[str, Line]:
    return {line.phase: line for line in planned_ledger(plan)}


def means_of(groups: Sequence[Group]) -> Means:
    size = len(groups[0].completions)
    completions = [length for group in groups for length in group.completions]
    return Means(
        len(groups),
        size,
        sum(group.prompt for group in groups) / len(groups),
        sum(completions) / len(completions),
    )


@given(GROUPS, st.integers(1, 3), st.integers(1, 3), st.sampled_from(SHARING), st.booleans())
def test_a_plan_from_lengths_is_the_sum_over_every_rollout_of_every_step(
    groups: list[Group], steps: int, mu: int, sharing: PrefixSharing, is_merged: bool
) -> None:
    plan = Plan(
        policy=POLICY,
        lengths=groups,
        steps=steps,
        updates_per_batch=mu,
        prefix_sharing=sharing,
        is_adapter_merged=is_merged,
        has_old_logprobs=True,
        kl_coefficient=0.1,
        reward_model=SCORER,
    )
    found = by_phase(plan)
    every = groups * steps
    prefill, decode, cached = count_generation(every, prefix_sharing=sharing, window=20, adapter=not is_merged)
    assert (found["prefill"].counts, found["decode"].counts) == (prefill, decode)
    assert found["prefill"].cached_tokens == cached
    assert found["old_logprobs"].counts == count_scoring(every, window=20, adapter=True)
    assert found["reference_logprobs"].counts == count_scoring(every, window=20)
    assert found["update"].counts == count_scoring(every * mu, window=20, adapter=True)
    lengths = [group.prompt + length for group in every for length in group.completions]
    assert found["reward"].counts == count_reward(lengths)
    assert {found[phase].sequences for phase in ("prefill", "decode", "old_logprobs", "reward")} == {len(lengths)}
    assert found["update"].sequences == mu * len(lengths)


@given(EVEN_GROUPS, st.integers(1, 3), WINDOW)
def test_means_give_the_same_tokens_and_no_more_pairs(groups: list[Group], steps: int, window: int | None) -> None:
    exact, meant = LengthsOfStep(groups, steps, None), LengthsByMeans(means_of(groups), steps, None)
    assert exact.rollouts() == meant.rollouts()
    for counted, bound in (
        (exact.scoring(window), meant.scoring(window)),
        (sum_counts(exact.generation("none", window)[:2]), sum_counts(meant.generation("none", window)[:2])),
        (exact.generation("group", window).prefill, meant.generation("group", window).prefill),
    ):
        assert (counted.tokens, counted.logit_rows) == (bound.tokens, bound.logit_rows)
        assert counted.attention_pairs >= bound.attention_pairs
        assert counted.bounded_attention_pairs >= bound.bounded_attention_pairs


@given(LENGTH, LENGTH, st.integers(1, 5), st.integers(1, 3), WINDOW, st.sampled_from(SHARING))
def test_means_of_lengths_that_are_all_equal_are_exact(
    prompt: int, completion: int, size: int, prompts: int, window: int | None, sharing: PrefixSharing
) -> None:
    groups = [Group(prompt, [completion] * size)] * prompts
    exact, meant = LengthsOfStep(groups, 2, None), LengthsByMeans(Means(prompts, size, prompt, completion), 2, None)
    assert exact.generation(sharing, window) == meant.generation(sharing, window)
    assert exact.scoring(window) == meant.scoring(window)
    assert exact.rollouts() == meant.rollouts()


@given(st.builds(Group, LENGTH, st.lists(LENGTH, min_size=1, max_size=5)), st.data())
def test_m_of_n_is_the_mean_of_every_choice(group: Group, data: st.DataObject) -> None:
    kept = data.draw(st.integers(1, len(group.completions)))
    choices = list(itertools.combinations(group.completions, kept))
    summed = sum_counts(count_scoring([Group(group.prompt, choice)], window=20) for choice in choices)
    found = LengthsOfStep([group], 1, kept)
    for own, total in zip(found.trained(20), summed, strict=True):
        assert abs(own - Fraction(int(total), len(choices))) <= Fraction(1, 2)
    assert found.rollouts().trained == kept
    assert found.rollouts().trained_completion_tokens == found.trained(20).logit_rows


def test_m_of_n_leaves_rollouts_and_feedback_whole() -> None:
    lengths = Means(4, 8, 100, 50)
    plans = [Plan(policy=POLICY, lengths=lengths, trained_per_group=kept, reward_model=SCORER) for kept in (None, 2)]
    whole, part = map(by_phase, plans)
    assert [part[phase] for phase in ("prefill", "decode", "reward")] == [
        whole[phase] for phase in ("prefill", "decode", "reward")
    ]
    assert 4 * part["update"].flops == whole["update"].flops


def test_a_judge_reads_and_writes_and_a_reward_model_may_have_tokens_of_its_own() -> None:
    found = by_phase(
        Plan(
            policy=POLICY,
            lengths=Means(1, 2, 10, 10),
            reward_model=SCORER,
            reward_tokens=12,
            judge=SCORER._replace(id="judge", role="judge"),
            judged_tokens=JudgedTokens(6, 3),
        )
    )
    assert found["reward"].counts == count_reward([12, 12])
    assert found["judge_prefill"].counts == sum_counts([count_forward(6, logit_rows=1)] * 2)
    assert found["judge_decode"].counts == sum_counts([count_forward(2, 6, logit_rows=2)] * 2)


def test_a_policy_that_is_trained_whole_has_a_reference_of_its_own() -> None:
    full = POLICY._replace(trained="full", adapter=None)
    lengths = Means(1, 2, 10, 10)
    assert [model.id for model in Plan(policy=full, lengths=lengths, kl_coefficient=0.1).models] == [
        "policy",
        "reference",
    ]
    assert [model.id for model in Plan(policy=POLICY, lengths=lengths, kl_coefficient=0.1).models] == ["policy"]
    assert by_phase(Plan(policy=full, lengths=lengths, kl_coefficient=0.1))["reference_logprobs"].counts == PassCounts(
        40, 20, 420, 420
    )


def test_the_parameter_rule_knows_completions_and_nothing_else() -> None:
    plan = Plan(policy=POLICY, lengths=Means(3, 2, 999, 10), reward_model=SCORER, is_by_parameter_rule=True, steps=5)
    tokens = 5 * 3 * 2 * 10
    assert planned_totals(planned_ledger(plan)) == (
        2 * 1100 * tokens,
        (4 * 1100 + 6 * 7) * tokens,
        2 * 5005 * tokens,
    )


@given(GROUPS)
def test_a_file_of_lengths_is_read_as_it_was_written(groups: list[Group]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(group._asdict()) + "\n" for group in groups)
        file.flush()
        assert read_lengths(file.name) == groups
