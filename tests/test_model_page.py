"""`race model`, as a user meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from race_report.architecture import HEADS
from race_report.commands.model import model as command

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 12,
    "intermediate_size": 20,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), "utf-8")
    return path


def test_a_known_model_is_printed_for_people(race: Race) -> None:
    done = race("model", "qwen/qwen2.5-1.5b-instruct")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Qwen/Qwen2.5-1.5B-Instruct: qwen2, head causal_lm" in done.stdout
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "total 1,543,714,304" in lines
    assert "body_parameters 1,310,195,712 2,620,391,424 per token" in lines
    assert "attention_width 43,008 172,032 per attention pair" in lines


def test_keys_for_programs_never_come_and_go(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "config.json", CONFIG)
    pages = [json.loads(race("model", name, "--format", "json").stdout) for name in (".", "deepseek-ai/DeepSeek-V3")]
    for part in (None, "parameters", "coefficients"):
        own, known = ((page if part is None else page[part]).keys() for page in pages)
        assert own == known
    assert list(pages[0]["parameters"]) == ["total", "active", "embedding", "trainable"]
    assert list(pages[0]["coefficients"]) == [
        *("body_parameters", "head_parameters", "attention_width", "bounded_attention_width", "adapter_parameters"),
    ]
    assert len(pages[1]["notes"]) == 1


def test_an_adapter_changes_what_is_trained_and_what_a_token_costs(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "config.json", CONFIG)
    write(tmp_path / "adapter_config.json", {"peft_type": "LORA", "r": 2, "target_modules": ["q_proj"]})
    done = race("model", "config.json", "--adapter", "adapter_config.json", "--format", "json")
    page = json.loads(done.stdout)
    assert (page["parameters"]["trainable"], page["coefficients"]["adapter_parameters"]) == (144, 144)
    assert page["parameters"]["total"] > 1000


def test_a_head_that_is_asked_for_replaces_that_of_the_class(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "config.json", {**CONFIG, "architectures": ["LlamaForCausalLM"]})
    done = race("model", ".", "--head", "token_classification", "--labels", "1", "--format", "json")
    page = json.loads(done.stdout)
    assert (page["head"], page["coefficients"]["head_parameters"]) == ("token_classification", 12)


def test_a_configuration_may_come_from_standard_input(race: Race) -> None:
    done = race("model", "-", "--format", "json", input=json.dumps(CONFIG))
    assert json.loads(done.stdout)["model_type"] == "llama"


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("", 3, "config.json:1:1: the file is empty"),
        ('{"model_type": "llama",}', 3, "config.json:1:24: found '}'"),
        ('{"model_type": "llama", "model_type": "qwen2"}', 3, 'the key "model_type" stands twice'),
        ('{"hidden_size": NaN}', 3, "NaN is not a number"),
        ("[1]", 1, "config.json: this is no object"),
        ({**CONFIG, "hidden_size": "12"}, 1, 'config.json:4:17: `hidden_size` is the text "12"'),
        ({**CONFIG, "model_type": "rwkv\x1b[31m\n"}, 1, 'is "rwkv\\u001b[31m\\u000a", whose matrices are not known'),
        ({**CONFIG, "num_hidden_layers": None}, 1, "`num_hidden_layers` is null"),
        ({**CONFIG, "layer_types": ["linear_attention"] * 3}, 1, "state the model's `coefficients`"),
    ],
)
def test_a_file_that_says_no_shape_is_an_error_with_its_place(
    race: Race, tmp_path: Path, content: Any, code: int, message: str
) -> None:
    write(tmp_path / "config.json", content)
    done = race("model", "config.json")
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.json"], 3, "none.json: cannot read this file: no such file"),
        (["folder"], 3, "cannot read this file: no such file"),
        (["Qwen2.5-7B"], 2, "did you mean Qwen/Qwen2.5-7B"),
        (["meta-llama/Lama-3.1-8B"], 2, "did you mean meta-llama/Llama-3.1-8B"),
        (["some/model"], 2, 'no file and no model of the catalogue is named "some/model"; give the model\'s config'),
        ([""], 2, "is named"),
        ([], 2, "Missing argument"),
        (["gpt2", "--head", "lm"], 2, "causal_lm"),
        (["Qwen/Qwen3-8B", "--labels", "0"], 2, "labels"),
        (["Qwen/Qwen3-8B", "--adapter", "none.json"], 3, "none.json: cannot read this file"),
        (["Qwen/Qwen3-8B", "--adapter", "folder"], 3, "this is a folder"),
        (["Qwen/Qwen3-8B", "--adapter", "adapter.json"], 1, "adapter.json:1:15: `peft_type` is"),
        (["Qwen/Qwen3-8B", "--adapter", "head.json"], 1, "head.json: the adapter on `lm_head` runs on logit rows"),
    ],
)
def test_wrong_words_are_told(race: Race, tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    (tmp_path / "folder").mkdir()
    write(tmp_path / "adapter.json", '{"peft_type": "IA3"}')
    write(tmp_path / "head.json", {"peft_type": "LORA", "r": 1, "target_modules": ["lm_head"]})
    done = race("model", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_heads_of_the_command_are_those_that_are_known() -> None:
    (option,) = (parameter for parameter in command.params if parameter.name == "head")
    assert tuple(getattr(option.type, "choices", ())) == HEADS
