"""The conformance suite, run by this validator and, without Python, by Node.js: see tests/conformance/README.md."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonpatch
import jsonschema
import pytest

from race_report.finding import Severity
from race_report.rules import BY_CODE, RULES
from race_report.rules.reading import READING
from race_report.rules.structure import STRUCTURE
from race_report.rules.trace import TRACE
from race_report.validation import validate_file, validate_value

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "runners"))
from conformance import load, outcome
from conftest import DOCUMENTS, ROOT, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.finding import Rule

SUITE = ROOT / "tests" / "conformance"
VERSION = SUITE / "1.0"
RUNNER = ROOT / "tests" / "runners"
CASE_FILES = [
    *(path for folder in ("structure", "rules", "flops") for path in sorted((VERSION / folder).glob("*.json"))),
    VERSION / "reading" / "index.json",
    VERSION / "trace" / "index.json",
]
NOT_IN_FILES = {"RACE001", "RACE002", "RACE014"}
"""Codes of reading that no small file can have: a missing file, a large one, more than a thousand faults."""


def cases(*folders: str) -> list[Any]:
    """Give every case of folders with its path and what its file says of all, and an id by which pytest names it."""
    files = [(path, load(path)) for path in CASE_FILES if path.parent.name in folders]
    return [
        pytest.param(path, {**file, **case}, id=f"{path.stem}: {case['description']}")
        for path, file in files
        for case in file.get("cases") or file["files"]
    ]


@pytest.mark.parametrize(("path", "case"), cases("reading", "structure", "rules", "flops"))
def test_a_case_gives_what_it_expects(path: Path, case: dict[str, Any]) -> None:
    seen, expected = outcome(path, case)
    assert seen == expected


def test_the_runner_in_python_runs_every_case() -> None:
    done = subprocess.run(
        [sys.executable, RUNNER / "conformance.py"], capture_output=True, encoding="utf-8", check=False
    )
    folders = ("reading", "structure", "rules", "flops")
    counts = "".join(f"1.0/{folder}: {len(cases(folder))} cases\n" for folder in folders)
    assert (done.stdout, done.stderr, done.returncode) == (counts, "", 0)


@pytest.mark.parametrize("case", [pytest.param(case.values[1], id=case.id) for case in cases("trace")])
def test_a_report_with_a_trace_has_the_level_and_the_findings_of_its_case(case: dict[str, Any]) -> None:
    base = VERSION / case["base"]
    result = validate_value(jsonpatch.apply_patch(load(base), case["patch"]), str(base.parent))
    seen = Counter(
        (finding.code, finding.span.line if finding.path else finding.pointer)
        for finding in result.findings
        if finding.severity is not Severity.NOTE
    )
    wanted = Counter((finding["code"], finding.get("line", finding.get("pointer"))) for finding in case["findings"])
    assert (seen, result.level and result.level.number) == (wanted, case["level"])
    for finding in result.findings:
        assert not finding.path or Path(finding.path).name == case["file"]


# What the suite promises of itself.


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CASE_FILES])
def test_a_case_file_follows_the_schema_of_cases(path: Path) -> None:
    schema = load(SUITE / "case.schema.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(load(path), schema, jsonschema.Draft202012Validator)
    file = load(path)
    descriptions = [case["description"] for case in file.get("cases") or file["files"]]
    assert len(descriptions) == len(set(descriptions))


def test_the_example_of_the_contract_is_a_case_file() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", (SUITE / "README.md").read_text("utf-8"), re.DOTALL)
    jsonschema.validate(json.loads(example), load(SUITE / "case.schema.json"), jsonschema.Draft202012Validator)


def test_the_schema_of_cases_refuses_what_is_none() -> None:
    validator = jsonschema.Draft202012Validator(load(SUITE / "case.schema.json"))
    structure = load(next(iter(sorted((VERSION / "structure").glob("*.json")))))
    vectors = load(VERSION / "flops" / "forward.json")
    del structure["cases"][0]["findings"]
    vectors["cases"][0]["counts"]["tokkens"] = 1
    assert not validator.is_valid(structure)
    assert not validator.is_valid(vectors)
    assert not validator.is_valid({})


def numbers(value: Any) -> Iterator[int | float]:
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from numbers(child)
    elif isinstance(value, int | float):
        yield value


@pytest.mark.parametrize("path", [path for path in CASE_FILES if path.parent.name in ("structure", "flops")], ids=str)
def test_the_numbers_of_a_case_are_doubles_to_the_digit(path: Path) -> None:
    """So JSON parsers that keep no long integers read the same suite."""
    assert all(float(number) == number for number in numbers(load(path)))


IN_FILES = [rule for rule in RULES if rule.check is not None or rule in STRUCTURE]


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.code) for rule in IN_FILES])
def test_a_rule_has_a_case_file_with_a_clean_and_a_violating_case(rule: Rule) -> None:
    path = VERSION / ("structure" if rule in STRUCTURE else "rules") / f"{rule.code}-{rule.name}.json"
    assert path in CASE_FILES
    expectations = [case["findings"] for case in load(path)["cases"]]
    assert [] in expectations
    assert any(finding["code"] == rule.code for findings in expectations for finding in findings)


def test_a_case_file_is_named_for_a_rule() -> None:
    for path in CASE_FILES:
        if path.parent.name in ("structure", "rules"):
            code, _, name = path.stem.partition("-")
            assert BY_CODE[code].name == name


def test_every_code_of_reading_has_a_file() -> None:
    files = load(VERSION / "reading" / "index.json")["files"]
    codes = {finding["code"] for file in files for finding in file["findings"]}
    assert codes == {rule.code for rule in READING} - NOT_IN_FILES
    names = {path.name for path in (VERSION / "reading").iterdir()} - {"index.json", ".gitattributes"}
    assert names == {file["file"] for file in files}


def test_every_code_of_a_trace_has_a_case_and_every_trace_is_in_one() -> None:
    index = load(VERSION / "trace" / "index.json")["cases"]
    assert {rule.code for rule in TRACE} <= {finding["code"] for case in index for finding in case["findings"]}
    names = {path.name for path in (VERSION / "trace").iterdir()} - {"index.json", ".gitattributes"}
    assert names <= {case["file"] for case in index}


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in sorted(DOCUMENTS.iterdir())])
def test_a_whole_document_has_no_finding(path: Path) -> None:
    assert validate_file(str(path)).findings == ()


# The same suite without Python.


@pytest.fixture(scope="module")
def node_runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the runner in Node.js with its libraries into a folder of its own."""
    tool("node")
    folder = tmp_path_factory.mktemp("runner")
    for name in ("conformance.mjs", "standard.mjs", "package.json", "package-lock.json"):
        shutil.copy(RUNNER / name, folder)
    command = [tool("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run_node(runner: Path, suite: Path) -> subprocess.CompletedProcess[str]:
    command = [tool("node"), "conformance.mjs", str(suite), str(ROOT / "schema")]
    return subprocess.run(command, cwd=runner, capture_output=True, encoding="utf-8", check=False)


def test_a_runner_without_python_agrees(node_runner: Path) -> None:
    done = run_node(node_runner, SUITE)
    counts = "".join(f"1.0/{folder}: {len(cases(folder))} cases\n" for folder in ("structure", "flops"))
    assert (done.stdout, done.stderr, done.returncode) == (counts, "", 0)


def test_a_runner_without_python_shows_what_differs(node_runner: Path, tmp_path: Path) -> None:
    suite = tmp_path / "conformance"
    shutil.copytree(SUITE, suite)
    for name, key, value in [
        ("structure/RACE036-missing-key", "findings", [{"code": "RACE036", "pointer": "/no"}]),
        ("flops/forward", "flops", 14001),
    ]:
        path = suite / "1.0" / f"{name}.json"
        file = load(path)
        file["cases"][0] |= {"description": "spoilt", key: value}
        path.write_text(json.dumps(file), "utf-8")
    done = run_node(node_runner, suite)
    assert done.returncode == 1
    assert "1.0/structure/RACE036-missing-key.json: spoilt\n  - RACE036 /no\n" in done.stdout
    assert "1.0/flops/forward.json: spoilt\n  - 14001\n  + 14000\n" in done.stdout
    assert "2 failed" in done.stdout


def test_the_lock_of_the_runner_names_no_host() -> None:
    text = (RUNNER / "package-lock.json").read_text("utf-8")
    assert "://" not in text
    assert '"resolved"' not in text
