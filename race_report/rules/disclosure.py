"""RACE8xx: how much a report discloses, and what it says of its gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from race_report.accounting import COMPONENTS
from race_report.finding import Rule, Severity, rule
from race_report.levels import nameable_gaps
from race_report.numbers import show_number
from race_report.pointer import places, stands
from race_report.rules.said import is_named, is_open, trail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import Report
    from race_report.finding import Violation

LEVEL_NOT_REACHED = Rule(
    code="RACE801",
    name="level-not-reached",
    explanation="""A level was required that the report does not reach.

    What it checks: the level that the report reaches against `--require-level`.

    Why it matters: a venue or a project asks for a level, and the report should hold it before it is sent.

    How to fix: add what the next level lacks; the validator lists it under the level that was reached.

    Before:

        race validate --require-level 2 report.yaml   # the report reaches level 1

    After:

        race validate --require-level 1 report.yaml   # or add coefficients and counts
    """,
)


@rule("RACE802")
def reported_and_not_reported(report: Report) -> Iterator[Violation]:
    """A field is named in `not_reported`, and stands in the report.

    What it checks: that what a pointer of `not_reported` leads to, an id or `*` resolved, is absent from the report.

    Why it matters: one of the two is stale, and a reader cannot tell which.

    How to fix: delete the line of `not_reported`, or the field. A pointer covers all that lies below it.

    Before:

        runs: [{id: main, gpu_hours: 12}]
        not_reported: [{pointer: /runs/main/gpu_hours, reason: not_measured}]

    After:

        runs: [{id: main, gpu_hours: 12}]
        not_reported: []
    """
    for at, gap in enumerate(report.not_reported):
        if trail(report, gap.pointer).stands:
            which = f" at {next(places(report, gap.pointer))[0]}" if "*" in gap.pointer else ""
            message = f'"{gap.pointer}" is named as not reported, and the report has it{which}'
            hint = "delete this line, or the field; where a part is missing, name that part"
            yield f"/not_reported/{at}/pointer", message, hint


@rule("RACE803", severity=Severity.WARNING)
def gap_not_named(report: Report) -> Iterator[Violation]:
    """What the next level asks for is neither reported nor named in `not_reported`.

    What it checks: every field that level 1 lacks, and the coefficients and counts that level 2 lacks.

    Why it matters: absent may mean zero, unknown or forgotten; a gap that is named with its reason is a disclosure.

    How to fix: report it, or name it with a reason: not_measured, not_published, not_applicable, or a sentence.

    Before:

        runs: [{id: main, policy: policy}]

    After:

        runs: [{id: main, policy: policy}]
        not_reported:
          - {pointer: /runs/main/totals, reason: not_measured}
          - {pointer: /runs/main/hardware, reason: not_published}
    """
    named = set()
    for gap in nameable_gaps(report):
        is_missing = gap.pointer not in named and not stands(report, gap.pointer)
        if is_missing and not any(is_named(report, pointer) for pointer in (gap.pointer, *gap.covered_by)):
            named.add(gap.pointer)
            message = f"the next level asks for {gap.what}"
            yield gap.pointer, message, "report it, or name it in not_reported with its reason"


@rule("RACE804", severity=Severity.WARNING)
def part_as_whole(report: Report) -> Iterator[Violation]:
    """Figures cover a part of the run, and its totals do not say that they are a lower bound.

    What it checks: where `coverage.complete` is false and totals stand, that `totals.basis` is `lower_bound` (or
    `estimated`, where the rest was estimated).

    Why it matters: what was spent in the steps that are not covered was spent all the same.

    How to fix: write `basis: lower_bound`, or estimate the rest and write `basis: estimated`.

    Before:

        coverage: {first_step: 101, last_step: 200, complete: false}
        totals: {total_flops: 1.0e+20}

    After:

        coverage: {first_step: 101, last_step: 200, complete: false}
        totals: {total_flops: 1.0e+20, basis: lower_bound}
    """
    for index, run in enumerate(report.runs):
        if run.coverage is None or run.coverage.complete is not False or run.totals is None:
            continue
        figures = (getattr(run.totals, f"{name}_flops") for name in (*COMPONENTS, "total"))
        if any(figures) and run.totals.basis not in ("lower_bound", "estimated"):
            message = "the figures cover a part of the run, and the totals read as the whole"
            yield f"/runs/{index}/totals", message, "write basis: lower_bound"


@rule("RACE805", severity=Severity.WARNING)
def coverage_mismatch(report: Report) -> Iterator[Violation]:
    """The steps that the figures cover are not the steps of the run.

    What it checks: where coverage is not said to be incomplete and its unit is stated, last_step - first_step + 1
    against rollout_steps or optimizer_steps.

    Why it matters: either steps are missing from the figures, or the algorithm was not run as stated.

    How to fix: correct the steps; a run that stopped early has its real steps in `algorithm` and the schedule's end in
    `coverage.planned_last_step`.

    Before:

        algorithm: {optimizer_steps: 1500}
        coverage: {first_step: 1, last_step: 850, step_unit: optimizer_step, complete: true}

    After:

        algorithm: {optimizer_steps: 850}
        coverage: {first_step: 1, last_step: 850, planned_last_step: 1500, step_unit: optimizer_step, complete: true}
    """
    for index, run in enumerate(report.runs):
        cover, settings = run.coverage, run.algorithm
        if cover is None or settings is None or cover.complete is False or cover.step_unit is None:
            continue
        steps = settings.rollout_steps if cover.step_unit == "rollout_step" else settings.optimizer_steps
        if steps is None or cover.first_step is None or cover.last_step is None:
            continue
        covered = cover.last_step - cover.first_step + 1
        key = f"{cover.step_unit}s"
        places = (f"algorithm/{key}", "coverage/first_step", "coverage/last_step")
        if covered != steps and not is_open(report, f"/runs/{index}", *places):
            message = f"the figures cover {covered} steps, and {key} says {steps}"
            yield (
                f"/runs/{index}/coverage/last_step",
                message,
                "write the steps that were run, first and last included; of a part, complete: false",
            )


@rule("RACE806", severity=Severity.NOTE)
def project_not_told(report: Report) -> Iterator[Violation]:
    """A final report says nothing of the rest of the project.

    What it checks: where the status is `final`, that `study` says what else was computed, or that it is complete.

    Why it matters: sweeps and failed runs can cost many times the run that is published; venues ask for them.

    How to fix: write what you know: GPU-hours of a sweep are enough.

    Before:

        report: {status: final}

    After:

        report: {status: final}
        study: {complete: false, other_compute: [{what: hyper-parameter sweep, gpu_hours: 40}]}
    """
    is_final = report.report is not None and report.report.status == "final"
    if is_final and report.study is None and not is_named(report, "/study"):
        hint = "write study: {complete: false, other_compute: [...]}, or name /study in not_reported"
        yield "", "the report is final and says nothing of sweeps, failed and preliminary runs", hint


@rule("RACE807")
def outside_its_range(report: Report) -> Iterator[Violation]:
    """A range is reversed, or does not hold the figure that it is about.

    What it checks: `low` and `high` of qualifications and of results: low <= high, and that the value, or every number
    that the pointer leads to, lies between them.

    Why it matters: the field holds the best value; one that its own range excludes tells a reader nothing.

    How to fix: correct the end of the range, or the figure.

    Before:

        runs: [{id: main, gpu_hours: 12}]
        qualifications: [{pointer: /runs/main/gpu_hours, basis: contested, low: 20, high: 30}]

    After:

        runs: [{id: main, gpu_hours: 24}]
        qualifications: [{pointer: /runs/main/gpu_hours, basis: contested, low: 20, high: 30}]
    """
    ends: dict[str, list[tuple[float, str]]] = {}
    for at, entry in enumerate(report.qualifications):
        if entry.pointer not in ends and (entry.low is not None or entry.high is not None):
            ends[entry.pointer] = _ends(report, entry.pointer)
        yield from _outside(f"/qualifications/{at}", entry.low, entry.high, ends.get(entry.pointer, []))
    for index, run in enumerate(report.runs):
        for at, result in enumerate(run.results):
            here = f"/runs/{index}/results/{at}"
            value = [(result.value, f"{here}/value")] if result.value is not None else []
            yield from _outside(here, result.low, result.high, value)


def _outside(here: str, low: float | None, high: float | None, values: list[tuple[float, str]]) -> Iterator[Violation]:
    if low is not None and high is not None and low > high:
        message = f"the range ends at {show_number(high)}, before it begins at {show_number(low)}"
        yield f"{here}/low", message, "low is the smaller of the two"
        return
    for value, pointer in values:
        said = f"{pointer} is {show_number(value)}, and is said to be at"
        if low is not None and value < low:
            yield f"{here}/low", f"{said} least {show_number(low)}", "correct the range or the figure"
        elif high is not None and value > high:
            yield f"{here}/high", f"{said} most {show_number(high)}", "correct the range or the figure"


def _ends(report: Report, pointer: str) -> list[tuple[float, str]]:
    """Give the smallest and the largest number that a pointer leads to, with its place; one, where they are one."""
    numbers = [
        (value, place)
        for place, value in places(report, pointer)
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return sorted({min(numbers), max(numbers)}) if numbers else []
