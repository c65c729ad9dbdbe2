from __future__ import annotations

from typing import Any

from race_report.accounting import Figure, run_gpu_hours, totals, trained_parameters
from race_report.rules import BY_CODE
from race_report.standard import view
from race_report.validation import validate_value

CLOSED_JUDGE = {"id": "judge", "role": "judge", "name": "closed", "trained": "none"}
UNKNOWN = {
    "component": "feedback",
    "phase": "judge_prefill",
    "model": "judge",
    "operation": "forward",
    "calls": 100,
    "tokens": 5000,
    "basis": "measured",
}


def run_of(example: dict[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = example["runs"][0]
    return run


def codes(example: dict[str, Any]) -> set[tuple[str, str]]:
    """Give the findings about FLOPs."""
    findings = validate_value(example).findings
    return {(finding.code, finding.pointer) for finding in findings if finding.code.startswith("RACE3")}


def test_shares_of_the_worked_example(example: dict[str, Any]) -> None:
    (figures,) = totals(view()(example))
    assert figures.total == Figure(value=2041007335224115200)
    shares = [figures.share(component).value for component in ("search", "learning", "feedback")]
    assert [round(100 * share, 1) for share in shares if share is not None] == [11.5, 35.3, 53.1]
    assert round(figures.learning_share.value or 0, 3) == 0.353


def test_an_unknown_part_makes_a_lower_bound_and_never_a_zero(example: dict[str, Any]) -> None:
    example["models"].append(CLOSED_JUDGE)
    run_of(example)["ledger"].append(UNKNOWN)
    (figures,) = totals(view()(example))
    assert figures.feedback == Figure(value=1084378746716160000, at_least=True)
    assert figures.total.at_least
    assert figures.share("search").at_most
    assert (figures.share("feedback").at_least, figures.share("feedback").at_most) == (True, False)
    assert codes(example) == set()


def test_a_component_of_which_nothing_is_known_is_unknown(example: dict[str, Any]) -> None:
    example["models"].append(CLOSED_JUDGE)
    run = run_of(example)
    rule = {"component": "feedback", "phase": "reward", "part": "format"}
    run["ledger"] = [entry for entry in run["ledger"] if entry["component"] != "feedback"] + [UNKNOWN, rule]
    del run["totals"]
    (figures,) = totals(view()(example))
    assert figures.feedback == Figure()
    assert figures.total.at_least


def test_rules_and_sandboxes_add_zero_and_unmeasured_hours_do_not(example: dict[str, Any]) -> None:
    run = run_of(example)
    run["ledger"] = [
        {"component": "feedback", "phase": "reward"},
        {"component": "search", "gpu_hours": 12},
        {"component": "learning", "phase": "update", "calls": 5},
    ]
    del run["totals"]
    (figures,) = totals(view()(example))
    assert (figures.feedback, figures.search, figures.learning) == (Figure(value=0), Figure(), Figure())
    run["ledger"] = [
        {"component": "feedback", "calls": 100},
        {"component": "search"},
        {"component": "learning", "phase": "value", "cpu_seconds": 300},
    ]
    (figures,) = totals(view()(example))
    assert (figures.feedback, figures.search, figures.learning) == (Figure(value=0), Figure(), Figure())
    run["ledger"].append({"component": "learning", "phase": "update", "flops": 7, "method": "stated"})
    (figures,) = totals(view()(example))
    assert figures.learning == Figure(value=7)  # a CPU fit beside the update adds nothing


def test_stated_totals_stand_where_the_ledger_is_silent(example: dict[str, Any]) -> None:
    run = run_of(example)
    del run["ledger"]
    run["totals"] = {"total_flops": 5e18, "search_flops": 1e18, "basis": "upper_bound"}
    (figures,) = totals(view()(example))
    assert figures.total == Figure(value=5e18, at_most=True)
    assert figures.search == Figure(value=1e18, at_most=True)
    assert figures.learning == Figure()


def test_a_lower_with_an_upper_bound_is_neither(example: dict[str, Any]) -> None:
    ledger = run_of(example)["ledger"]
    ledger[0]["basis"], ledger[1]["basis"] = "lower_bound", "upper_bound"
    (figures,) = totals(view()(example))
    assert (figures.search.at_least, figures.search.at_most, figures.search.is_exact) == (True, True, False)


def test_a_stated_total_without_room_for_an_unknown_part_is_a_lower_bound(example: dict[str, Any]) -> None:
    run = run_of(example)
    run["ledger"] = [entry for entry in run["ledger"] if entry["component"] != "feedback"]
    del run["totals"]["feedback_flops"]
    assert not totals(view()(example))[0].total.at_least
    run["totals"]["total_flops"] = run["totals"]["search_flops"] + run["totals"]["learning_flops"]
    (figures,) = totals(view()(example))
    assert figures.total.at_least
    assert figures.learning_share.at_most


def test_evaluation_and_preparation_are_in_no_total(example: dict[str, Any]) -> None:
    before = totals(view()(example))
    for component in ("evaluation", "preparation"):
        run_of(example)["ledger"].append({"component": component, "flops": 10**20, "method": "stated"})
    assert totals(view()(example)) == before


def test_gpu_hours_are_stated_or_the_sum_of_the_pools(example: dict[str, Any]) -> None:
    pools = run_of(example)["hardware"]
    assert run_gpu_hours(view()(example).runs[0]) == Figure(value=12.0)
    del pools[0]["gpu_hours"]
    pools.append({"id": "idle", "count": 2, "wall_clock_hours": 1.5, "components": []})
    assert run_gpu_hours(view()(example).runs[0]) == Figure(value=15.0)
    pools.append({"id": "unknown", "accelerator": "NVIDIA A100"})
    assert run_gpu_hours(view()(example).runs[0]) == Figure(value=15.0, at_least=True)
    run_of(example)["gpu_hours"] = 20
    assert run_gpu_hours(view()(example).runs[0]) == Figure(value=20)


def test_all_parameters_are_trained_where_the_model_is_trained_in_full(example: dict[str, Any]) -> None:
    model = example["models"][0]
    assert trained_parameters(view()(example).models[0]) == 18464768
    del model["parameters"]["trainable"]
    assert trained_parameters(view()(example).models[0]) is None
    model["trained"] = "full"
    assert trained_parameters(view()(example).models[0]) == 1543714304
    del model["parameters"]
    assert trained_parameters(view()(example).models[0]) is None


def test_a_mismatch_is_an_error_with_both_figures_and_their_ratio(example: dict[str, Any]) -> None:
    entry = run_of(example)["ledger"][3]
    entry["flops"] = entry["flops"] * 3 // 2
    (finding,) = [f for f in validate_value(example).findings if f.code == "RACE301"]
    assert finding.pointer == "/runs/0/ledger/3/flops"
    figures = "flops is 7.281e+17, but the counts of this entry give 4.854e+17"
    cause = "LoRA counted as full fine-tuning, 6N a token with all parameters?"
    assert finding.message == f"{figures}: ratio 1.5, {cause}"
    assert "485412586704076800" in finding.hint


def test_a_rounding_is_a_warning_that_gives_the_exact_value(example: dict[str, Any]) -> None:
    run_of(example)["ledger"][3]["flops"] = 4.85e17
    found = {finding.code: finding for finding in validate_value(example).findings}
    assert set(found) == {"RACE302"}  # the sum of what the counts give is exact
    assert "485412586704076800" in found["RACE302"].hint
    assert BY_CODE["RACE302"].severity == "warning"


def test_a_total_may_follow_what_the_entries_state(example: dict[str, Any]) -> None:
    run = run_of(example)
    run["ledger"][0]["flops"] = 6.93e16
    run["totals"]["search_flops"] += int(6.93e16) - 69319282340659200
    run["totals"]["total_flops"] += int(6.93e16) - 69319282340659200
    assert codes(example) == {("RACE302", "/runs/0/ledger/0/flops")}


def test_a_difference_within_a_stated_range_is_a_warning(example: dict[str, Any]) -> None:
    entry = run_of(example)["ledger"][3]
    entry["id"], entry["flops"] = "update", 6e17
    del run_of(example)["totals"]
    assert codes(example) == {("RACE301", "/runs/0/ledger/3/flops")}
    example["qualifications"] = [
        {"pointer": "/runs/main/ledger/update/flops", "basis": "contested", "low": 4.8e17, "high": 6.1e17}
    ]
    assert codes(example) == {("RACE302", "/runs/0/ledger/3/flops")}
    example["qualifications"][0]["low"] = 5e17
    assert codes(example) == {("RACE301", "/runs/0/ledger/3/flops")}
    del example["qualifications"][0]["low"]
    assert codes(example) == {("RACE301", "/runs/0/ledger/3/flops")}  # an open end would excuse anything


def test_differences_at_the_tolerances(example: dict[str, Any]) -> None:
    run = run_of(example)
    del run["totals"]
    exact = run["ledger"][4]["flops"]
    for factor, expected in ((1 + 1e-10, set()), (1.004, {"RACE302"}), (0.996, {"RACE302"}), (1.006, {"RACE301"})):
        run["ledger"][4]["flops"] = exact * factor
        assert {code for code, _ in codes(example)} == expected


def test_totals_are_the_sums_of_their_parts(example: dict[str, Any]) -> None:
    stated = run_of(example)["totals"]
    stated["learning_flops"] += 10**18
    assert codes(example) == {("RACE303", "/runs/0/totals/learning_flops")}  # which of the two is wrong is open
    stated["total_flops"] += 10**18
    assert codes(example) == {("RACE303", "/runs/0/totals/learning_flops")}
    del stated["learning_flops"]
    assert codes(example) == {("RACE303", "/runs/0/totals/total_flops")}  # the ledger stands in for what is not stated
    stated["total_flops"] = 10**18
    assert codes(example) == {("RACE303", "/runs/0/totals/total_flops")}


def test_a_total_beside_an_unknown_part_may_be_larger_and_not_smaller(example: dict[str, Any]) -> None:
    example["models"].append(CLOSED_JUDGE)
    run_of(example)["ledger"].append(UNKNOWN)
    stated = run_of(example)["totals"]
    stated["feedback_flops"] += 10**18
    stated["total_flops"] += 10**18
    assert codes(example) == set()
    stated["feedback_flops"] -= 2 * 10**18
    stated["total_flops"] -= 2 * 10**18
    assert codes(example) == {("RACE303", "/runs/0/totals/feedback_flops")}


def test_counts_are_a_promise(example: dict[str, Any]) -> None:
    ledger = run_of(example)["ledger"]
    del ledger[0]["attention_pairs"]
    ledger[1]["model"] = "nobody"
    del example["models"][1]["coefficients"]
    example["models"][0]["trained"] = "partial"
    found = {f.pointer: f.message for f in validate_value(example).findings if f.code == "RACE305"}
    assert set(found) == {f"/runs/0/ledger/{index}/method" for index in (0, 1, 3, 4)}
    assert "attention_pairs" in found["/runs/0/ledger/0/method"]
    assert '"nobody"' in found["/runs/0/ledger/1/method"]
    assert "multipliers" in found["/runs/0/ledger/3/method"]
    assert 'coefficients of the model "prm"' in found["/runs/0/ledger/4/method"]


def test_no_term_of_the_formula_is_dropped_in_silence(example: dict[str, Any]) -> None:
    ledger = run_of(example)["ledger"]
    del ledger[3]["adapter_tokens"]
    ledger[4]["bounded_attention_pairs"] = 5
    found = {f.pointer: f.message for f in validate_value(example).findings if f.code == "RACE305"}
    assert set(found) == {"/runs/0/ledger/3/method", "/runs/0/ledger/4/method"}
    assert "adapter_tokens, because" in found["/runs/0/ledger/3/method"]
    assert '`bounded_attention_width` of the model "prm"' in found["/runs/0/ledger/4/method"]
    del example["models"][0]["coefficients"]["adapter_parameters"]
    ledger[3]["adapter_tokens"] = 78643200
    found = {f.pointer: f.message for f in validate_value(example).findings if f.code == "RACE305"}
    assert '`adapter_parameters` of the model "policy"' in found["/runs/0/ledger/3/method"]


def test_multipliers_stand_in_for_the_defaults(example: dict[str, Any]) -> None:
    example["models"][0]["trained"] = "partial"
    entry = run_of(example)["ledger"][3]
    entry["multipliers"] = {"body": 2, "head": 2, "attention": 3, "adapter": 3}
    assert codes(example) == set()
    entry["multipliers"]["body"] = 3
    assert codes(example) == {("RACE301", "/runs/0/ledger/3/flops")}


def test_other_methods_are_not_held_to_the_counts(example: dict[str, Any]) -> None:
    del run_of(example)["totals"]
    run_of(example)["ledger"][0] |= {"flops": 1e20, "method": "profiler"}
    assert codes(example) == {("RACE312", "/runs/0/ledger/0/flops")}, "a warning, and no error"
