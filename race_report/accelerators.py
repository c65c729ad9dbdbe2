"""The table of accelerators: from a name to the devices it may mean and their peaks.

A name is read by whole words, and every word of it must be understood: an RTX A4000 is no A40, an H20 no H200, and a
laptop's part not the one of its name. What is not understood is unknown; there is no default.
"""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report._resources import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMATS: Final = {"mxfp8": "fp8", "mxfp4": "fp4", "nvfp4": "fp4"}
"""Number formats that matrix units run at the rate of another."""

_TIMES: Final = "\u00d7"
_MEMORY: Final = re.compile(r"\b(\d+) ?(?:gib|gb|g)\b")
_COUNT: Final = re.compile(r"\d+x(?:\d+)?|x\d+")
_ATTACHED_COUNT: Final = re.compile(r"\b(\d+x)(?=[a-z])|(?<=[0-9])(x\d+)\b")
_COUNT_BEHIND: Final = re.compile(r"\bx (\d+)\b")


class Accelerator(NamedTuple):
    """One device of the table, or one die where frameworks list dies apart."""

    name: str
    unit: str
    """`device` or `die`."""
    dense: dict[str, float | None]
    """FLOP/s by number format; None where the device has no matrix unit for it, absent where it is not known."""
    also: dict[str, dict[float, str]]
    """Other figures in use, by number format, with what they are."""
    sparse_factor: float | None
    memory_gb: tuple[int, ...]
    tdp_watts: float | None

    def peaks(self, precision: str) -> tuple[float, ...]:
        """Give the dense rates in use for a number format, the table's own first; empty where none is known."""
        key = _FORMATS.get(precision, precision)
        own = self.dense.get(key)
        return (() if own is None else (own,)) + tuple(self.also.get(key, ()))

    def lacks(self, precision: str) -> bool:
        """Tell whether the device is known to have no matrix unit for a number format."""
        key = _FORMATS.get(precision, precision)
        return key in self.dense and self.dense[key] is None

    def by_format(self) -> Iterator[tuple[str, float]]:
        """Give every dense rate in use with its number format."""
        for precision in self.dense:
            for peak in self.peaks(precision):
                yield precision, peak

    @property
    def largest(self) -> float | None:
        """The largest dense rate in any format, or None where none is known."""
        return max((peak for _, peak in self.by_format()), default=None)


class _Table(NamedTuple):
    entries: tuple[Accelerator, ...]
    by_words: dict[tuple[str, ...], tuple[Accelerator, ...]]
    longest: int
    vocabulary: frozenset[str]
    ignored: frozenset[str]


@functools.cache
def _table() -> _Table:
    raw = json.loads(read_text("schema", "accelerators.json"))
    entries = tuple(_entry(item) for item in raw["accelerators"])
    by_words: dict[tuple[str, ...], tuple[Accelerator, ...]] = {}
    for item, entry in zip(raw["accelerators"], entries, strict=True):
        for name in (*item["names"], *item["families"]):
            key = tuple(name.casefold().split())
            by_words[key] = (*by_words.get(key, ()), entry)
    vocabulary = frozenset(word for key in by_words for word in key)
    return _Table(entries, by_words, max(map(len, by_words)), vocabulary, frozenset(raw["ignored_words"]))


def _entry(item: dict[str, Any]) -> Accelerator:
    also: dict[str, dict[float, str]] = {}
    for other in item.get("also", ()):
        also.setdefault(other["precision"], {})[other["flops_per_second"]] = other["what"]
    return Accelerator(
        name=item["name"],
        unit=item["unit"],
        dense=item["dense"],
        also=also,
        sparse_factor=item.get("sparse_factor"),
        memory_gb=tuple(item.get("memory_gb", ())),
        tdp_watts=item.get("tdp_watts"),
    )


def accelerators() -> tuple[Accelerator, ...]:
    """Give every device of the table."""
    return _table().entries


@functools.lru_cache(maxsize=1024)
def candidates(name: str) -> tuple[Accelerator, ...]:
    """Give the devices that a name may mean, several where it leaves the variant open; none where it is unknown."""
    table = _table()
    text = " ".join(re.findall(r"[a-z0-9]+", name.replace(_TIMES, "x").casefold()))
    text = _COUNT_BEHIND.sub(r"x\1", _ATTACHED_COUNT.sub(r" \1\2 ", text))
    sizes = [int(size) for size in _MEMORY.findall(text)]
    words = _MEMORY.sub(" ", text).split()
    found = _matches([word for word in words if word in table.vocabulary or not _is_silent(word, table)], table)
    fitting = dict.fromkeys(
        entry.name for entry in found or () if not entry.memory_gb or all(size in entry.memory_gb for size in sizes)
    )
    return tuple(entry for entry in table.entries if entry.name in fitting)


def _is_silent(word: str, table: _Table) -> bool:
    """Tell whether a word says nothing of which device it is: a vendor, a kind of memory, a count such as `8x`."""
    return word in table.ignored or _COUNT.fullmatch(word) is not None


def _matches(words: list[str], table: _Table) -> list[Accelerator] | None:
    """Read words from the left, the longest name first; None where a word is left that says nothing known."""
    found: list[Accelerator] = []
    at = 0
    while at < len(words):
        for length in range(min(table.longest, len(words) - at), 0, -1):
            entries = table.by_words.get(_singular(words[at : at + length], table.vocabulary))
            if entries is not None:
                found += entries
                at += length
                break
        else:
            if not _is_silent(words[at], table) and not (at == 0 and words[0].isdecimal()):
                return None
            at += 1
    return found


def _singular(words: list[str], vocabulary: frozenset[str]) -> tuple[str, ...]:
    """Drop the plural of words that the table does not have: the H100s, but an L40S is one device."""
    return tuple(word if word in vocabulary else word.removesuffix("s") for word in words)
