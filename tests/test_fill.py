"""What follows from a report, and what is assumed on the way."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from race_report.accounting import totals
from race_report.counts import Group, count_generation, count_scoring, count_update
from race_report.fill import fill
from race_report.flops import FORWARD, UPDATE, ModelCoefficients, entry_flops
from race_report.source import load_bytes
from race_report.standard import view
from race_report.validation import validate_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from race_report.fill import Filling

COEFFICIENTS = ModelCoefficients(1310195712, 233373696, 43008, 0, 18464768)  # shared/design/FLOPS.md, section 4


@pytest.fixture
def minimal(root: Path) -> dict[str, Any]:
    """What an author types."""
    value: dict[str, Any] = load_bytes((root / "tests/fill/minimal.yaml").read_bytes(), "minimal.yaml").value
    return value


def report(**changes: Any) -> dict[str, Any]:
    """Make a report of one run, with changes of the policy, algorithm, rollouts and run by their keys."""
    run = {
        "id": "main",
        "policy": "policy",
        "algorithm": {"group_size": 2, "updates_per_batch": 1, "max_prompt_tokens": 100, "max_completion_tokens": 200}
        | changes.get("algorithm", {}),
        "rollouts": {"prompts": 2, "generated": 4, "trained": 4, "prompt_tokens": 40, "completion_tokens": 80}
        | changes.get("rollouts", {}),
        "feedback": [{"id": "math", "kind": "rule"}],
    }
    policy = {"id": "policy", "role": "policy", "name": "Qwen/Qwen2.5-1.5B", "trained": "full"}
    return {
        "race_version": "1.0",
        "models": [policy | changes.get("policy", {}), *changes.get("models", [])],
        "runs": [{key: value for key, value in (run | changes.get("run", {})).items() if value is not None}],
        **changes.get("top", {}),
    }


def entries(filling: Filling) -> dict[str, dict[str, Any]]:
    return {entry.get("id", entry.get("phase")): entry for entry in filling.value["runs"][0].get("ledger", [])}


def reasons(filling: Filling) -> dict[str, str]:
    return {said["pointer"]: said["reason"] for said in filling.assumptions}


def gaps(filling: Filling) -> str:
    return "\n".join(f"{gap.pointer}: {gap.why}: {gap.mend}" for gap in filling.gaps)


def test_ten_lines_become_a_report_of_level_2(minimal: dict[str, Any]) -> None:
    filling = fill(minimal)
    level = validate_value(filling.value).level
    assert level is not None
    assert (level.number, level.is_lower_bound) == (2, True)
    assert filling.gaps == ()


def test_the_figures_of_the_minimal_report_are_those_of_the_formula(minimal: dict[str, Any]) -> None:
    filling = fill(minimal)
    run = filling.value["runs"][0]
    # 12800 rollouts, 200 tokens of prompt each; 4100000 sampled, that is 4000 rollouts of 321 and 8800 of 320.
    prefill = 12800 * 200 * 201 // 2
    both = 4000 * 520 * 521 // 2 + 8800 * 519 * 520 // 2
    trained = 4000 * 521 * 522 // 2 + 8800 * 520 * 521 // 2
    pairs = [entry["attention_pairs"] for entry in run["ledger"]]
    assert pairs == [prefill, both - prefill, trained]
    body, head, width, _, adapter = COEFFICIENTS
    assert adapter is not None
    search = 2 * body * (2560000 + 4100000 - 12800) + 2 * head * 4100000 + 4 * width * both
    learning = 4 * body * 6660000 + 4 * head * 4100000 + 12 * width * trained + 6 * adapter * 6660000
    assert run["totals"] == {
        "search_flops": search,
        "learning_flops": learning,
        "feedback_flops": 0,
        "total_flops": search + learning,
        "basis": "lower_bound",
    }
    assert run["hardware"][0]["gpu_hours"] == 23.0


def test_every_assumption_of_the_minimal_report_is_told(minimal: dict[str, Any]) -> None:
    told = reasons(fill(minimal))
    here = "/runs/main/ledger"
    assert "merged" in told[f"{here}/prefill/adapter_tokens"]
    assert "merged" in told[f"{here}/decode/adapter_tokens"]
    assert "read its prompt" in told[f"{here}/prefill/tokens"]
    assert "mean lengths" in told[f"{here}/update/attention_pairs"]
    assert "completion tokens" in told[f"{here}/update/logit_rows"]
    assert "reference" in told["/runs/main/totals/learning_flops"]
    assert "of kind rule" in told["/runs/main/totals/feedback_flops"]
    assert fill(minimal).value["qualifications"] == list(fill(minimal).assumptions)


def test_what_stands_is_not_touched_and_filling_again_adds_nothing(minimal: dict[str, Any]) -> None:
    before = copy.deepcopy(minimal)
    filling = fill(minimal)
    assert minimal == before
    again = fill(filling.value)
    assert (again.additions, again.assumptions, again.value) == ((), (), filling.value)


LENGTHS = st.lists(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 60)), min_size=1, max_size=4), min_size=1, max_size=5
)


@settings(max_examples=200)
@given(LENGTHS, st.integers(1, 3), st.sampled_from([None, 0, 0.1]), st.booleans())
def test_derived_flops_never_exceed_those_of_the_true_lengths(
    rollouts: list[list[tuple[int, int]]], mu: int, kl: float | None, has_adapter: bool
) -> None:
    """Means alone give a lower bound, and lengths that are all alike give the figure itself."""
    groups = [Group(prompt, [completion]) for group in rollouts for prompt, completion in group]
    counts = {
        "prompts": len(groups),
        "generated": len(groups),
        "trained": len(groups),
        "prompt_tokens": sum(group.prompt for group in groups),
        "completion_tokens": sum(sum(group.completions) for group in groups),
    }
    settings_ = {"group_size": 1, "updates_per_batch": mu} | ({} if kl is None else {"kl_coefficient": kl})
    policy: dict[str, Any] = {"trained": "full"}
    if has_adapter:
        policy = {"trained": "adapter", "adapter": {"method": "lora", "rank": 16, "target_modules": ["all-linear"]}}
    filling = fill(report(rollouts=counts, algorithm=settings_, policy=policy))
    costs = COEFFICIENTS if has_adapter else COEFFICIENTS._replace(adapter_parameters=0)
    sampled = count_generation(groups)
    search = sum(entry_flops(costs, part, FORWARD) for part in (sampled.prefill, sampled.decode))
    factors = UPDATE["adapter" if has_adapter else "full"]
    learning = entry_flops(costs, count_update(groups, updates_per_batch=mu, adapter=has_adapter), factors)
    if kl:
        learning += entry_flops(costs, count_scoring(groups), FORWARD)
    derived = filling.value["runs"][0]["totals"]
    assert derived["search_flops"] <= search
    assert derived["learning_flops"] <= learning
    if len({(group.prompt, *group.completions) for group in groups}) == 1:
        assert (derived["search_flops"], derived["learning_flops"]) == (search, learning)
    assert derived["basis"] == "lower_bound"


def test_lengths_that_are_all_at_their_caps_are_exact() -> None:
    filling = fill(report(rollouts={"prompt_tokens": 400, "completion_tokens": 800}))
    assert {name: entry["basis"] for name, entry in entries(filling).items()} == {
        "prefill": "upper_bound",  # of the tokens: a group may have shared its prompt
        "decode": "derived",
        "update": "derived",
    }
    stated = report(
        rollouts={"prompt_tokens": 400, "completion_tokens": 800}, run={"conventions": {"prefix_sharing": "none"}}
    )
    assert {entry["basis"] for entry in entries(fill(stated)).values()} == {"derived"}
    assert not any(pointer.endswith("pairs") for pointer in reasons(filling))


def test_shared_prompts_are_read_once_a_group() -> None:
    shared = fill(report(run={"conventions": {"prefix_sharing": "group"}}))
    assert (entries(shared)["prefill"]["sequences"], entries(shared)["prefill"]["tokens"]) == (2, 20)
    in_blocks = fill(report(top={"conventions": {"prefix_sharing": "blocks"}}))
    assert entries(in_blocks)["prefill"]["tokens"] == 20
    assert in_blocks.assumptions[2]["basis"] == "lower_bound"
    unknown = fill(report())
    said = next(said for said in unknown.assumptions if said["pointer"].endswith("prefill/tokens"))
    assert (said["basis"], said["low"], said["high"], entries(unknown)["prefill"]["tokens"]) == (
        "upper_bound",
        20,
        40,
        40,
    )


def test_the_reference_scores_where_the_divergence_has_a_weight() -> None:
    assert "reference_logprobs" not in entries(fill(report(algorithm={"kl_coefficient": 0})))
    filling = fill(report(algorithm={"kl_coefficient": 0.04}))
    scored = entries(filling)["reference_logprobs"]
    assert (scored["model"], scored["sequences"], scored["tokens"], scored["logit_rows"]) == ("policy", 4, 120, 80)
    assert "first weights" in reasons(filling)["/runs/main/ledger/reference_logprobs/sequences"]
    adapter = {"method": "lora", "rank": 16, "target_modules": ["all-linear"]}
    adapted = fill(report(algorithm={"kl_coefficient": 0.04}, policy={"trained": "adapter", "adapter": adapter}))
    assert entries(adapted)["reference_logprobs"]["adapter_tokens"] == 0
    assert "adapters disabled" in reasons(adapted)["/runs/main/ledger/reference_logprobs/sequences"]
    other = [{"id": "ref", "role": "reference", "name": "Qwen/Qwen2.5-0.5B", "trained": "none"}]
    assert entries(fill(report(algorithm={"kl_coefficient": 1}, models=other)))["reference_logprobs"]["model"] == "ref"


def test_updates_are_of_what_was_trained_on_times_mu() -> None:
    counts = {"prompts": 200, "generated": 400, "prompt_tokens": 4000, "completion_tokens": 8000}
    counts |= {"trained": 200, "discarded": 200, "reused": 100}
    filling = fill(report(algorithm={"updates_per_batch": 3}, rollouts=counts))
    update = entries(filling)["update"]
    assert (update["sequences"], update["tokens"], update["basis"]) == (900, 27000, "estimated")
    assert "as long as all" in reasons(filling)["/runs/main/ledger/update/tokens"]
    value = report(rollouts={"discarded": 1})
    del value["runs"][0]["rollouts"]["trained"]
    del value["runs"][0]["algorithm"]["updates_per_batch"]
    filling = fill(value)
    assert entries(filling)["update"]["sequences"] == 3
    assert "updates_per_batch is 1" in reasons(filling)["/runs/main/ledger/update/sequences"]


def test_a_window_bounds_the_pairs_of_its_layers() -> None:
    counts = {"prompts": 1, "generated": 2, "trained": 2, "prompt_tokens": 2000, "completion_tokens": 3000}
    caps = {"group_size": 2, "max_prompt_tokens": 1000, "max_completion_tokens": 1500}
    filling = fill(report(rollouts=counts, algorithm=caps, policy={"name": "google/gemma-2-2b", "trained": "full"}))
    costs = filling.value["models"][0]["coefficients"]
    assert costs["bounded_attention_width"] > 0
    update = entries(filling)["update"]
    assert update["attention_pairs"] == update["bounded_attention_pairs"] == 2 * 2500 * 2501 // 2  # below 4096
    level = validate_value(filling.value).level
    assert level is not None


NOT_DERIVED: dict[str, tuple[dict[str, Any], str]] = {
    "no tokens": (
        {"rollouts": {"prompt_tokens": 0, "completion_tokens": 0, "generated": 0, "trained": 0}},
        "no rollouts",
    ),
    "rollouts from elsewhere": ({"rollouts": {"carried_in": 2, "trained": 6, "discarded": 0}}, "from before the run"),
    "no cache": ({"run": {"conventions": {"kv_cache": False}}}, "no KV cache"),
    "trees": ({"run": {"conventions": {"prefix_sharing": "tree"}}}, "in trees"),
    "groups that differ": (
        {
            "run": {"conventions": {"prefix_sharing": "group"}},
            "rollouts": {"group_sizes": [{"size": 1, "groups": 1}, {"size": 3, "groups": 1}]},
        },
        "differ in size",
    ),
    "turns": ({"algorithm": {"max_turns": 4}}, "turns"),
    "tool text": ({"rollouts": {"read_tokens": 10}}, "turns"),
    "nothing trained": ({"policy": {"trained": "partial"}}, "with multipliers"),
    "no adapter": ({"policy": {"trained": "adapter"}}, "nothing says which"),
    "another adapter": ({"policy": {"trained": "adapter", "adapter": {"method": "vera", "rank": 4}}}, "vera"),
    "a pattern of matrices": (
        {
            "policy": {
                "trained": "adapter",
                "adapter": {"method": "lora", "rank": 4, "target_modules_pattern": "(a+)+$"},
            }
        },
        "chosen by a pattern, which is not run here",
    ),
    "no policy": ({"run": {"policy": None}}, "add policy"),
    "an unknown name": ({"policy": {"name": "Qwen2.5-1.5B"}}, "write name: Qwen/Qwen2.5-1.5B"),
    "no name": ({"policy": {"name": "a model of our own"}}, "architecture_file"),
    "stages": ({"run": {"stages": [{"id": "a", "algorithm": {"updates_per_batch": 2}}]}}, "by stage"),
    "no rollouts": ({"run": {"rollouts": None}}, "add rollouts: generated, prompt_tokens, completion_tokens"),
    "no feedback": ({"run": {"feedback": None}}, "add feedback"),
    "several samplers": (
        {"models": [{"id": name, "role": "rollout_policy", "name": "Qwen/Qwen2.5-0.5B"} for name in ("a", "b")]},
        "several models are rollout_policy",
    ),
    "a critic": (
        {"models": [{"id": "critic", "role": "value", "name": "Qwen/Qwen2.5-0.5B"}]},
        'the passes of "critic" (value) are in no ledger entry',
    ),
    "a named gap": (
        {"top": {"not_reported": [{"pointer": "/runs/main/ledger", "reason": "x"}]}},
        "named in not_reported",
    ),
    "a judge": (
        {
            "models": [{"id": "prm", "role": "process_reward_model", "name": "Qwen/Qwen2.5-Math-PRM-7B"}],
            "run": {"feedback": [{"id": "steps", "kind": "process_reward_model", "model": "prm"}]},
        },
        "model: prm, operation: forward, sequences: ..., tokens: ...",
    ),
}


@pytest.mark.parametrize("case", NOT_DERIVED)
def test_what_does_not_follow_is_told_with_what_to_add(case: str) -> None:
    changes, words = NOT_DERIVED[case]
    filling = fill(report(**changes))
    assert words in gaps(filling)
    assert "total_flops" not in filling.value["runs"][0].get("totals", {})


def test_a_judge_with_tokens_is_counted_and_the_total_follows() -> None:
    entry = {"component": "feedback", "phase": "reward", "model": "prm", "operation": "forward"}
    value = report(
        models=[{"id": "prm", "role": "process_reward_model", "name": "Qwen/Qwen2.5-Math-PRM-7B", "trained": "none"}],
        run={
            "feedback": [{"id": "steps", "kind": "process_reward_model", "model": "prm"}],
            "ledger": [{**entry, "sequences": 4, "tokens": 3200}],
        },
    )
    filling = fill(value)
    reward = filling.value["runs"][0]["ledger"][0]
    assert (reward["id"], reward["attention_pairs"], reward["logit_rows"]) == ("reward", 4 * 800 * 801 // 2, 3200)
    assert reward["flops"] * 102400 == 1084378746716160000 * 4  # as in the worked example
    assert reward["basis"] == "lower_bound"
    assert [addition.pointer for addition in filling.additions if "/ledger/reward/" in addition.pointer] == [
        f"/runs/main/ledger/reward/{key}" for key in ("logit_rows", "id", "attention_pairs", "basis", "flops", "method")
    ]
    assert filling.value["runs"][0]["totals"]["feedback_flops"] == reward["flops"]
    assert reasons(filling)["/runs/main/ledger/reward/logit_rows"]


def test_the_worked_example_comes_back_to_the_digit(example: dict[str, Any]) -> None:
    """Its lengths are all at their caps, so figures, totals and coefficients follow from what is left."""
    whole = copy.deepcopy(example)
    for model in example["models"]:
        model.pop("coefficients", None)
        model.pop("parameters", None)
    run = example["runs"][0]
    del run["totals"]
    kept = [entry for entry in run["ledger"] if entry["component"] == "feedback"]
    run["ledger"] = [{key: kept[0][key] for key in ("component", "phase", "model", "operation", "sequences", "tokens")}]
    filling = fill(example)
    assert filling.gaps == ()
    assert filling.value["models"][0]["parameters"] == whole["models"][0]["parameters"]
    assert filling.value["models"][1]["coefficients"] == whole["models"][1]["coefficients"]
    found, stated = filling.value["runs"][0], whole["runs"][0]
    by_phase = {entry["phase"]: entry for entry in found["ledger"]}
    for entry in stated["ledger"]:
        for key in ("tokens", "attention_pairs", "logit_rows", "flops"):
            assert by_phase[entry["phase"]][key] == entry[key], (entry["phase"], key)
    assert {key: found["totals"][key] for key in stated["totals"]} == stated["totals"]


@pytest.mark.parametrize("name", ["worked-example", "constructed-full-mu2", "constructed-sliding-window"])
@pytest.mark.parametrize("part", ["flops", "totals", "both"])
def test_figures_that_were_taken_out_of_a_level_2_report_come_back(documents: Path, name: str, part: str) -> None:
    whole = json.loads((documents / f"{name}.json").read_text("utf-8"))
    value = copy.deepcopy(whole)
    for run in value["runs"]:
        if part != "flops":
            run.pop("totals", None)
        for entry in run["ledger"] if part != "totals" else []:
            if entry.get("method") == "counts":
                del entry["flops"]
    filled = fill(value).value
    for run, old in zip(filled["runs"], whole["runs"], strict=True):
        for key, figure in old.get("totals", {}).items():
            assert run["totals"][key] == figure
        assert [entry.get("flops") for entry in run["ledger"]] == [entry.get("flops") for entry in old["ledger"]]


def test_a_file_beside_the_report_gives_the_architecture(tmp_path: Path, example: dict[str, Any]) -> None:
    config = example["models"][0]["architecture"]
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    value = report(policy={"name": "ours", "architecture_file": "config.json"})
    filling = fill(value, str(tmp_path))
    assert filling.value["models"][0]["coefficients"]["body_parameters"] == COEFFICIENTS.body_parameters
    assert filling.assumptions[0]["source"] == "config.json"
    missing = fill(value, str(tmp_path / "nowhere"))
    assert "architecture_file config.json: cannot read this file" in gaps(missing)
    (tmp_path / "config.json").write_text("[1]", "utf-8")
    assert "no plain object" in gaps(fill(value, str(tmp_path)))


def test_stated_figures_that_differ_from_derived_ones_are_left_and_told() -> None:
    filling = fill(report(policy={"parameters": {"total": 1500000000}}))
    assert filling.value["models"][0]["parameters"] == {"total": 1500000000}
    assert "total 1500000000 stands, and 1543714304 follows" in gaps(filling)
    filling = fill(report(policy={"parameters": {"total": 1543714304}}))
    assert filling.value["models"][0]["parameters"]["trainable"] == 1543714304


CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "hours too few for the work": (
        {
            "rollouts": {"prompts": 10**6, "generated": 2 * 10**6, "trained": 2 * 10**6}
            | {"prompt_tokens": 10**8, "completion_tokens": 2 * 10**8},
            "run": {
                "hardware": [
                    {
                        "id": "gpus",
                        "accelerator": "NVIDIA L40S",
                        "count": 1,
                        "wall_clock_hours": 1,
                        "components": ["search", "learning"],
                    }
                ]
            },
        },
        "RACE421",
    ),
    "a sum that stands": ({"run": {"totals": {"search_flops": 1e20}}}, "RACE303"),
    "pools beyond the run": (
        {"run": {"gpu_hours": 1, "hardware": [{"id": "gpus", "count": 8, "wall_clock_hours": 2}]}},
        "RACE403",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_what_would_contradict_what_stands_is_left_out_and_told(case: str) -> None:
    changes, code = CONTRADICTIONS[case]
    value = report(**changes)
    assert validate_value(value).errors == 0
    filling = fill(value)
    assert validate_value(filling.value).errors == 0
    assert code in gaps(filling)


def test_gpu_hours_are_the_decimal_product() -> None:
    pools = [{"id": "gpus", "count": 3, "wall_clock_hours": 0.1}]
    assert fill(report(run={"hardware": pools})).value["runs"][0]["hardware"][0]["gpu_hours"] == 0.3


def test_a_closed_judge_leaves_a_lower_bound() -> None:
    value = report(
        models=[{"id": "judge", "role": "judge", "name": "closed", "trained": "none"}],
        run={
            "feedback": [{"id": "j", "kind": "judge", "model": "judge"}],
            "ledger": [
                {
                    "component": "feedback",
                    "phase": "judge_prefill",
                    "model": "judge",
                    "operation": "forward",
                    "calls": 4,
                }
            ],
        },
        top={"not_reported": [{"pointer": "/models/judge/coefficients", "reason": "not_published"}]},
    )
    filling = fill(value)
    assert "feedback_flops" not in filling.value["runs"][0]["totals"]
    assert filling.value["runs"][0]["totals"]["basis"] == "lower_bound"
    (figures,) = totals(view()(filling.value))
    assert figures.total.at_least


def test_a_report_without_structure_is_refused() -> None:
    with pytest.raises(ValueError, match="validate it first"):
        fill({"race_version": "1.0"})


@pytest.mark.parametrize("change", [lambda value: value["runs"][0].update(role="preparation", ledger=[])])
def test_a_run_that_prepares_has_no_split(change: Callable[[Any], None]) -> None:
    value = report()
    change(value)
    assert fill(value).value["runs"][0]["ledger"] == []


def test_a_model_that_may_have_served_several_runs_is_not_guessed() -> None:
    value = report(models=[{"id": "quantized", "role": "rollout_policy", "name": "Qwen/Qwen2.5-1.5B"}])
    assert entries(fill(value))["decode"]["model"] == "quantized"
    value["runs"].append({"id": "other", "policy": "policy"})
    assert "several runs may have used the rollout_policy" in gaps(fill(value))


def test_figures_are_no_stronger_than_those_they_follow_from() -> None:
    said = [{"pointer": "/runs/main/rollouts/completion_tokens", "basis": "contested", "low": 60, "high": 90}]
    filling = fill(report(rollouts={"prompt_tokens": 400, "completion_tokens": 800}, top={"qualifications": said[:0]}))
    assert entries(filling)["update"]["basis"] == "derived"
    said[0] |= {"low": 700, "high": 900}
    filling = fill(report(rollouts={"prompt_tokens": 400, "completion_tokens": 800}, top={"qualifications": said}))
    assert {entry["basis"] for entry in entries(filling).values()} == {"estimated", "upper_bound"}
    assert filling.value["qualifications"][0] == said[0]
    pools = [{"id": "gpus", "count": 4, "wall_clock_hours": 6}]
    hours = [{"pointer": "/runs/main/hardware/gpus/wall_clock_hours", "basis": "upper_bound"}]
    filling = fill(report(run={"hardware": pools}, top={"qualifications": hours}))
    assert filling.assumptions[-1]["pointer"] == "/runs/main/hardware/gpus/gpu_hours"
    assert filling.assumptions[-1]["basis"] == "upper_bound"


def test_ids_of_entries_are_free_ones() -> None:
    entry = {
        "id": "update",
        "component": "preparation",
        "phase": "warm_start",
        "model": "policy",
        "operation": "update",
    }
    filling = fill(report(run={"ledger": [entry]}))
    assert [each["id"] for each in filling.value["runs"][0]["ledger"]] == ["update", "prefill", "decode", "update-2"]


def counted(**fields: Any) -> dict[str, Any]:
    """Make an entry of an update on 4 rollouts of 1000 tokens, all of whose counts stand."""
    return {
        "component": "learning",
        "phase": "update",
        "model": "policy",
        "operation": "update",
        "sequences": 4,
        "tokens": 4000,
        "attention_pairs": 2002000,
        "logit_rows": 2000,
        **fields,
    }


def test_coefficients_that_would_prove_a_stated_figure_wrong_are_left_out_and_told() -> None:
    filling = fill(report(run={"ledger": [counted(flops=1e20)], "totals": {"learning_flops": 1e20}}))
    assert "coefficients" not in filling.value["models"][0]
    assert "RACE301" in gaps(filling)
    assert "/models/policy: what follows contradicts what stands" in gaps(filling)


def test_a_figure_by_another_method_is_left_to_the_author() -> None:
    filling = fill(report(run={"ledger": [counted(method="profiler", basis="measured")]}))
    assert "flops" not in filling.value["runs"][0]["ledger"][0]
    assert "the method is profiler" in gaps(filling)


def test_a_sum_of_entries_without_basis_has_none() -> None:
    filling = fill(report(run={"ledger": [counted()]}))
    assert "nothing says how the counts were come by" in gaps(filling)
    assert filling.value["runs"][0]["totals"]["total_flops"] > 0
    assert "basis" not in filling.value["runs"][0]["totals"]


def test_prefixes_read_again_under_new_weights_are_told() -> None:
    told = reasons(fill(report(rollouts={"max_policy_versions": 3})))
    assert "read again under new weights" in told["/runs/main/totals/search_flops"]


def test_updates_need_to_know_what_was_trained_on() -> None:
    value = report()
    del value["runs"][0]["rollouts"]["trained"]
    filling = fill(value)
    assert "add rollouts: trained" in gaps(filling)
    assert set(entries(filling)) == {"prefill", "decode"}


def test_windows_that_are_not_known_are_not_guessed() -> None:
    costs = {"body_parameters": 10**9, "head_parameters": 10**8, "attention_width": 10**4}
    stated = {"name": "ours", "coefficients": costs | {"bounded_attention_width": 10**4}}
    assert "no model of the catalogue" in gaps(fill(report(policy=stated)))
    other = {"name": "google/gemma-2-2b", "coefficients": costs | {"bounded_attention_width": 10**4}}
    assert "do not have one window that is known" in gaps(fill(report(policy=other)))


def test_an_architecture_that_is_not_known_is_told() -> None:
    filling = fill(report(policy={"architecture": {"model_type": "mamba"}}))
    assert "architecture: " in gaps(filling)
    assert "add architecture_file" in gaps(filling)


def test_pairs_do_not_follow_without_sequences() -> None:
    entry = counted()
    del entry["sequences"], entry["attention_pairs"]
    filling = fill(report(run={"ledger": [entry]}))
    assert "the entry lacks attention_pairs" in gaps(filling)


def test_a_parameter_that_no_integer_expresses_is_told(tmp_path: Path, example: dict[str, Any]) -> None:
    config = example["models"][0]["architecture"] | {"num_hidden_layers": "many"}
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    filling = fill(report(policy={"architecture_file": "config.json"}), str(tmp_path))
    assert "config.json: " in gaps(filling)
    assert "num_hidden_layers" in gaps(filling)


def test_counts_beyond_any_report_are_not_written() -> None:
    filling = fill(report(rollouts={"completion_tokens": 2**52}, algorithm={"updates_per_batch": 2**40}))
    assert "ledger" not in filling.value["runs"][0]
    assert "RACE" in gaps(filling)
