"""The meter: what a loop did -> a journal -> a report that is replayed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from race_report.counts import Group, count_reward, count_served, count_update
from race_report.meter import Meter, Readings
from race_report.reporting import report_of
from race_report.trace import merge, read_trace, write_lines
from race_report.validation import validate_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOAK = int(os.environ.get("RACE_SOAK", "1"))

BODY, HEAD, WIDTH, ADAPTER = 1000, 70, 12, 30
POLICY: dict[str, Any] = {
    "id": "policy",
    "role": "policy",
    "name": "tiny",
    "trained": "adapter",
    "coefficients": {
        "body_parameters": BODY,
        "head_parameters": HEAD,
        "attention_width": WIDTH,
        "adapter_parameters": ADAPTER,
    },
}
PRM: dict[str, Any] = {
    "id": "prm",
    "role": "process_reward_model",
    "name": "tiny-prm",
    "trained": "none",
    "coefficients": {"body_parameters": 500, "head_parameters": 5, "attention_width": 6},
}
CLOSED: dict[str, Any] = {"id": "judge", "role": "judge", "name": "closed", "trained": "none"}


def counts(tokens: int, **more: int) -> dict[str, Any]:
    return {"tokens": tokens, "attention_pairs": 3 * tokens, "logit_rows": tokens, **more}


RUN = {"hardware": [{"id": "node", "accelerator": "NVIDIA H100 SXM", "count": 1}]}


@pytest.fixture
def meter(tmp_path: Path) -> Iterator[Meter]:
    with Meter(tmp_path / "trace.jsonl", models=[POLICY, PRM, CLOSED]) as made:
        yield made


def saved(meter_report: dict[str, Any], folder: Path) -> str:
    (folder / "report.json").write_text(json.dumps(meter_report), "utf-8")
    return str(folder / "report.json")


def level(path: str) -> int:
    result = validate_file(path)
    assert [finding for finding in result.findings if finding.severity == "error"] == []
    assert result.level is not None
    return result.level.number


def test_a_loop_becomes_a_report_of_level_three(meter: Meter, tmp_path: Path) -> None:
    for step in range(2):
        meter.begin_step(step, policy_version=step)
        meter.generation(model="policy", prompt_tokens=[5, 5], completion_tokens=[3, 4], cached_tokens=[0, 4])
        meter.record("feedback", "reward", model="prm", counts=count_reward([8, 9]), executed_flops=9999)
        with meter.phase("learning", "update", model="policy") as phase:
            phase.count(count_update([Group(5, [3, 4])], adapter=True), sequences=2)
    report = meter.report(run=RUN)
    (run,) = report["runs"]
    reading, sampling, update, reward = run["ledger"]
    assert reading == {
        "component": "search",
        "phase": "prefill",
        "model": "policy",
        "operation": "forward",
        "sequences": 4,
        "tokens": 12,
        "attention_pairs": 40,
        "logit_rows": 4,
        "cached_tokens": 8,
        "basis": "measured",
        "flops": 2 * BODY * 12 + 4 * WIDTH * 40 + 2 * HEAD * 4,
        "method": "counts",
    }
    assert sampling["flops"] == 2 * (2 * BODY * 5 + 2 * HEAD * 5 + 4 * WIDTH * (6 + 7 + 6 + 7 + 8))
    of_update = 4 * BODY * 17 + 4 * HEAD * 7 + 12 * WIDTH * (36 + 45) + 6 * ADAPTER * 17
    assert update["flops"] == 2 * of_update
    assert (reward["executed_flops"], reward["flops"]) == (19998, 2 * (2 * 500 * 17 + 2 * 5 * 17 + 4 * 6 * 81))
    assert run["totals"] == {
        "search_flops": reading["flops"] + sampling["flops"],
        "learning_flops": update["flops"],
        "feedback_flops": reward["flops"],
        "total_flops": reading["flops"] + sampling["flops"] + update["flops"] + reward["flops"],
        "basis": "measured",
    }
    assert run["coverage"] == {"first_step": 0, "last_step": 1}
    assert (run["trace"]["path"], run["trace"]["records"]) == ("trace.jsonl", 8)
    assert level(saved(report, tmp_path)) == 3
    record = read_trace(str(tmp_path / "trace.jsonl")).records[0]
    assert (record.worker, record.step) == ("main", 0)


# What is refused.


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"tokens": -1}, "tokens is -1, and a count is never negative"),
        ({"tokens": 1.0}, "tokens is 1.0, and a count is an int"),
        ({"tokens": "5"}, "tokens is '5', and a count is an int"),
        ({"tokens": True}, "tokens is True"),
        ({**counts(1), "tokens": 2**53 + 1}, "cannot stand for tokens"),
        ({"executed_flops": float("nan")}, "executed_flops is nan"),
        ({"cpu_seconds": float("nan")}, "cpu_seconds is nan, and a count is never"),
        ({"cpu_seconds": float("inf")}, "infinite"),
        ({"seconds": -0.5}, "never negative"),
        ({"tokkens": 5}, '"tokkens" is nothing that a record counts'),
        ({"tokens": 5}, 'search decode policy forward .*: "policy" needs logit_rows'),
        ({"tokens": 5, "logit_rows": 1}, '"policy" needs attention_pairs'),
    ],
)
def test_what_cannot_be_is_refused_in_clear_words(meter: Meter, figures: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        meter.record("search", "decode", model="policy", **figures)
    with pytest.raises(ValueError, match=words), meter.phase("search", "decode", model="policy") as phase:
        phase.count(**figures)
    assert read_trace(meter.journal.path).records == []


def test_a_count_is_given_once(meter: Meter) -> None:
    with pytest.raises(ValueError, match="tokens is given twice"):
        meter.record("feedback", "reward", model="prm", counts=count_reward([3]), tokens=3)


def test_an_unknown_model_an_update_without_adapter_tokens_and_a_wrong_phase_are_refused(meter: Meter) -> None:
    with pytest.raises(ValueError, match='no model "polcy": the meter has policy, prm, judge'):
        meter.record("search", "decode", model="polcy", **counts(1))
    with pytest.raises(ValueError, match="adapter_tokens, because in an update adapters are not merged"):
        meter.record("learning", "update", model="policy", **counts(1))
    with pytest.raises(ValueError, match="none of the words for phase"):
        meter.record("search", "update", model="policy", **counts(1, adapter_tokens=1))
    with pytest.raises(ValueError, match="needs `trained` of the model"):
        meter.record("feedback", "reward_update", model="prm", **counts(1))


def test_models_that_are_none_are_refused_before_a_journal_is_begun(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="/models/0/role"):
        Meter(tmp_path / "a.jsonl", models=[{**POLICY, "role": "polcy"}])
    assert not (tmp_path / "a.jsonl").exists()


def test_a_counter_that_was_not_reset_is_refused_and_not_summed(meter: Meter) -> None:
    """Case F18 of the field: FLOPs of a profiler grow 1x, 2x, 3x, and tokens do not."""
    meter.record("learning", "update", model="policy", **counts(100, adapter_tokens=1), executed_flops=10**15)
    with pytest.raises(ValueError, match=r"executed_flops of learning update policy update grow from 10{15} to 20{15}"):
        meter.record("learning", "update", model="policy", **counts(100, adapter_tokens=1), executed_flops=2 * 10**15)
    meter.record("learning", "update", model="policy", **counts(200, adapter_tokens=1), executed_flops=2 * 10**15)
    assert meter.report()["runs"][0]["ledger"][0]["executed_flops"] == 3 * 10**15


def test_a_counter_that_had_run_before_is_refused_when_it_climbs_evenly(meter: Meter) -> None:
    for executed in (11 * 10**15, 12 * 10**15):
        meter.record("search", "decode", model="policy", **counts(7), executed_flops=executed)
    with pytest.raises(ValueError, match="a counter that was not reset"):
        meter.record("search", "decode", model="policy", **counts(7), executed_flops=13 * 10**15)


def test_honest_executed_flops_are_taken(meter: Meter) -> None:
    for tokens, padding, executed in [(7, 0, 100), (7, 0, 100), (7, 5, 190), (14, 0, 200), (7, 0, 120), (7, 0, 100)]:
        meter.record(
            "search", "decode", model="policy", **counts(tokens, extra_tokens=padding), executed_flops=executed
        )
    meter.record("search", "prefill", model="policy", **counts(7), executed_flops=10**9)
    assert len(read_trace(meter.journal.path).records) == 7


def test_a_counter_that_is_declared_is_differenced(meter: Meter) -> None:
    done = Readings()
    for reading in (10**15, 2 * 10**15, 3 * 10**15):
        meter.record("search", "decode", model="policy", **counts(9), executed_flops=done(reading))
    assert meter.report()["runs"][0]["ledger"][0]["executed_flops"] == 3 * 10**15
    with pytest.raises(ValueError, match="fell from 3000000000000000 to 5"):
        done(5)


# Phases.


def test_a_phase_that_fails_leaves_what_it_had_counted(meter: Meter) -> None:
    def fail(tokens: int) -> None:
        with meter.phase("search", "decode", model="policy", step=3) as phase:
            phase.count(**counts(tokens))
            raise KeyError

    with pytest.raises(KeyError):
        fail(4)
    (record,) = read_trace(meter.journal.path).records
    assert (record.step, record.amounts["tokens"]) == (3, 4)
    assert record.amounts["seconds"] > 0


def test_a_phase_in_which_no_model_ran_writes_nothing_and_a_rule_its_seconds(meter: Meter) -> None:
    with meter.phase("search", "decode", model="policy"):
        pass
    with meter.phase("feedback", "reward"):
        pass
    (record,) = read_trace(meter.journal.path).records
    assert (record.key.component, list(record.amounts)) == ("feedback", ["seconds"])


def test_phases_nest_and_each_task_has_its_own(meter: Meter) -> None:
    assert meter.current is None
    with meter.phase("search", "decode", model="policy") as outer:
        with meter.phase("feedback", "reward", model="prm") as inner:
            assert meter.current is inner
        assert meter.current is outer

    async def rollout(tokens: int) -> None:
        with meter.phase("search", "decode", model="policy", step=tokens):
            await asyncio.sleep(0.001)
            assert meter.current is not None
            meter.current.count(**counts(tokens))

    async def rollouts() -> None:
        await asyncio.gather(*map(rollout, range(1, 9)))

    asyncio.run(rollouts())
    found = {record.step: record.amounts["tokens"] for record in read_trace(meter.journal.path).records}
    assert found == {tokens: tokens for tokens in range(1, 9)}


def test_threads_may_record_at_once(meter: Meter) -> None:
    def work() -> None:
        for _ in range(50):
            meter.record("search", "tool", calls=1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trace = read_trace(meter.journal.path)
    assert (len(trace.records), trace.faults) == (200, [])


# Engines and reports.


def test_a_closed_judge_has_calls_and_tokens_and_makes_a_lower_bound(meter: Meter, tmp_path: Path) -> None:
    meter.generation(model="policy", prompt_tokens=[5], completion_tokens=[3], adapter=True)
    meter.generation(model="judge", prompt_tokens=[50], completion_tokens=[9], component="feedback", seconds=2.5)
    meter.record("learning", "update", model="policy", **counts(8, adapter_tokens=8))
    run = {**RUN, "role": "main"}
    report = meter.report(run=run, not_reported=[{"pointer": "/models/judge/coefficients", "reason": "not_published"}])
    ledger = report["runs"][0]["ledger"]
    assert [entry.get("calls") for entry in ledger if entry["model"] == "judge"] == [1, None]
    assert ledger[0]["adapter_tokens"] == 5
    assert report["runs"][0]["totals"]["basis"] == "lower_bound"
    assert "total_flops" not in report["runs"][0]["totals"]
    path = saved(report, tmp_path)
    assert level(path) == 3
    reached = validate_file(path).level
    assert reached is not None
    assert reached.is_lower_bound


def test_models_are_updated_with_the_multipliers_that_they_need(tmp_path: Path) -> None:
    factors = {"body": 2, "head": 3, "attention": 3, "adapter": 3}
    models = [{**POLICY, "trained": "partial"}]
    with Meter(tmp_path / "trace.jsonl", models=models, multipliers={"policy": factors}) as meter:
        meter.record("search", "decode", model="policy", **counts(1))
        meter.record("learning", "update", model="policy", **counts(1, adapter_tokens=1))
        search, update = meter.report()["runs"][0]["ledger"]
    assert "multipliers" not in search
    assert update["multipliers"] == factors
    assert update["flops"] == 4 * BODY + 6 * HEAD + 12 * WIDTH * 3 + 6 * ADAPTER


def test_evaluation_is_beside_the_total_and_preparation_of_ones_own_is_added(meter: Meter, tmp_path: Path) -> None:
    meter.generation(model="policy", prompt_tokens=[5], completion_tokens=[3], component="evaluation")
    meter.record("search", "decode", model="policy", **counts(2), basis="lower_bound")
    meter.record("learning", "update", model="policy", **counts(8, adapter_tokens=8))
    meter.record("feedback", "reward", calls=3, cpu_seconds=0.5)
    warm = {"component": "preparation", "phase": "warm_start", "flops": 10**9, "method": "stated", "basis": "estimated"}
    report = meter.report(run={**RUN, "ledger": [warm], "coverage": {"complete": True}}, subject={"title": "A work"})
    (run,) = report["runs"]
    assert run["ledger"][-1] == warm
    assert run["ledger"][-2]["tokens"] == 7
    assert run["totals"]["total_flops"] == sum(entry["flops"] for entry in run["ledger"] if "flops" in entry) - sum(
        entry["flops"] for entry in run["ledger"][-2:]
    )
    assert run["totals"]["basis"] == "lower_bound"
    assert report["subject"] == {"title": "A work"}
    assert level(saved(report, tmp_path)) == 3


def test_what_has_not_the_shape_of_a_report_is_refused(meter: Meter) -> None:
    meter.record("search", "tool", calls=1)
    with pytest.raises(ValueError, match="/runs/0/hardware/0/id"):
        meter.report(run={"hardware": [{"count": 1}]})
    assert meter.record("search", "tool", calls=1) == 1


def test_a_report_in_another_folder_names_the_trace_from_there(meter: Meter, tmp_path: Path) -> None:
    meter.record("search", "tool", calls=1)
    report = meter.report(folder=tmp_path / "paper" / "data")
    assert report["runs"][0]["trace"]["path"] == "../../trace.jsonl"


def test_a_torn_or_changed_trace_makes_no_report(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Meter(path, models=[POLICY]) as meter:
        meter.record("search", "tool", calls=1)
    whole_file = path.read_bytes()
    path.write_bytes(whole_file + b"{")
    with pytest.raises(ValueError, match=r"a.jsonl:2:1: the last line has no end"):
        report_of(path, models=[POLICY])
    path.write_bytes(whole_file.replace(b"tool", b"fool"))
    with pytest.raises(ValueError, match=r"a.jsonl:1:\d+: the checksum"):
        report_of(path, models=[POLICY])
    with pytest.raises(ValueError, match="cannot be read: no such file"):
        report_of(tmp_path / "b.jsonl", models=[POLICY])


# Whole runs.

work = st.tuples(
    st.sampled_from(["generate", "reward", "update", "rule"]),
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=3),
)
runs = st.lists(  # attempts: the step that each begins with, and what is done in its steps
    st.tuples(st.integers(0, 3), st.lists(st.lists(work, max_size=3), max_size=3)), min_size=1, max_size=3
)


def expected_tokens(attempts: list[tuple[int, list[list[Any]]]]) -> Counter[tuple[str, str, str | None]]:
    """Add tokens up from the script itself, by component, phase and part."""
    tokens: Counter[tuple[str, str, str | None]] = Counter()
    for at, (first, steps) in enumerate(attempts):
        again = {begin + offset for begin, later in attempts[at + 1 :] for offset, done in enumerate(later) if done}
        for offset, done in enumerate(steps):
            part = "redone" if first + offset in again else None
            for kind, pairs in done:
                reads, samples = sum(p for p, _ in pairs), sum(c - 1 for _, c in pairs)
                everything = sum(p + c for p, c in pairs)
                for component, phase, number in {
                    "generate": [("search", "prefill", reads), ("search", "decode", samples)],
                    "reward": [("feedback", "reward", everything)],
                    "update": [("learning", "update", everything)],
                    "rule": [],
                }[kind]:
                    tokens[component, phase, part] += number
    return tokens


def perform(meter: Meter, step: int, kind: str, pairs: list[tuple[int, int]]) -> None:
    prompts, completions = [p for p, _ in pairs], [c for _, c in pairs]
    lengths = [p + c for p, c in pairs]
    if kind == "generate":
        meter.generation(model="policy", prompt_tokens=prompts, completion_tokens=completions, step=step)
    elif kind == "reward":
        meter.record("feedback", "reward", model="prm", step=step, counts=count_reward(lengths), sequences=len(pairs))
    elif kind == "update":
        with meter.phase("learning", "update", model="policy", step=step) as phase:
            phase.count(count_update([Group(p, [c]) for p, c in pairs], adapter=True), sequences=len(pairs))
    else:
        meter.record("feedback", "reward", part="format", calls=len(pairs), cpu_seconds=0.25, step=step)


@given(runs)
@settings(max_examples=100 * SOAK)
def test_any_run_with_any_restarts_is_reported_as_its_script_says(
    tmp_path_factory: pytest.TempPathFactory, attempts: list[tuple[int, list[list[Any]]]]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = folder / "run.jsonl"
    path.unlink(missing_ok=True)
    full = [(0, [[("generate", [(2, 2)]), ("update", [(2, 2)]), ("reward", [(2, 2)])]]), *attempts]
    for attempt, (first, steps) in enumerate(full):
        with Meter(path, models=[POLICY, PRM], attempt=attempt) as meter:
            for offset, done in enumerate(steps):
                for kind, pairs in done:
                    perform(meter, first + offset, kind, pairs)
            report = meter.report(run=RUN)
    found = {
        (entry["component"], entry["phase"], entry.get("part")): entry["tokens"]
        for entry in report["runs"][0]["ledger"]
        if "tokens" in entry
    }
    assert found == expected_tokens(full)
    (folder / "report.json").write_text(json.dumps(report), "utf-8")
    result = validate_file(str(folder / "report.json"))
    assert result.level is not None
    assert (result.level.number, [finding.code for finding in result.findings]) == (3, [])


def test_two_workers_and_one_give_the_same_ledger(tmp_path: Path) -> None:
    rollouts = [(3 + at % 4, 2 + at % 5) for at in range(12)]
    with Meter(tmp_path / "one.jsonl", models=[POLICY, PRM]) as meter:
        for step in range(3):
            for kind in ("generate", "reward", "update"):
                perform(meter, step, kind, rollouts[4 * step : 4 * step + 4])
        alone = meter.report(run=RUN)
    for rank in range(2):
        with Meter(tmp_path / f"rank-{rank}.jsonl", models=[POLICY, PRM], worker=f"rank-{rank}") as meter:
            for step in range(3):
                for kind in ("generate", "reward", "update"):
                    perform(meter, step, kind, rollouts[4 * step + 2 * rank : 4 * step + 2 * rank + 2])
    write_lines(merge(tmp_path.glob("rank-*.jsonl")).lines, tmp_path / "trace.jsonl")
    together = report_of(tmp_path / "trace.jsonl", models=[POLICY, PRM], run=RUN)
    assert together["runs"][0]["ledger"] == alone["runs"][0]["ledger"]
    assert together["runs"][0]["totals"] == alone["runs"][0]["totals"]
    assert level(saved(together, tmp_path)) == 3


LOOP = """
import json, sys, warnings
from race_report.counts import Group, count_reward, count_update
from race_report.meter import Meter
warnings.simplefilter("ignore")
path, first, last, models = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
with Meter(path, models=models) as meter:
    print("open", flush=True)
    for step in range(first, last):
        meter.begin_step(step, step)
        prompts, completions = [3 + step % 4] * 4, [2 + (step + at) % 5 for at in range(4)]
        meter.generation(model="policy", prompt_tokens=prompts, completion_tokens=completions)
        lengths = [p + c for p, c in zip(prompts, completions)]
        meter.record("feedback", "reward", model="prm", counts=count_reward(lengths))
        with meter.phase("learning", "update", model="policy") as phase:
            phase.count(count_update([Group(prompts[0], completions)], adapter=True))
        print(step, flush=True)
"""


@pytest.mark.parametrize("seed", range(3 * SOAK))
def test_a_killed_run_is_resumed_and_its_report_is_replayed(tmp_path: Path, seed: int) -> None:
    """Killed in the middle of any record, resumed from the last whole step, finished, replayed."""
    dice = random.Random(seed)  # noqa: S311
    path, last, models = tmp_path / "trace.jsonl", 25, [POLICY, PRM]
    for first in [0, *sorted(dice.sample(range(1, 9), 2))]:
        command = [sys.executable, "-c", LOOP, str(path), str(first), str(last), json.dumps(models)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as loop:
            assert loop.stdout is not None
            for _ in range(10 + dice.randrange(6)):
                loop.stdout.readline()
            threading.Event().wait(dice.random() / 2000)
            loop.send_signal(signal.SIGKILL)
    subprocess.run([sys.executable, "-c", LOOP, str(path), "5", str(last), json.dumps(models)], check=True)
    report = report_of(path, models=models, run=RUN)
    ledger = {(entry["phase"], entry.get("part")): entry for entry in report["runs"][0]["ledger"]}
    rollouts = [(3 + step % 4, 2 + (step + at) % 5) for step in range(last) for at in range(4)]
    prompts, completions = [p for p, _ in rollouts], [c for _, c in rollouts]
    lengths = [p + c for p, c in rollouts]
    served = count_served(prompts, completions)
    for phase, expected in (
        ("prefill", served.prefill),
        ("decode", served.decode),
        ("reward", count_reward(lengths)),
        ("update", count_update([Group(*pair) for pair in zip(prompts, ([c] for c in completions), strict=True)])),
    ):
        names = ("tokens", "attention_pairs", "logit_rows")
        assert [ledger[phase, None][name] for name in names] == [getattr(expected, name) for name in names]
    assert ("prefill", "redone") in ledger
    assert report["runs"][0]["coverage"] == {"first_step": 0, "last_step": last - 1, "restarts": 3}
    assert level(saved(report, tmp_path)) == 3
