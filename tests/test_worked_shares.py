"""The worked shares of the standard's design, from config.json to the last digit."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from race_report.architecture import transformer_of
from race_report.architecture.adapter import adapter_of
from race_report.counts import Group, count_generation, count_reward, count_update
from race_report.flops import FORWARD, ModelCoefficients, default_factors, entry_flops

PROMPT, COMPLETION = 256, 1024
GROUPS = [Group(PROMPT, [COMPLETION])]


class Shape(NamedTuple):
    width: int
    inner: int
    layers: int
    heads: int
    shared: int
    vocabulary: int

    def config(self) -> dict[str, Any]:
        return {
            "model_type": "qwen2",
            "hidden_size": self.width,
            "intermediate_size": self.inner,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.shared,
            "vocab_size": self.vocabulary,
        }


QWEN = {
    "0.5B": Shape(896, 4864, 24, 14, 2, 151936),
    "1.5B": Shape(1536, 8960, 28, 12, 2, 151936),
    "3B": Shape(2048, 11008, 36, 16, 2, 151936),
    "7B": Shape(3584, 18944, 28, 28, 4, 152064),
    "14B": Shape(5120, 13824, 48, 40, 8, 152064),
    "32B": Shape(5120, 27648, 64, 40, 8, 152064),
    "72B": Shape(8192, 29568, 80, 64, 8, 152064),
}


def costs(shape: Shape) -> ModelCoefficients:
    model = transformer_of(shape.config())
    adapter = adapter_of({"peft_type": "LORA", "r": 16, "target_modules": "all-linear"}, model)
    return model.coefficients()._replace(adapter_parameters=adapter.coefficient())


def rollout_flops(policy: ModelCoefficients) -> int:
    prefill, decode, _ = count_generation(GROUPS)
    return entry_flops(policy, prefill, FORWARD) + entry_flops(policy, decode, FORWARD)


def update_flops(policy: ModelCoefficients, trained: str) -> int:
    factors = default_factors("update", trained)
    assert factors is not None
    return entry_flops(policy, count_update(GROUPS, adapter=trained == "adapter"), factors)


def judged_flops() -> int:
    model = transformer_of(QWEN["7B"].config(), head="process_reward")
    return entry_flops(model.coefficients(), count_reward([PROMPT + COMPLETION]), FORWARD)


def shares(*parts: int) -> str:
    return "/".join(f"{part / sum(parts):.3f}".removeprefix("0") for part in parts)


def tera(flops: int) -> str:
    return f"{flops / 1e12:.4f}"


@pytest.mark.parametrize(
    ("size", "by_rules", "judged", "adapter", "full"),
    [
        ("0.5B", ".321/.679", ".060/.127/.813", "2.6688", "3.7961"),
        ("1.5B", ".325/.675", ".136/.281/.583", "8.2290", "11.9193"),
        ("3B", ".327/.673", ".192/.396/.411", "16.4354", "23.9455"),
        ("7B", ".329/.671", ".251/.512/.237", "36.9391", "54.4500"),
        ("14B", ".329/.671", ".285/.581/.134", "73.7810", "108.6699"),
        ("32B", ".330/.670", ".309/.627/.064", "167.2163", "247.6664"),
        ("72B", ".331/.669", ".321/.649/.030", "372.6556", "553.3343"),
    ],
)
def test_the_worked_shares_come_out_digit_for_digit(
    size: str, by_rules: str, judged: str, adapter: str, full: str
) -> None:
    """LoRA of rank 16 on all linear layers, rollouts merged, prompts not shared, one pass of a PRM of 7B or none."""
    policy = costs(QWEN[size])
    rollout, update = rollout_flops(policy), update_flops(policy, "adapter")
    assert shares(rollout, update) == by_rules
    assert shares(rollout, update, judged_flops()) == judged
    assert (tera(update), tera(update_flops(policy, "full"))) == (adapter, full)


@pytest.mark.parametrize(("size", "shared"), [(2, "0.767"), (8, "0.781"), (64, "0.785")])
def test_p_moves_with_the_group_size_only_where_prompts_are_shared(size: int, shared: str) -> None:
    policy = costs(QWEN["3B"])
    groups = [Group(PROMPT, [COMPLETION] * size)]
    update = 3 * entry_flops(policy, count_update(groups), FORWARD)
    own = sum(entry_flops(policy, counts, FORWARD) for counts in count_generation(groups)[:2])
    once = sum(entry_flops(policy, counts, FORWARD) for counts in count_generation(groups, prefix_sharing="group")[:2])
    assert f"{update / (own + update):.3f}" == "0.750"
    assert f"{update / (once + update):.3f}" == shared


def test_p_of_rank_256_under_the_parameter_rule() -> None:
    """Together with the three in test_flops.py these are the four p of the standard."""
    model = transformer_of(QWEN["1.5B"].config())
    adapter = adapter_of({"peft_type": "LORA", "r": 256, "target_modules": "all-linear"}, model).coefficient()
    body = model.coefficients().body_parameters + model.coefficients().head_parameters
    p = (4 * body + 6 * adapter) / (6 * body + 6 * adapter)
    assert f"{p:.2f}" == "0.72"
