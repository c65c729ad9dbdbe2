"""Work that several ask for and that is done once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from race_report.document import Report

T = TypeVar("T")


def once_a_report(find: Callable[[Report], T]) -> Callable[[Report], T]:
    """Keep what a function found in the last report, for the others that ask about the same object.

    Reports are told apart by identity: they do not change, and comparing them would cost more than the work.
    """
    last: tuple[Report, T] | None = None

    def found(report: Report) -> T:
        nonlocal last
        if last is None or last[0] is not report:
            last = report, find(report)
        return last[1]

    return found
