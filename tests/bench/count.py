"""`race count` from a file of 512 x 16 lengths beside `race --version`: CPU ratios within one run.

What the command costs before it does anything is the floor; to read eight thousand lengths, find the model and count
them may cost as much again. The commands alternate (A B B A), so that what else the machine does falls on both alike.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PROMPTS: Final = 512
GROUP_SIZE: Final = 16
PAIRS: Final = 40
BAR: Final = 2.0
"""The most CPU that counting may take, in units of `race --version`."""


def cpu(command: list[str]) -> float:
    """Run a command that must succeed; give its user and system time in seconds."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_lengths(path: Path) -> None:
    """Write a rollout step whose lengths all differ as they do in training."""
    drawn = random.Random(0)  # noqa: S311 - lengths, not secrets
    with path.open("w", encoding="utf-8") as file:
        for _ in range(PROMPTS):
            completions = [drawn.randint(20, 4096) for _ in range(GROUP_SIZE)]
            file.write(json.dumps({"prompt": drawn.randint(40, 800), "completions": completions}) + "\n")


def main() -> None:
    """Measure two plans: the shortest, and one with an adapter and a reward model."""
    race = str(Path(sys.executable).parent / "race")
    with tempfile.TemporaryDirectory() as folder:
        lengths = Path(folder) / "step.jsonl"
        write_lengths(lengths)
        print(f"{lengths.stat().st_size:,} bytes of lengths, Python {sys.version.split()[0]}, {os.cpu_count()} cores")
        plain = ["--model", "Qwen/Qwen2.5-1.5B", "--lengths", str(lengths)]
        scored = [*plain, "--rank", "16", "--reward-model", "Qwen/Qwen2.5-Math-PRM-7B", "--kl-coefficient", "0.04"]
        met = True
        for name, options in (("plain", plain), ("scored", scored)):
            ours, floor = [race, "count", *options], [race, "--version"]
            cpu(ours)
            cpu(floor)
            measured = []
            for pair in range(PAIRS):
                first, second = (ours, floor) if pair % 2 == 0 else (floor, ours)
                costs = cpu(first), cpu(second)
                measured.append(costs if pair % 2 == 0 else costs[::-1])
            ratios = sorted(one / other for one, other in measured)
            ratio = statistics.median(ratios)
            met &= ratio <= BAR
            print(
                f"{name:6} cpu  race count {1000 * statistics.median(one for one, _ in measured):6.1f} ms  "
                f"race --version {1000 * statistics.median(other for _, other in measured):6.1f} ms  ratio {ratio:.3f} "
                f"(quartiles {ratios[PAIRS // 4]:.3f} to {ratios[-1 - PAIRS // 4]:.3f})  "
                f"bar {BAR:.2f}: {'met' if ratio <= BAR else 'NOT MET'}"
            )
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
