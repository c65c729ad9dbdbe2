"""The trainer path against the loop path: the same rollouts, the same ledger."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch

from race_report.counts import Group, count_generation
from race_report.meter import Meter
from reference_impl.advantage import group_advantages
from reference_impl.config import Lora, read_config
from reference_impl.policy import adapt, base_policy, build_base, build_tokenizer
from reference_impl.rollout import Rollout
from reference_impl.tasks import Problem, split_problems
from reference_impl.train import Scored, update
from reference_impl.trainer import build_trainer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore")  # of TRL, accelerate and torch: none is about this code

COUNTED = ("sequences", "tokens", "attention_pairs", "logit_rows", "adapter_tokens", "flops")


def entry(report: dict[str, Any], phase: str) -> dict[str, Any]:
    (found,) = (one for one in report["runs"][0]["ledger"] if one.get("phase") == phase)
    return dict(found)


@pytest.mark.parametrize("updates", [1, 2])
def test_trainer_and_loop_count_the_same_on_the_same_rollouts(tmp_path: Path, updates: int) -> None:
    torch.manual_seed(0)
    tokenizer = build_tokenizer()
    policy = adapt(base_policy(build_base(tokenizer), tokenizer), Lora(rank=16, alpha=32))
    config = read_config("reference_impl/configs/demo.yaml")
    settings = config.grpo.model_copy(update={"steps": 2 * updates, "prompts": 4, "updates_per_batch": updates})
    config = config.model_copy(update={"grpo": settings})
    trainer = build_trainer(policy, split_problems(0), config, str(tmp_path / "trl"))
    batches: list[list[tuple[str, list[int]]]] = []
    rewards = trainer.reward_funcs[0]

    def listen(prompts: list[str], completion_ids: list[list[int]], **more: Any) -> Any:
        batches.append(list(zip(prompts, completion_ids, strict=True)))
        return rewards(**more)

    trainer.reward_funcs[0] = listen
    trainer.train()
    of_trainer = json.loads((tmp_path / "trl" / "race" / "report.json").read_text("utf-8"))

    assert len(batches) == 2
    optimizer = torch.optim.AdamW([one for one in policy.model.parameters() if one.requires_grad], lr=1e-3)
    lengths: list[Group] = []
    with Meter(tmp_path / "trace.jsonl", models=[policy.described("policy", "policy")]) as meter:
        for step, batch in enumerate(batches):
            meter.begin_step(step)
            scored = scored_groups(batch, tokenizer, settings.group_size)
            lengths += [
                Group(len(group.rollouts[0].prompt), [len(one.completion) for one in group.rollouts])
                for group in scored
            ]
            update(policy, scored, group_advantages([group.rewards for group in scored]), optimizer, settings, meter)
        of_loop = meter.report()
    trained, own = entry(of_trainer, "update"), entry(of_loop, "update")
    assert {name: trained.get(name) for name in COUNTED} == {name: own.get(name) for name in COUNTED}
    searched = count_generation(lengths, adapter=True)  # TRL reads a prompt once a completion
    for phase, counts in (("prefill", searched.prefill), ("decode", searched.decode)):
        found = entry(of_trainer, phase)
        assert [found[name] for name in ("tokens", "attention_pairs", "logit_rows")] == [
            counts.tokens,
            counts.attention_pairs,
            counts.logit_rows,
        ]


def scored_groups(batch: list[tuple[str, list[int]]], tokenizer: Any, size: int) -> list[Scored]:
    rollouts = []
    for prompt, completion in batch:
        a, b = map(int, prompt.removesuffix("=").split("+"))
        ids = tokenizer.encode(prompt)
        text = tokenizer.decode(completion, skip_special_tokens=True)
        problem, ended = Problem(a, b), completion[-1] == tokenizer.eos_token_id
        rollouts.append(Rollout(problem=problem, prompt=ids, completion=completion, text=text, is_complete=ended))
    groups = [rollouts[at : at + size] for at in range(0, len(rollouts), size)]
    return [Scored(group, [float(at % 2) for at in range(size)]) for group in groups]
