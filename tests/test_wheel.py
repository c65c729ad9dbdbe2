"""The built wheel in an empty environment, away from the checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """Build the sdist and from it the wheel."""
    dist = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(dist), str(pytestconfig.rootpath)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = dist.glob("race_compute-*.whl")
    return wheel


def test_the_wheel_holds_package_schema_and_templates_only(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "race_report/_data/schema/1.0/race-report.schema.json" in names
    assert "race_report/_data/schema/1.0/trace-record.schema.json" in names
    assert "race_report/_data/templates/latex/summary.tex" in names
    assert "race_report/py.typed" in names
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"race_report"}


def test_the_wheel_validates_and_renders_in_an_empty_environment(wheel: Path, documents: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", str(wheel)], check=True, capture_output=True)
    shutil.copy(documents / "worked-example.yaml", tmp_path)
    race = str(venv / "bin" / "race")
    done = subprocess.run(
        [race, "validate", "worked-example.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "level 2" in done.stdout) == (0, True), done.stdout + done.stderr
    done = subprocess.run(
        [race, "render", "worked-example.yaml", "--to", "latex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, r"$2.04\times10^{18}$" in done.stdout) == (0, True), done.stderr
    done = subprocess.run([race, "init"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "race_version" in done.stdout
