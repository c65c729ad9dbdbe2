"""Ledger -> FLOPs of each component, total, shares.

A figure is exact, a lower bound or unknown; unknown is None and never 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.flops import ROUNDED, Factors, default_factors, entry_flops
from race_report.once import once_a_report

if TYPE_CHECKING:
    from race_report.document import Coefficients, LedgerEntry, Model, Report, Run
    from race_report.flops import ModelCoefficients

COMPONENTS: Final = ("search", "learning", "feedback")
"""The components that make the total."""

_TERMS: Final = (
    ("head_parameters", "logit_rows"),
    ("attention_width", "attention_pairs"),
    ("bounded_attention_width", "bounded_attention_pairs"),
    ("adapter_parameters", "adapter_tokens"),
)
"""Coefficients whose count must be known where they are not 0; but for adapter tokens, which may be absent."""


MODEL_PHASES: Final = frozenset(
    {
        *("prefill", "decode", "old_logprobs", "reference_logprobs", "update", "value_update"),
        *("judge_prefill", "judge_decode", "teacher_logprobs", "reward_update"),
    }
)
"""Phases that no program without a neural network can do."""


class Figure(NamedTuple):
    """A number, and in which direction it is only a bound; None where nothing is known."""

    value: float | None = None
    at_least: bool = False
    """More may have been spent: a part is unknown, or a lower bound."""
    at_most: bool = False
    """Less may have been spent: a part is an upper bound. With `at_least`, the number is an estimate."""

    @property
    def is_exact(self) -> bool:
        """Tell whether the number is known and no bound."""
        return self.value is not None and not self.at_least and not self.at_most


class RunTotals(NamedTuple):
    """The FLOPs of a run and how they divide."""

    run: str
    search: Figure
    learning: Figure
    feedback: Figure
    total: Figure

    def share(self, component: str) -> Figure:
        """Give a component's share of the total, as a fraction.

        A share rises with its own component and falls with the others. So beside an unknown rest the share of a known
        component is an upper bound, and that of a component of which a part is unknown is a lower bound.
        """
        part: Figure = getattr(self, component)
        if part.value is None or not self.total.value:
            return Figure()
        others: list[Figure] = [getattr(self, other) for other in COMPONENTS if other != component]
        rest = others if all(other.value is not None for other in others) else [self.total]
        may_be_more = part.at_least or any(figure.at_most for figure in rest)
        may_be_less = part.at_most or any(figure.at_least for figure in rest)
        if may_be_more and may_be_less:
            return Figure()
        return Figure(value=part.value / self.total.value, at_least=may_be_more, at_most=may_be_less)

    @property
    def learning_share(self) -> Figure:
        """The control variable p: learning over search, learning and feedback."""
        return self.share("learning")


class Lack(NamedTuple):
    """Something that is missing: the key where it would stand, and what it is in words."""

    key: str
    what: str


class Priced(NamedTuple):
    """A model with its coefficients, as stated or as they follow from its architecture."""

    model: Model
    coefficients: Coefficients | ModelCoefficients | None
    why_not: str = ""
    """Why they do not follow from an architecture that is there."""
    asked: tuple[str, ...] = ()
    """Counts that an entry needs, because their coefficient is not 0."""
    unpriced: tuple[tuple[str, str], ...] = ()
    """Coefficients that are not known, with the count that an entry may not have without them."""


def _price(model: Model, coefficients: Coefficients | ModelCoefficients | None, why_not: str = "") -> Priced:
    if coefficients is None:
        return Priced(model, None, why_not)
    costs = [(getattr(coefficients, name), name, count) for name, count in _TERMS]
    asked = tuple(count for cost, _, count in costs if cost and count != "adapter_tokens")
    unpriced = tuple((name, count) for cost, name, count in costs if cost is None)
    return Priced(model, coefficients, why_not, asked, unpriced)


def _priced(report: Report) -> dict[str, Priced]:
    """Give the models by the name that entries use."""
    unpriced = [model.id for model in report.models if model.coefficients is None and model.architecture is not None]
    if not unpriced:
        return {model.id: _price(model, model.coefficients) for model in report.models}
    from race_report.derivation import derived

    found = derived(report)
    return {
        model.id: _price(model, model.coefficients)
        if model.id not in unpriced
        else _price(model, found[model.id].coefficients, found[model.id].why_not)
        for model in report.models
    }


def missing_for_recomputation(entry: LedgerEntry, priced: Priced | None) -> list[Lack]:
    """Give what an entry lacks to be recomputed; nothing where its FLOPs follow from its counts."""
    if priced is None:
        what = (
            f'the model "{entry.model}", which `models` does not have'
            if entry.model
            else "model and counts of this entry"
        )
        return [Lack("model", what)]
    model, coefficients, why_not, *_ = priced
    missing = []
    if coefficients is None:
        because = f": {why_not}" if why_not else ""
        if model.architecture is None and model.architecture_file is not None:
            because = f": race fill reads them from {model.architecture_file}"
        missing.append(Lack("coefficients", f'coefficients of the model "{model.id}"{because}'))
    if entry.tokens is None:
        missing.append(Lack("tokens", "tokens"))
    if coefficients is not None:
        missing += _missing_terms(entry, priced, coefficients)
    elif model.architecture_file is not None:  # a transformer has a head and attention, whatever their size
        missing += [Lack(count, count) for count in ("logit_rows", "attention_pairs") if getattr(entry, count) is None]
    if entry.operation == "update" and factors_of(entry, model) is None:
        trained = model.trained or "not stated"
        what = f'`trained` of the model "{model.id}", which is updated and has {trained} there, or multipliers'
        missing.append(Lack("multipliers", what))
    return missing


def _missing_terms(entry: LedgerEntry, priced: Priced, coefficients: Coefficients | ModelCoefficients) -> list[Lack]:
    """Give the counts that coefficients ask for, and the coefficients that counts ask for."""
    model = priced.model
    missing: list[Lack] = []
    for count in priced.asked:
        if getattr(entry, count) is None:
            missing += (Lack(count, count),)
    for coefficient, count in priced.unpriced:
        if getattr(entry, count):
            missing += (Lack(count, f'`{coefficient}` of the model "{model.id}"'),)
    if entry.operation == "update" and coefficients.adapter_parameters and entry.adapter_tokens is None:
        missing.append(Lack("adapter_tokens", "adapter_tokens, because in an update adapters are not merged"))
    if entry.operation == "update" and model.trained == "adapter" and coefficients.adapter_parameters is None:
        missing.append(Lack("adapter_tokens", f'`adapter_parameters` of the model "{model.id}", which are trained'))
    return missing


class Recomputation(NamedTuple):
    """What follows from an entry's counts: its FLOPs, or what is missing."""

    flops: int | None
    missing: list[Lack]


def recompute(entry: LedgerEntry, priced: Priced | None) -> Recomputation:
    """Give the FLOPs that follow from an entry's counts, or what is missing."""
    missing = missing_for_recomputation(entry, priced)
    if missing:
        return Recomputation(None, missing)
    assert priced is not None
    assert priced.coefficients is not None
    factors = factors_of(entry, priced.model)
    assert factors is not None
    return Recomputation(entry_flops(priced.coefficients, entry, factors), missing)


def factors_of(entry: LedgerEntry, model: Model) -> Factors | None:
    """Give the multipliers that an entry states, or those of its operation."""
    stated = entry.multipliers
    if stated is not None:
        return Factors(stated.body, stated.head, stated.attention, stated.adapter)
    return default_factors(entry.operation or "forward", model.trained)


class Account(NamedTuple):
    """What follows from the ledgers of a report, by run and entry."""

    models: dict[str, Priced]
    """The models by the name that entries use."""
    recomputed: list[list[Recomputation]]
    """What the counts of each entry give."""
    figures: list[list[Figure]]
    """The FLOPs of each entry: as stated, else as its counts say, else 0 where no model ran, else unknown."""
    sums: list[dict[str, Figure]]
    """The sum of each component's entries; where there is none, nothing is known."""


@once_a_report
def account(report: Report) -> Account:
    """Work out what follows from the ledgers of a report, once for all who ask."""
    models = _priced(report)
    recomputed = [[recompute(entry, models.get(entry.model or "")) for entry in run.ledger] for run in report.runs]
    figures = [list(map(_entry_figure, run.ledger, found)) for run, found in zip(report.runs, recomputed, strict=True)]
    sums = list(map(component_sums, report.runs, figures))
    return Account(models, recomputed, figures, sums)


def recomputed_sum(report: Report, at: int, component: str) -> Figure:
    """Sum a component's entries of a run with what counts say before what is stated, where the method is counts."""
    run, books = report.runs[at], account(report)
    figures = [
        _figure(found.flops, entry.basis) if found.flops is not None and entry.method in (None, "counts") else figure
        for entry, found, figure in zip(run.ledger, books.recomputed[at], books.figures[at], strict=True)
    ]
    return component_sums(run, figures)[component]


def _entry_figure(entry: LedgerEntry, recomputation: Recomputation) -> Figure:
    value = entry.flops
    if value is None:
        value = recomputation.flops if entry.model is not None or not _ran_no_model(entry) else 0
    return _figure(value, entry.basis)


def _ran_no_model(entry: LedgerEntry) -> bool:
    """Tell whether an entry without model and FLOPs is compute that is not FLOPs: a rule, a sandbox, a search engine.

    GPU-hours are FLOPs that nobody counted, and an entry that says nothing but its component tells nothing.
    """
    if entry.gpu_hours or entry.executed_flops or entry.phase in MODEL_PHASES:
        return False
    return any(value is not None for value in (entry.phase, entry.calls, entry.cpu_seconds))


def _figure(value: float | None, basis: str | None) -> Figure:
    if value is None:
        return Figure()
    return Figure(value, basis == "lower_bound", basis == "upper_bound")


def _sum(figures: list[Figure]) -> Figure:
    """Add figures; an unknown one makes a lower bound of the rest, and nothing of a rest that is 0."""
    total: float = 0
    unknown = at_least = at_most = False
    for figure in figures:
        if figure.value is None:
            unknown = True
        else:
            total += figure.value
            at_least = at_least or figure.at_least
            at_most = at_most or figure.at_most
    if unknown and not total:
        return Figure()
    return Figure(total, at_least or unknown, at_most)


def component_sums(run: Run, figures: list[Figure], components: tuple[str, ...] = COMPONENTS) -> dict[str, Figure]:
    """Sum the figures of a run's entries by component; where a component has none, nothing is known."""
    parts: dict[str, list[Figure]] = {name: [] for name in components}
    counted = {"feedback"}  # a tool or a CPU fit beside rollouts and updates that nobody entered tells nothing
    for entry, figure in zip(run.ledger, figures, strict=True):
        if entry.component in parts:
            parts[entry.component].append(figure)
            if entry.model is not None or entry.flops is not None:
                counted.add(entry.component)
    return {name: _sum(known) if known and name in counted else Figure() for name, known in parts.items()}


@once_a_report
def totals(report: Report) -> list[RunTotals]:
    """Give the totals of every run of a report, in its order: as its ledger says, else as it states."""
    return [_run_totals(run, parts) for run, parts in zip(report.runs, account(report).sums, strict=True)]


def _run_totals(run: Run, entered: dict[str, Figure]) -> RunTotals:
    parts = {name: _known(figure, run, f"{name}_flops") for name, figure in entered.items()}
    total = _sum(list(parts.values()))
    stated = _stated(run, "total_flops")
    if any(part.value is None for part in parts.values()) and stated.value is not None:
        # A stated total that is no more than the parts that are known has nothing in it for those that are not.
        has_all = stated.value > (total.value or 0) * (1 + ROUNDED)
        total = Figure(value=stated.value, at_least=stated.at_least or not has_all, at_most=stated.at_most)
    return RunTotals(run=run.id, total=total, **parts)


def _known(figure: Figure, run: Run, name: str) -> Figure:
    """Give a figure of the ledger; where it is unknown or less than `totals` states, what is stated there."""
    stated = _stated(run, name)
    if figure.value is None:
        return stated
    if figure.at_least and stated.value is not None and stated.value > figure.value:
        return Figure(value=stated.value, at_least=True, at_most=figure.at_most)
    return figure


def _stated(run: Run, name: str) -> Figure:
    return Figure() if run.totals is None else _figure(getattr(run.totals, name), run.totals.basis)


def trained_parameters(model: Model) -> int | None:
    """Give the parameters that the work changes: as stated, or all of them where the model is trained in full."""
    if model.parameters is None:
        return None
    if model.trained == "full" and model.parameters.trainable is None:
        return model.parameters.total
    return model.parameters.trainable


def run_gpu_hours(run: Run) -> Figure:
    """Give the accelerator-hours of a run: as stated, else the sum over its pools, idle ones included."""
    if run.gpu_hours is not None:
        return Figure(value=run.gpu_hours)
    pools = [
        pool.gpu_hours
        if pool.gpu_hours is not None or pool.count is None or pool.wall_clock_hours is None
        else pool.count * pool.wall_clock_hours
        for pool in run.hardware
    ]
    return _sum([Figure(value=hours) for hours in pools]) if pools else Figure()
