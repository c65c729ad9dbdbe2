"""Which level of disclosure a report reaches, and what the next one lacks."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.accounting import (
    COMPONENTS,
    Figure,
    Lack,
    RunTotals,
    account,
    totals,
)
from race_report.flops import ROUNDED, relative_difference
from race_report.once import once_a_report
from race_report.pointer import Pointed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from race_report.accounting import Account, Recomputation
    from race_report.document import LedgerEntry, Model, Report, Run

NAMES: Final = ("Well-formed", "Declared", "Recomputable", "Replayable")
"""The levels, from 0."""

_REPLAYABLE: Final = 3


_NO_MODEL: Final = frozenset({"rule", "environment", "human"})
"""Kinds of feedback that no neural network gives."""


class Level(NamedTuple):
    """The level that a report reaches."""

    number: int
    is_lower_bound: bool
    """Whether a total is a lower bound, because a part of it is unknown."""
    lacking: tuple[str, ...]
    """What the next level lacks, a sentence each."""

    @property
    def name(self) -> str:
        """The level's name."""
        return NAMES[self.number]


class Gap(NamedTuple):
    """Something that the next level asks for and the report lacks."""

    pointer: str
    """Plain pointer to where it would stand."""
    what: str
    """What it is."""
    place: str = ""
    """The part of the report that lacks it, by ids."""
    covered_by: tuple[str, ...] = ()
    """Plain pointers to what, where it is named as missing, names this too."""

    @property
    def words(self) -> str:
        """What it is, with its place."""
        return f"{self.place}: {self.what}" if self.place else self.what


class _Assessment(NamedTuple):
    """The level of a report, errors left aside, and what the next one lacks."""

    number: int
    gaps: tuple[Gap, ...]
    is_lower_bound: bool


def reached_level(
    report: Report, errors: Collection[str] = (), replayed: Mapping[int, str] = MappingProxyType({})
) -> Level:
    """Decide the level of a structurally valid report; levels above 0 need a report without errors.

    Args:
        report: a view of it, or the object of the classes.
        errors: the codes of the errors that it has, those of rules that are ignored included.
        replayed: by the position of runs with a trace, what keeps it from being proof, empty where nothing does; a
            run is left out where nothing was looked for.

    """
    assessed = _assess(report)
    number, gaps = assessed.number, [gap.words for gap in assessed.gaps]
    if number == _REPLAYABLE:
        gaps = [f"/runs/{report.runs[at].id}: {why}" for at, why in _unproven(report, replayed) if why]
        number -= bool(gaps)
    if errors:
        number, gaps = 0, [f"its errors mended: {', '.join(sorted(set(errors)))}", *(gaps if number == 0 else ())]
    is_lower_bound = number > 0 and assessed.is_lower_bound
    return Level(number=number, is_lower_bound=is_lower_bound, lacking=tuple(dict.fromkeys(gaps)))


def _unproven(report: Report, replayed: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    """Give what keeps the trace of each run from being proof."""
    for at in range(len(report.runs)):
        yield at, replayed.get(at, "a replay of its trace, which is looked for beside a report that is a file")


def nameable_gaps(report: Report) -> tuple[Gap, ...]:
    """Give what the next level lacks where an author may know or not know it: all but a trace."""
    assessed = _assess(report)
    if assessed.number >= _REPLAYABLE - 1:
        return ()
    return assessed.gaps


@once_a_report
def _assess(report: Report) -> _Assessment:
    if _is_plainly_recomputable(report):
        gaps = tuple(_gaps_of_replayable(report))
        return _Assessment(_REPLAYABLE - bool(gaps), gaps, is_lower_bound=False)
    return _assess_in_full(report)


def _is_plainly_recomputable(report: Report) -> bool:
    """Tell at little cost that a report lacks nothing of levels 1 and 2, as most that are checked again and again."""
    books = account(report)
    return all(
        _is_plainly_declared(run, sums, books)
        and all(map(_is_plainly_counted, run.ledger, books.figures[at], books.recomputed[at]))
        for at, (run, sums) in enumerate(zip(report.runs, books.sums, strict=True))
    )


def _is_plainly_declared(run: Run, sums: dict[str, Figure], books: Account) -> bool:
    policy = books.models.get(run.policy or "")
    if policy is None or policy.model.name is None or not _has_split(run):
        return False
    for component in COMPONENTS:
        figure = sums[component]
        if not figure.is_exact or not (figure.value or _is_none(run, component)):
            return False
    for item in run.feedback:
        if item.model is not None and all(entry.model != item.model for entry in run.ledger):
            return False
    return any(pool.accelerator and pool.count for pool in run.hardware)


def _is_plainly_counted(entry: LedgerEntry, figure: Figure, found: Recomputation) -> bool:
    if entry.component not in COMPONENTS or (
        not found.missing and entry.method == "counts" and entry.basis is not None
    ):
        return True
    return entry.model is None and figure.value == 0 and entry.flops is None


def _assess_in_full(report: Report) -> _Assessment:
    known = _Known(report)
    number = 0
    gaps: tuple[Gap, ...] = ()
    for find_gaps in (_gaps_of_declared, _gaps_of_recomputable, _gaps_of_replayable):
        gaps = tuple(find_gaps(report, known))
        if gaps:
            break
        number += 1
    return _Assessment(number, gaps, any(_is_lower_bound(figures.total) for figures in known.totals.values()))


def _is_lower_bound(figure: Figure) -> bool:
    return figure.at_least and not figure.at_most


def _has_split(run: Run) -> bool:
    """Tell whether a run has search, learning and feedback: all but preparation, which is beside every total."""
    return run.role != "preparation"


class _Line(NamedTuple):
    """A ledger entry with what follows from it."""

    position: int
    entry: LedgerEntry
    figure: Figure
    recomputed: Recomputation

    @property
    def is_no_compute(self) -> bool:
        """Whether no model ran for it."""
        return self.entry.model is None and self.figure.value == 0


def _of_run(at: int, run: Run, lacks: Iterable[Lack], *covered_by: str) -> Iterator[Gap]:
    """Give gaps of a run: pointers with its index, words with its id."""
    above = tuple(f"/runs/{at}/{key}" for key in covered_by)
    for lack in lacks:
        yield Gap(f"/runs/{at}/{lack.key}", lack.what, f"/runs/{run.id}", above)


def _of_line(at: int, run: Run, line: _Line, lack: Lack) -> Gap:
    place = f"/runs/{run.id}/ledger/{line.position} ({line.entry.component})"
    return Gap(f"/runs/{at}/ledger/{line.position}/{lack.key}", lack.what, place)


def _gaps_of_declared(report: Report, known: _Known) -> Iterator[Gap]:
    """Level 1: policy, total, split, method and basis of each, hardware."""
    for at, run in enumerate(report.runs):
        if _has_split(run):
            yield from _of_run(at, run, _lacking_policy(run, known))
            yield from _of_run(at, run, _lacking_split(at, run, known), "ledger")  # totals are sums of the ledger
        elif not known.lines[at]:
            yield from _of_run(at, run, [Lack("ledger", "ledger entries of component preparation")])
        for line in known.lines[at]:
            entry = line.entry
            if entry.flops is not None and entry.method is None:
                yield _of_line(at, run, line, Lack("method", "`method`"))
            if (entry.flops is not None or entry.tokens is not None) and entry.basis is None:
                yield _of_line(at, run, line, Lack("basis", "`basis`"))
        yield from _of_run(at, run, _lacking_hardware(run))


def _lacking_hardware(run: Run) -> Iterator[Lack]:
    if not run.hardware:
        yield Lack("hardware", "`hardware` with accelerator and count")
    elif not any(pool.accelerator and pool.count for pool in run.hardware):
        for at, pool in enumerate(run.hardware):
            for key in ("accelerator", "count"):
                if getattr(pool, key) is None:
                    yield Lack(f"hardware/{at}/{key}", f"`{key}` of a hardware pool")


def _lacking_policy(run: Run, known: _Known) -> Iterator[Lack]:
    policy = known.model(run.policy)
    if run.policy is None:
        yield Lack(
            "policy", "`policy`, the id of the model that is trained; a run that only prepares has role: preparation"
        )
    elif policy is None:
        yield Lack("policy", f'the policy "{run.policy}" under `models`, which has {", ".join(known.models)}')
    elif policy.name is None and policy.architecture is None and policy.architecture_file is None:
        yield Lack("policy", "the policy's `name` or `architecture`")


def _lacking_split(at: int, run: Run, known: _Known) -> Iterator[Lack]:
    """Name the components and the total that are neither known nor known to be unknowable."""
    figures = known.totals[run.id]
    for component in COMPONENTS:
        key = f"totals/{component}_flops"
        figure: Figure = getattr(figures, component)
        lines = [line for line in known.lines[at] if line.entry.component == component]
        if figure.value is None and not known.are_closed(lines):
            hint = _hint(run, component, lines)
            yield Lack(key, f"{component} FLOPs, as ledger entries with method and basis{hint}")
        elif figure.value == 0 and not _is_none(run, component):
            yield Lack(key, f"{component} FLOPs; 0 are stated, and nothing says how a run can do without")
        elif figure.value and not any(line.entry.flops or line.entry.tokens for line in lines):
            yield Lack("ledger", f"a ledger entry that says how the {component} FLOPs were come by")
    if figures.total.value is None:
        yield Lack("totals/total_flops", "total FLOPs")
    if run.feedback:
        used = {entry.model for entry in run.ledger}
        for item in run.feedback:
            if item.model in known.models and item.model not in used:
                what = f'a ledger entry of the model "{item.model}", which gives the feedback "{item.id}"'
                yield Lack("ledger", what)


def _hint(run: Run, component: str, lines: list[_Line]) -> str:
    """Say what would make a component known."""
    if component == "feedback" and not lines and _is_none(run, component):
        return "; where no model judges, write feedback_flops: 0"
    for line in lines:
        if line.entry.model is not None and line.entry.flops is None:
            lacking = " and ".join(lack.what for lack in line.recomputed.missing)
            return f"; of its entries, number {line.position} lacks {lacking}"
    return ""


def _is_none(run: Run, component: str) -> bool:
    """Tell whether the report says how a component can have no FLOPs; learning always has some."""
    if component == "search":
        return run.rollouts is not None and run.rollouts.generated == 0
    if component == "learning":
        return False
    judges = [item.kind for item in run.feedback]
    has_entry = any(entry.model is None for entry in run.ledger if entry.component == component)
    return has_entry or (bool(judges) and _NO_MODEL.issuperset(judges))


def _gaps_of_recomputable(report: Report, known: _Known) -> Iterator[Gap]:
    """Level 2: coefficients of every open model, and counts on every entry that has one; recomputation agrees."""
    for at, run in enumerate(report.runs):
        for component in COMPONENTS:
            if known.is_stated_only(at, run, component):
                what = f"{component} FLOPs from entries; the figure in `totals` follows from none"
                yield from _of_run(at, run, [Lack("ledger", what)])
        for line in known.lines[at]:
            if not line.is_no_compute and not known.is_closed(line.entry):
                yield from _gaps_of_line(at, run, line, known)


def _gaps_of_line(at: int, run: Run, line: _Line, known: _Known) -> Iterator[Gap]:
    entry, missing = line.entry, line.recomputed.missing
    if not missing:
        if not _agrees(entry, line.recomputed.flops):
            what = "FLOPs that its counts give; the stated ones are by another method"
            yield _of_line(at, run, line, Lack("flops", what))
        return
    model = known.model(entry.model)
    for lack in missing:
        if lack.key == "coefficients" and model is not None:
            pointer = f"/models/{known.positions[model.id]}/coefficients"
            hint = "; if it is closed, name them in `not_reported`" if known.may_be_closed(model) else ""
            yield Gap(pointer, f"{lack.what}{hint}")
        else:
            yield _of_line(at, run, line, lack)


def _gaps_of_replayable(report: Report, known: _Known | None = None) -> Iterator[Gap]:  # noqa: ARG001 - one signature
    """Level 3: a trace; whether its sums are the ledger is found where it can be read."""
    for at, run in enumerate(report.runs):
        if run.trace is None:
            yield from _of_run(at, run, [Lack("trace", "a `trace`")])


def _named_as_closed(report: Report, models: list[str], positions: dict[str, int]) -> Iterator[str]:
    """Give those of some models whose coefficients are named in `not_reported`; unmeasured ones are not closed."""
    gaps = Pointed(report, [(gap.pointer, gap.reason) for gap in report.not_reported])
    for model in models:
        reasons = gaps.covering(f"/models/{positions[model]}/coefficients")
        if any(reason != "not_measured" for reason in reasons):
            yield model


class _Known:
    """What all levels ask of a report: its models, which of them are closed, its totals by run."""

    def __init__(self, report: Report) -> None:
        self.account = account(report)
        self.models = self.account.models
        self.totals: dict[str, RunTotals] = {
            run.id: figures for run, figures in zip(report.runs, totals(report), strict=True) if _has_split(run)
        }
        self.positions = {model.id: at for at, model in enumerate(report.models)}
        self.lines = [
            _lines(run, figures, recomputed)
            for run, figures, recomputed in zip(report.runs, self.account.figures, self.account.recomputed, strict=True)
        ]
        self._policies = {run.policy for run in report.runs}
        candidates = [model.id for model in report.models if self.may_be_closed(model)]
        self._closed = set(_named_as_closed(report, candidates, self.positions)) if candidates else set()

    def model(self, name: str | None) -> Model | None:
        """Give a model by its id."""
        priced = self.models.get(name or "")
        return None if priced is None else priced.model

    def may_be_closed(self, model: Model) -> bool:
        """Tell whether a model's coefficients can be unknown; whoever trains a model knows its shape."""
        return (
            model.coefficients is None
            and model.architecture is None
            and model.trained in (None, "none")
            and model.id not in self._policies
        )

    def is_stated_only(self, at: int, run: Run, component: str) -> bool:
        """Tell whether a figure of `totals` has entries beside it, of which nothing is known."""
        stated = getattr(run.totals, f"{component}_flops") if run.totals is not None else None
        if not stated or self.account.sums[at][component].value is not None:
            return False
        return any(entry.component == component for entry in run.ledger)

    def is_closed(self, entry: LedgerEntry) -> bool:
        """Tell whether the FLOPs of an entry are unknown because its model is closed: named so in `not_reported`."""
        return entry.model in self._closed and entry.flops is None

    def are_closed(self, lines: list[_Line]) -> bool:
        """Tell whether entries are unknown for no other reason than closed models."""
        others = [line for line in lines if not self.is_closed(line.entry)]
        return len(others) < len(lines) and all(line.is_no_compute for line in others)


def _lines(run: Run, figures: list[Figure], recomputed: list[Recomputation]) -> list[_Line]:
    """Give the entries that a level is about: those of the total, or of preparation."""
    components = COMPONENTS if _has_split(run) else ("preparation",)
    return [
        _Line(at, entry, figures[at], recomputed[at])
        for at, entry in enumerate(run.ledger)
        if entry.component in components
    ]


def _agrees(entry: LedgerEntry, computed: int | None) -> bool:
    """Tell whether FLOPs stated by another method than counts are those that the counts give.

    Of method `counts`, flops-mismatch has said so.
    """
    if entry.flops is None or entry.method in (None, "counts"):
        return True
    return computed is not None and relative_difference(entry.flops, computed) <= ROUNDED
