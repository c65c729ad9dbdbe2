"""`race fill`, as a user meets it."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING

import pytest

from race_report.source import load_bytes

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]

ANSWERS = {
    "models:name": "Qwen/Qwen2.5-7B-Instruct",
    "trained": "full",
    "algorithm:name": "grpo",
    "group_size": "8",
    "rollout_steps": "10",
    "updates_per_batch": "2",
    "max_prompt_tokens": "512",
    "max_completion_tokens": "1024",
    "generated": "1280",
    "rollouts:trained": "1280",
    "prompt_tokens": "200000",
    "completion_tokens": "700000",
    "kind": "rule",
    "accelerator": "NVIDIA H100 SXM",
    "count": "8",
    "wall_clock_hours": "2.5",
    "metric": "pass@1",
    "target": "MATH-500",
    "results:value": "0.5",
}


@pytest.fixture
def minimal(root: Path, tmp_path: Path) -> Path:
    path = tmp_path / "report.yaml"
    path.write_bytes((root / "tests/fill/minimal.yaml").read_bytes())
    return path


def test_the_minimal_report_goes_to_level_2_through_the_command(race: Race, minimal: Path) -> None:
    done = race("fill", "report.yaml", "-o", "filled.yaml")
    assert (done.returncode, done.stdout) == (0, "")
    assert "level 0 (Well-formed) before, level 2, lower bound (Recomputable) after" in done.stderr
    assert race("validate", "--require-level", "2", "--werror", "filled.yaml").returncode == 0
    filled = (minimal.parent / "filled.yaml").read_text("utf-8")
    kept = iter(filled.splitlines())
    hardware = "    hardware: ["
    for line in minimal.read_text("utf-8").splitlines():
        assert line in kept if not line.startswith(hardware) else any(other.startswith(line[:-2]) for other in kept)
    again = race("fill", "filled.yaml")
    assert (again.stdout, "nothing was added" in again.stderr) == (filled, True)


def test_the_skeleton_of_race_init_goes_to_level_2_once_it_is_filled_in(race: Race, tmp_path: Path) -> None:
    assert race("init", "-o", "report.yaml").returncode == 0
    text = (tmp_path / "report.yaml").read_text("utf-8")
    refused = race("fill", "report.yaml", "--in-place")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "RACE033" in refused.stderr
    assert refused.stderr.endswith("nothing was filled: mend the errors first\n")
    assert (tmp_path / "report.yaml").read_text("utf-8") == text
    for key, answer in ANSWERS.items():
        section, _, name = key.rpartition(":")
        text, number = re.subn(
            rf"({section}.*?\n\s+(?:- )?{name}:)(?=[ \n])", rf"\g<1> {answer}", text, count=1, flags=re.DOTALL
        )
        assert number == 1, key
    (tmp_path / "report.yaml").write_text(text, "utf-8")
    done = race("fill", "report.yaml", "--in-place")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert race("validate", "--require-level", "2", "report.yaml").returncode == 0
    kept = iter((tmp_path / "report.yaml").read_text("utf-8").splitlines(keepends=True))
    assert all(line in kept for line in text.splitlines(keepends=True))


def test_words_go_to_standard_error_and_the_report_to_standard_output(race: Race, minimal: Path) -> None:
    done = race("fill", "report.yaml")
    assert load_bytes(done.stdout.encode(), "a.yaml").value["runs"][0]["totals"]["feedback_flops"] == 0
    assert "    /models/policy/coefficients: follows from https://huggingface.co/" in done.stderr
    assert "    /runs/main/ledger/prefill/tokens: upper_bound, low 320000, high 2560000: assumed: " in done.stderr
    piped = race("fill", "-", input=minimal.read_text("utf-8"))
    assert (piped.stdout, piped.returncode) == (done.stdout, 0)
    assert "<stdin>: added" in piped.stderr


def test_what_does_not_follow_is_listed_for_the_author(race: Race, minimal: Path) -> None:
    minimal.write_text(minimal.read_text("utf-8").replace("generated: 12800, ", ""), "utf-8")
    done = race("fill", "report.yaml")
    assert done.returncode == 0
    assert "not derived:" in done.stderr
    assert "mend: add rollouts: generated" in done.stderr
    assert "level 1 lacks:\n    - /runs/main: search FLOPs" in done.stderr


def test_the_list_for_programs_has_the_same_keys_whatever_happened(race: Race, minimal: Path) -> None:
    pages = []
    for arguments in (("report.yaml",), ("filled.yaml",)):
        done = race("fill", *arguments, "--format", "json")
        assert (done.returncode, done.stderr) == (0, "")
        pages.append(json.loads(done.stdout))
        race("fill", "report.yaml", "-o", "filled.yaml")
    assert pages[0].keys() == pages[1].keys()
    assert [len(page["added"]) for page in pages] == [7, 0]
    assert pages[0]["qualified"][0]["low"] is None
    assert (pages[0]["after"]["level"], pages[0]["after"]["lower_bound"]) == (2, True)
    assert not (minimal.parent / "other.yaml").exists()
    done = race("fill", "report.yaml", "--format", "json", "-o", "other.yaml")
    assert json.loads(done.stdout) == pages[0]
    assert (minimal.parent / "other.yaml").read_bytes() == (minimal.parent / "filled.yaml").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report.yaml", "--in-place", "-o", "b.yaml"), "--in-place writes the report itself"),
        (("-", "--in-place"), "--in-place writes the report itself"),
        (("report.yaml", "-o", "report.yaml"), "is the report: write it with --in-place"),
        (("report.yaml", "-o", "b.json"), "name the output .yaml"),
        (("report.yaml", "-o", "there.yaml"), "overwrite it with --force"),
    ],
)
def test_wrong_usage_writes_nothing(race: Race, minimal: Path, arguments: tuple[str, ...], words: str) -> None:
    there = minimal.parent / "there.yaml"
    there.write_text("a: 1\n", "utf-8")
    before = minimal.read_bytes()
    done = race("fill", *arguments)
    assert (done.returncode, words in done.stderr, done.stdout) == (2, True, "")
    assert (minimal.read_bytes(), there.read_text("utf-8")) == (before, "a: 1\n")
    assert race("fill", "report.yaml", "-o", "there.yaml", "--force").returncode == 0
    assert len(there.read_bytes()) > len(before)


def test_in_place_keeps_line_ends_mark_and_mode(race: Race, minimal: Path) -> None:
    data = b"\xef\xbb\xbf" + minimal.read_bytes().replace(b"\n", b"\r\n")
    minimal.write_bytes(data)
    minimal.chmod(0o640)
    assert race("fill", "report.yaml", "--in-place").returncode == 0
    filled = minimal.read_bytes()
    assert filled.startswith(b"\xef\xbb\xbf")
    assert filled.count(b"\r\n") == filled.count(b"\n") > data.count(b"\n")
    assert stat.S_IMODE(minimal.stat().st_mode) == 0o640
    moment = minimal.stat().st_mtime_ns
    assert race("fill", "report.yaml", "--in-place").returncode == 0
    assert minimal.stat().st_mtime_ns == moment  # nothing to add, nothing written


def test_the_configuration_lies_beside_the_report(race: Race, minimal: Path, example: dict[str, object]) -> None:
    folder = minimal.parent / "deep" / "down"
    folder.mkdir(parents=True)
    config = example["models"][0]["architecture"]  # type: ignore[index]
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    text = minimal.read_text("utf-8").replace("name: Qwen/Qwen2.5-1.5B-Instruct", "architecture_file: config.json")
    (folder / "report.yaml").write_text(text, "utf-8")
    done = race("fill", os.path.join("deep", "down", "report.yaml"))
    assert "body_parameters: 1310195712" in done.stdout
    assert "source: config.json" in done.stdout


HOSTILE = {
    "two documents": ("{text}---\n{text}", 3, "a second document begins here"),
    "a tab": ("{text}\tx-a: 1\n", 3, "tab"),
    "no report": ("a: 1\n", 1, "RACE020"),
    "an unknown version": ('race_version: "9.9"\n', 4, "RACE021"),
    "a duplicate id": ("{text}  - id: main\n", 1, "RACE104"),
    "a duplicate key": ("{text}runs: []\n", 1, "RACE010"),
    "an empty file": ("", 3, "the file is empty"),
    "an unfinished text block": ("{text}x-note: |\n  a", 1, "does the last line lack its end?"),
    "too large": ("{text}#" + "a" * 2**24, 3, "16 MiB"),
    "missing": (None, 3, "cannot read this file"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_cannot_be_filled_is_refused_and_nothing_is_lost(race: Race, minimal: Path, case: str) -> None:
    form, code, words = HOSTILE[case]
    text = minimal.read_text("utf-8")
    minimal.unlink()
    if form is not None:
        minimal.write_text(form.replace("{text}", text), "utf-8")
    before = minimal.read_bytes() if form is not None else None
    done = race("fill", "report.yaml", "--in-place")
    assert (done.returncode, words in done.stderr, done.stdout) == (code, True, ""), done.stderr
    assert (minimal.read_bytes() if form is not None else None) == before


def test_an_aliased_pool_is_filled_where_it_is_written(race: Race, minimal: Path) -> None:
    text = minimal.read_text("utf-8").replace("hardware: [", "hardware: &pools [")
    more = "  - {id: other, role: ablation, hardware: *pools}\n"
    minimal.write_text(text + more, "utf-8")
    done = race("fill", "report.yaml", "--in-place")
    assert done.returncode == 0, done.stderr
    filled = minimal.read_text("utf-8")
    assert more in filled
    value = load_bytes(filled.encode(), "a.yaml").value
    assert [run["hardware"][0]["gpu_hours"] for run in value["runs"]] == [23.0, 23.0]
    assert race("validate", "report.yaml").returncode == 0
