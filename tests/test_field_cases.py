"""Public complaints and bug reports, each as its smallest report, with the finding that would have spared it.

The numbers are those of the collection behind the standard; facts only.
"""

from __future__ import annotations

from typing import Any

import pytest

from race_report.architecture import coefficients_of, transformer_of
from race_report.validation import validate_value

QWEN_05B: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}
QWEN_7B: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "tie_word_embeddings": False,
}


def findings(report: dict[str, Any], code: str) -> list[str]:
    return [finding.message for finding in validate_value(report).findings if finding.code == code]


def report(run: dict[str, Any], **policy: Any) -> dict[str, Any]:
    models = [{"id": "policy", "role": "policy", "name": "a policy", **policy}]
    return {"race_version": "1.0", "models": models, "runs": [{"id": "main", "policy": "policy", **run}]}


def on(accelerator: str, flops: float, **pool: Any) -> dict[str, Any]:
    served = ["search", "learning", "feedback"]
    hardware = [{"id": "node", "components": served, "accelerator": accelerator, "precision": "bf16", **pool}]
    return report({"hardware": hardware, "totals": {"total_flops": flops, "basis": "estimated"}})


def test_f01_workers_that_were_miscounted_make_an_mfu_above_one() -> None:
    flops = 0.3 * 8 * 989.4e12 * 3600
    (message,) = findings(on("NVIDIA H100 SXM", flops, count=1, wall_clock_hours=1), "RACE421")
    for figure in ("2.4", "1 GPU-hours", "989.4e12"):
        assert figure in message
    assert not findings(on("NVIDIA H100 SXM", flops, count=8, wall_clock_hours=1), "RACE421")


@pytest.mark.parametrize(
    ("accelerator", "peak", "said"),
    [
        ("NVIDIA A100-SXM4-80GB", 989.5e12, "312e12"),  # F04: the peak of another device
        ("NVIDIA H100 SXM", 1979e12, "sparse"),  # F05: the figure with 2:4 sparsity
    ],
)
def test_f04_f05_a_wrong_peak_is_told_from_the_right_one(accelerator: str, peak: float, said: str) -> None:
    (message,) = findings(on(accelerator, 1e18, count=1, peak_flops_per_second=peak), "RACE412")
    assert said in message


def test_f05_a_sparse_peak_that_is_declared_is_no_fault() -> None:
    pool = {"count": 1, "peak_flops_per_second": 1979e12, "peak_kind": "sparse"}
    assert not findings(on("NVIDIA H100 SXM", 1e18, **pool), "RACE412")


def test_f06_f07_an_unknown_device_is_said_once_and_has_no_mfu() -> None:
    assert not findings(on("NVIDIA H200", 1e18, count=1, wall_clock_hours=1), "RACE411")
    unknown = on("Graphcore Bow", 1e30, count=1, wall_clock_hours=1)
    unknown["runs"].append({**unknown["runs"][0], "id": "second"})
    assert len(findings(unknown, "RACE411")) == 1
    assert not findings(unknown, "RACE421")


@pytest.mark.parametrize(("attention", "pairs"), [("full", 30000**2), ("causal_half", 30000**2 // 2)])
def test_f09_a_figure_is_compared_under_the_convention_that_it_was_counted_under(attention: str, pairs: int) -> None:
    costs = {"body_parameters": 1310195712, "head_parameters": 0, "attention_width": 43008}
    passed = {"component": "learning", "phase": "update", "model": "policy", "operation": "update", "sequences": 1}
    counts = {"tokens": 30000, "attention_pairs": 30000 * 30001 // 2, "logit_rows": 0}
    flops = 3 * (2 * 1310195712 * 30000 + 4 * 43008 * pairs)
    entry = {**passed, **counts, "flops": flops, "method": "profiler", "basis": "measured"}
    stated = report({"ledger": [entry]}, coefficients=costs, trained="full")
    entry["conventions"] = {"attention": attention}
    assert not findings(stated, "RACE312")
    entry["conventions"] = {"attention": "full" if attention == "causal_half" else "omitted"}
    (message,) = findings(stated, "RACE312")
    assert "the counts under its conventions give" in message


def test_f11_parameters_without_the_embedding_are_no_total() -> None:
    stated = report({}, architecture=QWEN_05B, parameters={"total": 357898112})
    (message,) = findings(stated, "RACE306")
    assert "494032768" in message
    assert "the parameters without the embedding" in message


@pytest.mark.parametrize(("config", "matrices"), [(QWEN_05B, 493961216), (QWEN_7B, 7070285824)])
def test_f12_the_head_is_counted_once_tied_or_not(config: dict[str, Any], matrices: int) -> None:
    costs = coefficients_of(config, role="policy")
    assert costs.body_parameters + costs.head_parameters == matrices


def test_f13_keys_and_values_have_as_many_heads_as_the_config_says() -> None:
    layer = transformer_of(QWEN_7B, role="policy").layers[0]
    attention = sum(matrix.weights for matrix in layer.matrices if matrix.name.startswith("self_attn"))
    assert attention == 29360128
    costs = coefficients_of(QWEN_7B, role="policy")
    body = costs.body_parameters + 28 * (51380224 - attention)
    stated = {"body_parameters": body, "head_parameters": 544997376, "attention_width": 100352}
    (message,) = findings(report({}, architecture=QWEN_7B, coefficients=stated), "RACE306")
    assert "keys and values of every query head" in message


@pytest.mark.parametrize("method", ["counts", "parameter_rule"])
def test_f15_lora_is_no_full_fine_tuning(method: str) -> None:
    base, adapter, tokens = 70_550_000_000, 175_600_000, 10**6
    costs = {"body_parameters": base, "head_parameters": 0, "attention_width": 0, "adapter_parameters": adapter}
    update = {"component": "learning", "phase": "update", "model": "policy", "operation": "update", "tokens": tokens}
    entry = {**update, "adapter_tokens": tokens, "flops": 6 * base * tokens, "method": method, "basis": "estimated"}
    stated = report({"ledger": [entry]}, coefficients=costs, trained="adapter")
    (message,) = findings(stated, "RACE301" if method == "counts" else "RACE308")
    assert "ratio 1.49" in message
    assert "LoRA counted as full fine-tuning" in message
    entry["flops"] = (4 * base + 6 * adapter) * tokens
    assert not findings(stated, "RACE301") + findings(stated, "RACE308")


def test_f16_a_rate_that_no_device_has_is_refused() -> None:
    flops = 37893.4e12 * 3600
    (message,) = findings(on("NVIDIA H100 SXM", flops, count=1, wall_clock_hours=1), "RACE421")
    assert "38.3" in message


def test_f19_two_figures_of_one_pass_are_kept_and_their_factor_told() -> None:
    entry = {"component": "learning", "flops": 13.36e12, "executed_flops": 125.18e12}
    stated = report({"ledger": [{**entry, "method": "stated", "basis": "estimated"}]})
    (message,) = findings(stated, "RACE311")
    assert "ratio 9.37" in message


def test_f21_attention_that_is_left_out_of_a_long_context_is_told_with_its_share() -> None:
    costs = {"body_parameters": 1310195712, "head_parameters": 233373696, "attention_width": 43008}
    update = {"component": "learning", "phase": "update", "model": "policy", "operation": "update"}
    tokens = 100 * 30000
    entry = {**update, "sequences": 100, "tokens": tokens, "flops": 6 * 1543714304 * tokens}
    stated = report(
        {"ledger": [{**entry, "method": "parameter_rule", "basis": "estimated"}]}, coefficients=costs, trained="full"
    )
    (message,) = findings(stated, "RACE309")
    assert "46 %" in message  # 3 x 4 x 43008 x 30001 / 2 beside 6 x 1543714304 a token


def test_f24_placeholders_of_zero_3_are_no_parameters() -> None:
    adapter = {"method": "lora", "rank": 16, "target_modules": ["all-linear"]}
    stated = report({}, architecture=QWEN_05B, adapter=adapter, trained="adapter", parameters={"trainable": 0})
    (message,) = findings(stated, "RACE306")
    assert "trainable is 0" in message
    stated["models"][0]["parameters"] = {"total": 0}
    assert findings(stated, "RACE038")


def test_f29_a_rate_in_a_field_of_an_amount_is_told() -> None:
    stated = report({"totals": {"total_flops": 412}}, parameters={"total": 1543714304})
    assert findings(stated, "RACE310")
    stated["runs"][0]["totals"]["total_flops"] = 4.12e14
    assert not findings(stated, "RACE310")
