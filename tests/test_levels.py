"""The level that a report reaches, and what an author can add to reach the next."""

from __future__ import annotations

from typing import Any

from race_report.levels import Level
from race_report.validation import validate_value


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
    assert level.lacking == ("run main: a `trace`",)


def test_level_three_is_refused_with_a_word(example: dict[str, Any]) -> None:
    run_of(example)["trace"] = {"path": "trace.jsonl", "sha256": "0" * 64}
    level = level_of(example)
    assert level.number == 2
    assert "cannot" in level.lacking[0]


def test_an_architecture_without_coefficients_ends_at_level_one_with_that_reason(example: dict[str, Any]) -> None:
    """This is the design's own example: it names the architecture and leaves the coefficients to the tools."""
    del example["models"][0]["coefficients"]
    level = level_of(example)
    assert level.number == 1
    assert len(level.lacking) == 1
    assert "does not yet derive them from its architecture" in level.lacking[0]


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
        "run main, ledger entry 0 (search): a model and its counts",
        "run main, ledger entry 1 (learning): a model and its counts",
    )


def test_method_and_basis_of_each_figure_are_needed() -> None:
    document = {**DECLARED, "runs": [{**DECLARED["runs"][0]}]}
    first, *rest = document["runs"][0]["ledger"]
    document["runs"][0]["ledger"] = [{"component": "search", "flops": first["flops"]}, *rest]
    level = level_of(document)
    assert level.number == 0
    assert level.lacking == (
        "run main: `method` of ledger entry 0 (search)",
        "run main: `basis` of ledger entry 0 (search)",
    )


def test_an_error_keeps_a_report_at_level_zero(example: dict[str, Any]) -> None:
    run_of(example)["ledger"][0]["flops"] *= 2
    level = level_of(example)
    assert level.number == 0
    assert level.lacking == ("a report without errors",)


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


def test_a_run_of_preparation_needs_no_split(example: dict[str, Any]) -> None:
    example["runs"].append(
        {
            "id": "warm",
            "role": "preparation",
            "ledger": [{"component": "preparation", "phase": "warm_start", "flops": 1e18, "method": "stated"}],
        }
    )
    assert level_of(example).number == 2
