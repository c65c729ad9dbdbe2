"""Runs as users start them: as a script, on two processes, killed and resumed, without a network."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from race_report.trace import read_trace
from race_report.validation import validate_file

HERE = Path(__file__).parent
SCRIPT = str(HERE / "train.py")
SOAK = "RACE_SOAK" in os.environ
INSTANTS = range(10 if SOAK else 3)
STEPS = 10

WITHOUT_NETWORK = """
import socket, sys, runpy
def refuse(*_, **__):
    raise OSError("no network here")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(HERE.parent.parent)}


def run(command: list[str]) -> None:
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


def report_of(folder: Path) -> dict[str, Any]:
    path = folder / "race" / "report.json"
    result = validate_file(str(path))
    assert not [finding.message for finding in result.findings]
    assert result.level is not None
    assert result.level.number == 3
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return report


def ledger_of(folder: Path, *, executed: bool = True, redone: bool = False) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Give the entries of a run by what they are for, time left out."""
    beside = {"cpu_seconds"} | (set() if executed else {"executed_flops", "extra_tokens"})
    names = ("component", "phase", "model", "operation")
    return {
        tuple(entry.get(name) for name in names): {
            key: value for key, value in entry.items() if key not in beside | {"part"}
        }
        for entry in report_of(folder)["runs"][0]["ledger"]
        if ("part" in entry) == redone
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the script once, undisturbed and with sockets refused."""
    folder = tmp_path_factory.mktemp("run") / "whole"
    run([sys.executable, "-c", WITHOUT_NETWORK, SCRIPT, str(folder), "4"])
    return folder


def test_a_script_with_one_line_more_gives_a_report_of_level_three(whole: Path) -> None:
    (found,) = report_of(whole)["runs"]
    assert found["coverage"] == {
        "first_step": 0,
        "last_step": STEPS - 1,
        "complete": True,
        "step_unit": "optimizer_step",
    }
    assert found["algorithm"]["group_size"] == 4
    assert found["software"].keys() >= {"torch", "transformers", "trl", "peft"}
    assert found["results"][0]["step"] == STEPS


def test_two_processes_count_what_one_counts(whole: Path, tmp_path: Path) -> None:
    two = tmp_path / "two"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    run([*launcher, SCRIPT, str(two), "2"])
    assert len(list((two / "race").glob("journal-*.jsonl"))) == 2
    assert ledger_of(two, executed=False) == ledger_of(whole, executed=False)
    alone = ledger_of(whole)
    for key, entry in ledger_of(two).items():
        if entry.get("executed_flops"):  # each process pads to its own longest sequence only
            positions = [one["tokens"] + one["extra_tokens"] for one in (entry, alone[key])]
            assert positions[0] <= positions[1]
            ratio = entry["executed_flops"] / alone[key]["executed_flops"]
            assert ratio == pytest.approx(positions[0] / positions[1], abs=0.04)  # padding attends too
            assert ratio >= 0.6, "padding is at most 40 % of what one process runs"


@pytest.mark.parametrize("seed", INSTANTS)
def test_a_run_that_is_killed_and_resumed_loses_nothing(whole: Path, tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "killed"
    journal = folder / "race" / "journal-0.jsonl"
    records = random.Random(seed).randrange(14, 50)  # noqa: S311 - an instant, not a secret
    process = subprocess.Popen(
        [sys.executable, SCRIPT, str(folder), "4"],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < records):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = len(read_trace(str(journal)).records)
    run([sys.executable, "-m", "race_report.integrations.emit", str(folder / "race")])
    assert report_of(folder)["runs"][0]["coverage"]["complete"] is False
    run([sys.executable, SCRIPT, str(folder), "4", "resume"])
    assert ledger_of(folder) == ledger_of(whole)
    redone = ledger_of(folder, redone=True)
    trace = read_trace(str(folder / "race" / "trace.jsonl"))
    assert len(trace.records) > before
    last = max(record.step or 0 for record in trace.records if record.attempt == 0)
    first = min(record.step or 0 for record in trace.records if record.attempt == 1)
    assert bool(redone) == (first <= last)
