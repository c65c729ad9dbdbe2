"""The loop path: what it learns, what it says that it computed."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from race_report.meter import Meter
from race_report.validation import validate_file
from reference_impl.advantage import group_advantages
from reference_impl.config import Config, Grpo, Lora, read_config
from reference_impl.emit import Outcome, Tally, write_report
from reference_impl.loss import grpo_loss
from reference_impl.policy import Policy, adapt, base_policy, build_base, build_tokenizer, logprobs_of
from reference_impl.rollout import generate
from reference_impl.tasks import Problem, answer_of, direct_answer, split_problems
from reference_impl.train import train

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEMO = "reference_impl/configs/demo.yaml"

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")


@pytest.fixture
def policy() -> Policy:
    torch.manual_seed(0)
    tokenizer = build_tokenizer()
    return adapt(base_policy(build_base(tokenizer), tokenizer), Lora(rank=16, alpha=32))


@pytest.fixture
def meter(policy: Policy, tmp_path: Path) -> Iterator[Meter]:
    with Meter(tmp_path / "trace.jsonl", models=[policy.described("policy", "policy")]) as made:
        yield made


def shortened(**changes: Any) -> Config:
    config = read_config(DEMO)
    return config.model_copy(update={"grpo": config.grpo.model_copy(update={"steps": 2, **changes})})


def test_problems_are_right_and_no_sum_is_in_two_parts() -> None:
    for seed in range(3):
        split = split_problems(seed)
        for problem in (*split.train, *split.validation, *split.held_out):
            assert answer_of(problem.worked) == problem.a + problem.b
            assert not problem.worked.startswith("#")
        seen = {frozenset(problem) for problem in (*split.train, *split.validation)}
        assert not seen & {frozenset(problem) for problem in split.held_out}
        assert (len(split.held_out), len(split.validation)) == (200, 200)
    assert split_problems(0).held_out != split_problems(1).held_out


def test_a_direct_answer_is_no_more_often_right_than_chance() -> None:
    draw = random.Random(0)  # noqa: S311
    split = split_problems(0)
    right = sum(answer_of(direct_answer(draw)) == problem.answer for problem in split.train)
    assert right / len(split.train) < 0.02


def test_the_model_has_the_parameters_that_the_report_says(policy: Policy) -> None:
    described = policy.described("policy", "policy")
    adapter = sum(weights.numel() for weights in policy.model.parameters() if weights.requires_grad)
    base = sum(weights.numel() for weights in policy.model.parameters()) - adapter
    assert (described["parameters"]["total"], described["parameters"]["trainable"]) == (base, adapter)
    assert (base, adapter) == (310_272, 82_944)


def test_characters_survive_the_tokenizer() -> None:
    tokenizer = build_tokenizer()
    assert len(tokenizer) == 51
    worked = Problem(57, 68).worked
    assert tokenizer.decode(tokenizer.encode(worked)) == worked


@pytest.mark.parametrize("copies", [1, 3])
def test_a_cached_batch_decodes_as_each_prompt_alone_without_a_cache(policy: Policy, meter: Meter, copies: int) -> None:
    problems = [Problem(1, 2), Problem(57, 68), Problem(9, 70)]
    groups = generate(policy, problems, meter, copies=copies, temperature=0, max_tokens=6)
    for problem, group in zip(problems, groups, strict=True):
        ids = policy.tokenizer.encode(problem.prompt)
        alone: list[int] = []
        while len(alone) < 6 and policy.tokenizer.eos_token_id not in alone:
            with torch.no_grad():
                logits = policy.model(input_ids=torch.tensor([ids + alone])).logits
            alone.append(int(logits[0, -1].argmax()))
        assert [rollout.completion for rollout in group] == [alone] * copies


def test_executed_flops_of_a_step_are_those_that_torch_counts(policy: Policy, meter: Meter) -> None:
    """FlopCounterMode counts the attention of a CPU as 0, so its kernel is the eager one here."""
    policy.model.base_model.model.set_attn_implementation("eager")
    split = split_problems(0)
    with FlopCounterMode(display=False) as counter:
        generate(policy, split.held_out[:8], meter, copies=4)
    (run,) = meter.report()["runs"]
    assert sum(entry["executed_flops"] for entry in run["ledger"]) == counter.get_total_flops()


def test_log_probabilities_do_not_depend_on_padding(policy: Policy) -> None:
    prompts = [policy.tokenizer.encode(text) for text in ("1+2=", "57+68=")]
    completions = [policy.tokenizer.encode(text) for text in ("#3", "7+8=15")]
    together, mask = logprobs_of(policy, prompts, completions, 1.0)
    for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        alone, _ = logprobs_of(policy, [prompt], [completion], 1.0)
        assert mask[row].sum() == len(completion)
        torch.testing.assert_close(together[row, : len(completion)], alone[0])


def test_advantages_are_centred_and_vanish_where_a_group_agrees() -> None:
    mixed, agreed = group_advantages([[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    assert sum(mixed) == pytest.approx(0)
    assert mixed[0] == pytest.approx(0.5 / (1 / 3**0.5 + 1e-4))
    assert agreed == [0, 0, 0, 0]


@pytest.mark.parametrize(("kind", "expected"), [("grpo", -0.5), ("dapo", -1 / 3), ("dr_grpo", -1 / 48)])
def test_each_loss_averages_in_its_own_way(kind: str, expected: float) -> None:
    """Two completions, of one and of two tokens, on policy: gains 2 and -0.5 a token."""
    settings = Grpo.model_validate({**read_config(DEMO).grpo.model_dump(), "loss_type": kind})
    logprobs = torch.zeros(2, 2)
    mask, advantages = torch.tensor([[1, 0], [1, 1]]), torch.tensor([2.0, -0.5])
    totals = {"grpo": -(2 - 0.5) / 2, "dapo": -(2 - 1) / 3, "dr_grpo": -(2 - 1) / (2 * 24)}
    found = float(grpo_loss(logprobs, logprobs, advantages, mask, settings))
    assert found == pytest.approx(totals[kind])
    if kind != "grpo":
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("changes", [{}, {"kl_coefficient": 0.04, "updates_per_batch": 2}])
def test_two_steps_become_a_report_of_level_three_without_findings(
    policy: Policy, meter: Meter, tmp_path: Path, changes: dict[str, Any]
) -> None:
    config, tally = shortened(**changes), Tally()
    train(policy, split_problems(0), config, meter, tally)
    outcome = Outcome(
        start=0.1, sampled_start=0.2, end=0.3, samples=200, warm_start_steps=0, seconds={"warm_start": 1.0, "grpo": 1.0}
    )
    path = str(tmp_path / "report.json")
    write_report(meter, config, tally, outcome, path)
    result = validate_file(path)
    assert [finding.message for finding in result.findings] == []
    assert result.level is not None
    assert result.level.number == 3
    (run,) = json.loads((tmp_path / "report.json").read_text("utf-8"))["runs"]
    assert run["rollouts"]["generated"] == run["rollouts"]["trained"] == 128
    phases = {entry.get("phase") for entry in run["ledger"]}
    assert ("reference_logprobs" in phases) == bool(changes)


def test_settings_that_are_wrong_are_named(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("seed: 0\nwarmstart: {}\n", "utf-8")
    with pytest.raises(ValueError, match=r"wrong\.yaml: (warm_start|warmstart|grpo|lora)"):
        read_config(str(wrong))
    with pytest.raises(ValueError, match="No such file"):
        read_config(str(tmp_path / "none.yaml"))
