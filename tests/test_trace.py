"""A trace is what was written: whatever is killed, interleaved, torn or changed."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from race_report.document.trace import TraceRecord
from race_report.schema_export import trace_schema_text
from race_report.standard import record_schema
from race_report.trace import Journal, Key, merge, read_trace, sums, write_lines
from race_report.trace.record import LONGEST, Malformed, line_of, record_of

if TYPE_CHECKING:
    from pathlib import Path

SOAK = int(os.environ.get("RACE_SOAK", "1"))
"""How many times as many kills and journals as usual: `make soak`."""

PASS: dict[str, Any] = {"component": "search", "phase": "decode", "model": "policy", "operation": "forward"}
DECODE = Key("search", "decode", "policy", "forward")


def record(number: int, worker: str = "rank-0", **values: Any) -> dict[str, Any]:
    return {"worker": worker, "sequence_number": number, "attempt": 0, **PASS, **values}


def file_of(path: Path, *records: dict[str, Any]) -> Path:
    path.write_bytes(b"".join(map(line_of, records)))
    return path


def rules_of(path: Path) -> list[tuple[str, int]]:
    return [(fault.rule, fault.span.line if fault.span else 0) for fault in read_trace(str(path)).faults]


# One line.


def test_a_line_gives_the_record_that_it_was_made_of() -> None:
    value = record(0, tokens=2**53, attention_pairs=10**25, cpu_seconds=0.1, part="ré\n")
    line = line_of(value)
    assert line.endswith(b'"}\n')
    assert line.isascii()
    read = record_of(line[:-1])
    assert {key: read[key] for key in value} == value


def test_the_checksum_is_that_of_zlib_and_gzip() -> None:
    """The figure that the catalogue of CRC algorithms gives as the check of CRC-32, of the bytes 123456789."""
    line = line_of(record(0))
    body, _, check = line.rpartition(b',"crc32":')
    expected = subprocess.run(["gzip", "-c"], input=body, capture_output=True, check=True).stdout[-8:-4]
    assert int(check.strip()[1:9], 16) == int.from_bytes(expected, "little")


@pytest.mark.parametrize(
    ("line", "words", "column"),
    [
        (b"", "the line is empty", 1),
        (b"[]", "an object with keys", 1),
        (b'{"worker":"a","sequence_number":0,"attempt":0,"component":"search"', "ends too early", 67),
        (b'{"worker":"a","sequence_number":0,"attempt":0}', 'needs "component"', 1),
        (b'{"worker":"a","sequence_number":0,"attempt":0,"component":"serach"}', "none of the words for component", 59),
        (b'{"worker":"a","sequence_number":0,"attempt":0,"component":"search","tokens":1}', 'needs "model"', 1),
        (b'{"worker":"a","sequence_number":0,"attempt":0,"component":"search","tokns":1}', '"tokns" is no key', 68),
        (b'{"worker":"a","sequence_number":-1,"attempt":0,"component":"search"}', "-1 cannot stand for", 33),
        (b'{"worker":"a","worker":"b","sequence_number":0,"attempt":0,"component":"search"}', "stands twice", 15),
        (b'{"worker":"a","sequence_number":0,"attempt":0,"component":"search","calls":NaN}', "NaN", 76),
        (b'{"worker":"\xff","sequence_number":0,"attempt":0,"component":"search"}', "0xFF is not UTF-8", 12),
        (b'{"worker":"a","sequence_number":0,"attempt":0,"component":"search","crc32":"00000000"}', "checksum", 68),
        (b'{"worker":"a","sequence_number":0,"attempt":0,"component":"search","x-a/b":1,"y/z":1}', '"y/z"', 78),
        (
            b'{"worker":"a","sequence_number":0,"attempt":0,"component":"search","phase":"update"}',
            "the words for phase",
            76,
        ),
        (b" " * LONGEST, "more than the 65,536", 1),
    ],
)
def test_a_line_that_is_no_record_is_told_with_its_column(line: bytes, words: str, column: int) -> None:
    with pytest.raises(Malformed) as caught:
        record_of(line)
    assert words in caught.value.message
    assert caught.value.column == column


def test_the_committed_schema_of_records_is_the_one_that_the_class_gives(root: Path) -> None:
    text = (root / "schema" / "1.0" / "trace-record.schema.json").read_text("utf-8")
    assert text == trace_schema_text(), "run: make docs"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


VALUES = st.sampled_from(
    [
        0,
        1,
        5.0,
        0.5,
        -1,
        2**53,
        2**53 + 1,
        1e41,
        "a",
        "rank-0",
        "search",
        "update",
        "decode",
        "deadbeef",
        "",
        True,
        [],
        3,
    ]
)


@given(st.dictionaries(st.sampled_from([*record_schema()["properties"], "x-free", "other"]), VALUES, max_size=6))
@settings(max_examples=400 * SOAK)
def test_schema_and_class_of_a_record_agree(changes: dict[str, Any]) -> None:
    value = {**record(0, tokens=1), **changes}
    by_schema = jsonschema.Draft202012Validator(record_schema()).is_valid(value)
    try:
        TraceRecord.model_validate(value)
        by_class = True
    except ValidationError:
        by_class = False
    try:
        record_of(json.dumps(value).encode())
        by_reader = True
    except Malformed as malformed:
        by_reader = "checksum" in malformed.message and by_schema
    assert by_schema == by_class == by_reader


# Whatever is changed.


def test_every_byte_that_is_changed_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = file_of(tmp_path / "a.jsonl", *(record(number, tokens=number, step=number) for number in range(3)))
    whole = path.read_bytes()
    dice = random.Random(1)  # noqa: S311
    for at, byte in enumerate(whole):
        changed = bytearray(whole)
        changed[at] = dice.choice([other for other in (byte ^ 1, byte ^ 32, 10, 0, 255, 48) if other != byte])
        path.write_bytes(changed)
        line = whole[:at].count(b"\n") + 1
        assert rules_of(path)[0] == ("record-malformed", line), bytes(changed[max(0, at - 9) : at + 9])


def test_a_last_line_that_is_torn_anywhere_is_dropped_with_a_word(tmp_path: Path) -> None:
    path = file_of(tmp_path / "a.jsonl", *(record(number, tokens=10**number) for number in range(3)))
    whole = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        trace = read_trace(str(path))
        kept = sum(end <= cut for end in ends)
        assert [entry.amounts["tokens"] for entry in trace.records] == [10**number for number in range(kept)]
        is_torn = cut > 0 and cut not in ends
        assert [fault.rule for fault in trace.faults] == ["record-torn"] * is_torn
        assert trace.torn == cut - max([0, *(end for end in ends if end <= cut)])


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([0, 2], "record 2 .* and 1 before it is missing"),
        ([1], "and 0 before it is missing"),
        ([0, 4], "1 to 3 before it is missing"),
        ([0, 1, 1], "stands here again"),
        ([0, 1, 0, 2], "stands here again"),
    ],
)
def test_a_record_that_is_missing_or_stands_twice_is_an_error(tmp_path: Path, numbers: list[int], words: str) -> None:
    path = file_of(tmp_path / "a.jsonl", *map(record, numbers))
    (fault,) = read_trace(str(path)).faults
    assert fault.rule == "record-out-of-sequence"
    assert re.search(words, fault.message)


def test_an_attempt_never_goes_back(tmp_path: Path) -> None:
    path = file_of(tmp_path / "a.jsonl", record(0, attempt=1), record(1, attempt=0))
    assert rules_of(path) == [("record-out-of-sequence", 2)]


# Sums.


class Did(NamedTuple):
    """One piece of work of a script."""

    step: int | None
    part: str | None
    tokens: int
    seconds: float


did = st.builds(
    Did,
    st.none() | st.integers(0, 3),
    st.sampled_from([None, "pilot", "redone"]),
    st.integers(0, 2**53),
    st.floats(0, 1e6),
)
scripts = st.dictionaries(
    st.sampled_from(["rank-0", "rank-1", "judge"]), st.lists(st.lists(did, max_size=4), max_size=4), max_size=3
)
"""What workers did: by name, attempt after attempt."""


def oracle(script: dict[str, list[list[Did]]]) -> tuple[Counter[str | None], Counter[str | None]]:
    """Add a script up by part, tokens and records, without the code under test."""
    tokens: Counter[str | None] = Counter()
    records: Counter[str | None] = Counter()
    for attempts in script.values():
        for at, attempt in enumerate(attempts):
            later = {work.step for after in attempts[at + 1 :] for work in after}
            for work in attempt:
                part = work.part
                if work.step is not None and work.step in later and part != "redone":
                    part = "redone" if part is None else f"redone.{part}"
                tokens[part] += work.tokens
                records[part] += 1
    return tokens, records


def lines_of(script: dict[str, list[list[Did]]]) -> dict[str, list[bytes]]:
    lines: dict[str, list[bytes]] = {}
    for worker, attempts in script.items():
        flat = [(attempt, work) for attempt, works in enumerate(attempts) for work in works]
        lines[worker] = [
            line_of(
                {
                    **record(number, worker, attempt=attempt, tokens=work.tokens, cpu_seconds=work.seconds),
                    **{key: value for key, value in (("step", work.step), ("part", work.part)) if value is not None},
                }
            )
            for number, (attempt, work) in enumerate(flat)
        ]
    return lines


def interleaved(lines: dict[str, list[bytes]], dice: random.Random) -> list[bytes]:
    queues = {worker: list(of_worker) for worker, of_worker in lines.items() if of_worker}
    mixed = []
    while queues:
        worker = dice.choice(sorted(queues))
        mixed.append(queues[worker].pop(0))
        if not queues[worker]:
            del queues[worker]
    return mixed


def found(path: Path) -> tuple[dict[str | None, float], dict[str | None, int]]:
    trace = read_trace(str(path))
    assert [fault.rule for fault in trace.faults if fault.rule != "record-torn"] == []
    by_key = sums(trace.records)
    tokens = {key.part: value.amounts["tokens"] for key, value in by_key.items()}
    return tokens, {key.part: value.records for key, value in by_key.items()}


@given(scripts, st.randoms(use_true_random=False))
@settings(max_examples=300 * SOAK)
def test_any_interleaving_of_workers_and_any_split_into_attempts_gives_the_same_sums(
    tmp_path_factory: pytest.TempPathFactory, script: dict[str, list[list[Did]]], dice: random.Random
) -> None:
    path = tmp_path_factory.getbasetemp() / "interleaved.jsonl"
    path.write_bytes(b"".join(interleaved(lines_of(script), dice)))
    assert found(path) == oracle(script)


@given(scripts.filter(lambda script: any(map(any, script.values()))), st.data())
@settings(max_examples=200 * SOAK)
def test_a_journal_cut_anywhere_proves_the_records_before_the_cut(
    tmp_path_factory: pytest.TempPathFactory, script: dict[str, list[list[Did]]], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    worker = data.draw(st.sampled_from(sorted(worker for worker, attempts in script.items() if any(attempts))))
    lines = lines_of(script)[worker]
    cut = data.draw(st.integers(0, sum(map(len, lines))))
    path.write_bytes(b"".join(lines)[:cut])
    left = sum(sum(map(len, lines[: at + 1])) <= cut for at in range(len(lines)))
    kept: list[list[Did]] = []
    for attempt in script[worker]:
        kept.append(attempt[:left])
        left -= len(kept[-1])
    assert found(path) == oracle({worker: kept})


@given(scripts, st.randoms(use_true_random=False))
@settings(max_examples=100 * SOAK)
def test_merging_gives_the_same_bytes_whatever_the_order_of_the_files(
    tmp_path_factory: pytest.TempPathFactory, script: dict[str, list[list[Did]]], dice: random.Random
) -> None:
    folder = tmp_path_factory.getbasetemp()
    paths = []
    for worker, lines in lines_of(script).items():
        paths.append(folder / f"{worker}.jsonl")
        paths[-1].write_bytes(b"".join(lines) + b'{"worker"' * dice.randrange(2))
    merged = merge(paths)
    assert merged.is_whole
    dice.shuffle(paths)
    assert merge(paths).lines == merged.lines
    write_lines(merged.lines, folder / "merged.jsonl")
    assert merge([folder / "merged.jsonl", *paths]).lines == merged.lines
    assert read_trace(str(folder / "merged.jsonl")).sha256 == merged.sha256
    assert found(folder / "merged.jsonl") == oracle(script)


@given(st.lists(st.floats(0, 1e15) | st.integers(0, 2**60)), st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_the_order(numbers: list[float], dice: random.Random) -> None:
    from race_report.trace.sums import total

    first = total(numbers)
    dice.shuffle(numbers)
    assert total(numbers) == first


@pytest.mark.parametrize(
    ("bases", "weakest"),
    [
        ([None, None], "measured"),
        ([None, "derived"], "derived"),
        (["estimated", "derived"], "estimated"),
        (["estimated", "lower_bound"], "lower_bound"),
        (["upper_bound", "lower_bound"], "estimated"),
    ],
)
def test_the_basis_of_a_sum_is_the_weakest(tmp_path: Path, bases: list[str | None], weakest: str) -> None:
    values = [record(at, tokens=1, **({"basis": basis} if basis else {})) for at, basis in enumerate(bases)]
    assert sums(read_trace(str(file_of(tmp_path / "a.jsonl", *values))).records)[DECODE].basis == weakest


# Merging.


def test_two_records_of_one_key_are_refused(tmp_path: Path) -> None:
    one = file_of(tmp_path / "one.jsonl", record(0, tokens=1))
    other = file_of(tmp_path / "other.jsonl", record(0, tokens=2))
    (fault,) = merge([one, other]).faults
    assert (fault.rule, fault.path) == ("record-out-of-sequence", str(other))
    assert "is another one in" in fault.message


def test_a_journal_may_come_in_pieces_and_none_may_be_missing(tmp_path: Path) -> None:
    pieces = [file_of(tmp_path / f"{at}.jsonl", record(2 * at), record(2 * at + 1)) for at in range(3)]
    assert merge(reversed(pieces)).is_whole
    assert len(merge(pieces).lines) == 6
    (fault,) = merge([pieces[0], pieces[2]]).faults
    assert "2 to 3 before it is missing" in fault.message


# The journal.


def test_a_journal_is_continued_and_a_torn_line_is_dropped_with_a_word(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path, worker="rank-0") as journal:
        assert [journal.append(**PASS, tokens=number) for number in range(3)] == [0, 1, 2]
    with path.open("ab") as file:
        file.write(b'{"worker":"rank-0","seq')
    with (
        pytest.warns(RuntimeWarning, match="the last line was torn; its 23 bytes are dropped"),
        Journal(path, worker="rank-0") as journal,
    ):
        assert (journal.attempt, journal.append(**PASS, tokens=3)) == (1, 3)
    trace = read_trace(str(path))
    assert [(entry.attempt, entry.amounts["tokens"]) for entry in trace.records] == [(0, 0), (0, 1), (0, 2), (1, 3)]
    assert trace.faults == []


def test_a_record_is_in_the_file_as_soon_as_it_is_written(tmp_path: Path) -> None:
    with Journal(tmp_path / "a.jsonl") as journal:
        for number in range(3):
            journal.append(**PASS, tokens=number)
            assert len(read_trace(journal.path).records) == number + 1


def test_the_file_is_synced_at_most_once_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    with Journal(tmp_path / "a.jsonl", sync_seconds=0) as journal:
        monkeypatch.setattr(os, "fsync", synced.append)
        for step in (0, 0, 1, 0, 1, 2, 1):
            journal.append(**PASS, step=step)
        assert len(synced) == 2
        journal.append(**PASS)
        assert len(synced) == 2
        journal.sync_seconds = 60
        for step in range(3, 9):
            journal.append(**PASS, step=step)
        assert len(synced) == 2
    assert len(synced) == 3


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"component": "serach"}, "none of the words"),
        ({"component": "search", "tokens": 1}, 'needs "model"'),
        ({**PASS, "tokens": -1}, "-1 cannot stand for tokens"),
        ({**PASS, "tokens": 0.5}, "0.5 cannot stand for tokens"),
        ({**PASS, "executed_flops": float("nan")}, "not JSON compliant"),
        ({**PASS, "part": "x" * LONGEST}, "longer than the"),
        ({**PASS, "colour": 1}, "no key of a record"),
    ],
)
def test_what_is_no_record_is_refused_and_leaves_the_journal_as_it_was(
    tmp_path: Path, values: dict[str, Any], words: str
) -> None:
    with Journal(tmp_path / "a.jsonl") as journal:
        with pytest.raises(ValueError, match=words):
            journal.append(**values)
        assert journal.append(**PASS, tokens=1) == 0
    assert len(read_trace(journal.path).records) == 1


def test_a_journal_is_of_one_worker_and_of_one_process(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path, worker="rank-0") as journal:
        journal.append(**PASS)
        code = f"from race_report.trace import Journal; Journal({str(path)!r}, worker='rank-0')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "another process writes this journal" in done.stderr
        child = os.fork()
        if child == 0:
            try:
                journal.append(**PASS)
            except ValueError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    with pytest.raises(ValueError, match='journal of worker "rank-0", not of "rank-1"'):
        Journal(path, worker="rank-1")
    with pytest.raises(ValueError, match="closed"):
        journal.append(**PASS)
    with pytest.raises(ValueError, match="cannot stand for worker"):
        Journal(tmp_path / "b.jsonl", worker="0")
    with Journal(path, worker="rank-0", attempt=4) as journal:
        journal.append(**PASS)
    with pytest.raises(ValueError, match="attempt 3 cannot follow attempt 4"):
        Journal(path, worker="rank-0", attempt=3)


def test_a_journal_that_was_changed_is_not_continued(tmp_path: Path) -> None:
    path = file_of(tmp_path / "a.jsonl", record(0), record(1))
    path.write_bytes(path.read_bytes().replace(b"decode", b"decide", 1))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"a.jsonl:1:\d+: the checksum"):
        Journal(path, worker="rank-0")
    assert path.read_bytes() == before


def test_a_full_disk_leaves_no_half_of_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(tmp_path / "a.jsonl") as journal:
        journal.append(**PASS, tokens=1)
        write = os.write

        def full(file: int, data: bytes) -> int:
            if len(data) < 20:
                raise OSError(28, "No space left on device")
            return write(file, data[: len(data) - 10])

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            journal.append(**PASS, tokens=2)
        monkeypatch.setattr(os, "write", write)
        assert journal.append(**PASS, tokens=3) == 1
    trace = read_trace(journal.path)
    assert ([entry.amounts["tokens"] for entry in trace.records], trace.faults) == ([1, 3], [])


WRITER = """
import sys, warnings
from race_report.trace import Journal
warnings.simplefilter("ignore")
journal = Journal(sys.argv[1], worker="rank-0")
first, last = int(sys.argv[2]), int(sys.argv[3])
print("open", flush=True)
for step in range(first, last):
    for phase in ("prefill", "decode", "control"):
        journal.append(component="search", phase=phase, model="policy", operation="forward", step=step, tokens=step + 1)
        print(step, phase, flush=True)
"""


@pytest.mark.parametrize("seed", range(4 * SOAK))
def test_a_process_that_is_killed_loses_at_most_the_record_being_written(tmp_path: Path, seed: int) -> None:
    """Killed at random instants and resumed from a checkpoint every five steps, until it is through."""
    dice = random.Random(seed)  # noqa: S311
    path, last, done = tmp_path / "a.jsonl", 40, False
    first, expected, attempts = 0, [], 0
    while not done:
        command = [sys.executable, "-c", WRITER, str(path), str(first), str(last)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            told = [writer.stdout.readline()]
            is_last = attempts == 3
            told += [writer.stdout.readline() for _ in range(last * 3 if is_last else dice.randrange(1, 60))]
            if not is_last:
                time.sleep(dice.random() / 1000)
                writer.send_signal(signal.SIGKILL)
            told += writer.stdout.read().splitlines(keepends=True)
            done = writer.wait() == 0
        told = [line for line in told[1:] if line.endswith("\n")]  # the last word may be cut off too
        trace = read_trace(str(path))
        assert [fault.rule for fault in trace.faults] in ([], ["record-torn"])
        mine = [(entry.step, entry.key.phase) for entry in trace.records if entry.attempt == attempts]
        acknowledged = [(int(line.split()[0]), line.split()[1]) for line in told]
        assert mine[: len(acknowledged)] == acknowledged
        assert len(mine) <= len(acknowledged) + 1
        expected.append(mine)
        attempts += bool(mine)
        whole = [step for step, phase in mine if phase == "control" and step is not None]
        first = max([0, *whole]) // 5 * 5
    tokens: Counter[Key] = Counter()
    for at, mine in enumerate(expected):
        later = {step for after in expected[at + 1 :] for step, _ in after}
        for step, phase in mine:
            assert step is not None
            key = Key("search", phase, "policy", "forward", None, "redone" if step in later else None)
            tokens[key] += step + 1
    by_key = sums(read_trace(str(path)).records)
    assert {key: value.amounts["tokens"] for key, value in by_key.items()} == tokens
    assert {key.part: sum(range(1, last + 1)) for key in tokens if key.part is None} == {None: tokens[DECODE]}
