"""Reports -> plain text for a terminal or a mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from race_report.render.facts import facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from race_report.document import Report
    from race_report.render.facts import Fact, RunFacts


def plain(reports: Sequence[Report]) -> str:
    """Write what each run took, a figure a line, with its source or the reason why it is missing."""
    runs = [run for report in reports for run in facts(report, alone=len(reports) == 1)]
    return "\n\n".join("\n".join(_lines(run)) for run in runs) + "\n"


def _lines(run: RunFacts) -> Iterator[str]:
    yield f"run {run.label}" + (f" ({run.role})" if run.role != "main" else "")
    figures: list[tuple[str, Fact]] = [
        ("parameters", run.parameters),
        ("trained", run.trained),
        ("FLOPs", run.total),
        *((f"  {name}", value) for name, value in run.components.items()),
        *((f"share of {name}", value) for name, value in run.shares.items()),
        ("GPU-hours", run.gpu_hours),
        ("tokens/s/GPU", run.throughput),
        ("kWh", run.energy),
        ("kg CO2e", run.carbon),
    ]
    words = [
        ("policy", run.policy or "not reported", ""),
        *((name, fact.text, fact.note) for name, fact in figures),
        *(("hardware", pool, "") for pool in run.hardware),
        *((what, value, "") for what, value in run.results),
    ]
    widest = max(len(value) for _, value, note in words if note)
    for name, value, note in words:
        yield f"  {name:<18}  {value:<{widest}}  {note}".rstrip() if note else f"  {name:<18}  {value}"
