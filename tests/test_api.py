from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

import race_report
from race_report import schema_engines
from race_report.document import Report
from race_report.pages import rules_document
from race_report.rules import RULES
from race_report.schema_tables import field_tables
from race_report.standard import schema

if TYPE_CHECKING:
    from pathlib import Path


def test_a_report_is_loaded_from_either_language(documents: Path) -> None:
    report = race_report.load(documents / "worked-example.yaml")
    assert isinstance(report, Report)
    assert report == race_report.load(documents / "worked-example.json")
    (figures,) = race_report.totals(report)
    assert figures.total.value == 2041007335224115200


def test_what_is_no_valid_report_is_refused_with_its_findings(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text('race_version: "1.0"\nmodels: 1\nruns: []\n', "utf-8")
    with pytest.raises(race_report.InvalidReport, match=r"a.yaml:2:9: RACE030 .*\(and 1 more\)") as caught:
        race_report.load(path)
    assert [finding.pointer for finding in caught.value.findings] == ["/models", "/runs"]
    with pytest.raises(race_report.InvalidReport, match="no such file"):
        race_report.load(tmp_path / "none.yaml")


def test_a_document_in_memory_is_validated_like_a_file(example: dict[str, Any], documents: Path) -> None:
    in_memory = race_report.validate(example)
    on_disk = race_report.validate(documents / "worked-example.json")
    assert (in_memory.findings, in_memory.level) == (on_disk.findings, on_disk.level)
    example["runs"][0]["ledger"][0]["flops"] = float("nan")
    assert [finding.name for finding in race_report.validate(example).findings] == ["not-finite"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"race_version": "1.0", 1: 2}, "the key 1 of the document is no text"),
        ({"race_version": "1.0", "x-a": {"b": {1, 2}}}, "/x-a/b is a set"),
        ({"race_version": "1.0", "report": {"created": date(2026, 12, 1)}}, "/report/created is a date"),
    ],
)
def test_what_json_does_not_have_is_refused_with_its_place(value: dict[Any, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        race_report.validate(value)


def test_a_document_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {"race_version": "1.0"}
    value["x-a"] = value
    with pytest.raises(ValueError, match="deeper than 100"):
        race_report.validate(value)


def test_the_second_engine_stands_in_where_the_first_is_missing(
    example: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_missing(_: object) -> None:
        raise ImportError

    monkeypatch.setattr(schema_engines, "_rust_validator", is_missing)
    assert race_report.validate(example).findings == ()
    example["runs"][0]["ledger"][0]["fase"] = 1
    assert [finding.name for finding in race_report.validate(example).findings] == ["unknown-key"]
    with pytest.raises(ImportError):
        schema_engines.is_valid(example, "jsonschema-rs")


def test_generated_tables_name_every_object_and_every_rule() -> None:
    tables = field_tables()
    assert all(f"### {name}\n" in tables for name in schema()["$defs"])
    lines = list(rules_document())
    assert sum(line.startswith("### RACE") for line in lines) == len(RULES)
