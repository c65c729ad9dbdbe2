"""A report that is being filled: what stands, what was added, what was assumed, what does not follow."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.pointer import Pointed
from race_report.standard import view

if TYPE_CHECKING:
    from collections.abc import Iterable

    from race_report.document import Report

    Path = tuple[str | int, ...]
    """Keys and indices that lead to a value."""


class Addition(NamedTuple):
    """A value that was added."""

    pointer: str
    """Where it stands now, by ids."""
    value: Any
    why: str
    """What it follows from."""


class Gap(NamedTuple):
    """Something that does not follow from the report."""

    pointer: str
    """Where it would stand, by ids."""
    why: str
    mend: str
    """What the author can add so that it follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What became of a report."""

    value: Any
    """The report with all additions."""
    additions: tuple[Addition, ...]
    assumptions: tuple[dict[str, Any], ...]
    """The qualifications that were added."""
    gaps: tuple[Gap, ...]


_STRENGTH: Final = ("estimated", "derived", "measured")


def weakest(bases: Iterable[str]) -> str | None:
    """Give the weakest of some bases, as SPEC.md section 4 orders them; None of none.

    What is stated by others or contested is an estimate; a lower with an upper bound is one too.
    """
    found = {"estimated" if basis in ("stated", "contested") else basis for basis in bases}
    bounds = found & {"lower_bound", "upper_bound"}
    if bounds:
        return bounds.pop() if len(bounds) == 1 else "estimated"
    return next((basis for basis in _STRENGTH if basis in found), None)


class Draft:
    """A report that grows. Paths are plain; pointers for people and qualifications have ids for indices."""

    def __init__(self, value: Any, folder: str, excluded: frozenset[str]) -> None:
        """Take a structurally valid report, the folder that it lies in, and the plain pointers that are left alone."""
        self.value = copy.deepcopy(value)
        self.folder = folder
        self._added: list[tuple[Path, Any, str]] = []
        self.assumptions: list[dict[str, Any]] = []
        self.gaps: list[Gap] = []
        self._excluded = excluded
        self._paths: set[Path] = set()
        self._ids: dict[int, set[str]] = {}
        first = self.report()
        self._named = Pointed(first, [(gap.pointer, gap.reason) for gap in first.not_reported])
        self._bases = Pointed(first, [(entry.pointer, entry.basis) for entry in first.qualifications])

    def report(self) -> Report:
        """Give a view of the report as it is now."""
        return view()(self.value)

    def is_excluded(self, *path: str | int) -> bool:
        """Tell whether a part of the report is left alone."""
        return _plain(path) in self._excluded

    def is_named(self, *path: str | int) -> bool:
        """Tell whether the author names a place, or what it lies in, as not reported."""
        return bool(self._named.covering(_plain(path)))

    @cached_property
    def closed(self) -> set[str | None]:
        """The ids of closed models: not trained, without architecture, their coefficients named as unknowable."""
        report = self.report()
        policies = {run.policy for run in report.runs}
        return {
            model.id
            for at, model in enumerate(report.models)
            if model.id not in policies
            and model.trained in (None, "none")
            and model.coefficients is None
            and model.architecture is None
            and any(reason != "not_measured" for reason in self._named.covering(f"/models/{at}/coefficients"))
        }

    def bases(self, *paths: Path) -> list[str]:
        """Give the bases that the author's qualifications state for some figures."""
        return [basis for path in paths for basis in self._bases.at(_plain(path))]

    def pointer(self, *path: str | int) -> str:
        """Give the pointer to a place, with the ids of elements that have one."""
        value, tokens = self.value, []
        for token in path:
            inner: Any = None
            if isinstance(value, dict):
                inner = value.get(str(token))
            elif isinstance(value, list) and isinstance(token, int) and token < len(value):
                inner = value[token]
            is_element = isinstance(token, int) and isinstance(inner, dict)
            tokens.append(str(inner.get("id", token)) if is_element else str(token))
            value = inner
        return "".join(f"/{token}" for token in tokens)

    def add(self, path: Path, value: Any, why: str) -> bool:
        """Add a value where none stands: at a key of an object, or at the end of an array; tell whether it was added.

        What the author names as not reported is not added, here or within the value, and said to be so.
        """
        container = self._at(path[:-1])
        if isinstance(container, dict) and path[-1] in container:
            return False
        value = self._without_named(path, value)
        if value is None:
            return False
        if isinstance(container, list):
            assert path[-1] == len(container)
            container.append(value)
        else:
            container[path[-1]] = value
        if not any(path[:length] in self._paths for length in range(len(path) + 1)):
            self._paths.add(path)
            self._added.append((path, value, why))
        return True

    def additions(self) -> tuple[Addition, ...]:
        """Give what was added, each by the pointer that leads to it now: entries may have got ids since."""
        return tuple(Addition(self.pointer(*path), value, why) for path, value, why in self._added)

    def qualify(self, path: Path, basis: str, reason: str, **others: Any) -> None:
        """Say of a figure that was added where it comes from, and what was assumed."""
        entry = {"pointer": self.pointer(*path), "basis": basis, **others, "reason": reason}
        self.value.setdefault("qualifications", []).append(entry)
        self.assumptions.append(entry)

    def free_id(self, run: int, phase: str) -> str:
        """Give an id for an entry that no other of the run's ledger has: its phase, with a number if that is taken."""
        taken = self._ids.get(run)
        if taken is None:
            taken = self._ids[run] = {entry.get("id", "") for entry in self.value["runs"][run]["ledger"]}
        names = (phase if number == 1 else f"{phase}-{number}" for number in count(1))
        name = next(name for name in names if name not in taken)
        taken.add(name)
        return name

    def miss(self, path: Path, why: str, mend: str) -> None:
        """Say that something does not follow."""
        self.gaps.append(Gap(self.pointer(*path), why, mend))

    def _at(self, path: Path) -> Any:
        value = self.value
        for token in path:
            value = value[token]
        return value

    def _without_named(self, path: Path, value: Any) -> Any:
        if self._named.covering(_plain(path)):
            self.miss(path, "it is named in not_reported", "delete it there, and it is filled in")
            return None
        if not isinstance(value, dict):
            return value
        return {
            key: kept for key, child in value.items() if (kept := self._without_named((*path, key), child)) is not None
        }


def _plain(path: Iterable[str | int]) -> str:
    return "".join(f"/{token}" for token in path)
