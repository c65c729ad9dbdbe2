from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import race_report
from race_report.document import Report

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
