"""The hook, run by pre-commit itself on a scratch repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

VALID = 'race_version: "1.0"\nmodels: [{id: p, role: policy}]\nruns: [{id: main}]\n'


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True, encoding="utf-8"
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """Make a research repository that takes the hook from a repository with this working tree."""
    hook = tmp_path_factory.mktemp("hook")
    root = pytestconfig.rootpath
    for name in ("race_report", "schema", "templates"):
        shutil.copytree(root / name, hook / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, hook / name)
    git(hook, "init", "-q")
    git(hook, "add", "-A")
    git(hook, "commit", "-qm", "hook")
    project = tmp_path_factory.mktemp("project")
    git(project, "init", "-q")
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hook}\n  rev: {git(hook, 'rev-parse', 'HEAD')}\n  hooks: [{{id: race-validate}}]\n", "utf-8"
    )
    return project


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def run_hook(project: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    git(project, "add", "-A")
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--verbose", "--color=never", *arguments],
        cwd=project,
        env={**os.environ, "PRE_COMMIT_HOME": str(home)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_reports_pass_others_are_skipped_and_odd_names_are_fine(project: Path, home: Path) -> None:
    """Case P04 of the field."""
    names = ["results/run 1 (final)/rapport-é.yaml", "-dash.yaml", "a'b\"c.yaml", "$(touch oops).yaml"]
    for name in names:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(VALID, "utf-8")
    (project / "package.json").write_text('{"name": "x"}', "utf-8")
    done = run_hook(project, home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "package.json: skipped, no report" in done.stdout
    assert "rapport-é.yaml: level 0" in done.stdout
    assert len(re.findall(r": level 0", done.stdout)) == 4
    assert not (project / "oops").exists()


def test_a_fault_stops_the_commit_and_is_shown(project: Path, home: Path) -> None:
    path = project / "faulty.yaml"
    path.write_text(VALID.replace("policy", "polcy"), "utf-8")
    done = run_hook(project, home)
    path.unlink()
    assert done.returncode == 1
    assert "faulty.yaml:2:24: error RACE037 unknown-value" in done.stdout


def test_no_matching_file_is_no_failure(project: Path, home: Path) -> None:
    """Case P03 of the field, by way of pre-commit."""
    (project / "notes.txt").write_text("a", "utf-8")
    done = run_hook(project, home, "--files", "notes.txt")
    assert done.returncode == 0
    assert "no files to check" in done.stdout


def test_many_files_with_long_names_are_all_checked_in_batches(project: Path, home: Path) -> None:
    """Case P01 of the field."""
    folder = project.joinpath(*["a-folder-with-a-long-name-" + "x" * 20] * 4)
    folder.mkdir(parents=True)
    for number in range(1700):
        (folder / f"report-{number:04}-{'y' * 40}.yaml").write_text(VALID, "utf-8")
    (folder / "faulty.yaml").write_text(VALID.replace("policy", "polcy"), "utf-8")
    done = run_hook(project, home)
    shutil.rmtree(project / folder.relative_to(project).parts[0])
    checked = [int(number) for number in re.findall(r"^(\d+) files? checked", done.stdout, re.MULTILINE)]
    assert len(checked) > 1
    assert sum(checked) >= 1701
    assert done.returncode == 1
    assert done.stdout.count("RACE037") == 1
