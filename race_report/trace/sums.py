"""Records -> the entries of the ledger that they prove."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from race_report.trace.reading import Key, Record

REDONE: Final = "redone"
"""The part of work that was done again after a restart: spent, and inside the total."""

_WEAKENING: Final = ("measured", "derived", "estimated")


class Sum(NamedTuple):
    """What the records of one entry add up to."""

    amounts: dict[str, float]
    """By the names of the ledger; integers where every record has an integer. What no record has is not in it."""
    basis: str
    """The weakest of the records'."""
    records: int


def sums(records: list[Record]) -> dict[Key, Sum]:
    """Add records up by the entry of the ledger that each belongs to, in the order in which entries are first met.

    Of what a worker recorded of a step, the last attempt is the run's; what it recorded in earlier ones is redone.
    """
    last = last_attempts(records)
    found: dict[Key, list[Record]] = {}
    for record in records:
        is_redone = record.step is not None and record.attempt < last[record.worker, record.step]
        key = as_redone(record.key) if is_redone else record.key
        found.setdefault(key, []).append(record)
    return {key: _sum(of_key) for key, of_key in found.items()}


def last_attempts(records: Iterable[Record]) -> dict[tuple[str, int], int]:
    """Give the last attempt in which each worker recorded each step."""
    last: dict[tuple[str, int], int] = {}
    for record in records:
        if record.step is not None:
            place = record.worker, record.step
            last[place] = max(record.attempt, last.get(place, 0))
    return last


def as_redone(key: Key) -> Key:
    """Give the key of the same work done in vain: `redone`, or `redone.` and the part that it was."""
    if key.part is None:
        return key._replace(part=REDONE)
    return key if is_redone(key) else key._replace(part=f"{REDONE}.{key.part}")


def is_redone(key: Key) -> bool:
    """Tell whether a key is that of work that was done again."""
    return key.part is not None and (key.part == REDONE or key.part.startswith(f"{REDONE}."))


def _sum(records: list[Record]) -> Sum:
    names = dict.fromkeys(name for record in records for name in record.amounts)
    amounts = {name: total([record.amounts[name] for record in records if name in record.amounts]) for name in names}
    return Sum(amounts, weakest(record.basis or "measured" for record in records), len(records))


def total(numbers: list[float]) -> float:
    """Add numbers: integers exactly; others to the nearest double of the true sum, whatever their order."""
    whole = sum(number for number in numbers if isinstance(number, int))
    broken = [number for number in numbers if not isinstance(number, int)]
    return math.fsum([whole, *broken]) if broken else whole


def weakest(bases: Iterable[str]) -> str:
    """Give the weakest basis; a lower with an upper bound gives an estimate."""
    found = set(bases)
    bounds = found - set(_WEAKENING)
    if len(bounds) == 1:
        return bounds.pop()
    return "estimated" if bounds else max(found, key=_WEAKENING.index)
