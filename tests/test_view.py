"""The view is the document: the same attributes as the classes, and none that they lack."""

from __future__ import annotations

from typing import Any

import pytest

from race_report.document import DocumentObject, Report
from race_report.rules import RULES
from race_report.standard import view


def assert_same(viewed: Any, validated: Any) -> None:
    if isinstance(validated, DocumentObject):
        for name in type(validated).model_fields:
            assert_same(getattr(viewed, name), getattr(validated, name))
    elif isinstance(validated, tuple):
        assert isinstance(viewed, tuple)
        assert len(viewed) == len(validated)
        for one, other in zip(viewed, validated, strict=True):
            assert_same(one, other)
    else:
        assert viewed == validated
        assert type(viewed) is type(validated) or {type(viewed), type(validated)} == {int, float}


def test_view_and_classes_give_the_same_values(example: dict[str, Any]) -> None:
    assert_same(view()(example), Report.model_validate(example))


def test_a_misspelt_name_raises(example: dict[str, Any]) -> None:
    entry = view()(example).runs[0].ledger[0]
    with pytest.raises(AttributeError):
        entry.flop  # type: ignore[attr-defined]  # noqa: B018


def test_what_is_absent_is_none_or_the_empty_tuple(example: dict[str, Any]) -> None:
    run = view()(example).runs[0]
    assert run.energy is None
    assert run.stages == ()


def test_a_whole_number_in_any_notation_is_an_integer_in_both(example: dict[str, Any]) -> None:
    example["runs"][0]["rollouts"]["prompt_tokens"] = 1.0039163e07
    example["runs"][0]["ledger"][0]["flops"] = 69319282340659200
    for report in (view()(example), Report.model_validate(example)):
        rollouts = report.runs[0].rollouts
        assert rollouts is not None
        assert (rollouts.prompt_tokens, type(rollouts.prompt_tokens)) == (10039163, int)
        assert type(report.runs[0].ledger[0].flops) is int


def spoil(example: dict[str, Any]) -> dict[str, Any]:
    """Make a report on which most rules find something."""
    (run,) = example["runs"]
    judge = {"id": "judge", "role": "judge"}
    example |= {"models": [*example["models"], judge, judge], "report": {"status": "final"}}
    del example["subject"], example["study"]
    run["pipeline"] = [{"id": "solvable", "stage": "filter", "unit": "prompt", "items_in": 1, "items_out": 2}]
    example["qualifications"] = [{"pointer": "/runs/main/hardware/*/count", "basis": "contested", "low": 99}]
    example["not_reported"] = [
        {"pointer": "/runs/main/totals", "reason": "x"},
        {"pointer": "/runs/mian", "reason": "x"},
    ]
    run |= {"policy": "prm", "builds_on": ["nothing"], "note": "see /home/somebody/runs", "seed": 1}
    run["ledger"].append(run["ledger"][4] | {"stage": "late", "model": "nobody"})
    run["ledger"].append({"component": "learning", "flops": 5})
    run["ledger"][0]["flops"] *= 1.5
    run["ledger"][1]["flops"] *= 1.001
    del run["ledger"][2]["logit_rows"]
    run["ledger"][3]["attention_pairs"] = 5
    run["ledger"].append(run["ledger"][3])
    run["totals"]["learning_flops"] *= 2.0
    example["models"][0]["parameters"] |= {"trainable": 0, "total": 1500000000}
    rule = {"component": "search", "model": "policy", "operation": "forward", "method": "parameter_rule", "flops": 5}
    run["ledger"].append(
        rule | {"tokens": 10**6, "sequences": 1, "executed_flops": 1, "part": "rule", "adapter_tokens": 10**9}
    )
    run["ledger"].append({**run["ledger"][1], "part": "profiled", "method": "profiler", "flops": 10**9})
    example["runs"].append({"id": "tiny", "policy": "policy", "totals": {"total_flops": 412}})
    run["totals"]["search_flops"] *= 1.001
    run["algorithm"] |= {"optimizer_steps": 7, "minibatches_per_batch": 3, "group_size": 5}
    run["rollouts"] |= {"prompts": 3, "truncated": 102400, "trained": 10**9, "completion_tokens": 10**12}
    run["rollouts"] |= {"prompt_tokens": 1, "trained_group_sizes": [{"size": 1, "groups": 1}]}
    run["coverage"] = {"first_step": 9, "last_step": 2, "step_unit": "rollout_step", "complete": True}
    other = {"id": "other", "algorithm": {"rollout_steps": 2, "optimizer_steps": 7, "minibatches_per_batch": 2}}
    example["runs"].append(other | {"coverage": {"complete": False}, "totals": {"total_flops": 5}})
    steps = {"rollout_steps": 2, "prompts_per_step": 4, "group_size": 4}
    pool = {"id": "node", "components": ["search", "learning"], "accelerator": "V100", "precision": "bf16", "count": 8}
    pools = [
        pool | {"wall_clock_hours": 12, "gpu_hours": 12, "peak_flops_per_second": 9.894e14, "utilization": 0},
        pool | {"id": "more", "wall_clock_hours": 12, "gpu_hours": 48, "accelerator": "V1000"},
        {"id": "train", "components": ["feedback"], "count": 1, "wall_clock_hours": 1, "gpu_hours": 1},
    ]
    example["runs"].append({"id": "pools", "hardware": pools, "gpu_hours": 5, "ledger": [busy()]})
    example["runs"].append({"id": "one", "hardware": [served()], "ledger": [busy(flops=9.0e18)]})
    example["runs"].append({"id": "high", "hardware": [served()], "ledger": [busy(flops=2.5e18)]})
    example["runs"].append({"id": "used", "hardware": [served(0.2)], "ledger": [busy(flops=1.0e18)]})
    example["runs"].append({"id": "device", "hardware": [served(0.2)], "ledger": [busy(method="hardware")]})
    example["runs"].append({"id": "third", "algorithm": steps, "rollouts": {"generated": 3}})
    return example


def busy(**said: Any) -> dict[str, Any]:
    return {"component": "learning", "flops": 1.0e18, "method": "stated", "gpu_hours": 100, **said}


def served(utilization: float = 0.5) -> dict[str, Any]:
    """Make a pool that can do 3.5618e18 FLOPs."""
    peak = {"peak_flops_per_second": 9.894e14, "precision": "bf16", "utilization": utilization}
    return {"id": "node", "components": ["learning"], "count": 1, "wall_clock_hours": 1, **peak}


def test_every_rule_gives_the_same_findings_on_view_and_classes(example: dict[str, Any]) -> None:
    spoilt = spoil(example)
    for rule in RULES:
        if rule.check is not None:
            on_view = list(rule.check(view()(spoilt)))
            assert on_view, f"{rule.code} {rule.name} finds nothing to compare"
            assert on_view == list(rule.check(Report.model_validate(spoilt)))
