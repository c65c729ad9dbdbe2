"""RACE3xx: FLOPs follow from counts, and sums from their parts."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.accounting import (
    COMPONENTS,
    Figure,
    account,
    recomputed_sum,
)
from race_report.finding import Severity, rule
from race_report.flops import EXACT, ROUNDED, relative_difference
from race_report.numbers import show_number
from race_report.once import once_a_report
from race_report.pointer import Pointed
from race_report.rules.causes import flops_cause, sum_cause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from race_report.accounting import Lack, Priced
    from race_report.document import Qualification, Report
    from race_report.finding import Violation


_ROUNDING: Final = "a rounding"


class _Difference(NamedTuple):
    """Two figures that should be equal and are not."""

    pointer: str
    stated: float
    expected: float
    what: str
    """What gives the expected figure, such as `the counts of this entry`."""
    excuse: str
    """Why the difference is tolerated; empty where it is not."""
    find_cause: Callable[[], str]
    """Gives what the difference most likely comes from, or nothing."""


@rule("RACE301")
def flops_mismatch(report: Report) -> Iterator[Violation]:
    """`flops` of an entry is not what its counts and the model's coefficients give.

    What it checks: FLOPs = m_body 2 body_parameters tokens + m_head 2 head_parameters logit_rows
    + m_attention 4 attention_width attention_pairs + m_adapter 2 adapter_parameters adapter_tokens, and the bounded
    pairs likewise, for every entry of method `counts` whose model has coefficients. More than 0.5 % apart is an error.

    Why it matters: whoever recomputes the report gets another number than it states.

    How to fix: correct the count, the coefficient or the multiplier that is wrong; or delete `flops`, and the tools
    compute it. A figure that was not made from counts has another `method`.

    Before:

        # a LoRA update of Qwen2.5-1.5B, counted as if every weight had a gradient
        - {component: learning, model: policy, operation: update, tokens: 1000, logit_rows: 1000,
           attention_pairs: 500500, adapter_tokens: 1000, flops: 9.63e+12, method: counts}

    After:

        - {component: learning, model: policy, operation: update, tokens: 1000, logit_rows: 1000,
           attention_pairs: 500500, adapter_tokens: 1000, flops: 6543374704000, method: counts}
    """
    yield from _violations(_entry_differences(report), tolerated=False)


@rule("RACE302", severity=Severity.WARNING)
def flops_inexact(report: Report) -> Iterator[Violation]:
    """`flops` of an entry is a rounding of what its counts give.

    What it checks: as flops-mismatch; up to 0.5 % apart, or within `low` and `high` of a qualification.

    Why it matters: sums of rounded figures drift, and a report that is replayed must be exact.

    How to fix: write the exact value that the message gives.

    Before:

        - {component: search, model: policy, operation: forward, tokens: 1000, logit_rows: 1000,
           attention_pairs: 500500, flops: 3.17e+12, method: counts}

    After:

        - {component: search, model: policy, operation: forward, tokens: 1000, logit_rows: 1000,
           attention_pairs: 500500, flops: 3173240832000, method: counts}
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

    Before:

        totals: {search_flops: 1.0e+20, learning_flops: 3.0e+20, feedback_flops: 0, total_flops: 5.0e+20}

    After:

        totals: {search_flops: 1.0e+20, learning_flops: 3.0e+20, feedback_flops: 0, total_flops: 4.0e+20}
    """
    yield from _violations(_total_differences(report), tolerated=False)


@rule("RACE304", severity=Severity.WARNING)
def total_inexact(report: Report) -> Iterator[Violation]:
    """A figure of `totals` is a rounding of the sum of its parts.

    What it checks: as total-mismatch; up to 0.5 % apart, or within `low` and `high` of a qualification.

    Why it matters: a report that is replayed must be exact.

    How to fix: write the exact value that the message gives.

    Before:

        totals: {search_flops: 2.35e+17, learning_flops: 7.21e+17, feedback_flops: 0, total_flops: 9.55e+17}

    After:

        totals: {search_flops: 2.35e+17, learning_flops: 7.21e+17, feedback_flops: 0, total_flops: 9.56e+17}
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

    Before:

        - {component: search, model: policy, operation: forward, tokens: 1000, flops: 2.6e+12, method: counts}

    After:

        - {component: search, model: policy, operation: forward, tokens: 1000, attention_pairs: 500500,
           logit_rows: 1000, flops: 3171738480000, method: counts}
    """
    books = account(report)
    for run_index, run in enumerate(report.runs):
        for index, entry in enumerate(run.ledger):
            if entry.method != "counts":
                continue
            missing = books.recomputed[run_index][index].missing
            if missing and not _stands_in_a_file(missing, books.models.get(entry.model or "")):
                yield (
                    f"/runs/{run_index}/ledger/{index}/method",
                    f"FLOPs by counts need {' and '.join(lack.what for lack in missing)}",
                    "add it, or state the method that was used: profiler, parameter_rule, hardware or stated",
                )


def _stands_in_a_file(missing: list[Lack], priced: Priced | None) -> bool:
    """Tell whether coefficients are all that is missing, and follow from a file that stands beside the report."""
    return (
        priced is not None
        and priced.model.architecture_file is not None
        and [lack.key for lack in missing] == ["coefficients"]
    )


def _violations(differences: tuple[_Difference, ...], *, tolerated: bool) -> Iterator[Violation]:
    for difference in differences:
        if bool(difference.excuse) != tolerated:
            continue
        key = difference.pointer.rpartition("/")[2]
        exact = show_number(difference.expected)
        stated = f"{key} is {difference.stated:.4g}"
        given = f"{difference.what} give {difference.expected:.4g}"
        if tolerated:
            hint = f"write {exact}" if difference.excuse == _ROUNDING else f"{difference.what} give {exact}"
            yield difference.pointer, f"{stated}; {given}: {difference.excuse}", hint
        elif difference.expected == 0:
            yield difference.pointer, f"{stated}, but {given}", "is a count or a multiplier 0 that should not be?"
        else:
            cause = difference.find_cause()
            ratio = f"ratio {difference.stated / difference.expected:.4g}{f', {cause}' if cause else ''}"
            hint = f"check {difference.what}; if right, write {exact}"
            yield difference.pointer, f"{stated}, but {given}: {ratio}", hint


@once_a_report
def _entry_differences(report: Report) -> tuple[_Difference, ...]:
    return tuple(_find_entry_differences(report))


def _find_entry_differences(report: Report) -> Iterator[_Difference]:
    excuses = _Excuses(report)
    books = account(report)
    for run_index, run in enumerate(report.runs):
        for index, entry in enumerate(run.ledger):
            expected = books.recomputed[run_index][index].flops
            if entry.flops is None or expected is None or entry.flops == expected:
                continue
            if entry.method in (None, "counts"):
                pointer = f"/runs/{run_index}/ledger/{index}/flops"
                priced = books.models[entry.model or ""]
                cause = functools.partial(flops_cause, entry.flops, expected, entry, priced, run)
                yield from excuses.difference(pointer, entry.flops, (expected,), "the counts of this entry", cause)


@once_a_report
def _total_differences(report: Report) -> tuple[_Difference, ...]:
    return tuple(_find_total_differences(report))


def _find_total_differences(report: Report) -> Iterator[_Difference]:
    """Compare totals with the sums of their parts: of what the counts give, or of what the entries state."""
    books = account(report)
    excuses = _Excuses(report)
    for index, run in enumerate(report.runs):
        if run.totals is None:
            continue
        pointer = f"/runs/{index}/totals"
        parts = []
        is_consistent = True
        for component in COMPONENTS:
            stated: float | None = getattr(run.totals, f"{component}_flops")
            figure = books.sums[index][component]
            is_same = stated is None or (stated == figure.value and not figure.at_least)
            parts.append(figure if is_same else Figure(value=stated))
            if is_same or stated is None or figure.value is None or (figure.at_least and stated > figure.value):
                continue
            if relative_difference(stated, figure.value) > EXACT:
                by_counts = recomputed_sum(report, index, component).value
                assert by_counts is not None  # what is known as stated is known as recomputed
                what = f"the {component} entries of the ledger"
                is_consistent = False
                expected = (by_counts, figure.value)
                entries = [
                    (f"entry {at}", line.value)
                    for at, line in enumerate(books.figures[index])
                    if line.value is not None and run.ledger[at].component == component
                ]
                cause = functools.partial(sum_cause, stated, entries, run)
                yield from excuses.difference(f"{pointer}/{component}_flops", stated, expected, what, cause)
        total = run.totals.total_flops
        known = [part.value for part in parts if part.value is not None]
        is_partial = len(known) < len(parts) or any(part.at_least for part in parts)
        may_be = total is None or not known or total == sum(known) or (is_partial and total > sum(known))
        if total is not None and is_consistent and not may_be:
            what = "search, learning and feedback"
            named = [(name, part.value) for name, part in zip(COMPONENTS, parts, strict=True) if part.value is not None]
            cause = functools.partial(sum_cause, total, named, run)
            yield from excuses.difference(f"{pointer}/total_flops", total, (sum(known),), what, cause)


class _Excuses:
    """What makes a difference a warning: that it is a rounding, or lies within a range that the report states."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def difference(
        self, pointer: str, stated: float, expected: tuple[float, ...], what: str, cause: Callable[[], str]
    ) -> Iterator[_Difference]:
        """Yield the difference of a figure from the first of those that it may equal, if it equals none."""
        distances = [relative_difference(stated, value) for value in expected]
        if min(distances) > EXACT:
            excuse = _ROUNDING if min(distances) <= ROUNDED else ""
            if not excuse and self._is_within_range(pointer, expected[0]):
                excuse = "allowed, because a qualification states a range that holds it"
            yield _Difference(pointer, stated, expected[0], what, excuse, cause)

    def _is_within_range(self, pointer: str, value: float) -> bool:
        """Tell whether a qualification of the figure states a range that the value lies in, with both its ends."""
        ranges = self._ranges.at(pointer)
        return any(
            entry.low is not None and entry.high is not None and entry.low <= value <= entry.high for entry in ranges
        )

    @functools.cached_property
    def _ranges(self) -> Pointed[Qualification]:
        return Pointed(self._report, [(entry.pointer, entry) for entry in self._report.qualifications])
