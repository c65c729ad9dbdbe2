"""What README.md shows is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def blocks(root: Path, language: str) -> list[str]:
    found = re.findall(
        rf"^```{language}\n(.*?)^```$", (root / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert found
    return found


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """Make a folder in which the paths of README.md lead where they do in a checkout."""
    (tmp_path / "tests").symlink_to(root / "tests")
    return tmp_path


def test_every_console_block_shows_what_its_commands_print(root: Path, checkout: Path) -> None:
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    for block in blocks(root, "console"):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = step.partition("\n")
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=checkout,
                env={**os.environ, "PATH": path},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                check=False,
            )
            pattern = ".*\n".join(map(re.escape, re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE)))
            assert re.fullmatch(pattern, done.stdout, re.DOTALL), f"$ {command}\n{done.stdout}"


def test_every_python_block_runs(root: Path, checkout: Path) -> None:
    for block in blocks(root, "python"):
        subprocess.run([sys.executable, "-c", block], cwd=checkout, check=True)


def test_every_file_that_is_linked_is_there(root: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (root / "README.md").read_text("utf-8"))
    assert links
    for link in links:
        assert (root / link).is_file(), link


def test_what_the_readme_says_of_the_ledger_is_in_the_example(root: Path) -> None:
    shown = re.search(r"- (\{component: learning.*?\})\n```", (root / "README.md").read_text("utf-8"), re.DOTALL)
    assert shown is not None
    words = shown[1].rstrip("}").split()
    example = (root / "tests/conformance/1.0/documents/worked-example.yaml").read_text("utf-8").split()
    assert any(example[at : at + len(words) - 1] == words[:-1] for at in range(len(example)))
