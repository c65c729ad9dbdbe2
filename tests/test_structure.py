"""Every structural fault in one run, at its place, with the slip it most likely is."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from race_report.standard import schema
from race_report.structure import EXPLAINERS
from race_report.validation import validate_bytes, validate_value

if TYPE_CHECKING:
    from race_report.finding import Finding


def findings_of(value: Any) -> dict[str, Finding]:
    return {finding.pointer: finding for finding in validate_value(value).findings}


def yaml_findings(text: str) -> list[Finding]:
    return list(validate_bytes(text.encode(), "a.yaml").findings)


MINIMAL = """\
race_version: "1.0"
models:
- {id: policy, role: policy}
runs:
- {id: main, policy: policy}
"""


def set_at(document: Any, pointer: str, value: Any) -> None:
    *path, last = pointer.split("/")[1:]
    for token in path:
        document = document[int(token)] if isinstance(document, list) else document.setdefault(token, {})
    document[int(last) if isinstance(document, list) else last] = value


@pytest.mark.parametrize(
    ("pointer", "value", "name", "words"),
    [
        ("/runs/0/gpu_hours", "12", "number-as-text", "write 12"),
        ("/runs/0/gpu_hours", "1,234.5", "number-as-text", "write 1234.5"),
        ("/runs/0/ledger/0/flops", "1.2e21", "number-as-text", "write 1.2e21"),
        ("/runs/0/ledger/0/flops", "1.2 x 10^21", "number-as-text", "write 1.2e21"),
        ("/runs/0/ledger/0/flops", "a lot", "wrong-type", "race schema"),
        ("/runs/0/ledger/0/flops", "989 TFLOPS", "number-as-text", "write 989e12"),
        ("/runs/0/gpu_hours", "12 h", "number-as-text", "write 12; the key names the unit"),
        ("/runs/0/hardware/0/utilization", "38%", "number-as-text", "write 0.38, a fraction"),
        ("/models/0/parameters/total", "1.5B", "number-as-text", "write 1.5e9"),
        ("/models/0/role", "actor", "unknown-value", 'did you mean "policy"?'),
        ("/models/0/role", 5, "wrong-type", "one of: policy"),
        ("/models/0/role", None, "empty-value", "one of: policy"),
        ("/models/0/X-mine", 5, "unknown-key", 'did you mean "x-mine"?'),
        ("/models/0/<<", {}, "unknown-key", "no merge keys"),
        ("/models/0/architecture_file", "/home/me/config.json", "malformed-text", "relative to the report"),
        ("/runs/0/algorithm/group_size", 0, "out-of-range", "never 0"),
        ("/runs/0/seed", 2**60, "out-of-range", "exponent"),
        ("/runs/0/software", {"": "1"}, "malformed-text", "name it stands for"),
        ("/report/created", 20261201, "text-as-number", "2026-12-01T12:00:00Z"),
        ("/runs/0/ledger/0/flops", True, "wrong-type", "not whether"),
        ("/runs/0/ledger/0/flops", -61996000000, "out-of-range", "never negative"),
        ("/runs/0/ledger/0/tokens", 1.5, "fractional-count", "whole number"),
        ("/runs/0/ledger/0/tokens", 2**53 + 1, "out-of-range", "unit"),
        ("/runs/0/ledger/0/phase", "update", "unknown-value", "learning"),
        ("/runs/0/ledger/0/phase", "prefil", "unknown-value", 'did you mean "prefill"?'),
        ("/runs/0/ledger/0/component", "Search", "unknown-value", 'did you mean "search"?'),
        ("/runs/0/hardware/0/utilization", 46, "out-of-range", "fraction, not a percentage"),
        ("/runs/0/hardware/0/components", "search", "wrong-type", "list"),
        ("/runs/0/coverage", {"complete": "yes"}, "wrong-type", "write true"),
        ("/models/0/id", "0policy", "malformed-text", "begin with a letter"),
        ("/models/0/name", "", "malformed-text", "public name"),
        ("/models/0/name", None, "empty-value", "not_reported"),
        ("/models/0/revision", 1.5, "text-as-number", 'quote it: "1.5"'),
        ("/models/0/paramaters", {}, "unknown-key", 'did you mean "parameters"?'),
        ("/models/0/gpu_hours", 5, "unknown-key", "key of"),
        ("/models/0/colour", 5, "unknown-key", "x-colour"),
        ("/subject/url", "example.org", "malformed-text", "https://"),
        ("/report/created", "2026-02-30T00:00:00Z", "malformed-text", "2026-12-01T12:00:00Z"),
        ("/report/created", "2026-12-01", "malformed-text", "2026-12-01T12:00:00Z"),
        ("/qualifications", [{"pointer": "runs", "basis": "stated"}], "malformed-text", "JSON Pointer"),
        ("/models", [], "empty-list", "add an element"),
        ("/allocation_study", {}, "not-yet-supported", "leave it out"),
    ],
)
def test_a_slip_is_named_with_its_mend(
    example: dict[str, Any], pointer: str, value: Any, name: str, words: str
) -> None:
    set_at(example, pointer, value)
    places = [at for at in findings_of(example) if at.startswith(pointer)]
    assert len(places) == 1
    finding = findings_of(example)[places[0]]
    assert (finding.name, finding.message != "") == (name, True)
    assert words in finding.hint


def test_every_fault_of_a_document_is_found_in_one_run(example: dict[str, Any]) -> None:
    example["models"][0]["role"] = "Policy"
    del example["models"][1]["id"]
    example["runs"][0]["ledger"][0]["tokens"] = "26214400"
    example["runs"][0]["ledger"][1]["flops"] = None
    example["runs"][0]["ledger"][2]["fase"] = "update"
    del example["runs"][0]["ledger"][3]["operation"]
    example["foo"] = 1
    assert {(finding.code, pointer) for pointer, finding in findings_of(example).items()} == {
        ("RACE037", "/models/0/role"),
        ("RACE036", "/models/1/id"),
        ("RACE031", "/runs/0/ledger/0/tokens"),
        ("RACE033", "/runs/0/ledger/1/flops"),
        ("RACE035", "/runs/0/ledger/2/fase"),
        ("RACE036", "/runs/0/ledger/3/operation"),
        ("RACE035", "/foo"),
    }


def test_reading_and_structure_are_reported_together_and_a_place_once() -> None:
    text = MINIMAL + "study: {complete: .nan}\nsubject: {title: a, title: b, year: 2026}\n"
    assert [(finding.name, finding.pointer) for finding in yaml_findings(text)] == [
        ("not-finite", "/study/complete"),
        ("duplicate-key", "/subject/title"),
        ("unknown-key", "/subject/year"),
    ]


def test_findings_stand_where_the_fault_stands() -> None:
    text = MINIMAL.replace("policy}\nruns", "policy,\n   revisoin: é, parameters: {total: 'ü'}}\nruns")
    found = [(finding.name, finding.span) for finding in yaml_findings(text)]
    assert found == [("unknown-key", (4, 4, 4, 12)), ("wrong-type", (4, 37, 4, 40))]


def test_a_missing_key_is_reported_where_its_object_begins() -> None:
    (finding,) = yaml_findings(MINIMAL.replace("id: main, ", ""))
    assert (finding.pointer, finding.span) == ("/runs/0/id", (5, 3, 5, 4))
    assert 'a run needs "id"' in finding.message


@pytest.mark.parametrize("version", ["1.10", "1.0", "0.20"])
def test_an_unquoted_version_is_to_be_quoted(version: str) -> None:
    """Case Y03 of the field: 1.10 must never be validated as 1.1."""
    (finding,) = yaml_findings(MINIMAL.replace('"1.0"', version))
    assert finding.name == "text-as-number"
    assert f'"{version}"' in finding.hint
    (finding,) = yaml_findings(f"{MINIMAL.replace('runs:', 'x-runs:')}runs: [{{id: a, software: {{trl: {version}}}}}]")
    assert (finding.name, finding.pointer) == ("text-as-number", "/runs/0/software/trl")
    assert f'"{version}"' in finding.hint


def test_an_alias_is_quoted_where_its_anchor_is_and_as_it_is_written_there() -> None:
    text = MINIMAL.replace("role: policy", "role: policy, revision: *v").replace(
        "models:", "report: {id: a, x-v: &v 1.10}\nmodels:"
    )
    (finding,) = yaml_findings(text)
    assert (finding.name, finding.pointer) == ("text-as-number", "/models/0/revision")
    assert '"1.10"' in finding.hint


@pytest.mark.parametrize(
    ("version", "words"),
    [("1.1", "install"), ("2.0", "install"), ("v1", 'did you mean "1.0"'), ("1", 'did you mean "1.0"')],
)
def test_an_unsupported_version_is_an_error_of_its_own(version: str, words: str) -> None:
    (finding,) = yaml_findings(MINIMAL.replace("1.0", version).replace("id: main", "idd: main"))
    assert finding.name == "unsupported-version"
    assert words in finding.hint


@pytest.mark.parametrize(
    ("created", "words"),
    [
        ("2026-02-30T12:00:00Z", "no day of the calendar"),
        ("2026-02-28T12:00:00", "no time zone"),
        ("28.2.2026", "no instant"),
    ],
)
def test_what_is_wrong_with_an_instant_is_said(example: dict[str, Any], created: str, words: str) -> None:
    example["report"]["created"] = created
    assert words in findings_of(example)["/report/created"].message


@pytest.mark.parametrize("key", ["Race_Version", "race-version", "raceVersion"])
def test_a_misspelt_mark_is_asked_about(key: str) -> None:
    (finding,) = yaml_findings(MINIMAL.replace("race_version", key))
    assert (finding.name, finding.hint) == ("not-a-report", f'did you mean race_version, for "{key}"?')


def test_a_required_key_is_not_to_be_deleted(example: dict[str, Any]) -> None:
    example["models"][0]["id"] = None
    example["models"][0]["name"] = None
    found = findings_of(example)
    assert "delete the key" not in found["/models/0/id"].hint
    assert "delete the key" in found["/models/0/name"].hint


def test_findings_are_bounded_and_that_is_said(example: dict[str, Any]) -> None:
    example["not_reported"] = [1] * 5000
    result = validate_value(example)
    assert len(result.findings) == 1001
    assert result.findings[0].name == "too-many-findings"
    many = validate_bytes(b'{"race_version": "1.0", "x-a": [' + b"NaN," * 5000 + b"1]}", "a.json").findings
    assert 1000 < len(many) < 1010
    example["not_reported"] = [{"pointer": "/runs", "reason": "x"}] * 50_000 + [1]
    assert [finding.pointer for finding in validate_value(example).findings] == ["/not_reported/50000"]


def test_a_hostile_file_within_the_limit_takes_no_more_memory_than_a_good_one() -> None:
    """An engine collects what it finds: for three violations in each of a million runs, ten gigabytes."""
    script = (
        "import resource, sys; from race_report.validation import validate_bytes as v;"
        """head = b'{"race_version": "1.0", "models": [], "runs": [';"""
        """r = v(head + b'{"a":1},' * 1_000_000 + b'{}]}', 'a.json');"""
        "assert len(r.findings) > 900;"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 3_000_000  # kilobytes


def test_a_report_with_a_fault_of_reading_has_no_level() -> None:
    result = validate_bytes((MINIMAL + "x-a: .nan\n").encode(), "a.yaml")
    assert (result.errors, result.level) == (1, None)


def test_free_keys_are_free_everywhere(example: dict[str, Any]) -> None:
    example["x-anything"] = {"nested": [None, 1e300, {"y": "1"}]}
    for run in example["runs"]:
        run["x-note"] = None
        for entry in run["ledger"]:
            entry["x-1"] = True
    assert findings_of(example) == {}


def test_the_architecture_takes_any_key_of_a_config_file(example: dict[str, Any]) -> None:
    example["models"][0]["architecture"] |= {"sliding_window": None, "rope_scaling": {"factor": 2.0}, "head_dim": 128}
    assert findings_of(example) == {}


def test_counts_need_a_model_and_an_operation(example: dict[str, Any]) -> None:
    entry = example["runs"][0]["ledger"][0]
    del entry["model"], entry["operation"]
    found = findings_of(example)
    assert set(found) == {"/runs/0/ledger/0/model", "/runs/0/ledger/0/operation"}
    assert "with sequences" in found["/runs/0/ledger/0/model"].message


def keywords(node: Any) -> set[str]:
    if not isinstance(node, dict):
        return set()
    found = set(node)
    for key in ("$defs", "properties", "patternProperties"):
        for child in node.get(key, {}).values():
            found |= keywords(child)
    for key in ("items", "additionalProperties", "if", "then"):
        found |= keywords(node.get(key))
    for child in node.get("allOf", []):
        found |= keywords(child)
    return found


def test_only_keywords_of_the_draft_are_in_the_schema() -> None:
    known = {
        *("$schema", "$id", "$ref", "$defs", "title", "description", "type", "enum", "const", "format", "pattern"),
        *("properties", "patternProperties", "additionalProperties", "required", "dependentRequired", "items"),
        *("minItems", "minimum", "exclusiveMinimum", "maximum", "allOf", "if", "then"),
    }

    assert keywords(schema()) <= known


def test_every_keyword_that_can_be_violated_has_an_explanation() -> None:
    silent = {
        *("$schema", "$id", "$ref", "$defs", "title", "description", "properties", "patternProperties", "items"),
        *("allOf", "if", "then"),  # their faults come as those of the keywords within
    }
    assert keywords(schema()) - silent == set(EXPLAINERS)


def test_every_field_says_what_it_means() -> None:
    for name, definition in [("Report", schema()), *schema()["$defs"].items()]:
        assert definition["description"], name
        for key, field in definition["properties"].items():
            assert field.get("description"), f"{name}.{key}"


def test_no_title_default_or_null_is_in_the_schema() -> None:
    text = json.dumps(schema()["$defs"])
    assert '"default"' not in text
    assert '"null"' not in text
    assert "anyOf" not in text
