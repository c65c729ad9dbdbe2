"""What several test modules share: the documents of the conformance suite and the command."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

STACK = ("torch", "transformers", "peft", "trl")
collect_ignore_glob = (
    [] if os.environ.get("RACE_TEST_EVERYTHING") or all(map(find_spec, STACK)) else ["reference/*"]
)  # what compares with the training stack needs it

ROOT = Path(__file__).parent.parent
DOCUMENTS = ROOT / "tests" / "conformance" / "1.0" / "documents"

settings.register_profile("default", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("default")


@pytest.fixture
def documents() -> Path:
    return DOCUMENTS


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def example() -> dict[str, Any]:
    """The worked example: level 2, exact to the digit."""
    value: dict[str, Any] = json.loads((DOCUMENTS / "worked-example.json").read_text("utf-8"))
    return copy.deepcopy(value)


@pytest.fixture
def race(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command as a user does, in an empty folder."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **options.pop("env", {})}
        options = {"cwd": tmp_path, "capture_output": True, "encoding": "utf-8", **options}
        command = [sys.executable, "-m", "race_report", *arguments]
        return subprocess.run(command, check=False, text=True, env=environment, **options)

    return run


def tool(name: str) -> str:
    """Give the path of a program of the system; without it skip, but where everything must be tested fail."""
    path = shutil.which(name)
    if path is None:
        message = f"{name} is not installed"
        if os.environ.get("RACE_TEST_EVERYTHING"):
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Find a program of the system, or skip."""
    return tool


@pytest.fixture
def typeset(tmp_path: Path) -> Callable[[str], str]:
    """Set the body of a LaTeX document with pdflatex and give its text as a reader of the PDF copies it."""

    def run(body: str, preamble: str = "") -> str:
        source = tmp_path / "document.tex"
        source.write_text(
            f"\\documentclass{{article}}\n\\usepackage{{booktabs}}\n{preamble}\n"
            f"\\begin{{document}}\n{body}\n\\end{{document}}\n",
            "utf-8",
        )
        done = subprocess.run(
            [tool("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", source.name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:]
        text = subprocess.run(
            [tool("pdftotext"), "-layout", "document.pdf", "-"], cwd=tmp_path, capture_output=True, check=True
        ).stdout.decode("utf-8")
        return unicodedata.normalize("NFKC", text)

    return run
