"""The command as a user meets it: messages, exit codes, never a traceback."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from race_report import yaml_text
from race_report.discovery import reports_below
from race_report.validation import validate_file

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]

VALID = '{"race_version": "1.0", "models": [{"id": "p", "role": "policy"}], "runs": [{"id": "main"}]}'
INVALID = VALID.replace('"policy"', '"Policy"')
OTHER = '{"name": "package"}'


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (VALID, 0, "level 0"),
        (INVALID, 1, 'did you mean "policy"?'),
        (OTHER, 1, "no RACE report"),
        ("[1, 2]", 1, "no RACE report"),
        ('{"race_version": NaN}', 1, "RACE011"),
        (VALID.replace("{", '{"race_version": "1.0", ', 1), 1, "RACE010"),
        (VALID.replace("1.0", "2.0"), 4, "RACE021"),
        ("", 3, "the file is empty"),
        ("   \n", 3, "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", 3, "binary"),
        (VALID.encode("utf-16"), 3, "UTF-16"),
        (VALID.replace("main", "mäin").encode("latin-1"), 3, "0xE4"),
        ("{", 3, "cut off"),
        ("[" * 200_000, 3, "deeper"),
        (b'{"race_version": "' + b"1" * (17 * 1024 * 1024) + b'"}', 3, "larger than 16 MiB"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str | bytes) else str(value),
)
def test_each_kind_of_file_ends_in_its_message_and_code(
    race: Race, tmp_path: Path, content: str | bytes, code: int, words: str
) -> None:
    write(tmp_path / "report.json", content)
    done = race("validate", "report.json")
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout
    assert done.stderr == ""
    assert "Traceback" not in done.stdout


def test_a_missing_file_does_not_hide_the_others(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "a.json", INVALID)
    write(tmp_path / "c.json", VALID)
    done = race("validate", "a.json", "none.json", "c.json")
    assert done.returncode == 3
    assert "none.json:1:1: error RACE001 unreadable-file: cannot read this file: no such file" in done.stdout
    assert "RACE037" in done.stdout
    assert "c.json: level 0" in done.stdout
    assert done.stdout.endswith("3 files checked, 2 errors, 6 warnings\n")


def test_of_several_codes_the_gravest_counts(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "wrong.json", INVALID)
    write(tmp_path / "newer.json", VALID.replace("1.0", "2.0"))
    write(tmp_path / "broken.json", "{")
    assert race("validate", "wrong.json", "newer.json").returncode == 4
    assert race("validate", "wrong.json", "newer.json", "broken.json").returncode == 3


def test_folders_are_searched_for_reports(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "runs" / "b" / "report.yaml", 'race_version: "1.0"\nmodels: []\nruns: []\n')
    write(tmp_path / "runs" / "a.json", VALID)
    write(tmp_path / "runs" / "package.json", OTHER)
    write(tmp_path / "runs" / "broken.json", "{")
    write(tmp_path / "runs" / ".hidden" / "a.json", INVALID)
    write(tmp_path / "runs" / "node_modules" / "a.json", INVALID)
    for arguments in (["runs"], [], ["."]):
        done = race("validate", *arguments)
        assert done.returncode == 1
        assert "2 files checked, 2 errors" in done.stdout
        assert f"{os.path.join('runs', 'b', 'report.yaml')}:2:9: error RACE040" in done.stdout


def test_a_folder_without_reports_is_wrong_usage_but_not_in_a_hook(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "empty" / "package.json", OTHER)
    done = race("validate", "empty")
    assert done.returncode == 2
    assert "no report in empty" in done.stderr
    assert race("validate").returncode == 2
    assert race("validate", "--hook", "empty").returncode == 0


def test_a_hook_skips_other_files_with_a_word(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "a.json", VALID)
    write(tmp_path / "package.json", OTHER)
    write(tmp_path / "tsconfig.json", "// comments\n{}")
    write(tmp_path / "values.yaml", "a: {{ template }}\n")
    write(tmp_path / "mentions.yaml", "text: about race_version\n")
    names = ["a.json", "package.json", "tsconfig.json", "values.yaml", "mentions.yaml"]
    done = race("validate", "--hook", *names)
    assert done.returncode == 0
    assert done.stdout.endswith("1 file checked, 0 errors, 6 warnings, 4 skipped\n")
    assert "package.json: skipped, no report: it has no race_version\n" in done.stdout
    assert race("validate", "package.json").returncode == 1


def test_a_hook_without_files_is_content(race: Race) -> None:
    """Case P03 of the field."""
    done = race("validate", "--hook")
    assert (done.returncode, done.stdout) == (0, "0 files checked, 0 errors, 0 warnings\n")


def test_odd_file_names_are_taken_as_they_are(race: Race, tmp_path: Path) -> None:
    """Case P04 of the field."""
    names = ["results/run 1 (final)/rapport-é.json", "-starts-with-dash.json", "two\nlines.json", "ünï.json"]
    for name in names:
        write(tmp_path / name, VALID)
    done = race("validate", "--", *names)
    assert done.returncode == 0
    assert "4 files checked" in done.stdout


def test_unknown_suffixes_are_read_by_their_content(race: Race, tmp_path: Path) -> None:
    """Case P05 of the field."""
    write(tmp_path / "report", VALID)
    write(tmp_path / "report.rlcompute", 'race_version: "1.0"\nmodels: [{id: p, role: policy}]\nruns: [{id: a}]\n')
    assert race("validate", "report", "report.rlcompute").returncode == 0
    write(tmp_path / "commented.json", f"// a comment\n{VALID}")
    done = race("validate", "commented.json")
    assert done.returncode == 3
    assert "JSON has no comments: delete it" in done.stdout


def test_a_required_level_and_warnings_can_fail(race: Race, documents: Path, tmp_path: Path) -> None:
    example = str(documents / "worked-example.json")
    assert race("validate", "--require-level", "2", example).returncode == 0
    done = race("validate", "--require-level", "3", example)
    assert done.returncode == 1
    assert "level 3 was required" in done.stdout
    value = json.loads((documents / "worked-example.json").read_text("utf-8"))
    value["runs"][0]["totals"]["search_flops"] = 2.35e17
    write(tmp_path / "rounded.json", json.dumps(value))
    assert race("validate", "rounded.json").returncode == 0
    assert race("validate", "--werror", "rounded.json").returncode == 1


KEYS = {
    "": {"exit_code", "summary", "ignored", "files"},
    "ignored": {"code", "name", "reason", "findings"},
    "summary": {"files", "checked", "skipped", "errors", "warnings"},
    "file": {"path", "skipped", "level", "lower_bound", "next_level_lacks", "findings"},
    "finding": {
        *("code", "name", "severity", "pointer", "path", "line", "column", "end_line", "end_column", "message", "hint"),
    },
}


def test_the_keys_of_json_never_come_and_go(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "a.json", VALID)
    write(tmp_path / "b.json", INVALID)
    write(tmp_path / "c.json", OTHER)
    write(tmp_path / "é.json", "{")
    for names in ([], ["a.json"], ["a.json", "b.json", "c.json", "é.json", "none.json"]):
        done = race("validate", "--hook", "--format", "json", *names)
        data: Any = json.loads(done.stdout)
        assert set(data) == KEYS[""]
        assert data["exit_code"] == done.returncode
        assert set(data["summary"]) == KEYS["summary"]
        assert [file["path"] for file in data["files"]] == names
        for file in data["files"]:
            assert set(file) == KEYS["file"]
            for finding in file["findings"]:
                assert set(finding) == KEYS["finding"]


def test_standard_input_is_a_file_too(race: Race) -> None:
    assert race("validate", "-", input=VALID).returncode == 0
    done = race("validate", "-", input=INVALID)
    assert done.returncode == 1
    assert done.stdout.startswith("<stdin>:1:")


def test_a_hook_judges_what_is_a_report_by_its_key(race: Race, tmp_path: Path) -> None:
    """A mention, a huge data file and a document of another kind are no reports; one in a wrong encoding is."""
    write(tmp_path / "kube.yaml", "# race_version: see the docs\na: 1\n---\nb: 2\n")
    write(tmp_path / "text.yaml", "note: about race_version, see there\n---\nb: 2\n")
    write(tmp_path / "huge.json", b"[" + b"1, " * 6_000_000 + b"1]")
    done = race("validate", "--hook", "kube.yaml", "text.yaml", "huge.json")
    assert (done.returncode, "3 skipped" in done.stdout) == (0, True), done.stdout
    write(tmp_path / "utf32.json", VALID.encode("utf-32"))
    assert race("validate", "--hook", "utf32.json").returncode == 3
    assert race("validate", "huge.json").returncode == 3


def test_a_folder_that_cannot_be_opened_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "sub" / "a.json", VALID)
    write(tmp_path / "b.json", VALID)
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if path.endswith("sub"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = reports_below(str(tmp_path), 10_000)
    assert found == [str(tmp_path / "b.json"), str(tmp_path / "sub")]
    assert validate_file(found[1]).findings[0].name == "unreadable-file"


def test_no_report_is_an_answer_in_json_too(race: Race) -> None:
    done = race("validate", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["exit_code"], "no report in" in done.stderr) == (2, 2, True)


def test_only_what_race_made_is_overwritten(race: Race, documents: Path, tmp_path: Path) -> None:
    report = write(tmp_path / "own.yaml", (documents / "worked-example.yaml").read_text("utf-8"))
    before = report.read_bytes()
    for force in ((), ("--force",)):
        assert race("render", "own.yaml", "--to", "latex", "-o", "own.yaml", *force).returncode == 2
    assert race("schema", "-o", "own.yaml").returncode == 2
    assert report.read_bytes() == before
    write(tmp_path / "table.tex", "my own table")
    assert race("render", "own.yaml", "--to", "latex", "-o", "table.tex").returncode == 2
    assert race("render", "own.yaml", "--to", "latex", "-o", "table.tex", "--force").returncode == 0
    assert race("render", "own.yaml", "--to", "latex", "-o", "table.tex").returncode == 0


def empty_places(value: Any, pointer: str = "") -> list[str]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [place for key, child in items for place in empty_places(child, f"{pointer}/{key}")]
    return [pointer] if value is None else []


def test_the_skeleton_says_what_is_empty_and_is_a_report_once_it_is_filled_in(race: Race, tmp_path: Path) -> None:
    assert race("init", "-o", "report.yaml").returncode == 0
    value = yaml_text.parse((tmp_path / "report.yaml").read_text("utf-8")).value
    empty = empty_places(value)
    done = race("validate", "--format", "json", "report.yaml")
    findings = json.loads(done.stdout)["files"][0]["findings"]
    assert {(finding["code"], finding["pointer"]) for finding in findings} == {("RACE033", place) for place in empty}
    words = {"trained": "full", "kind": "rule", "name": "a name", "accelerator": "NVIDIA L40S", "metric": "pass@1"}
    for place in empty:
        *path, last = place.split("/")[1:]
        owner = value
        for token in path:
            owner = owner[int(token)] if isinstance(owner, list) else owner[token]
        owner[last] = 8 if "rollouts" in path else words.get(last, "MATH-500" if last == "target" else 8)
    write(tmp_path / "filled.json", json.dumps(value))
    done = race("validate", "filled.json")
    assert (done.returncode, "level 0" in done.stdout) == (0, True), done.stdout


def test_nothing_is_overwritten_unasked(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "report.yaml", "mine")
    done = race("init", "-o", "report.yaml")
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert (tmp_path / "report.yaml").read_text("utf-8") == "mine"
    assert race("init", "-o", "report.yaml", "--force").returncode == 0
    assert race("init", "-o", "none/report.yaml").returncode == 3


def test_the_schema_is_printed_as_it_is_committed(race: Race, root: Path, tmp_path: Path) -> None:
    committed = (root / "schema" / "1.0" / "race-report.schema.json").read_text("utf-8")
    assert race("schema").stdout == committed
    of_record = race("schema", "--of", "record").stdout
    assert of_record == (root / "schema" / "1.0" / "trace-record.schema.json").read_text("utf-8")
    assert race("schema", "-o", "s.json").returncode == 0
    assert (tmp_path / "s.json").read_text("utf-8") == committed


@pytest.mark.parametrize("command", [(), ("validate",), ("schema",), ("init",), ("render",), ("replay",), ("merge",)])
def test_every_command_has_help_with_an_example(race: Race, command: tuple[str, ...]) -> None:
    done = race(*command, "--help")
    assert done.returncode == 0
    assert "Example:" in done.stdout or "Start:" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("validate", "--nonsense"), ("validate", "--require-level", "9"), ("render", "a.json")],
)
def test_wrong_usage_is_two(race: Race, arguments: tuple[str, ...]) -> None:
    done = race(*arguments)
    assert done.returncode == 2
    assert "Usage:" in done.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bom.yaml", b"\xef\xbb\xbfrace_version: '1.0'\nmodels: [{id: p, role: policy}]\nruns: [{id: a}]\n"),
        ("cr.json", VALID.replace(", ", ",\r").encode()),
        ("escape.json", VALID.replace("race_version", "race\\u005fversion").encode()),
        ("query.yaml", b"? race_version\n: '1.0'\nmodels: [{id: p, role: policy}]\nruns: [{id: a}]\n"),
        ("tag.yaml", b"!!str race_version: '1.0'\nmodels: [{id: p, role: policy}]\nruns: [{id: a}]\n"),
    ],
)
def test_a_hook_knows_a_report_however_its_mark_is_written(
    race: Race, tmp_path: Path, name: str, content: bytes
) -> None:
    write(tmp_path / name, content)
    for arguments in (("--hook", name), (".",)):
        assert f"{name}: level 0" in race("validate", *arguments).stdout
