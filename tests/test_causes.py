"""A figure that is wrong by a slip that is often made is told which slip."""

from __future__ import annotations

from typing import Any

import pytest

from race_report.validation import validate_value

DECODE, UPDATE = 1, 3
COSTS = ("body_parameters", "head_parameters", "attention_width", "adapter_parameters")
COUNTS = {"tokens": 0, "logit_rows": 0, "attention_pairs": 0, "flops": 0}


def message(document: dict[str, Any], code: str) -> str:
    (finding,) = [finding for finding in validate_value(document).findings if finding.code == code]
    return finding.message


def plain(costs: dict[str, int], entry: dict[str, int], body: int, head: int, attention: int) -> int:
    """Multiply out the formula by hand, without its module."""
    return (
        2 * body * costs["body_parameters"] * entry["tokens"]
        + 2 * head * costs["head_parameters"] * entry["logit_rows"]
        + 4 * attention * costs["attention_width"] * entry["attention_pairs"]
    )


TOTAL, EMBEDDING = 1543714304, 233373696


def slips(costs: dict[str, int], decode: dict[str, int], update: dict[str, int]) -> dict[str, tuple[int, float]]:
    """Give the entry and the figure that each slip makes, by a word of the cause."""
    adapter = 2 * costs["adapter_parameters"] * update["tokens"]
    return {
        "ratio 0.5, multiply-adds": (DECODE, decode["flops"] // 2),
        "attention left out": (DECODE, plain(costs, decode, 1, 1, 0)),
        "the head left out?": (DECODE, plain(costs, decode, 1, 0, 1)),
        "the head left out, and multiply-adds": (DECODE, plain(costs, decode, 1, 0, 1) / 2),
        "whole square": (DECODE, plain(costs, decode, 1, 1, 2)),
        "2N a token with all parameters": (DECODE, 2 * TOTAL * decode["tokens"]),
        "2N a token without the embedding": (DECODE, 2 * (TOTAL - EMBEDDING) * decode["tokens"]),
        "the embedding counted": (DECODE, decode["flops"] + 2 * EMBEDDING * decode["tokens"]),
        "LoRA counted as full": (UPDATE, 3 * (plain(costs, update, 1, 1, 1) + adapter)),
        "the forward pass only": (UPDATE, plain(costs, update, 1, 1, 1) + adapter),
        "only the adapter's parameters": (UPDATE, 3 * adapter),
        "6N a token with all parameters": (UPDATE, 6 * TOTAL * update["tokens"]),
        "recomputation included": (UPDATE, plain(costs, update, 3, 3, 4) + 4 * adapter),
        "8 is the group size and the number of GPUs": (UPDATE, update["flops"] / 8),
        "10^12": (UPDATE, update["flops"] / 1e12),
        "a single step": (UPDATE, update["flops"] / 200),
        "a whole number": (UPDATE, update["flops"] * 7),
    }


@pytest.mark.parametrize("cause", slips(dict.fromkeys(COSTS, 0), COUNTS, COUNTS))
def test_flops_that_come_from_a_slip_name_it(example: dict[str, Any], cause: str) -> None:
    (run,), policy = example["runs"], example["models"][0]
    policy["parameters"] = {"total": TOTAL, "embedding": EMBEDDING}
    index, flops = slips(policy["coefficients"], run["ledger"][DECODE], run["ledger"][UPDATE])[cause]
    run["ledger"][index]["flops"] = flops
    assert cause in message(example, "RACE301")


@pytest.mark.parametrize("ratio", [0.93, 1.27, 3.141])
def test_no_cause_is_named_where_none_fits(example: dict[str, Any], ratio: float) -> None:
    example["runs"][0]["ledger"][UPDATE]["flops"] *= ratio
    assert message(example, "RACE301").endswith(f"ratio {ratio}")


def test_keys_of_every_head_and_every_expert_are_told_apart(example: dict[str, Any]) -> None:
    entry, model = example["runs"][0]["ledger"][DECODE], example["models"][0]
    keys = {"hidden_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2}
    model |= {"architecture": {"model_type": "qwen2", **keys}, "parameters": {"total": 9 * 10**9, "active": 10**9}}
    exact = entry["flops"]
    entry["flops"] = exact + 2 * (2 * 1536 * 28 * 10 * 128) * entry["tokens"]
    assert "keys and values of every query head" in message(example, "RACE301")
    entry["flops"] = exact + 2 * 8 * 10**9 * entry["tokens"]
    assert "every expert counted" in message(example, "RACE301")


def test_a_sum_says_which_part_it_lacks_or_has_twice(example: dict[str, Any]) -> None:
    totals = example["runs"][0]["totals"]
    search, learning = totals["search_flops"], totals["learning_flops"]
    totals["total_flops"] = search + learning
    assert "without feedback?" in message(example, "RACE303")
    totals["total_flops"] = (search + learning + totals["feedback_flops"]) // 2
    assert "multiply-adds, which are 2 FLOPs each?" in message(example, "RACE303")
    totals["total_flops"] = search
    assert "search alone?" in message(example, "RACE303")
    totals["total_flops"] = 2 * search + learning + totals["feedback_flops"]
    assert "search twice?" in message(example, "RACE303")
    del totals["total_flops"]
    totals["learning_flops"] = example["runs"][0]["ledger"][UPDATE]["flops"]
    assert "without entry 2?" in message(example, "RACE303")


@pytest.mark.parametrize(
    ("optimizer_steps", "cause"),
    [
        (25, "8 is the group size and the number of GPUs"),
        (1, "a single step"),
        (64 * 200, "prompts_per_step"),
        (200_000, "thousands"),
        (310, "ratio 1.55"),
    ],
)
def test_counts_that_are_apart_by_a_number_of_the_run_name_it(
    example: dict[str, Any], optimizer_steps: int, cause: str
) -> None:
    example["runs"][0]["algorithm"] |= {"minibatches_per_batch": 1, "optimizer_steps": optimizer_steps}
    assert cause in message(example, "RACE222")
