"""`race validate` beside `check-jsonschema --schemafile` on the same files: ratios within one run.

The peer is installed in an environment of its own. Both run in the folder of the files, as in a research repository: in
this project's own, race would read its settings and the peer none. The commands alternate (A B B A), so that what else
the machine does falls on both alike; CPU is user and system time of the process, time is the clock's. A bar is met when
the median of the paired ratios is below it on an otherwise idle machine.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
SCHEMA = ROOT / "schema" / "1.0" / "race-report.schema.json"
EXAMPLE = ROOT / "tests" / "conformance" / "1.0" / "documents" / "worked-example.json"
PEER = ROOT / "build" / "peer"
FILES = 300


class Cost(NamedTuple):
    """What one run of a command took, in seconds."""

    cpu: float
    clock: float


def cost(command: list[str], folder: str) -> Cost:
    """Run a command that must succeed."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, cwd=folder)
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, end - start)


def compare(name: str, folder: str, ours: list[str], theirs: list[str], pairs: int, bars: Cost) -> bool:
    """Print both commands' costs and their ratios; tell whether the bars are met."""
    cost(ours, folder)
    cost(theirs, folder)
    measured: list[tuple[Cost, Cost]] = []
    for pair in range(pairs):
        first, second = (ours, theirs) if pair % 2 == 0 else (theirs, ours)
        one, other = cost(first, folder), cost(second, folder)
        measured.append((one, other) if pair % 2 == 0 else (other, one))
    met = True
    for field, bar in zip(Cost._fields, bars, strict=True):
        mine = statistics.median(getattr(one, field) for one, _ in measured)
        other = statistics.median(getattr(two, field) for _, two in measured)
        ratios = sorted(getattr(one, field) / getattr(two, field) for one, two in measured)
        ratio = statistics.median(ratios)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        is_bar = bar > 0
        verdict = "" if not is_bar else f"  bar {bar:.2f}: {'met' if ratio <= bar else 'NOT MET'}"
        print(
            f"{name:9} {field:5}  race {1000 * mine:7.1f} ms  check-jsonschema {1000 * other:7.1f} ms  "
            f"ratio {ratio:.3f} (quartiles {low:.3f} to {high:.3f}){verdict}"
        )
        met = met and (not is_bar or ratio <= bar)
    return met


def main() -> None:
    """Measure one file and three hundred."""
    if not (PEER / "bin" / "check-jsonschema").exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEER)], check=True)
        subprocess.run([str(PEER / "bin" / "pip"), "install", "--quiet", "check-jsonschema"], check=True)
    race = str(Path(sys.executable).parent / "race")
    peer = [str(PEER / "bin" / "check-jsonschema"), "--schemafile", str(SCHEMA)]
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(json.loads(EXAMPLE.read_text("utf-8")))
        paths = [str(Path(folder) / f"{number}.json") for number in range(FILES)]
        for path in paths:
            Path(path).write_text(text, "utf-8")
        print(f"reports of {len(text):,} bytes, Python {sys.version.split()[0]}, {os.cpu_count()} cores")
        one, all_of_them = [race, "validate", paths[0]], [race, "validate", *paths]
        met = compare("1 file", folder, one, [*peer, paths[0]], 30, Cost(cpu=0.30, clock=0))
        met &= compare(f"{FILES} files", folder, all_of_them, [*peer, *paths], 10, Cost(cpu=0, clock=0.25))
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
