"""What metering costs a GRPO step of TRL on one thread: time in the meter's own code, and paired runs with and without.

The model is tiny, so a step is short and the share large. Runs alternate (A B B A), so that what else
the machine does falls on both alike; all happen in one process, so that imports and caches are the same.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import random
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Final

PAIRS: Final = int(os.environ.get("RACE_BENCH_PAIRS", "10"))
STEPS: Final = 50
OWN: Final = 0.01
"""The most that the meter's own code may take of a step."""
LOWER_END: Final = 1.02
"""What the lower end of the interval of the ratio must stay below."""

SHAPE: Final = {"hidden_size": 96, "intermediate_size": 256, "num_hidden_layers": 3}
"""A model of 300,000 parameters, as the reference implementation trains by default; 64 rollouts a step."""

ENTRANCES: Final = {
    "race_report.integrations.transformers.ModelMeter": ("_before", "_after", "_at_first_layer", "_at_head", "_give"),
    "race_report.meter.Meter": ("record", "flops"),
    "race_report.integrations.trl._Metered": ("race_figures",),
}


class Stopwatch:
    """Adds up the time within functions, that of nested ones once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0

    def timed(self, function: Any) -> Any:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            begin = time.perf_counter()
            try:
                output = function(*args, **kwargs)
                return list(output) if function.__name__ == "_give" else output
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.perf_counter() - begin

        return run


def seconds_of(trainer: Any) -> float:
    """Train, and give the seconds without what comes after the last step."""
    with contextlib.redirect_stdout(None):
        begin = time.perf_counter()
        trainer.train()
        return time.perf_counter() - begin


def interval(ratios: list[float]) -> tuple[float, float]:
    """Give the 95 % bootstrap interval of the median."""
    drawn = random.Random(0)  # noqa: S311 - a resample, not a secret
    medians = sorted(statistics.median(drawn.choices(ratios, k=len(ratios))) for _ in range(10_000))
    return medians[250], medians[9750]


def main() -> int:
    """Measure, print, and tell whether both bars hold."""
    warnings.filterwarnings("ignore")
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.path.insert(0, str(Path(__file__).parents[1] / "integrations"))
    try:
        import tiny_run
    except ImportError as error:
        print(f"meter: not measured, the training stack is not installed ({error})")
        return 0
    import torch
    from transformers.utils import logging as of_transformers

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    of_transformers.disable_progress_bar()
    options: dict[str, Any] = {"max_steps": STEPS, "logging_steps": 10, "lora": True, "beta": 0.1, "shape": SHAPE}
    options |= {"per_device_train_batch_size": 32, "num_generations": 8, "max_completion_length": 16}
    with tempfile.TemporaryDirectory() as folder:
        run: Any = functools.partial(tiny_run.trainer, **options)
        seconds_of(run(f"{folder}/warm", is_metered=True))
        ratios = []
        for pair in range(PAIRS):
            seconds = {}
            for is_metered in (False, True) if pair % 2 else (True, False):
                seconds[is_metered] = seconds_of(run(f"{folder}/{pair}-{is_metered}", is_metered=is_metered))
            ratios.append(seconds[True] / seconds[False])
        watch = Stopwatch()
        for path, names in ENTRANCES.items():
            module, _, owner = path.rpartition(".")
            kind = getattr(sys.modules[module], owner)
            for name in names:
                setattr(kind, name, watch.timed(vars(kind)[name]))
        whole = seconds_of(run(f"{folder}/own", is_metered=True))
    share = watch.seconds / whole
    low, high = interval(ratios)
    print(f"meter: {share:.4f} of a step of {1000 * whole / STEPS:.1f} ms in the meter's own code (bar {OWN})")
    print(f"meter: {PAIRS} pairs of {STEPS} steps, ratio {statistics.median(ratios):.4f} [{low:.4f}, {high:.4f}]")
    return int(share > OWN or low >= LOWER_END)


if __name__ == "__main__":
    sys.exit(main())
