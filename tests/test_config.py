"""What a project may set, and what it may not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from race_report.config import ConfigError, read_config
from race_report.finding import Severity

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def rounded(example: dict[str, Any], tmp_path: Path) -> Path:
    """A report with one warning (a rounded figure) and one error (rollouts that are lost)."""
    example["runs"][0]["ledger"][0]["flops"] = 6.93e16
    example["runs"][0]["rollouts"]["discarded"] = 5
    path = tmp_path / "report.json"
    path.write_text(json.dumps(example), "utf-8")
    return path


def settings(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")


def test_a_rule_is_ignored_with_its_reason_which_is_printed(race: Race, rounded: Path) -> None:
    done = race("validate", "--ignore", "RACE201=counted by another tool", "report.json")
    assert done.returncode == 0
    assert "RACE201 rollouts-lost: counted by another tool (1 finding)" in done.stdout
    assert "error RACE201" not in done.stdout
    assert "its errors mended: RACE201" in done.stdout, "an ignored error does not lift a level"
    data = json.loads(race("validate", "--ignore", "rollouts-lost=so", "--format", "json", rounded.name).stdout)
    assert data["ignored"] == [{"code": "RACE201", "name": "rollouts-lost", "reason": "so", "findings": 1}]


def test_findings_are_selected_by_the_beginning_of_their_code(race: Race, rounded: Path) -> None:
    done = race("validate", "--select", "RACE3", rounded.name)
    assert (done.returncode, "RACE302" in done.stdout, "error RACE201" in done.stdout) == (0, True, False)


def test_a_rule_is_selected_by_its_name_too(race: Race, rounded: Path) -> None:
    done = race("validate", "--select", "Flops-Inexact", rounded.name)
    assert (done.returncode, "RACE302" in done.stdout, "error RACE201" in done.stdout) == (0, True, False)


def test_a_rule_that_is_set_twice_is_refused(race: Race, rounded: Path, tmp_path: Path) -> None:
    settings(tmp_path, '[tool.race]\nseverity = {RACE302 = "note", flops-inexact = "error"}\n')
    done = race("validate", rounded.name)
    assert done.returncode == 2
    assert "RACE302 and flops-inexact are one rule" in done.stderr
    settings(tmp_path, "")
    done = race("validate", "--ignore", "RACE201=a", "--ignore", "rollouts-lost=b", rounded.name)
    assert (done.returncode, "set twice" in done.stderr) == (2, True)


def test_what_keeps_a_file_from_being_read_is_always_shown(race: Race, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{", "utf-8")
    done = race("validate", "--select", "RACE3", "broken.json")
    assert (done.returncode, "RACE005" in done.stdout) == (3, True)


def test_a_project_sets_severities_and_reasons(race: Race, rounded: Path, tmp_path: Path) -> None:
    settings(
        tmp_path,
        '[tool.race]\nselect = ["RACE2", "RACE3"]\nignore = {RACE201 = "by another tool"}\n'
        'severity = {flops-inexact = "error"}\n',
    )
    done = race("validate", rounded.name)
    assert done.returncode == 1
    assert "error RACE302 flops-inexact" in done.stdout
    assert "ignored RACE201 rollouts-lost: by another tool (1 finding)" in done.stdout
    (tmp_path / "sub").mkdir()
    assert race("validate", "../report.json", cwd=tmp_path / "sub").returncode == 1


def test_the_command_line_goes_before_the_project(rounded: Path, tmp_path: Path) -> None:
    settings(tmp_path, '[tool.race]\nselect = ["RACE2"]\nignore = {RACE302 = "old"}\n')
    config = read_config(str(rounded.parent), select=("RACE3",), ignore=("RACE302=new",))
    assert (config.select, config.ignore) == (("RACE3",), {"RACE302": "new"})
    settings(tmp_path, '[tool.race]\nseverity = {RACE302 = "note"}\n')
    assert read_config(str(tmp_path)).severity == {"RACE302": Severity.NOTE}


def test_projects_without_settings_of_ours_are_passed_over(tmp_path: Path) -> None:
    settings(tmp_path, '[tool.race]\nselect = ["RACE3"]\n')
    inner = tmp_path / "inner"
    inner.mkdir()
    settings(inner, "[tool.other]\na = 1\n")
    assert read_config(str(inner)).select == ("RACE3",)
    (inner / ".git").mkdir()
    assert read_config(str(inner)).select == (), "a repository ends the search"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.race]\nselct = []\n", 'no setting "selct"'),
        ('[tool.race]\nselect = "RACE3"\n', "a list of codes"),
        ('[tool.race]\nselect = ["RACE99"]\n', 'no code begins with "RACE99"'),
        ("[tool.race]\nignore = []\n", "a table should stand here"),
        ('[tool.race]\nignore = {RACE999 = "why"}\n', 'no rule "RACE999"'),
        ('[tool.race]\nignore = {RACE302 = ""}\n', "without a reason"),
        ('[tool.race]\nignore = {RACE005 = "why"}\n', "always an error"),
        ('[tool.race]\nseverity = {RACE302 = "fatal"}\n', "none of error, warning, note"),
        ("[tool.race\n", "Expected ']'"),
    ],
)
def test_a_setting_that_means_nothing_is_wrong_usage(race: Race, tmp_path: Path, text: str, words: str) -> None:
    settings(tmp_path, text)
    with pytest.raises(ConfigError, match=r"pyproject.toml|ignored without|select: no|severity of"):
        read_config(str(tmp_path))
    done = race("validate", "--hook")
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "option", ["--ignore=RACE302", "--ignore=RACE302=", "--ignore=NOPE=why", "--ignore=RACE037=why", "--select=X"]
)
def test_an_option_that_means_nothing_is_wrong_usage(race: Race, option: str) -> None:
    assert race("validate", "--hook", option).returncode == 2


def test_both_engines_give_the_same_findings(race: Race, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"race_version": "1.0", "models": [{"id": 5, "rol": 1}], "runs": []}', "utf-8")
    fast = race("validate", "--engine", "jsonschema-rs", "a.json")
    slow = race("validate", "--engine", "jsonschema", "a.json")
    assert (fast.returncode, fast.stdout) == (slow.returncode, slow.stdout)
    assert fast.stdout.count("RACE") == 4


def test_what_stops_the_rules_cannot_be_selected_away(race: Race, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"race_version": "1.0", "models": [], "runs": []}', "utf-8")
    done = race("validate", "--select", "race2", "a.json")
    assert (done.returncode, "RACE040" in done.stdout) == (1, True)


def test_a_level_that_is_required_is_always_said(race: Race, rounded: Path) -> None:
    done = race("validate", "--select", "RACE1", "--require-level", "2", rounded.name)
    assert (done.returncode, "RACE801" in done.stdout) == (1, True)


@pytest.mark.parametrize("text", ['[ tool.race ]\nselect = ["RACE3"]\n', '[tool]\nrace.select = ["RACE3"]\n'])
def test_any_way_to_write_the_table_is_read(tmp_path: Path, text: str) -> None:
    settings(tmp_path, text)
    assert read_config(str(tmp_path)).select == ("RACE3",)
