"""Statements, Markdown, text, CSV and exports: they say what the report says, and unknown is never 0."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from race_report.render import carbon, csv_table, markdown
from race_report.render.boamps import energy_report
from race_report.render.carbon import NotExportable, grams, hub_metadata, seconds, tonnes
from race_report.render.cyclonedx import bill_of_materials
from race_report.render.formats import FORMATS, OF_ONE, rendered
from race_report.render.html import page
from race_report.render.statement import VENUES, statement
from race_report.standard import view
from race_report.validation import validate_file, validate_value

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]
    Typeset = Callable[..., str]


def said(document: dict[str, Any], venue: str) -> str:
    result = validate_value(document)
    assert result.view is not None
    assert result.level is not None
    return statement(result.view, result.level, venue)


def test_the_statement_of_the_worked_example(example: dict[str, Any], typeset: Typeset) -> None:
    text = " ".join(typeset(said(example, "neurips")).split())
    for words in (
        "Run main trained Qwen/Qwen2.5-1.5B-Instruct (1.54B parameters, 18.5M trained) with grpo",
        "for 200 optimizer steps",
        "It ran on 8 × NVIDIA H100 SXM of 80 GB memory each for 1.5 hours",
        "In all it took 12 GPU-hours",
        "Its model FLOPs are 2.04 × 1018",
        "search took 11.5 %, learning took 35.3 % and feedback took 53.1 %",
        "Beside them the project used: hyper-parameter sweep (40 GPU-hours)",
        "The project used more compute than this, which is not reported",
        "The memory of the hosts and the storage are not reported",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("complete", "words"),
    [
        (True, "This is all the compute that the project used."),
        (False, "The project used more compute than this"),
        (None, "The report does not say whether the project used more"),
    ],
)
def test_a_statement_says_whether_that_was_all(example: dict[str, Any], complete: bool | None, words: str) -> None:
    example["study"] = {} if complete is None else {"complete": complete}
    for venue in VENUES:
        assert words in said(example, venue)


def test_a_statement_marks_bounds_and_names_what_is_unknown(documents: Path) -> None:
    document = json.loads((documents / "constructed-closed-judge.json").read_text("utf-8"))
    text = said(document, "model-card")
    assert "at least" in text
    assert "learning took at most" in text
    assert "Its energy is not reported" in text
    del document["runs"][0]["hardware"]
    document["runs"][0].pop("gpu_hours", None)
    document["not_reported"] = []
    assert "Its GPU-hours are not reported" in said(document, "acl")


@pytest.mark.parametrize("to", FORMATS)
def test_every_report_renders_the_same_twice(documents: Path, to: str) -> None:
    for path in sorted(documents.glob("*.json")):
        result = validate_file(str(path))
        try:
            first = rendered([result], to, table="ledger", venue="neurips", unicode=True)
        except NotExportable as error:
            refused = to, "energy" in str(error)
            assert refused in (("hub", True), ("boamps", True))
            continue
        assert first == rendered([validate_file(str(path))], to, table="ledger", venue="neurips", unicode=True)
        assert first.text.startswith(first.made_by)
        assert "None" not in first.text.replace("None of", "")


def test_unknown_is_never_zero(documents: Path) -> None:
    result = validate_file(str(documents / "kimi-k1.5.json"))
    assert result.view is not None
    (row,) = csv.DictReader(io.StringIO(csv_table.table([result.view], "summary")))
    assert row["total_flops"] == row["learning_share"] == row["gpu_hours"] == row["kg_co2e"] == ""
    assert "–<sup>1</sup>" in markdown.table([result.view])
    bill = json.loads(bill_of_materials(result.view, result.document))
    properties = {entry["name"]: entry["value"] for part in bill["components"] for entry in part["properties"]}
    assert not any(name.endswith("total_flops") for name in properties)
    assert any(name.endswith("total_flops:unknown") for name in properties)


def test_csv_has_every_entry_and_its_numbers_in_full(example: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_table.table([view()(example)], "ledger"))))
    assert [int(row["flops"]) for row in rows] == [entry["flops"] for entry in example["runs"][0]["ledger"]]
    assert [int(row["tokens"]) for row in rows] == [entry["tokens"] for entry in example["runs"][0]["ledger"]]


@given(st.text(min_size=1).filter(lambda words: "\ud800" not in words))
def test_no_cell_is_a_formula(words: str) -> None:
    cell = csv_table._cell(words)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert "\n" not in cell
    assert csv_table._cell(-1.5) == "-1.5"


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1))
def test_markdown_shows_the_text_as_it_is(words: str) -> None:
    """By a parser of CommonMark with tables: what it reads from a cell is the text."""
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table").enable("strikethrough")
    tokens = parser.parse(f"| a |\n|---|\n| x{markdown.escape(words)}x |\n")
    cells = [token for token in tokens if token.type == "inline"]
    shown = "".join(part.content for part in cells[1].children or ())
    assert all(part.type in ("text", "text_special") for part in cells[1].children or ())
    assert shown == f"x{words}x"


kilograms = st.floats(min_value=0, max_value=1e9, allow_subnormal=False)


@given(kilograms)
def test_units_come_back(value: float) -> None:
    assert grams(value) / 1000 == pytest.approx(value, rel=1e-15)
    assert tonnes(value) * 1000 == pytest.approx(value, rel=1e-15)
    assert seconds(value) / 3600 == pytest.approx(value, rel=1e-15)


def test_units_are_decimal() -> None:
    assert grams(0.0411) == 41.1
    assert tonnes(41.1) == 0.0411
    assert carbon.billions(1543714304) == 1.543714304


def energetic(document: dict[str, Any]) -> dict[str, Any]:
    document["runs"][0]["energy"] = {
        "energy_kwh": 8.1,
        "kg_co2e": 3.07,
        "duration_hours": 1.5,
        "tracker": "codecarbon 3.0",
    }
    document["not_reported"] = []
    return document


def test_the_card_of_the_hub_has_grams(example: dict[str, Any], race: Race, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps(energetic(example)))
    done = race("render", "report.json", "--to", "model-card")
    assert (done.returncode, done.stderr) == (0, "")
    _, front, body = done.stdout.split("---\n", 2)
    emissions = yaml.safe_load(front)["co2_eq_emissions"]
    assert emissions == {
        "emissions": 3070.0,
        "source": "codecarbon 3.0",
        "training_type": "fine-tuning",
        "hardware_used": "8 x NVIDIA H100 SXM",
    }
    assert "It used 8.1 kWh and 3.07 kg of CO2 equivalent, by codecarbon 3.0." in body


def test_emissions_of_a_part_say_so(example: dict[str, Any]) -> None:
    document = energetic(example)
    document["runs"].append({**document["runs"][0], "id": "pilot", "energy": {}})
    assert (
        "at least: the emissions of pilot are not reported"
        in hub_metadata(view()(document))["co2_eq_emissions"]["source"]
    )


def test_the_bill_of_materials_is_valid(documents: Path, example: dict[str, Any]) -> None:
    """By the schema that the makers of CycloneDX publish, as their Python package has it."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    validator = JsonStrictValidator(SchemaVersion.V1_6)
    energy = energetic(example)
    results = [validate_value(energy), *(validate_file(str(path)) for path in sorted(documents.glob("*.json")))]
    for result in results:
        assert result.view is not None
        text = bill_of_materials(result.view, result.document)
        assert validator.validate_str(text) is None, result.path
    bill = json.loads(bill_of_materials(view()(energy), energy))
    (use,) = bill["components"][0]["modelCard"]["considerations"]["environmentalConsiderations"]["energyConsumptions"]
    assert use["activityEnergyCost"] == {"value": 8.1, "unit": "kWh"}
    assert use["co2CostEquivalent"] == {"value": 0.00307, "unit": "tCO2eq"}


def test_the_energy_report_has_the_units_of_its_format(example: dict[str, Any]) -> None:
    report = json.loads(energy_report(view()(energetic(example))))
    assert report["measures"] == [
        {"measurementMethod": "codecarbon 3.0", "powerConsumption": 8.1, "measurementDuration": 5400.0}
    ]
    assert report["task"]["algorithms"][0]["parametersNumber"] == 1.543714304
    assert report["infrastructure"]["components"] == [
        {"componentType": "gpu", "nbComponent": 8, "componentName": "NVIDIA H100 SXM"}
    ]
    assert report["header"]["reportDatetime"] == "2026-12-01 12:00:00"
    assert [data["dataQuantity"] for data in report["task"]["dataset"]] == [26214400, 52428800]


@pytest.mark.parametrize("to", ["hub", "boamps"])
def test_an_export_without_its_figure_is_refused(race: Race, documents: Path, to: str) -> None:
    done = race("render", str(documents / "worked-example.json"), "--to", to)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("race render: no run has energy.")


@pytest.mark.parametrize("to", sorted(OF_ONE))
def test_a_format_of_one_report_refuses_two(race: Race, documents: Path, to: str) -> None:
    done = race("render", *[str(documents / "worked-example.json")] * 2, "--to", to)
    assert done.returncode == 1
    assert done.stderr == f"race render: {to} is made of one report, and there are 2\n"


def test_a_page_has_where_its_numbers_come_from(example: dict[str, Any]) -> None:
    example["qualifications"] = [
        {"pointer": "/runs/main/totals/total_flops", "basis": "estimated", "low": 1.5e18, "reason": "from means"}
    ]
    text = page([validate_value(example)])
    assert "≈ 2.04 × 10¹⁸" in text
    assert "estimated: at least 1.50 × 10¹⁸: from means" in text
    assert "derived: completion tokens over all GPU-seconds" in text


def test_files_of_others_are_not_overwritten(race: Race, documents: Path, tmp_path: Path) -> None:
    report = str(documents / "worked-example.json")
    (tmp_path / "page.html").write_text("mine")
    assert race("render", report, "--to", "html", "-o", "page.html").returncode == 2
    (tmp_path / "page.html").unlink()
    assert race("render", report, "--to", "html", "-o", "page.html").returncode == 0
    assert race("render", report, "--to", "html", "-o", "page.html").returncode == 0


def test_an_estimate_is_about_right_everywhere(documents: Path) -> None:
    result = validate_file(str(documents / "constructed-declared.json"))
    assert result.view is not None
    assert "≈ 1.28 × 10²⁰" in page([result])
    assert "search ≈ 22.2 %" in page([result])
    assert "≈ 1.28 × 10²⁰<sup>" in markdown.table([result.view])
    (row,) = csv.DictReader(io.StringIO(csv_table.table([result.view], "summary")))
    assert row["total_flops_bound"] == row["learning_share_bound"] == "about"
    assert "Its model FLOPs are about 1.28 × 10²⁰" in said(result.document, "model-card")
