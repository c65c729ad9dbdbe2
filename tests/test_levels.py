"""The level that a report reaches, and what an author can add to reach the next."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from race_report import levels
from race_report.parsed import Places
from race_report.standard import view
from race_report.structure import structure_faults
from race_report.validation import validate_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from race_report.levels import Level


def level_of(document: dict[str, Any]) -> Level:
    result = validate_value(document)
    assert result.level is not None, result.findings
    return result.level


def run_of(document: dict[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = document["runs"][0]
    return run


MINIMAL: dict[str, Any] = {
    "race_version": "1.0",
    "models": [{"id": "policy", "role": "policy", "name": "a model"}],
    "runs": [{"id": "main"}],
}

DECLARED: dict[str, Any] = {
    "race_version": "1.0",
    "models": [{"id": "policy", "role": "policy", "name": "a model"}],
    "runs": [
        {
            "id": "main",
            "policy": "policy",
            "ledger": [
                {"component": "search", "flops": 1e20, "method": "stated", "basis": "estimated"},
                {"component": "learning", "flops": 3e20, "method": "parameter_rule", "basis": "estimated"},
                {"component": "feedback", "phase": "reward"},
            ],
            "hardware": [{"id": "gpus", "accelerator": "NVIDIA A100", "count": 8}],
        }
    ],
}


def test_the_worked_example_is_recomputable(example: dict[str, Any]) -> None:
    level = level_of(example)
    assert (level.number, level.name, level.is_lower_bound) == (2, "Recomputable", False)
    assert level.lacking == ("/runs/main: a `trace`",)


def test_a_trace_cannot_be_looked_for_beside_a_report_in_memory(example: dict[str, Any]) -> None:
    run_of(example)["trace"] = {"path": "trace.jsonl", "sha256": "0" * 64}
    level = level_of(example)
    assert level.number == 2
    assert level.lacking == ("/runs/main: a replay of its trace, which is looked for beside a report that is a file",)


def test_coefficients_follow_from_an_architecture(example: dict[str, Any]) -> None:
    """This is the design's own example: it names the architecture and leaves the coefficients to the tools."""
    del example["models"][0]["coefficients"]
    assert level_of(example).number == 2


def test_an_architecture_from_which_nothing_follows_says_why(example: dict[str, Any]) -> None:
    policy = example["models"][0]
    del policy["coefficients"]
    for entry in run_of(example)["ledger"]:
        entry["method"] = "stated"
    policy["adapter"] |= {"target_modules_pattern": "(a+)+$"}
    assert "by a pattern, which is not run here" in level_of(example).lacking[0]
    policy["adapter"] |= {"rank_pattern": {"(a+)+$": 4}}
    del policy["adapter"]["target_modules_pattern"]
    assert "(a+)+$ in `rank_pattern`" in level_of(example).lacking[0]
    del policy["adapter"]["rank_pattern"]
    policy["adapter"]["modules_to_save"] = ["(a+)+$"]
    assert "(a+)+$ in `modules_to_save`" in level_of(example).lacking[0]
    policy["adapter"] = {"method": "ia3"}
    assert "method is ia3" in level_of(example).lacking[0]
    del policy["adapter"]
    assert "`adapter_parameters` of the model" in " ".join(level_of(example).lacking)
    policy["architecture"]["model_type"] = "mamba2"
    assert "state the model's `coefficients`" in level_of(example).lacking[0]


def test_coefficients_in_a_file_are_for_fill(example: dict[str, Any]) -> None:
    policy = example["models"][0]
    del policy["coefficients"], policy["architecture"]
    policy["architecture_file"] = "config.json"
    level = level_of(example)
    assert level.number == 1
    assert "race fill reads them from config.json" in level.lacking[0]


def test_a_minimal_report_is_well_formed_and_hears_what_it_lacks() -> None:
    level = level_of(MINIMAL)
    assert level.number == 0
    assert [line.partition(": ")[2].partition(",")[0] for line in level.lacking] == [
        "`policy`",
        "search FLOPs",
        "learning FLOPs",
        "feedback FLOPs",
        "total FLOPs",
        "`hardware` with accelerator and count",
    ]


def test_an_own_estimate_is_enough_for_level_one() -> None:
    level = level_of(DECLARED)
    assert level.number == 1
    assert level.lacking == (
        "/runs/main/ledger/0 (search): model and counts of this entry",
        "/runs/main/ledger/1 (learning): model and counts of this entry",
    )


def test_method_and_basis_of_each_figure_are_needed() -> None:
    document = {**DECLARED, "runs": [{**DECLARED["runs"][0]}]}
    first, *rest = document["runs"][0]["ledger"]
    document["runs"][0]["ledger"] = [{"component": "search", "flops": first["flops"]}, *rest]
    level = level_of(document)
    assert level.number == 0
    assert level.lacking == (
        "/runs/main/ledger/0 (search): `method`",
        "/runs/main/ledger/0 (search): `basis`",
    )


def test_an_error_keeps_a_report_at_level_zero(example: dict[str, Any]) -> None:
    run_of(example)["ledger"][0]["flops"] *= 2
    level = level_of(example)
    assert level.number == 0
    assert level.lacking == ("its errors mended: RACE301",)


def closed_judge(document: dict[str, Any]) -> dict[str, Any]:
    document["models"][1] = {"id": "prm", "role": "judge", "name": "closed", "trained": "none"}
    run = run_of(document)
    run["ledger"][-1] = {
        "component": "feedback",
        "phase": "judge_prefill",
        "model": "prm",
        "operation": "forward",
        "calls": 102400,
        "tokens": 81920000,
        "basis": "measured",
    }
    run["totals"] = {key: run["totals"][key] for key in ("search_flops", "learning_flops")}
    return document


def test_a_closed_judge_gives_level_two_as_a_lower_bound(example: dict[str, Any]) -> None:
    document = closed_judge(example)
    document["not_reported"].append({"pointer": "/models/prm/coefficients", "reason": "not_published"})
    level = level_of(document)
    assert (level.number, level.is_lower_bound) == (2, True)


def test_a_model_that_is_closed_without_a_word_is_asked_for(example: dict[str, Any]) -> None:
    level = level_of(closed_judge(example))
    assert level.number == 0
    assert any("feedback FLOPs" in line for line in level.lacking)


def test_a_model_that_is_trained_is_never_closed(example: dict[str, Any]) -> None:
    policy = example["models"][0]
    del policy["coefficients"], policy["architecture"]
    for entry in run_of(example)["ledger"][:-1]:
        entry["method"] = "stated"
    example["not_reported"].append({"pointer": "/models/policy/coefficients", "reason": "not_published"})
    level = level_of(example)
    assert level.number == 1
    assert any('coefficients of the model "policy"' in line for line in level.lacking)


def test_a_run_of_preparation_needs_no_split_but_is_held_to_its_entries(example: dict[str, Any]) -> None:
    entry = {**run_of(example)["ledger"][2], "component": "preparation", "phase": "warm_start"}
    run = {"id": "warm", "role": "preparation", "ledger": [entry], "hardware": run_of(example)["hardware"]}
    alone = {**example, "runs": [run], "not_reported": []}
    assert level_of(alone).number == 2
    example["runs"].append(run)
    assert level_of(example).number == 2
    entry["method"] = "stated"
    entry["flops"] = 1
    assert level_of(alone).number == 1
    run["ledger"] = []
    assert level_of(alone).lacking == ("/runs/warm: ledger entries of component preparation",)


def test_entries_of_evaluation_are_held_to_nothing(example: dict[str, Any]) -> None:
    run_of(example)["ledger"].append({"component": "evaluation", "flops": 1e18})
    assert level_of(example).number == 2


def test_a_zero_needs_a_reason(example: dict[str, Any]) -> None:
    run = run_of(example)
    run["ledger"] = []
    run["totals"] = dict.fromkeys(run["totals"], 0)
    level = level_of(example)
    assert level.number == 0
    assert len([line for line in level.lacking if "0 are stated" in line]) == 3
    run["feedback"] = [{"id": "math", "kind": "rule"}]
    run["rollouts"] = {"generated": 0}
    assert [line for line in level_of(example).lacking if "0 are stated" in line] == [
        "/runs/main: learning FLOPs; 0 are stated, and nothing says how a run can do without"
    ]


def test_zeros_in_the_ledger_need_a_reason_too(example: dict[str, Any]) -> None:
    run = run_of(example)
    run["feedback"] = [{"id": "math", "kind": "rule"}]
    del run["totals"]
    run["ledger"] = [{"component": name, "flops": 0} for name in ("search", "learning", "feedback")]
    level = level_of(example)
    assert level.number == 0
    assert len([line for line in level.lacking if "0 are stated" in line]) == 2
    assert len([line for line in level.lacking if "`method`" in line or "`basis`" in line]) == 6


def test_the_policy_is_never_closed(example: dict[str, Any]) -> None:
    policy = example["models"][0]
    for key in ("trained", "coefficients", "architecture"):
        del policy[key]
    for entry in run_of(example)["ledger"][:4]:
        del entry["flops"], entry["method"]
    del run_of(example)["totals"]
    example["not_reported"] = [{"pointer": "/models", "reason": "not_published"}]
    level = level_of(example)
    assert level.number == 0
    assert any("search FLOPs" in line and "coefficients of the model" in line for line in level.lacking)


def test_a_total_that_follows_from_no_entry_is_not_recomputable(example: dict[str, Any]) -> None:
    totals = dict(run_of(example)["totals"])
    document = closed_judge(example)
    document["not_reported"].append({"pointer": "/models/prm/coefficients", "reason": "not_published"})
    run_of(document)["totals"] = totals
    level = level_of(document)
    assert level.number == 1
    assert any("follows from none" in line for line in level.lacking)


def test_a_policy_that_is_no_model_is_named() -> None:
    document = {**DECLARED, "runs": [{**DECLARED["runs"][0], "policy": "ghost"}]}
    assert level_of(document).lacking == (
        "its errors mended: RACE101",
        '/runs/main: the policy "ghost" under `models`, which has policy',
    )


def test_feedback_by_a_model_is_in_the_ledger(example: dict[str, Any]) -> None:
    run_of(example)["ledger"][-1] = {"component": "feedback", "phase": "reward"}
    run_of(example)["totals"] = {}
    assert level_of(example).lacking == (
        '/runs/main: a ledger entry of the model "prm", which gives the feedback "steps"',
    )


def test_counts_beside_a_figure_of_another_kind_are_not_recomputation(example: dict[str, Any]) -> None:
    run_of(example)["ledger"][0] |= {"flops": 1, "method": "stated"}
    run_of(example)["totals"] = {}
    level = level_of(example)
    assert level.number == 1
    assert "FLOPs that its counts give" in level.lacking[0]


def test_a_rule_beside_a_closed_judge_changes_nothing(example: dict[str, Any]) -> None:
    document = closed_judge(example)
    document["not_reported"].append({"pointer": "/models/prm/coefficients", "reason": "not_published"})
    run_of(document)["ledger"].append({"component": "feedback", "phase": "reward", "part": "format"})
    assert (level_of(document).number, level_of(document).is_lower_bound) == (2, True)


def cut(document: dict[str, Any], pointer: list[str | int]) -> None:
    *above, last = pointer
    place: Any = document
    for step in above:
        place = place[step]
    del place[last]


def leaves(value: Any, here: list[str | int]) -> Iterator[list[str | int]]:
    """Give the way to every value below another that is in an object, so that it may be left out."""
    children = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, child in children:
        if isinstance(key, str):
            yield [*here, key]
        yield from leaves(child, [*here, key])


@pytest.mark.parametrize("name", ["worked-example", "constructed-moe-rollout-policy", "constructed-ppo-critic"])
def test_what_is_plainly_recomputable_is_so_in_full(documents: Path, name: str) -> None:
    """Whatever one leaves out of a report, the short way and the long one give the same level."""
    document = json.loads((documents / f"{name}.json").read_text("utf-8"))
    plain = 0
    for way in [None, *leaves(document, [])]:
        changed = copy.deepcopy(document)
        if way is not None:
            cut(changed, way)
        if structure_faults(changed, lambda: Places(text="")):
            continue
        report = view()(changed)
        assert levels._assess(report) == levels._assess_in_full(report), way
        plain += levels._is_plainly_recomputable(report)
    assert plain
