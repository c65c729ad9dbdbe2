"""`race count`, as a user meets it."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import pytest

import race_report

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]

POLICY = ("--model", "Qwen/Qwen2.5-1.5B")
LORA = (*POLICY, "--rank", "16")
MEANS = ("--prompt-tokens", "256", "--completion-tokens", "512")
RUN = ("--prompts", "64", "--group-size", "8", "--steps", "200", *MEANS)
NODE = ("--accelerator", "H100 SXM", "--count", "8", "--mfu", "0.4")
PRM = ("--reward-model", "Qwen/Qwen2.5-Math-PRM-7B")
ADAPTER = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]}


def counted(race: Race, *options: str) -> dict[str, Any]:
    done = race("count", *options, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    page: dict[str, Any] = json.loads(done.stdout)
    return page


def write(path: Path, value: Any) -> str:
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return str(path)


def assert_level(path: Path, number: int) -> None:
    result = race_report.validate(str(path))
    assert result.findings == ()
    assert result.level is not None
    assert result.level.number == number


@pytest.mark.parametrize(
    ("options", "p"),
    [
        ((*POLICY, "--rank", "1"), "0.667"),
        ((*POLICY, "--rank", "256"), "0.72"),
        (("--model", "1.5B"), "0.75"),
        (("--model", "3B", "--reward-model", "7e9"), "0.47"),
    ],
)
def test_the_four_p_of_the_standard_come_out_by_the_parameter_rule(
    race: Race, options: tuple[str, ...], p: str
) -> None:
    page = counted(race, *options, *MEANS, "--parameter-rule")
    assert f"{page['learning_share']:.{len(p) - 2}f}" == p
    assert f"{page['shares']['learning']:.{len(p) - 2}f}" == p


def test_the_worked_example_comes_out_of_a_plan(race: Race, example: dict[str, Any]) -> None:
    page = counted(race, *LORA, *RUN, *PRM, "--reward-tokens", "800", "--kl-coefficient", "0.04")
    run = example["runs"][0]
    assert page["totals"] == run["totals"]
    for planned, written in zip(page["ledger"], run["ledger"], strict=True):
        assert planned["flops"] == written["flops"]
        for key in ("phase", "sequences", "tokens", "attention_pairs", "logit_rows"):
            assert planned[key] == written[key]


SCORED = (*PRM, "--kl-coefficient", "0.1", "--old-logprobs", "--updates-per-batch", "3")
SHARED = ("--prefix-sharing", "group", "--trained-per-group", "3")
JUDGED = ("--prefix-sharing", "blocks", "--judge", "Qwen/Qwen2.5-7B", "--judge-tokens", "900.5", "30")


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        (POLICY, SCORED),
        (POLICY, SHARED),
        (LORA, ()),
        (LORA, SCORED),
        (LORA, (*SHARED, "--unmerged-adapter")),
        (LORA, JUDGED),
        (LORA, ("--reward-model", "Qwen/Qwen2.5-7B", "--reward-head", "reward", "--reward-tokens", "700.25")),
        (("--model", "google/gemma-3-1b-it"), SCORED),
        (("--model", "google/gemma-3-1b-it"), JUDGED),
        (("--model", "Qwen/Qwen3-30B-A3B"), SHARED),
    ],
)
def test_a_plan_as_a_report_is_recomputable_and_has_no_finding(
    race: Race, tmp_path: Path, policy: tuple[str, ...], options: tuple[str, ...]
) -> None:
    page = counted(race, *policy, *RUN, *NODE, *options)
    for name in ("plan.json", "plan.yaml"):
        done = race("count", *policy, *RUN, *NODE, *options, "-o", name)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert_level(tmp_path / "plan.yaml", 2)
    report = race_report.load(str(tmp_path / "plan.yaml"))
    assert report == race_report.load(str(tmp_path / "plan.json"))
    (totals,) = race_report.totals(report)
    assert totals.total.value == page["totals"]["total_flops"]
    assert totals.learning_share.is_exact
    assert totals.learning_share.value == pytest.approx(page["learning_share"])
    assert {entry.basis for entry in report.runs[0].ledger} == {"estimated"}
    assert any("means" in (one.reason or "") for one in report.qualifications)


def test_a_report_without_hardware_names_the_gap(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "plan.json", race("count", *LORA, *RUN, "--format", "report").stdout)
    done = race("validate", "plan.json")
    assert (done.returncode, "hardware" in done.stdout, "0 warnings" in done.stdout) == (0, True, True)


@pytest.mark.parametrize("model", ["1.5e9", "Qwen/Qwen2.5-1.5B"])
def test_a_report_by_the_parameter_rule_is_declared_and_says_so(race: Race, tmp_path: Path, model: str) -> None:
    race("count", "--model", model, *RUN, *NODE, "--parameter-rule", "-o", "plan.yaml")
    assert_level(tmp_path / "plan.yaml", 1)
    assert {entry.method for entry in race_report.load(str(tmp_path / "plan.yaml")).runs[0].ledger} == {
        "parameter_rule"
    }


def test_every_length_counts(race: Race, tmp_path: Path) -> None:
    write(
        tmp_path / "step.jsonl",
        '{"prompt": 200, "completions": [310, 512]}\n\n{"completions": [7.0], "prompt": 64}\r\n',
    )
    page = counted(race, *LORA, "--lengths", "step.jsonl", "--steps", "3")
    assert page["rollouts"] == {
        "groups": 6,
        "generated": 9,
        "trained": 9,
        "prompt_tokens": 3 * 464,
        "completion_tokens": 3 * 829,
        "trained_completion_tokens": 3 * 829,
        "group_sizes": {"2": 3, "1": 3},
    }
    assert page["ledger"][-1]["attention_pairs"] == 3 * sum(length * (length + 1) // 2 for length in (510, 712, 71))
    assert page["attention_pairs_basis"] == "estimated"
    assert "every step has the lengths of the step in the file" in page["assumptions"]
    assert page == counted(race, *LORA, "--lengths", "step.jsonl", "--steps", "3")
    from_stream = race(
        *("count", *LORA, "--lengths", "-", "--steps", "3", "--format", "json"),
        input=(tmp_path / "step.jsonl").read_text("utf-8"),
    )
    assert json.loads(from_stream.stdout) == page


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        ('{"prompt": 0, "completions": [3]}', 12, "0 is no length: a prompt has at least 1 token"),
        ('{"prompt": 9, "completions": [3, -1]}', 34, "-1 is no length: a completion has at least 1 token"),
        ('{"prompt": 9, "completions": ["3"]}', 31, '"3" is no length; a whole number of tokens'),
        ('{"prompt": 9, "completions": [true]}', 31, "true is no length"),
        ('{"prompt": 9.5, "completions": [3]}', 12, "9.5 is no length"),
        ('{"prompt": 9, "completions": [99999999999]}', 31, "at most 2,147,483,648 tokens"),
        ('{"prompt": 9, "completions": []}', 30, "a list of one length or more"),
        ('{"prompt": 9, "completions": 3}', 30, "a list of one length or more"),
        ('{"prompt": 9, "completion": [3]}', 1, 'the key "completions" is missing'),
        ('{"prompt": 9, "completions": [3], "step": 1}', 35, 'the key "step" is not known'),
        ('{"prompt": 9, "prompt": 9, "completions": [3]}', 15, 'the key "prompt"'),
        ('{"prompt": NaN, "completions": [3]}', 12, "NaN"),
        ("[9, 3]", 1, 'a line is {"prompt"'),
        ('{"prompt": 9, "completions": [3}', 32, "a comma or ]"),
        ('{"prompt": 9,', 14, "ends too early"),
    ],
)
def test_a_length_that_cannot_be_is_told_with_line_and_column(
    race: Race, tmp_path: Path, line: str, column: int, words: str
) -> None:
    write(tmp_path / "step.jsonl", f'{{"prompt": 1, "completions": [2]}}\n{line}\n')
    done = race("count", *LORA, "--lengths", "step.jsonl")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"step.jsonl:2:{column}: "), done.stderr
    assert words in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--model", "Qwen/Qwen2.5-1B", *MEANS), 2, "did you mean Qwen/Qwen2.5-"),
        (("--model", "none.json", *MEANS), 3, "none.json: cannot read this file: no such file"),
        (("--model", "1.5B", *MEANS), 2, "or by --parameter-rule"),
        (("--model", "1.5B", "--rank", "2", *MEANS, "--parameter-rule"), 2, "no matrices that an adapter could be on"),
        (LORA, 2, "say how long rollouts are"),
        ((*LORA, "--prompt-tokens", "0", "--completion-tokens", "3"), 2, "'--prompt-tokens': 0.0 is not in the range"),
        (
            (*LORA, "--prompt-tokens", "-3", "--completion-tokens", "3"),
            2,
            "'--prompt-tokens': -3.0 is not in the range",
        ),
        ((*LORA, "--prompt-tokens", "many", "--completion-tokens", "3"), 2, "'many' is not a valid number"),
        ((*LORA, "--prompt-tokens", "nan", "--completion-tokens", "3"), 2, "nan is no number"),
        ((*LORA, "--prompt-tokens", "inf", "--completion-tokens", "3"), 2, "inf is no number"),
        ((*LORA, *MEANS, "--steps", "99999999999999"), 2, "tokens are more than any run has"),
        ((*LORA, *MEANS, "--group-size", "8", "--trained-per-group", "9"), 2, "is 9, and a group has 8"),
        ((*LORA, "--lengths", "step.jsonl", "--trained-per-group", "3"), 2, "step.jsonl has a group of 2"),
        ((*LORA, "--lengths", "step.jsonl", "--group-size", "2"), 2, "--group-size follows from the file"),
        ((*LORA, "--lengths", "none.jsonl"), 3, "none.jsonl: cannot read this file"),
        ((*LORA, "--lengths", "empty.jsonl"), 3, "there are no lengths in it"),
        ((*LORA, "--adapter", "adapter.json", *MEANS), 2, "--rank and --adapter both"),
        ((*POLICY, "--target-modules", "q_proj", *MEANS), 2, "give its --rank"),
        ((*LORA, "--target-modules", "nothing", *MEANS), 1, "matches no matrix"),
        ((*POLICY, "--unmerged-adapter", *MEANS), 2, "give --rank or --adapter"),
        ((*LORA, *MEANS, "--reward-tokens", "9"), 2, "which is not named"),
        ((*LORA, *MEANS, "--judge", "Qwen/Qwen2.5-7B"), 2, "go together"),
        ((*LORA, *MEANS, "--reward-model", "Qwen/Qwen2.5-7B"), 1, "--reward-head says what its head is"),
        ((*LORA, *MEANS, "--mfu", "0.4"), 2, "--mfu is of an --accelerator"),
        ((*LORA, *MEANS, "--accelerator", "H100"), 2, "NVIDIA H100 SXM or NVIDIA H100 PCIe"),
        ((*LORA, "--prompt-tokens", "9.5", "--completion-tokens", "3", "--prefix-sharing", "blocks"), 2, "whole means"),
    ],
)
def test_what_cannot_be_planned_is_told(
    race: Race, tmp_path: Path, options: tuple[str, ...], code: int, words: str
) -> None:
    write(tmp_path / "step.jsonl", '{"prompt": 1, "completions": [2, 3]}\n')
    write(tmp_path / "empty.jsonl", "\n")
    write(tmp_path / "adapter.json", ADAPTER)
    done = race("count", *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


def test_an_adapter_of_a_file_is_that_of_the_same_rank(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "adapter_config.json", ADAPTER)
    by_file = counted(race, *POLICY, *RUN, "--adapter", "adapter_config.json")
    targets = ("--target-modules", "q_proj", "--target-modules", "v_proj")
    assert by_file == counted(race, *POLICY, *RUN, "--rank", "8", *targets)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"target_modules": "all-linear", "use_dora": True},
        {"target_modules": r".*\.[qv]_proj"},
        {"bias": "all"},
        {"layers_to_transform": [0, 1]},
        {"modules_to_save": ["embed_tokens"], "rank_pattern": {"q_proj": 4}},
        {"modules_to_save": ["lm_head"]},
    ],
)
def test_a_report_says_an_adapter_as_far_as_its_words_go(race: Race, tmp_path: Path, more: dict[str, Any]) -> None:
    write(tmp_path / "adapter_config.json", {**ADAPTER, **more})
    race("count", *POLICY, *RUN, *NODE, "--adapter", "adapter_config.json", "-o", "plan.json")
    assert_level(tmp_path / "plan.json", 2)


def test_a_head_that_is_trained_beside_an_adapter_costs_as_in_a_full_update(race: Race, tmp_path: Path) -> None:
    flops = []
    for saved in ([], ["lm_head"]):
        write(tmp_path / "adapter_config.json", {**ADAPTER, "modules_to_save": saved})
        update = counted(race, *POLICY, *MEANS, "--adapter", "adapter_config.json")["ledger"][-1]
        flops.append(update["flops"])
    assert flops[1] - flops[0] == 2 * 233_373_696 * 512
    write(tmp_path / "adapter_config.json", {**ADAPTER, "modules_to_save": ["mlp"]})
    done = race("count", *POLICY, *MEANS, "--adapter", "adapter_config.json")
    assert (done.returncode, "matrices of layers beside the adapter" in done.stderr) == (1, True)


def test_a_report_keeps_the_keys_that_matter_and_no_path(race: Race, tmp_path: Path) -> None:
    config = {
        "_name_or_path": "/home/somebody/secret",
        "model_type": "llama",
        "vocab_size": 1000,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "head_dim": None,
        "torch_dtype": "bfloat16",
    }
    (tmp_path / "secret").mkdir()
    write(tmp_path / "secret" / "config.json", config)
    done = race("count", "--model", "secret", *RUN, "--format", "report")
    assert done.returncode == 0
    assert "secret" not in done.stdout
    (model,) = json.loads(done.stdout)["models"]
    assert "torch_dtype" not in model["architecture"]
    assert model["architecture"]["hidden_size"] == 64


def test_hours_follow_from_the_peak_and_are_unknown_without_one(race: Race) -> None:
    page = counted(race, *LORA, *RUN, *NODE)
    assert page["gpu_hours"] == pytest.approx(page["totals"]["total_flops"] / 989.4e12 / 0.4 / 3600)
    unknown = race("count", *LORA, *RUN, "--accelerator", "Abacus 9000", "--mfu", "0.4")
    assert "GPU-hours are unknown: no bf16 peak of Abacus 9000 is known; give --peak" in unknown.stdout
    with_peak = counted(race, *LORA, *RUN, "--accelerator", "Abacus 9000", "--mfu", "0.4", "--peak", "989.4e12")
    assert with_peak["gpu_hours"] == page["gpu_hours"]
    assert "give --mfu" in race("count", *LORA, *RUN, "--accelerator", "H100 SXM").stdout


def test_keys_for_programs_never_come_and_go(race: Race) -> None:
    pages = counted(race, *POLICY, *MEANS), counted(race, *LORA, *RUN, *NODE, *PRM, "--parameter-rule")
    assert pages[0].keys() == pages[1].keys()
    assert pages[0]["ledger"][0].keys() == pages[1]["ledger"][0].keys()
    assert pages[0]["models"][0].keys() == pages[1]["models"][0].keys()


def test_a_file_that_is_there_is_kept(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "plan.yaml", "mine")
    done = race("count", *LORA, *RUN, "-o", "plan.yaml")
    assert (done.returncode, (tmp_path / "plan.yaml").read_text("utf-8")) == (2, "mine")
    assert race("count", *LORA, *RUN, "-o", "plan.yaml", "--force").returncode == 0
    assert (tmp_path / "plan.yaml").read_text("utf-8").startswith('race_version: "1.0"\n')
    assert race("count", *LORA, *RUN, "-o", "plan.txt").returncode == 0
    assert "learning share p = " in (tmp_path / "plan.txt").read_text("utf-8")


def test_people_read_what_was_planned_and_what_was_assumed(race: Race, tmp_path: Path) -> None:
    """Tokens are those of the lengths: prompts 200 twice and 64; fed back 309, 511 and 6; trained on 611 and 71."""
    write(tmp_path / "step.jsonl", '{"prompt": 200, "completions": [310, 512]}\n{"prompt": 64, "completions": [7]}\n')
    done = race(
        *("count", "--model", "Qwen/Qwen3-30B-A3B", "--lengths", "step.jsonl", "--steps", "100000"),
        *("--trained-per-group", "1", "--updates-per-batch", "2", "--kl-coefficient", "0.1"),
        *("--accelerator", "H100 SXM", "--count", "8", "--mfu", "0.0004"),
    )
    assert (
        done.stdout
        == inspect.cleandoc(
            """
        policy                 Qwen/Qwen3-30B-A3B: 30,532,122,624 parameters, 3,353,032,704 active, all trained
        reference              Qwen/Qwen3-30B-A3B: 30,532,122,624 parameters, 3,353,032,704 active
        rollouts               300,000 = 100,000 steps x 2 prompts x 1 to 2
        mean tokens            prompt 154.667, completion 276.333
        trained on             200,000 (1 of each group), 2 times

                                           tokens      FLOPs    share
        search                                      7.864e17   21.4 %
          prefill                      46,400,000   2.569e17    7.0 %
          decode                       82,600,000   5.295e17   14.4 %
        learning                                    2.896e18   78.6 %
          reference_logprobs           68,200,000   4.138e17   11.2 %
          update                      136,400,000   2.483e18   67.4 %
        feedback                    no model runs          0    0.0 %
        total                                       3.683e18  100.0 %

        learning share p = 0.786
        a rollout step has 3.683e13 FLOPs
        2,585 GPU-hours on NVIDIA H100 SXM, 323 hours on 8, at an MFU of 0.0004 of 989.4e12 FLOP/s (bf16, dense)
        assumed: every step has the lengths of the step in the file
        assumed: rollouts that are trained on, 1 of each group, are like all of it, and only they get log-probabilities
        assumed: every rollout reads its own prompt
        assumed: no pass for old log-probabilities
        assumed: rules give the rewards; no model judges
        """
        )
        + "\n"
    )
