"""Ledger -> FLOPs of each component, total, shares.

A figure is exact, a lower bound or unknown; unknown is None and never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.flops import ROUNDED, Factors, ModelCoefficients, PassCounts, default_factors, entry_flops

if TYPE_CHECKING:
    from race_report.document import Coefficients, LedgerEntry, Model, Report, Run

COMPONENTS: Final = ("search", "learning", "feedback")
"""The components that make the total."""

_ADAPTER_TERM: Final = ("adapter_parameters", "adapter_tokens")

_TERMS: Final = (
    ("head_parameters", "logit_rows"),
    ("attention_width", "attention_pairs"),
    ("bounded_attention_width", "bounded_attention_pairs"),
)
"""Coefficients whose count must be known where they are not 0. Tokens must be; adapter tokens may be absent."""


MODEL_PHASES: Final = frozenset(
    {
        *("prefill", "decode", "old_logprobs", "reference_logprobs", "update", "value_update"),
        *("judge_prefill", "judge_decode", "teacher_logprobs", "reward_update"),
    }
)
"""Phases that no program without a neural network can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTotals:
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


def models_by_id(report: Report) -> dict[str, Model]:
    """Give the models by the name that entries use."""
    return {model.id: model for model in report.models}


class Lack(NamedTuple):
    """Something that is missing: the key where it would stand, and what it is in words."""

    key: str
    what: str


def missing_for_recomputation(entry: LedgerEntry, models: dict[str, Model]) -> list[Lack]:
    """Give what an entry lacks to be recomputed; nothing where its FLOPs follow from its counts."""
    if entry.model is None:
        return [Lack("model", "a model and its counts")]
    model = models.get(entry.model)
    if model is None:
        return [Lack("model", f'the model "{entry.model}", which `models` does not have')]
    missing = [_coefficients_of(model)] if model.coefficients is None else []
    if entry.tokens is None:
        missing.append(Lack("tokens", "tokens"))
    if model.coefficients is not None:
        missing += _missing_terms(entry, model, model.coefficients)
    elif model.architecture is not None:  # a transformer has a head and attention, whatever their size
        missing += [Lack(count, count) for count in ("logit_rows", "attention_pairs") if getattr(entry, count) is None]
    if _factors(entry, model) is None:
        trained = model.trained or "not stated"
        what = f'multipliers, because the model "{model.id}" is updated and `trained` is {trained}'
        missing.append(Lack("multipliers", what))
    return missing


def _missing_terms(entry: LedgerEntry, model: Model, coefficients: Coefficients) -> list[Lack]:
    """Give the counts that coefficients ask for, and the coefficients that counts ask for."""
    missing = [
        Lack(count, count)
        for coefficient, count in _TERMS
        if getattr(coefficients, coefficient) and getattr(entry, count) is None
    ]
    missing += [
        Lack(count, f'`{coefficient}` of the model "{model.id}"')
        for coefficient, count in (*_TERMS, _ADAPTER_TERM)
        if getattr(entry, count) and getattr(coefficients, coefficient) is None
    ]
    if entry.operation == "update" and coefficients.adapter_parameters and entry.adapter_tokens is None:
        missing.append(Lack("adapter_tokens", "adapter_tokens, because in an update adapters are not merged"))
    if entry.operation == "update" and model.trained == "adapter" and coefficients.adapter_parameters is None:
        missing.append(Lack("adapter_tokens", f'`adapter_parameters` of the model "{model.id}", which are trained'))
    return missing


def _coefficients_of(model: Model) -> Lack:
    return Lack("coefficients", f'coefficients of the model "{model.id}"')


def is_left_to_accounting(entry: LedgerEntry, models: dict[str, Model]) -> bool:
    """Tell whether coefficients are all that is missing, and an architecture stands from which they will follow."""
    model = models.get(entry.model or "")
    return (
        model is not None
        and (model.architecture is not None or model.architecture_file is not None)
        and missing_for_recomputation(entry, models) == [_coefficients_of(model)]
    )


def recompute(entry: LedgerEntry, models: dict[str, Model]) -> int | None:
    """Give the FLOPs that follow from an entry's counts, or None where something is missing."""
    if missing_for_recomputation(entry, models):
        return None
    assert entry.model is not None
    model = models[entry.model]
    factors = _factors(entry, model)
    assert model.coefficients is not None
    assert factors is not None
    return entry_flops(
        ModelCoefficients(*(getattr(model.coefficients, name) or 0 for name in ModelCoefficients._fields)),
        PassCounts(*(getattr(entry, name) or 0 for name in PassCounts._fields)),
        factors,
    )


def _factors(entry: LedgerEntry, model: Model) -> Factors | None:
    """Give the multipliers that an entry states, or those of its operation."""
    stated = entry.multipliers
    if stated is not None:
        return Factors(stated.body, stated.head, stated.attention, stated.adapter)
    return default_factors(entry.operation or "forward", model.trained)


def entry_figure(entry: LedgerEntry, models: dict[str, Model], *, recomputed: bool = False) -> Figure:
    """Give an entry's FLOPs: as stated, else as its counts say, else 0 where no model ran, else unknown.

    With `recomputed`, what the counts say goes before what is stated, where the entry's method is counts.
    """
    if entry.flops is not None:
        by_counts = recompute(entry, models) if recomputed and entry.method in (None, "counts") else None
        return _figure(entry.flops if by_counts is None else by_counts, entry.basis)
    if entry.model is not None:
        return _figure(recompute(entry, models), entry.basis)
    return _figure(0 if _ran_no_model(entry) else None, entry.basis)


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
    return Figure(value=value, at_least=basis == "lower_bound", at_most=basis == "upper_bound")


def _sum(figures: list[Figure]) -> Figure:
    """Add figures; an unknown one makes a lower bound of the rest, and nothing of a rest that is 0."""
    known = [figure.value for figure in figures if figure.value is not None]
    has_unknown = len(known) < len(figures)
    if has_unknown and not any(known):
        return Figure()
    return Figure(
        value=sum(known),
        at_least=has_unknown or any(figure.at_least for figure in figures),
        at_most=any(figure.at_most for figure in figures),
    )


def ledger_figure(run: Run, component: str, models: dict[str, Model], *, recomputed: bool = False) -> Figure:
    """Sum the entries of a component; where there is none, nothing is known."""
    entries = [entry for entry in run.ledger if entry.component == component]
    if component != "feedback" and all(entry.model is None and entry.flops is None for entry in entries):
        return Figure()  # a tool or a CPU fit beside rollouts and updates that nobody entered
    figures = [entry_figure(entry, models, recomputed=recomputed) for entry in entries]
    return _sum(figures) if figures else Figure()


def run_totals(run: Run, models: dict[str, Model]) -> RunTotals:
    """Give the totals of a run: as its ledger says, and as it states where the ledger is silent."""
    parts = {name: _known(ledger_figure(run, name, models), run, f"{name}_flops") for name in COMPONENTS}
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


def totals(report: Report) -> list[RunTotals]:
    """Give the totals of every run of a report, in its order."""
    models = models_by_id(report)
    return [run_totals(run, models) for run in report.runs]
