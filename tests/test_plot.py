"""Figures: their numbers, their bytes and their looks in grey."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from race_report.meter import Meter
from race_report.plot.series import NothingToPlot, course, learning_shares, splits, splits_by_model, utilizations
from race_report.plot.style import COMPONENTS
from race_report.standard import view
from race_report.trace import read_trace
from race_report.validation import validate_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]

POLICY = {
    "id": "policy",
    "role": "policy",
    "name": "a $mall_model",
    "trained": "full",
    "coefficients": {"body_parameters": 1000, "head_parameters": 100, "attention_width": 8},
}


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    with Meter(str(tmp_path / "trace.jsonl"), models=[POLICY]) as meter:
        for step in range(3):
            meter.begin_step(step, policy_version=step)
            meter.generation(model="policy", prompt_tokens=[4, 4], completion_tokens=[3, 5 + step])
            meter.record("feedback", "reward", calls=2, cpu_seconds=0.02)
        results = [{"metric": "reward", "value": 0.1 * step, "step": step} for step in range(3)]
        report = meter.report(run={"results": results})
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    return path


def test_the_split_of_the_worked_example(example: dict[str, Any]) -> None:
    (bar,) = splits([view()(example)])
    assert sum(bar.parts.values()) == pytest.approx(100)
    assert bar.words == {"search": "11.5 %", "learning": "35.3 %", "feedback": "53.1 %"}
    (by_model,) = splits_by_model([view()(example)])
    assert by_model.parts["Qwen/Qwen2.5-Math-PRM-7B"] == pytest.approx(bar.parts["feedback"])
    assert learning_shares([view()(example)])[0].figure.value == pytest.approx(0.35333607271981116)


def test_what_is_not_known_is_no_bar(documents: Path) -> None:
    known, unknown = (
        validate_file(str(documents / f"{name}.json")).view for name in ("constructed-closed-judge", "kimi-k1.5")
    )
    assert known is not None
    assert unknown is not None
    bars = splits([known, unknown])
    assert bars[0].note == "feedback not known"
    assert bars[0].words["learning"].startswith("≤ ")
    assert (bars[1].parts, bars[1].note) == ({}, "not known")
    for series in (splits, splits_by_model, learning_shares, utilizations):
        with pytest.raises(NothingToPlot):
            series([unknown])


def test_the_course_ends_at_the_totals_of_the_ledger(traced: Path) -> None:
    result = validate_file(str(traced))
    assert result.view is not None
    found = course(result.view, 0, read_trace(str(traced.parent / "trace.jsonl")))
    assert found.steps == [0, 1, 2]
    stated = {f"search: {entry.phase}": entry.flops for entry in result.view.runs[0].ledger if entry.model}
    assert {name: series[-1] for name, series in found.cumulative.items()} == stated
    assert all(series == sorted(series) for series in found.cumulative.values())
    assert found.results == {"reward": [(0, 0.0), (1, 0.1), (2, 0.2)]}
    assert found.missing == []


@pytest.mark.parametrize("figure", ["split", "models", "p", "mfu", "course"])
@pytest.mark.parametrize("suffix", ["pdf", "svg", "png"])
def test_a_figure_is_the_same_bytes_twice(
    race: Race, traced: Path, documents: Path, tmp_path: Path, figure: str, suffix: str
) -> None:
    reports = {"course": [str(traced)], "mfu": [str(documents / "constructed-declared.json")]}
    files = []
    for name in ("one", "two"):
        given = reports.get(figure, [str(documents / "worked-example.json")])
        done = race("plot", *given, "--figure", figure, "-o", f"{name}.{suffix}")
        assert (done.returncode, done.stderr) == (0, "")
        files.append((tmp_path / f"{name}.{suffix}").read_bytes())
    assert files[0] == files[1]
    assert files[0].startswith({"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}[suffix])


@pytest.mark.parametrize(("columns", "inches"), [("1", 3.25), ("2", 6.75)])
def test_a_figure_has_the_width_of_its_columns(
    race: Race, documents: Path, tmp_path: Path, columns: str, inches: float
) -> None:
    race("plot", str(documents / "worked-example.json"), "--columns", columns, "-o", "split.svg")
    width = re.search(r'<svg [^>]*width="([\d.]+)pt"', (tmp_path / "split.svg").read_text("utf-8"))
    assert width is not None
    assert float(width[1]) / 72 == pytest.approx(inches)


def test_components_differ_in_grey() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    found = sorted(luminance(fill) for fill, _ in COMPONENTS.values())
    for darker, lighter in pairwise(found):
        assert (lighter + 0.05) / (darker + 0.05) > 1.5


def test_a_name_with_dollar_signs_is_a_name(race: Race, traced: Path) -> None:
    done = race("plot", str(traced), "--figure", "models", "-o", "models.pdf")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_missing_is_said(race: Race, documents: Path, tmp_path: Path) -> None:
    report = str(documents / "kimi-k1.5.json")
    done = race("plot", report, "-o", "split.pdf")
    assert (done.returncode, done.stderr[:26]) == (1, "race plot: no run has a kn")
    assert race("plot", report, "-o", "split.jpg").returncode == 2
    assert "no run has a trace" in race("plot", report, "--figure", "course", "-o", "a.pdf").stderr
    hidden = "import sys; sys.modules['matplotlib'] = None; sys.argv = ['race', 'plot', 'x.json', '-o', 'a.pdf']"
    script = f"{hidden}; from race_report.__main__ import main; main()"
    found = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (2, "race plot needs matplotlib: pip install 'race-compute[plot]'\n")
