"""RACE3xx: FLOPs follow from counts, and sums from their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from race_report.accounting import (
    COMPONENTS,
    Figure,
    is_left_to_accounting,
    ledger_figure,
    missing_for_recomputation,
    models_by_id,
    recompute,
)
from race_report.finding import Severity, rule
from race_report.flops import EXACT, ROUNDED, relative_difference
from race_report.numbers import show_number
from race_report.pointer import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import Report
    from race_report.finding import Violation


class _Difference(NamedTuple):
    """Two figures that should be equal and are not."""

    pointer: str
    stated: float
    expected: float
    what: str
    """What the expected figure is, such as `the counts of this entry`."""
    is_tolerated: bool
    """Whether one is a rounding of the other, or within a range that the report states."""


@rule("RACE301")
def flops_mismatch(report: Report) -> Iterator[Violation]:
    """`flops` of an entry is not what its counts and the model's coefficients give.

    What it checks: FLOPs = m_body 2 body_parameters tokens + m_head 2 head_parameters logit_rows
    + m_attention 4 attention_width attention_pairs + m_adapter 2 adapter_parameters adapter_tokens, and the bounded
    pairs likewise, for every entry of method `counts` whose model has coefficients. More than 0.5 % apart is an error.

    Why it matters: whoever recomputes the report gets another number than it states.

    How to fix: correct the count, the coefficient or the multiplier that is wrong; or delete `flops`, and the tools
    compute it. A figure that was not made from counts has another `method`.
    """
    yield from _violations(_entry_differences(report), tolerated=False)


@rule("RACE302", severity=Severity.WARNING)
def flops_inexact(report: Report) -> Iterator[Violation]:
    """`flops` of an entry is a rounding of what its counts give.

    What it checks: as flops-mismatch; up to 0.5 % apart, or within `low` and `high` of a qualification.

    Why it matters: sums of rounded figures drift, and a report that is replayed must be exact.

    How to fix: write the exact value that the message gives.
    """
    yield from _violations(_entry_differences(report), tolerated=True)


@rule("RACE303")
def total_mismatch(report: Report) -> Iterator[Violation]:
    """A figure of `totals` is not the sum of its parts.

    What it checks: the FLOPs of a component against its entries, and `total_flops` against search, learning and
    feedback. Where a part is unknown, the total may be larger than the sum but not smaller. More than 0.5 % apart is
    an error.

    Why it matters: every FLOP is entered once; a total that no ledger adds up to cannot be divided.

    How to fix: correct the total or the entry; or delete `totals`, and the tools compute them.
    """
    yield from _violations(_total_differences(report), tolerated=False)


@rule("RACE304", severity=Severity.WARNING)
def total_inexact(report: Report) -> Iterator[Violation]:
    """A figure of `totals` is a rounding of the sum of its parts.

    What it checks: as total-mismatch; up to 0.5 % apart, or within `low` and `high` of a qualification.

    Why it matters: a report that is replayed must be exact.

    How to fix: write the exact value that the message gives.
    """
    yield from _violations(_total_differences(report), tolerated=True)


@rule("RACE305")
def counts_incomplete(report: Report) -> Iterator[Violation]:
    """An entry says that its FLOPs follow from counts, and lacks what they would follow from.

    What it checks: an entry of method `counts` names a model that the report has, that model has coefficients (or an
    architecture from which they follow), every term of the formula has its count, and an update has multipliers where
    `trained` does not settle them.

    Why it matters: `counts` is the promise that anyone can recompute the figure.

    How to fix: add what is missing, or state the method that was used.
    """
    models = models_by_id(report)
    for run_index, run in enumerate(report.runs):
        for index, entry in enumerate(run.ledger):
            if entry.method != "counts":
                continue
            missing = missing_for_recomputation(entry, models)
            if missing and not is_left_to_accounting(entry, models):
                yield (
                    f"/runs/{run_index}/ledger/{index}/method",
                    f"FLOPs by counts need {' and '.join(missing)}",
                    "add it, or state the method that was used: profiler, parameter_rule, hardware or stated",
                )


def _violations(differences: Iterator[_Difference], *, tolerated: bool) -> Iterator[Violation]:
    for difference in differences:
        if difference.is_tolerated != tolerated:
            continue
        key = difference.pointer.rpartition("/")[2]
        exact = show_number(difference.expected)
        if tolerated:
            message = f"{key} is {difference.stated:.4g}, near what {difference.what} give but not equal to it"
            yield difference.pointer, message, f"write {exact}"
        else:
            ratio = difference.stated / difference.expected if difference.expected else float("inf")
            message = (
                f"{key} is {difference.stated:.4g}, but {difference.what} give {difference.expected:.4g}: "
                f"ratio {ratio:.4g}"
            )
            yield difference.pointer, message, f"correct what is wrong there, or write {exact}"


def _entry_differences(report: Report) -> Iterator[_Difference]:
    models = models_by_id(report)
    for run_index, run in enumerate(report.runs):
        for index, entry in enumerate(run.ledger):
            if entry.flops is None or entry.method not in (None, "counts"):
                continue
            expected = recompute(entry, models)
            if expected is not None:
                pointer = f"/runs/{run_index}/ledger/{index}/flops"
                yield from _difference(report, pointer, entry.flops, expected, "the counts of this entry")


def _total_differences(report: Report) -> Iterator[_Difference]:
    models = models_by_id(report)
    for index, run in enumerate(report.runs):
        if run.totals is None:
            continue
        pointer = f"/runs/{index}/totals"
        parts = []
        for component in COMPONENTS:
            stated: float | None = getattr(run.totals, f"{component}_flops")
            figure = ledger_figure(run, component, models)
            parts.append(figure if stated is None else Figure(value=stated))
            if stated is not None and figure.value is not None and not (figure.at_least and stated > figure.value):
                what = f"the {component} entries of the ledger"
                yield from _difference(report, f"{pointer}/{component}_flops", stated, figure.value, what)
        total = run.totals.total_flops
        known = [part.value for part in parts if part.value is not None]
        is_partial = len(known) < len(parts) or any(part.at_least for part in parts)
        if total is not None and known and not (is_partial and total > sum(known)):
            yield from _difference(report, f"{pointer}/total_flops", total, sum(known), "search, learning and feedback")


def _difference(report: Report, pointer: str, stated: float, expected: float, what: str) -> Iterator[_Difference]:
    """Yield a difference beyond what counts as equal."""
    distance = relative_difference(stated, expected)
    if distance > EXACT:
        tolerated = distance <= ROUNDED or _is_within_range(report, pointer, expected)
        yield _Difference(pointer, stated, expected, what, tolerated)


def _is_within_range(report: Report, pointer: str, value: float) -> bool:
    """Tell whether a qualification of this figure states a range that the value lies in; one end may be open."""
    return any(
        (qualification.low is not None or qualification.high is not None)
        and (qualification.low is None or qualification.low <= value)
        and (qualification.high is None or value <= qualification.high)
        and pointer in resolve(report, qualification.pointer)
        for qualification in report.qualifications
    )
