"""Level 3: the trace beside a report is the one it names, and its sums are the ledger, to the integer."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from race_report.trace.record import line_of
from race_report.validation import validate_bytes, validate_file

if TYPE_CHECKING:
    from collections.abc import Callable

    Race = Callable[..., subprocess.CompletedProcess[str]]

EXAMPLE = Path(__file__).parent / "conformance" / "1.0" / "documents" / "worked-example.json"
NAMES = ("component", "phase", "model", "operation", "stage", "part")
COUNTS = ("sequences", "tokens", "attention_pairs", "logit_rows", "adapter_tokens", "calls", "executed_flops")


def records_of(ledger: list[dict[str, Any]], pieces: int = 3) -> list[dict[str, Any]]:
    """Cut every entry into the records of some steps of two workers."""
    records = []
    for entry in ledger:
        for step in range(pieces):
            share = {
                key: entry[key] // pieces + (entry[key] % pieces if step == 0 else 0) for key in COUNTS if key in entry
            }
            names = {key: entry[key] for key in NAMES if key in entry}
            records.append({"worker": f"rank-{step % 2}", "attempt": 0, "step": step, **names, **share})
    return records


def write_trace(path: Path, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Write records as a trace, and give what a report says of it."""
    numbers: dict[str, int] = {}
    lines = []
    for record in records:
        number = numbers[record["worker"]] = numbers.get(record["worker"], -1) + 1
        lines.append(line_of({"sequence_number": number, **record}))
    data = b"".join(lines)
    path.write_bytes(data)
    return {
        "path": path.name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "records": len(lines),
        "bytes": len(data),
    }


@pytest.fixture
def replayable(example: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    """The worked example with a trace beside it that proves it."""
    run = example["runs"][0]
    run["trace"] = write_trace(tmp_path / "trace.jsonl", records_of(run["ledger"]))
    return example


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[dict[str, Any]], str]:
    def save(document: dict[str, Any]) -> str:
        (tmp_path / "report.json").write_text(json.dumps(document), "utf-8")
        return str(tmp_path / "report.json")

    return save


def test_a_trace_whose_sums_are_the_ledger_gives_level_three(replayable: dict[str, Any], saved: Any) -> None:
    result = validate_file(saved(replayable))
    assert result.findings == ()
    assert result.level is not None
    assert (result.level.number, result.level.name, result.level.lacking) == (3, "Replayable", ())


def test_a_report_in_another_folder_finds_its_trace_from_there(
    replayable: dict[str, Any], tmp_path: Path, race: Race
) -> None:
    (tmp_path / "results" / "traces").mkdir(parents=True)
    (tmp_path / "trace.jsonl").rename(tmp_path / "results" / "traces" / "trace.jsonl")
    replayable["runs"][0]["trace"]["path"] = "traces/trace.jsonl"
    (tmp_path / "results" / "report.json").write_text(json.dumps(replayable), "utf-8")
    assert race("validate", "--require-level", "3", "results/report.json").returncode == 0
    assert race("validate", "--require-level", "3", "report.json", cwd=tmp_path / "results").returncode == 0


def test_from_standard_input_or_memory_it_is_level_two_with_a_word(
    replayable: dict[str, Any], saved: Any, race: Race
) -> None:
    text = Path(saved(replayable)).read_text("utf-8")
    done = race("validate", "-", input=text)
    assert (done.returncode, "level 2" in done.stdout) == (0, True)
    assert "looked for beside a report that is a file" in done.stdout
    result = validate_bytes(text.encode(), "report.json")
    assert result.level is not None
    assert (result.level.number, result.findings) == (2, ())


def findings(path: str) -> list[tuple[str, str]]:
    return [(finding.code, finding.pointer) for finding in validate_file(path).findings]


def level(path: str) -> int:
    reached = validate_file(path).level
    assert reached is not None
    return reached.number


@pytest.mark.parametrize("count", ["sequences", "tokens", "attention_pairs", "logit_rows"])
@pytest.mark.parametrize("by", [1, -1])
def test_a_count_that_is_off_by_one_is_an_error(replayable: dict[str, Any], saved: Any, count: str, by: int) -> None:
    run = replayable["runs"][0]
    run["ledger"][1][count] += by
    for entry in run["ledger"]:
        entry.pop("flops")
    run.pop("totals")
    replayable["not_reported"].append({"pointer": "/runs/main/totals", "reason": "not_measured"})
    assert ("RACE906", f"/runs/0/ledger/1/{count}") in findings(saved(replayable))
    assert level(saved(replayable)) == 0


def test_a_digest_a_size_or_a_number_of_records_that_differs_is_an_error(
    replayable: dict[str, Any], saved: Any
) -> None:
    trace = replayable["runs"][0]["trace"]
    right = dict(trace)
    for key, wrong in (("sha256", "0" * 64), ("bytes", trace["bytes"] + 1), ("records", 1)):
        trace.update({**right, key: wrong})
        assert findings(saved(replayable)) == [("RACE902", f"/runs/0/trace/{key}")]
        assert level(saved(replayable)) == 0
    trace.clear()
    trace.update({"path": right["path"], "sha256": right["sha256"]})
    assert level(saved(replayable)) == 3


def test_a_trace_that_is_not_there_is_a_warning_and_level_two(
    replayable: dict[str, Any], saved: Any, tmp_path: Path
) -> None:
    (tmp_path / "trace.jsonl").unlink()
    assert findings(saved(replayable)) == [("RACE901", "/runs/0/trace/path")]
    assert level(saved(replayable)) == 2
    (tmp_path / "trace.jsonl").mkdir()
    assert findings(saved(replayable)) == [("RACE901", "/runs/0/trace/path")]


def test_findings_of_a_trace_have_its_path_line_and_column(
    replayable: dict[str, Any], saved: Any, tmp_path: Path, race: Race
) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"decode"', b'"decide"', 1))
    saved(replayable)
    done = race("validate", "report.json")
    line = next(line for line in done.stdout.splitlines() if "RACE903" in line)
    number = path.read_text("utf-8").splitlines().index(next(x for x in path.read_text().splitlines() if "decide" in x))
    assert line.startswith(f"trace.jsonl:{number + 1}:")
    data = json.loads(race("validate", "--format", "json", "report.json").stdout)
    of_trace = [finding for finding in data["files"][0]["findings"] if finding["code"] == "RACE903"]
    assert [(finding["path"], finding["line"]) for finding in of_trace] == [("trace.jsonl", number + 1)]


def test_a_torn_line_is_a_warning_and_proves_what_is_before_it(
    replayable: dict[str, Any], saved: Any, tmp_path: Path
) -> None:
    with (tmp_path / "trace.jsonl").open("ab") as file:
        file.write(b'{"worker"')
    data = (tmp_path / "trace.jsonl").read_bytes()
    trace = replayable["runs"][0]["trace"]
    trace.update({"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)})
    assert [code for code, _ in findings(saved(replayable))] == ["RACE905"]
    assert level(saved(replayable)) == 3


def test_rounded_flops_which_level_two_allows_are_not_level_three(replayable: dict[str, Any], saved: Any) -> None:
    run = replayable["runs"][0]
    exact = run["ledger"][0]["flops"]
    run["ledger"][0]["flops"] = float(f"{exact:.4g}")
    del run["totals"]
    replayable["not_reported"].append({"pointer": "/runs/main/totals", "reason": "not_measured"})
    result = validate_file(saved(replayable))
    assert [finding.code for finding in result.findings] == ["RACE302"]
    assert result.level is not None
    assert result.level.number == 2
    assert "the exact flops of search prefill policy forward" in result.level.lacking[0]
    run["ledger"][0]["flops"] = exact + 1
    assert level(saved(replayable)) == 2
    run["ledger"][0]["flops"] = float(exact)  # the nearest double is as near as this number can be
    assert level(saved(replayable)) == 3
    del run["ledger"][0]["flops"]
    assert level(saved(replayable)) == 3


def test_rounded_totals_are_not_level_three_either(replayable: dict[str, Any], saved: Any) -> None:
    totals = replayable["runs"][0]["totals"]
    totals["learning_flops"] = 7.2116e17
    assert level(saved(replayable)) == 2
    assert [code for code, _ in findings(saved(replayable))] == ["RACE304"]


def test_an_entry_without_records_and_records_without_an_entry_are_errors(
    replayable: dict[str, Any], saved: Any
) -> None:
    ledger = replayable["runs"][0]["ledger"]
    ledger[0]["part"] = "pilot"
    result = validate_file(saved(replayable))
    found = {finding.pointer: finding.message for finding in result.findings if finding.code == "RACE906"}
    assert found == {
        "/runs/0/ledger/0": "the trace has no record of search prefill policy forward pilot",
        "/runs/0/ledger": "the ledger has no entry of search prefill policy forward, and the trace 3 records of it",
    }


def test_a_pipe_is_no_trace_and_is_not_waited_for(replayable: dict[str, Any], saved: Any, tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").unlink()
    os.mkfifo(tmp_path / "trace.jsonl")
    assert findings(saved(replayable)) == [("RACE901", "/runs/0/trace/path")]


def test_a_line_of_many_megabytes_is_one_finding_and_the_digest_is_of_all_bytes(
    replayable: dict[str, Any], saved: Any, tmp_path: Path
) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"x" * (1 << 22) + b"\n" + path.read_bytes() + b"y" * (1 << 17))
    data = path.read_bytes()
    trace = replayable["runs"][0]["trace"]
    trace.update({"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)})
    del trace["records"]
    lines = [finding.span.line for finding in validate_file(saved(replayable)).findings]
    assert lines == [1, 17]


def test_evaluation_and_preparation_may_not_have_been_metered(replayable: dict[str, Any], saved: Any) -> None:
    ledger = replayable["runs"][0]["ledger"]
    ledger.append({"component": "evaluation", "flops": 1e18, "method": "stated", "basis": "estimated"})
    ledger.append({"component": "feedback", "phase": "reward", "part": "format"})  # a rule, of which nothing is counted
    assert level(saved(replayable)) == 3


def test_evaluation_that_was_metered_must_agree(replayable: dict[str, Any], saved: Any, tmp_path: Path) -> None:
    run = replayable["runs"][0]
    entry = {**run["ledger"][1], "component": "evaluation", "phase": "evaluation"}
    run["ledger"].append(entry)
    run["trace"] = write_trace(tmp_path / "trace.jsonl", records_of(run["ledger"]))
    assert level(saved(replayable)) == 3
    entry["sequences"] += 1
    assert ("RACE906", "/runs/0/ledger/5/sequences") in findings(saved(replayable))


def redone(document: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """Have the last step of the trace done twice, of which the ledger knows nothing yet."""
    run = document["runs"][0]
    records = records_of(run["ledger"])
    again = [{**record, "attempt": 1} for record in records if record["step"] == 2]
    run["trace"] = write_trace(path, [*records, *again])
    return again


def test_steps_that_were_done_again_are_entries_of_their_own(
    replayable: dict[str, Any], saved: Any, tmp_path: Path
) -> None:
    again = redone(replayable, tmp_path / "trace.jsonl")
    run = replayable["runs"][0]
    assert {pointer for code, pointer in findings(saved(replayable)) if code == "RACE906"} == {"/runs/0/ledger"}
    for record in again:
        counts = {key: record[key] for key in (*NAMES, *COUNTS) if key in record}
        run["ledger"].append({**counts, "part": "redone", "basis": "measured"})
    del run["totals"]
    replayable["not_reported"].append({"pointer": "/runs/main/totals", "reason": "not_measured"})
    result = validate_file(saved(replayable))
    assert {finding.code for finding in result.findings} <= {"RACE210"}
    assert level(saved(replayable)) == 3


# The command.


def test_replay_shows_every_figure_and_that_it_agrees(replayable: dict[str, Any], saved: Any, race: Race) -> None:
    saved(replayable)
    done = race("replay", "report.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "/runs/0/ledger/3 learning update policy update (3 records)\n" in done.stdout
    assert re.search(r"^    tokens +78,643,200  agrees$", done.stdout, re.MULTILINE)
    assert re.search(r"^    flops +485,412,586,704,076,800  agrees$", done.stdout, re.MULTILINE)
    assert re.search(r"^    total_flops +2,041,007,335,224,115,200  agrees$", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("replayed: 5 entries, 30 figures agree to the integer\n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tokens": 5 * 26214400}, "tokens .* differs, the report says 131,072,000: ratio 5, a whole number"),
        (
            {"tokens": 8 * 26214400},
            r"209,715,200: ratio 8, 8 is the group size and .*: are prompts taken for rollouts or per GPU\?",
        ),
        ({"logit_rows": 102401}, r"logit_rows .*102,400  differs, the report says 102,401: 1 more\n"),
        ({"flops": 69319282340659200 // 2}, "flops .* differs, the report says .*: ratio 0.5, multiply-adds"),
        ({"executed_flops": 5}, "executed_flops .*nothing  differs, the report says 5"),
    ],
)
def test_a_figure_that_differs_is_named_with_both_figures_ratio_and_cause(
    replayable: dict[str, Any], saved: Any, race: Race, change: dict[str, Any], words: str
) -> None:
    replayable["runs"][0]["ledger"][0].update(change)
    saved(replayable)
    done = race("replay", "report.json")
    assert done.returncode == 1
    assert re.search(words, done.stdout), done.stdout
    assert "not replayed: " in done.stdout


def test_causes_that_only_a_trace_knows_are_named(
    replayable: dict[str, Any], saved: Any, race: Race, tmp_path: Path
) -> None:
    again = redone(replayable, tmp_path / "trace.jsonl")
    run = replayable["runs"][0]
    run["ledger"][0]["tokens"] += again[0]["tokens"]
    saved(replayable)
    assert "the redone steps are in this entry: enter them with part: redone?" in race("replay", "report.json").stdout
    run["ledger"][1]["tokens"] //= 2
    saved(replayable)
    assert "the 2 workers: is one of them of a single worker?" in race("replay", "report.json").stdout


RUN_KEYS = {"run", "pointer", "agrees", "trace", "lines", "findings"}


def test_programs_get_the_same_keys_whatever_happened(
    replayable: dict[str, Any], saved: Any, race: Race, tmp_path: Path
) -> None:
    saved(replayable)
    good = json.loads(race("replay", "--format", "json", "report.json").stdout)
    assert good["exit_code"] == 0
    assert good["level"] == 3
    (run,) = good["runs"]
    assert (set(run), run["agrees"], run["trace"]["workers"]) == (RUN_KEYS, True, ["rank-0", "rank-1"])
    assert {figure["name"]: figure["trace"] for figure in run["lines"][0]["figures"]}["tokens"] == 26214400
    (tmp_path / "trace.jsonl").unlink()
    done = race("replay", "--format", "json", "report.json")
    missing = json.loads(done.stdout)
    assert (done.returncode, missing["exit_code"], set(missing)) == (3, 3, set(good))
    assert set(missing["runs"][0]) == RUN_KEYS
    assert set(missing["runs"][0]["trace"]) == set(run["trace"])
    (tmp_path / "report.json").write_text("{", "utf-8")
    done = race("replay", "--format", "json", "report.json")
    assert (done.returncode, set(json.loads(done.stdout))) == (3, set(good))


def test_a_trace_that_lies_elsewhere_is_named(
    replayable: dict[str, Any], saved: Any, race: Race, tmp_path: Path
) -> None:
    (tmp_path / "trace.jsonl").rename(tmp_path / "archive.jsonl")
    saved(replayable)
    assert race("replay", "report.json").returncode == 3
    assert race("replay", "report.json", "archive.jsonl").returncode == 0
    replayable["runs"].append({**replayable["runs"][0], "id": "second"})
    saved(replayable)
    done = race("replay", "report.json", "archive.jsonl")
    assert (done.returncode, "say with --run" in done.stderr) == (2, True)
    assert race("replay", "report.json", "archive.jsonl", "--run", "second").returncode == 0
    done = race("replay", "report.json", "archive.jsonl", "--run", "third")
    assert (done.returncode, 'has no run "third"' in done.stderr) == (2, True)
    for run in replayable["runs"]:
        del run["trace"]
    saved(replayable)
    done = race("replay", "report.json")
    assert (done.returncode, "has a `trace`" in done.stderr) == (2, True)
    assert race("replay", "report.json", "archive.jsonl", "--run", "main").returncode == 0


def test_what_is_no_report_is_said_as_validate_says_it(race: Race, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"race_version": "2.0"}', "utf-8")
    (tmp_path / "b.json").write_text('{"race_version": "1.0"}', "utf-8")
    for name, code, words in (("a.json", 4, "RACE021"), ("b.json", 1, "RACE036"), ("none.json", 3, "RACE001")):
        done = race("replay", name)
        assert (done.returncode, words in done.stdout) == (code, True)


def test_journals_are_merged_by_the_command(race: Race, tmp_path: Path) -> None:
    entry = {"component": "search", "phase": "tool", "attempt": 0, "calls": 1}
    write_trace(tmp_path / "b.jsonl", [{"worker": "b", **entry}])
    write_trace(tmp_path / "a.jsonl", [{"worker": "a", **entry}, {"worker": "a", **entry}])
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b"{")
    done = race("merge", "b.jsonl", "a.jsonl", "-o", "trace.jsonl")
    assert (done.returncode, done.stdout.startswith("trace.jsonl: 3 records, sha256 ")) == (0, True)
    assert "a.jsonl:3:1: the last line has no end" in done.stderr
    digest = hashlib.sha256((tmp_path / "trace.jsonl").read_bytes()).hexdigest()
    assert done.stdout.split()[-1] == digest
    assert race("merge", "a.jsonl", "b.jsonl", "-o", "trace.jsonl").returncode == 2
    done = race("merge", "a.jsonl", "b.jsonl", "-o", "trace.jsonl", "--force")
    assert done.stdout.split()[-1] == digest
    assert race("merge", "a.jsonl", "-o", "a.jsonl", "--force").returncode == 2
    assert race("merge", "none.jsonl", "-o", "c.jsonl").returncode == 3
    write_trace(tmp_path / "other.jsonl", [{"worker": "a", **entry, "calls": 2}])
    done = race("merge", "a.jsonl", "other.jsonl", "-o", "c.jsonl")
    assert (done.returncode, "nothing was written" in done.stderr) == (1, True)
    assert not (tmp_path / "c.jsonl").exists()
    assert race("merge", "a.jsonl", "-o", "no/folder.jsonl").returncode == 3


def test_a_report_without_a_trace_reads_and_loads_nothing_of_it(documents: Path, root: Path) -> None:
    code = (
        "import sys\nfrom race_report.__main__ import main\ntry: main()\n"
        "finally: print(*[name for name in sys.modules if name.startswith('race_report')], file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "validate", str(documents / "worked-example.json")]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    loaded = [name for name in done.stderr.split() if "trace" in name or "replay" in name or "proof" in name]
    assert loaded == ["race_report.rules.trace"]  # the pages of its rules


@given(st.integers(1, 5), st.integers(0, 4), st.data())
@settings(max_examples=30)
def test_however_the_ledger_is_cut_into_records_it_is_replayed(
    tmp_path_factory: pytest.TempPathFactory, pieces: int, redo: int, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    document = json.loads(EXAMPLE.read_text("utf-8"))
    run = document["runs"][0]
    records = records_of(run["ledger"], pieces)
    again = [{**record, "attempt": 1} for record in records if record["step"] == redo]
    shuffled = data.draw(st.permutations(records))
    run["trace"] = write_trace(folder / "trace.jsonl", [*shuffled, *again])
    for record in again:
        run["ledger"].append({**{key: record[key] for key in (*NAMES, *COUNTS) if key in record}, "part": "redone"})
        run["ledger"][-1]["basis"] = "measured"
    del run["totals"]
    (folder / "report.json").write_text(json.dumps(document), "utf-8")
    assert level(str(folder / "report.json")) == 3
