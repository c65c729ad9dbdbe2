"""One line on a GRPOTrainer: what it counts is what torch counts, and the report is replayed."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "reference"))
import tiny_run
from flop_counter import MAPPING

from race_report.trace import read_trace
from race_report.validation import validate_file

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries, which differ from version to version


class Way(NamedTuple):
    """One way to train."""

    lora: bool
    beta: float
    iterations: int
    attention: str
    checkpointing: bool | str
    generations: int = 1
    """Optimizer steps that one generation is for; below 1 in halves."""

    def options(self) -> dict[str, Any]:
        more: dict[str, Any] = {"gradient_checkpointing_kwargs": {"use_reentrant": self.checkpointing == "reentrant"}}
        return {
            "lora": self.lora,
            "attention": self.attention,
            "beta": self.beta,
            "num_iterations": self.iterations,
            "gradient_checkpointing": bool(self.checkpointing),
            "steps_per_generation": 2 * self.generations,
            **(more if self.checkpointing else {}),
        }


WAYS = [
    Way(lora=False, beta=0.0, iterations=1, attention="eager", checkpointing=False),
    Way(lora=False, beta=0.1, iterations=2, attention="sdpa", checkpointing=True),
    Way(lora=True, beta=0.0, iterations=2, attention="sdpa", checkpointing=False),
    Way(lora=True, beta=0.1, iterations=1, attention="eager", checkpointing=True),
    Way(lora=True, beta=0.1, iterations=2, attention="eager", checkpointing=False, generations=2),
    Way(lora=False, beta=0.0, iterations=1, attention="sdpa", checkpointing="reentrant"),
    Way(lora=True, beta=0.1, iterations=1, attention="sdpa", checkpointing=False),
    Way(lora=False, beta=0.1, iterations=2, attention="eager", checkpointing=True, generations=2),
]
"""Every pair of values of the first five is in one of them."""


def test_every_pair_of_settings_is_tried() -> None:
    for first in range(5):
        for second in range(first):
            values = [[bool(value) if at == 4 else value for at, value in enumerate(way)] for way in WAYS]
            seen = {(way[first], way[second]) for way in values}
            assert len(seen) == 4, (first, second)


@contextlib.contextmanager
def counted_by_phase(trainer: Any) -> Iterator[Counter[tuple[str, str | None]]]:
    """Add up what torch counts by the phase of the meter that is open."""
    found: Counter[tuple[str, str | None]] = Counter()
    open_phases: list[tuple[str, str | None]] = [("outside", None)]
    own, seen = trainer.race_meter.phase, 0
    counter = FlopCounterMode(display=False, custom_mapping=MAPPING)

    def settle() -> None:
        nonlocal seen
        total = counter.get_total_flops()
        found[open_phases[-1]] += total - seen
        seen = total

    @contextlib.contextmanager
    def phase(component: str, name: str | None = None, **where: Any) -> Iterator[Any]:
        settle()
        open_phases.append((component, name or ("evaluation" if component == "evaluation" else None)))
        try:
            with own(component, name, **where) as opened:
                yield opened
                settle()
        finally:
            open_phases.pop()

    trainer.race_meter.phase = phase
    with counter:
        yield found
        settle()


def recorded(trainer: Any) -> Counter[tuple[str, str | None]]:
    found: Counter[tuple[str, str | None]] = Counter()
    for record in read_trace(trainer.race_meter.journal.path).records:
        component, phase = record.key.component, record.key.phase
        found[component, None if component == "search" else phase] += int(record.amounts.get("executed_flops", 0))
    return found


def assert_level_three(folder: Path) -> dict[str, Any]:
    path = folder / "race" / "report.json"
    result = validate_file(str(path))
    assert not [finding.message for finding in result.findings]
    assert result.level is not None
    assert result.level.number == 3
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return report


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_executed_flops_are_what_torch_counts_phase_by_phase(way: Way, tmp_path: Path) -> None:
    trainer = tiny_run.trainer(tmp_path, **way.options())
    with counted_by_phase(trainer) as counted:
        trainer.train()
    found = recorded(trainer)
    counted.pop(("outside", None), None)
    assert {key: value for key, value in found.items() if value} == {
        key: value for key, value in counted.items() if value
    }
    assert counted["search", None] > 0 < counted["learning", "update"]
    assert bool(found["learning", "reference_logprobs"]) == (way.beta > 0)
    assert bool(found["learning", "old_logprobs"]) == (way.iterations > 1 or way.generations > 1)
    lengths = {
        record.amounts["extra_tokens"]
        for record in read_trace(trainer.race_meter.journal.path).records
        if record.key.phase == "decode"
    }
    assert max(lengths) > 0  # some completion ended before others
    assert_level_three(tmp_path)


def test_reward_models_and_evaluation_are_counted_apart(tmp_path: Path) -> None:
    rewards = [tiny_run.reward_model(), tiny_run.even_digits]
    options: dict[str, Any] = {"eval_strategy": "steps", "eval_steps": 5, "per_device_eval_batch_size": 4}
    trainer = tiny_run.trainer(tmp_path, rewards=rewards, lora=True, beta=0.1, **options)
    with counted_by_phase(trainer) as counted:
        trainer.train()
    assert {key: n for key, n in recorded(trainer).items() if n} == {
        key: n for key, n in counted.items() if n and key[0] != "outside"
    }
    report = assert_level_three(tmp_path)
    (run,) = report["runs"]
    models = {(entry["component"], entry.get("model")) for entry in run["ledger"]}
    assert {
        ("feedback", "reward-0"),
        ("feedback", None),
        ("evaluation", "policy"),
        ("evaluation", "reward-0"),
    } <= models
    evaluated = [entry for entry in run["ledger"] if entry["component"] == "evaluation"]
    assert run["totals"]["total_flops"] < sum(entry.get("flops", 0) for entry in run["ledger"])
    assert all(entry["phase"] == "evaluation" for entry in evaluated if entry.get("model"))
    assert run["feedback"][0]["kind"] == "outcome_reward_model"


def test_trackers_get_flops_and_the_learning_share(tmp_path: Path) -> None:
    trainer = tiny_run.trainer(tmp_path)
    trainer.train()
    logged = [entry for entry in trainer.state.log_history if "race_p" in entry]
    totals = assert_level_three(tmp_path)["runs"][0]["totals"]
    assert logged[-1]["race_flops/learning"] == totals["learning_flops"]
    assert logged[-1]["race_flops/total"] == totals["total_flops"]
    assert logged[-1]["race_p"] == totals["learning_flops"] / totals["total_flops"]
    assert 0 < logged[0]["race_flops/total"] < logged[-1]["race_flops/total"]
    assert not any("race_mfu" in entry for entry in logged)  # nobody knows the peak of this processor
