"""What README.md shows is what happens."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from race_report.pages import page_of
from race_report.rules import RULES, rollouts
from race_report.standard import view

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """Make a folder in which the paths of README.md lead where they do in a checkout."""
    (tmp_path / "tests").symlink_to(root / "tests")
    return tmp_path


def test_every_console_and_python_block_does_what_it_shows(root: Path, checkout: Path) -> None:
    """All of them in their order and in one folder, as a reader tries them."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    text = (root / "README.md").read_text("utf-8")
    found = re.findall(r"^```(console|python)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert {language for language, _ in found} == {"console", "python"}
    for language, block in found:
        if language == "python":
            subprocess.run([sys.executable, "-c", block], cwd=checkout, check=True)
            continue
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


def test_the_rule_of_contributing_is_one(root: Path) -> None:
    """Adding a rule in five steps, tried: the example is a whole rule, and it finds what it says."""
    text = (root / "CONTRIBUTING.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = dict(vars(rollouts))
    exec(compile("from __future__ import annotations\n" + inspect.cleandoc(code), "CONTRIBUTING.md", "exec"), names)  # noqa: S102
    rule = names["nothing_scored"]
    assert rule.code in text.partition("**Write its cases**")[2]
    assert rule.code not in {other.code for other in RULES}
    assert page_of(rule).before
    value = json.loads((root / "tests/conformance/1.0/documents/worked-example.json").read_text("utf-8"))
    assert list(rule.check(view()(value))) == []
    value["runs"][0]["rollouts"]["scored"] = 0
    assert [pointer for pointer, _, _ in rule.check(view()(value))] == ["/runs/0/rollouts/scored"]


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "CHANGELOG.md", "tests/conformance/README.md"])
def test_every_file_that_another_document_links_is_there(root: Path, document: str) -> None:
    path = root / document
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text("utf-8")):
        assert (path.parent / link).exists(), link


@pytest.mark.parametrize(("shell", "words"), [("bash", "complete"), ("zsh", "compdef"), ("fish", "complete")])
def test_the_shell_completes_commands(shell: str, words: str) -> None:
    race = os.path.join(os.path.dirname(sys.executable), "race")
    done = subprocess.run(
        [race], env={**os.environ, "_RACE_COMPLETE": f"{shell}_source"}, capture_output=True, check=False
    )
    assert (done.returncode, words in done.stdout.decode()) == (0, True)
    asked = {**os.environ, "_RACE_COMPLETE": "bash_complete", "COMP_WORDS": "race va", "COMP_CWORD": "1"}
    done = subprocess.run([race], env=asked, capture_output=True, check=False)
    assert done.stdout == b"plain,validate\n"
