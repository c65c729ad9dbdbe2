"""Executed FLOPs that grow while nothing else does: readings of a counter that was not reset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.trace.reading import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from race_report.trace.reading import Key, Record

EXECUTED: Final = "executed_flops"

_GROWTH: Final = 1.5
"""By how much executed FLOPs may grow from one pass to the next of the same counts."""

_ENOUGH: Final = 3
"""Records in a row that show an even climb."""


class Climb:
    """Watches the executed FLOPs of alike records, one after the other."""

    def __init__(self) -> None:
        """Begin without a record."""
        self._counts: dict[str, float] = {}
        self.values: list[float] = []

    def takes(self, amounts: Mapping[str, float]) -> None:
        """Take the amounts of the next record; those of other counts begin anew, those without the figure are none."""
        executed = amounts.get(EXECUTED)
        if executed is None:
            return
        alike = {name: number for name, number in amounts.items() if name in COUNTED and name != EXECUTED}
        if alike != self._counts:
            self._counts, self.values = alike, []
        self.values = [*self.values[1 - _ENOUGH :], executed]

    @property
    def jumps(self) -> bool:
        """Whether the last is more than half as much again as the one before, for the same counts."""
        return len(self.values) > 1 and self.values[-1] >= _GROWTH * self.values[-2] > 0

    @property
    def is_even(self) -> bool:
        """Whether the last three climb by one and the same difference, for the same counts."""
        if len(self.values) < _ENOUGH:
            return False
        first, second, third = self.values
        return third - second == second - first > 0


def climbs(records: Iterable[Record]) -> Iterator[Record]:
    """Give the first record of each worker and key at which executed FLOPs have climbed evenly."""
    watched: dict[tuple[str, Key], Climb | None] = {}
    for record in records:
        place = record.worker, record.key
        climb = watched.setdefault(place, Climb())
        if climb is not None:
            climb.takes(record.amounts)
            if climb.is_even:
                watched[place] = None
                yield record
