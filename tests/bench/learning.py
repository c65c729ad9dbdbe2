"""What GRPO learns from each of three seeds, and how long it takes; exits with 1 where a bar is missed."""

from __future__ import annotations

import os
import sys
import tempfile

from race_report.validation import validate_file
from reference_impl.config import read_config
from reference_impl.train import run

SEEDS = (0, 1, 2)
RISE = 0.4
SAMPLED = (0.05, 0.5)


def main() -> int:
    """Train, print a line a seed, and tell whether every bar was reached."""
    config, missed = read_config("reference_impl/configs/demo.yaml"), 0
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(config.model_copy(update={"seed": seed}), folder, quiet=True)
            result = validate_file(os.path.join(folder, "report.json"))
        level = result.level.number if result.level else 0
        is_reached = (
            outcome.end - outcome.start >= RISE and SAMPLED[0] <= outcome.sampled_start <= SAMPLED[1] and level == 3
        )
        missed += not is_reached
        seconds = ", ".join(f"{name} {spent:.0f} s" for name, spent in outcome.seconds.items())
        print(
            f"seed {seed}: greedy {outcome.start:.3f} -> {outcome.end:.3f}, sampled at the start "
            f"{outcome.sampled_start:.3f}, {outcome.warm_start_steps} warm steps, {seconds}, level {level}"
            f"{'' if is_reached else '  BAR MISSED'}",
            flush=True,
        )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
