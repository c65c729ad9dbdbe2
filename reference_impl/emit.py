"""A finished run -> its report."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import os
import platform
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import torch

from race_report import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from race_report.meter import Meter
    from reference_impl.config import Config
    from reference_impl.rollout import Rollout

_PACKAGES: Final = ("torch", "transformers", "peft", "tokenizers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came out of a run."""

    start: float
    """Greedy accuracy on held-out problems after the warm start."""
    sampled_start: float
    """The same at temperature 1."""
    end: float
    """Greedy accuracy after GRPO."""
    samples: int
    warm_start_steps: int
    seconds: dict[str, float]


@dataclass(slots=True, kw_only=True)
class Tally:
    """What happened to rollouts."""

    generated: Counter[int] = field(default_factory=Counter)
    """Groups by size, as sampled."""
    trained: Counter[int] = field(default_factory=Counter)
    """Groups by size, as trained on."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    truncated: int = 0

    def add(self, generated: Sequence[Sequence[Rollout]], trained: Sequence[Sequence[Rollout]]) -> None:
        """Add a step."""
        self.generated.update(map(len, generated))
        self.trained.update(map(len, trained))
        for rollout in (rollout for group in generated for rollout in group):
            self.prompt_tokens += len(rollout.prompt)
            self.completion_tokens += len(rollout.completion)
            self.truncated += not rollout.is_complete

    def described(self) -> dict[str, Any]:
        """Give `rollouts` of a report, of a run that trains on what it sampled in the same step."""
        generated, trained = (sum(size * n for size, n in sizes.items()) for sizes in (self.generated, self.trained))
        return {
            "prompts": self.generated.total(),
            "generated": generated,
            "scored": generated,
            "trained": trained,
            "discarded": generated - trained,
            "truncated": self.truncated,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "group_sizes": _sizes(self.generated),
            "trained_group_sizes": _sizes(self.trained),
            "max_staleness": 0,
            "max_policy_versions": 1,
        }


def write_report(meter: Meter, config: Config, tally: Tally, outcome: Outcome, path: str) -> None:
    """Write the report of a run beside its trace."""
    hours = sum(outcome.seconds.values()) / 3600
    run = {
        "policy": "policy",
        "algorithm": _algorithm(config),
        "rollouts": tally.described(),
        "feedback": [{"id": "answer", "kind": "rule", "note": "1 for the right answer, else 0"}],
        "hardware": [
            {
                "id": "cpu",
                "components": ["search", "learning", "feedback", "evaluation", "preparation"],
                "accelerator": f"CPU ({platform.machine()}), {torch.get_num_threads()} thread(s)",
                "count": 1,
                "wall_clock_hours": hours,
                "precision": "fp32",
                "time_basis": "train",
            }
        ],
        "results": _results(config, outcome),
        "coverage": {"step_unit": "rollout_step", "complete": True},
        "seed": config.seed,
        "software": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _PACKAGES},
        },
    }
    now = dt.datetime.now(dt.UTC).replace(microsecond=0).isoformat()
    report = meter.report(
        run=run,
        report={"created": now, "generator": f"race-compute {__version__}, reference_impl", "status": "final"},
        not_reported=[
            {"pointer": "/study", "reason": "a demonstration: it is no part of a larger project"},
            {"pointer": "/runs/main/energy", "reason": "not_measured"},
            {"pointer": "/runs/main/hardware/cpu/peak_flops_per_second", "reason": "a CPU has no one published peak"},
        ],
    )
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
        file.write("\n")
    os.replace(f"{path}.part", path)


def _algorithm(config: Config) -> dict[str, Any]:
    grpo = config.grpo
    return {
        "name": "grpo",
        "group_size": grpo.group_size,
        "prompts_per_step": grpo.prompts,
        "rollout_steps": grpo.steps,
        "optimizer_steps": grpo.steps * grpo.updates_per_batch,
        "updates_per_batch": grpo.updates_per_batch,
        "minibatches_per_batch": 1,
        "kl_coefficient": grpo.kl_coefficient,
        "learning_rate": grpo.learning_rate,
        "clip_low": grpo.clip_low,
        "clip_high": grpo.clip_high,
        "loss_type": grpo.loss_type,
        "max_completion_tokens": grpo.max_completion_tokens,
        "temperature": grpo.temperature,
    }


def _results(config: Config, outcome: Outcome) -> list[dict[str, Any]]:
    shared = {"target": "held-out sums of 0 to 99", "target_kind": "held_out", "samples": outcome.samples, "seeds": 1}
    greedy = {"metric": "greedy accuracy", **shared}
    return [  # a table shows the first
        {**greedy, "id": "end", "value": outcome.end, "step": config.grpo.steps - 1, "checkpoint": "last"},
        {**greedy, "id": "start", "value": outcome.start, "step": 0, "note": "after the warm start, before any update"},
        {**shared, "id": "sampled-start", "metric": "pass@1", "value": outcome.sampled_start, "note": "before GRPO"},
    ]


def _sizes(counted: Counter[int]) -> list[dict[str, int]]:
    return [{"size": size, "groups": groups} for size, groups in sorted(counted.items())]
