"""The command where its world fails: consoles, pipes, terminals, interruptions, hostile sizes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]

VALID = '{"race_version": "1.0", "models": [{"id": "p", "role": "policy"}], "runs": [{"id": "main"}]}'
INVALID = VALID.replace('"policy"', '"Policy"')


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "gbk", "utf-8"])
def test_any_console_shows_any_report(race: Race, tmp_path: Path, encoding: str) -> None:
    """Cases N02 and N03 of the field: our own files are UTF-8 and the console's code page never stops us."""
    write(tmp_path / "a.json", VALID.replace('"policy"', '"\u201d\u6e05\u0418"'))
    environment = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = race("validate", "a.json", env=environment, errors="replace")
    assert done.returncode == 1
    assert "RACE037" in done.stdout
    assert done.stderr == ""


def test_a_closed_pipe_is_silence(tmp_path: Path) -> None:
    for number in range(300):
        write(tmp_path / f"{number}.json", INVALID)
    command = f'"{sys.executable}" -m race_report validate . | head -n 1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "RACE037" in done.stdout


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell command in which RACE stands for ours."""
    command = command.replace("RACE", f'"{sys.executable}" -m race_report')
    return subprocess.run(["bash", "-c", command], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("RACE validate a.json | true; exit ${PIPESTATUS[0]}", 0, ""),
        ("RACE validate b.json | true; exit ${PIPESTATUS[0]}", 1, ""),
        ("RACE validate none.json | true; exit ${PIPESTATUS[0]}", 3, ""),
        ("RACE validate a.json >&-", 0, ""),
        ("RACE validate b.json >&- 2>&-", 1, ""),
        ("RACE validate - <&-", 3, ""),
        ("RACE validate a.json > /dev/full", 3, "cannot write to standard output: no space"),
        ("RACE validate --nonsense 2> /dev/full", 2, ""),
        ("RACE validate --max-bytes 99999999999999999999 a.json", 2, "not in the range"),
        ("RACE validate --max-bytes 999999999999 a.json", 0, ""),
        ("RACE schema -o /dev/stdout", 0, ""),
    ],
)
def test_streams_that_fail_end_in_a_documented_code(tmp_path: Path, command: str, code: int, words: str) -> None:
    write(tmp_path / "a.json", VALID)
    write(tmp_path / "b.json", INVALID)
    done = shell(command, tmp_path)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_in_a_file_can_forge_a_line_or_drive_a_terminal(race: Race, tmp_path: Path) -> None:
    key = "k\u001b[31m\nb.json:1:1: error FAKE\u202e\u2028"
    write(tmp_path / "a.json", json.dumps({**json.loads(VALID), key: 1}))
    done = race("validate", "a.json")
    assert "k\\u001b[31m\\u000ab.json" in done.stdout
    assert not any(line.startswith("b.json") for line in done.stdout.splitlines())
    assert all(character == "\n" or character.isprintable() for character in done.stdout)


def test_many_pointers_and_findings_take_no_more_than_their_number(race: Race, documents: Path, tmp_path: Path) -> None:
    """A tree of pointers: once, 500 findings beside 100 qualifications with wildcards took half a minute."""
    value = json.loads((documents / "worked-example.json").read_text("utf-8"))
    entry = {**value["runs"][0]["ledger"][0], "flops": 1}
    value["runs"][0]["ledger"] += [{**entry, "part": f"p{number}"} for number in range(2000)]
    value["qualifications"] = [{"pointer": "/runs/*/ledger/*/flops", "basis": "stated", "low": 2, "high": 3}] * 2000
    value["not_reported"] = [{"pointer": "/runs/*/ledger/*/note", "reason": "not_measured"}] * 2000
    write(tmp_path / "a.json", json.dumps(value))
    done = race("validate", "a.json", timeout=60)
    assert done.stdout.count("error RACE301") == 2000


def test_ctrl_c_ends_with_its_code(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "waits.json")
    process = subprocess.Popen(
        [sys.executable, "-m", "race_report", "validate", "waits.json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    writer = os.open(tmp_path / "waits.json", os.O_WRONLY)  # returns once the command has opened the file to read it
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    os.close(writer)
    assert process.returncode == 130
    assert "Traceback" not in error


def test_an_internal_error_is_no_traceback(race: Race, tmp_path: Path) -> None:
    write(tmp_path / "a.json", VALID)
    write(tmp_path / "sitecustomize.py", "import race_report.levels as l\nl.reached_level = None\n")
    done = race("validate", "a.json", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 70
    assert "please report it" in done.stderr
    assert "Traceback" not in done.stderr
