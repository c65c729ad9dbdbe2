"""RACE308 to RACE312: figures that were not made from counts, against what their method implies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from race_report.accounting import COMPONENTS, account, factors_of, totals
from race_report.finding import Severity, rule
from race_report.flops import ModelCoefficients, PassCounts, default_factors
from race_report.numbers import show_number
from race_report.rules.causes import flops_cause, rule_cause
from race_report.rules.said import is_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.accounting import Priced
    from race_report.document import LedgerEntry, Model, Report, Run
    from race_report.finding import Violation

_RULE: Final = 0.02
"""Relative difference that a rule of thumb may make beside its own arithmetic."""

_MATERIAL: Final = 0.1
"""Share of attention from which on it is no detail."""

_LARGE: Final = 10**8
_FEWEST_TOKENS: Final = 1000
"""Parameters of a model that is no toy, and tokens that each of its runs has."""

_EXECUTED: Final = (0.9, 8)
"""Executed FLOPs over model FLOPs that padding, recomputation and dead rows can explain."""


@rule("RACE308", severity=Severity.WARNING)
def rule_mismatch(report: Report) -> Iterator[Violation]:
    """FLOPs of method `parameter_rule` are not 2N a token forward, 6N in a full update, 4N + 6A with adapters.

    What it checks: `flops` against the rule on the entry's `tokens`, with any size of the model that is stated or
    follows as N, all or active, with or without the embedding; within 2 %.

    Why it matters: a rule of thumb with a wrong factor is no estimate. LoRA is not 6N: frozen weights have no gradient.

    How to fix: correct the factor, or give counts, and the tools compute the FLOPs.

    Before:

        # LoRA with the factor of full fine-tuning
        - {component: learning, model: policy, operation: update, tokens: 1000000, flops: 9.26e+15,
           method: parameter_rule, basis: estimated}

    After:

        - {component: learning, model: policy, operation: update, tokens: 1000000, flops: 6.29e+15,
           method: parameter_rule, basis: estimated}
    """
    books = account(report)
    for run_index, run in enumerate(report.runs):
        for index, entry in enumerate(run.ledger):
            priced = books.models.get(entry.model or "")
            if entry.method != "parameter_rule" or not entry.flops or not entry.tokens or priced is None:
                continue
            here = f"/runs/{run_index}/ledger/{index}"
            bounds = _by_rule(report, entry, priced)
            if bounds is None or is_open(report, here, "flops", "tokens"):
                continue
            low, high = bounds
            if not (1 - _RULE) * low <= entry.flops <= (1 + _RULE) * high:
                nearest = low if entry.flops < low else high
                cause = rule_cause(entry.flops, bounds, entry, priced.model, run)
                message = f"flops is {entry.flops:.4g}, and the rule gives {_shown(low, high)}"
                message += f": ratio {entry.flops / nearest:.4g}{f', {cause}' if cause else ''}"
                yield f"{here}/flops", message, "check the factor, N and the tokens, or state the method that was used"


def _shown(low: float, high: float) -> str:
    return f"{low:.4g}" if high <= low * 1.001 else f"{low:.4g} to {high:.4g}"


def _sizes_of(report: Report, priced: Priced) -> list[int]:
    """Give what N may stand for in a model: each size that is stated, or follows from its architecture."""
    sizes = []
    stated = priced.model.parameters
    if stated is not None:
        sizes += _with_and_without(stated.embedding or 0, stated.total or 0, stated.active or 0)
    if priced.model.architecture is not None:
        from race_report.derivation import derived

        found = derived(report)[priced.model.id].parameters
        if found is not None:
            sizes += _with_and_without(found.embedding, found.total, found.active)
    if priced.coefficients is not None:
        body = priced.coefficients.body_parameters
        sizes += [body, body + priced.coefficients.head_parameters]
    return [size for size in sizes if size > 0]


def _with_and_without(embedding: int, *sizes: int) -> list[int]:
    return [size - rest for size in sizes if size for rest in (0, embedding)]


def _by_rule(report: Report, entry: LedgerEntry, priced: Priced) -> tuple[float, float] | None:
    """Give the least and the most FLOPs that the rule gives an entry, or None where it says nothing of it."""
    sizes = _sizes_of(report, priced)
    factors = default_factors(entry.operation or "forward", priced.model.trained)
    if not sizes or factors is None or priced.model.trained == "head" or entry.multipliers is not None:
        return None
    tokens = entry.tokens or 0
    adapter = (priced.coefficients.adapter_parameters or 0) if priced.coefficients is not None else 0
    extra = 2 * factors.adapter * adapter * tokens
    return 2 * factors.body * min(sizes) * tokens, 2 * factors.body * max(sizes) * tokens + extra


@rule("RACE309", severity=Severity.WARNING)
def attention_missing(report: Report) -> Iterator[Violation]:
    """FLOPs leave attention out where it is no detail.

    What it checks: entries of method `parameter_rule` whose model has an attention width: whether the attention of
    their tokens would add 10 % or more. Pairs are those of the entry; else what its tokens and sequences make at least,
    if all were of one length. An entry whose conventions say `attention: omitted` has said so.

    Why it matters: attention grows with the square of the length; at 30,000 tokens it can be half of a small model.

    How to fix: give counts, and the tools compute the FLOPs; or write `conventions: {attention: omitted}`.

    Before:

        - {component: search, model: policy, operation: forward, sequences: 10, tokens: 300000, flops: 7.9e+14,
           method: parameter_rule, basis: estimated}

    After:

        - {component: search, model: policy, operation: forward, sequences: 10, tokens: 300000, flops: 7.9e+14,
           method: parameter_rule, basis: estimated, conventions: {attention: omitted}}
    """
    books = account(report)
    for run_index, run in enumerate(report.runs):
        for index, entry in enumerate(run.ledger):
            priced = books.models.get(entry.model or "")
            if entry.method != "parameter_rule" or not entry.flops or priced is None or priced.coefficients is None:
                continue
            if _attention_of(report, run, entry) is not None:
                continue
            factors = default_factors(entry.operation or "forward", priced.model.trained)
            pairs = _pairs_at_least(entry)
            width = priced.coefficients.attention_width
            if factors is None or not pairs or not width:
                continue
            missing = factors.attention * 4 * width * pairs
            share = missing / (entry.flops + missing)
            if share >= _MATERIAL:
                words = "" if entry.attention_pairs is not None else "at least "
                message = f"attention is left out: {words}{missing:.4g} FLOPs, {100 * share:.0f} % of the two together"
                hint = "give attention_pairs and the method counts, or say conventions: {attention: omitted}"
                yield f"/runs/{run_index}/ledger/{index}/flops", message, hint


def _attention_of(report: Report, run: Run, entry: LedgerEntry) -> str | None:
    by_nearness = (entry.conventions, run.conventions, report.conventions)
    return next((said.attention for said in by_nearness if said is not None and said.attention is not None), None)


def _pairs_at_least(entry: LedgerEntry) -> float:
    """Give the pairs of an entry, or what its tokens make at least: sequences of one length have the fewest."""
    if entry.attention_pairs is not None:
        return entry.attention_pairs
    if not entry.tokens or not entry.sequences or entry.phase == "decode":
        return 0
    return entry.tokens * (entry.tokens / entry.sequences + 1) / 2


@rule("RACE310")
def flops_too_few(report: Report) -> Iterator[Violation]:
    """A run has fewer FLOPs than a thousand tokens of its policy cost.

    What it checks: the total of a run whose policy has 100 million parameters or more against 2N x 1,000.

    Why it matters: the figure is a rate, or in TFLOPs or PFLOPs: FLOPs is an amount.

    How to fix: multiply by the unit: 412 TFLOPs are 4.12e+14.

    Before:

        models: [{id: policy, role: policy, trained: full, parameters: {total: 1543714304}}]
        totals: {search_flops: 100, learning_flops: 312, feedback_flops: 0, total_flops: 412}

    After:

        models: [{id: policy, role: policy, trained: full, parameters: {total: 1543714304}}]
        totals: {search_flops: 1.0e+20, learning_flops: 3.12e+20, feedback_flops: 0, total_flops: 4.12e+20}
    """
    books = account(report)
    for index, run in enumerate(report.runs):
        priced = books.models.get(run.policy or "")
        size = _size(priced.model) if priced is not None else 0
        fewest = 2 * size * _FEWEST_TOKENS
        if size < _LARGE or any((figure.value or 0) >= fewest for figure in books.sums[index].values()):
            continue
        figures = totals(report)[index].total
        total = figures.value
        if not total or total >= fewest or figures.at_least:
            continue
        is_stated = run.totals is not None and run.totals.total_flops is not None
        pointer = f"/runs/{index}/totals/total_flops" if is_stated else f"/runs/{index}/ledger"
        message = f"the run has {show_number(total)} FLOPs, and {_FEWEST_TOKENS} tokens of its policy cost {fewest:.4g}"
        yield pointer, message, "is it a rate, or in TFLOPs? FLOPs is an amount, without a prefix"


def _size(model: Model) -> int:
    sizes = model.parameters
    return 0 if sizes is None else (sizes.active or sizes.total or 0)


@rule("RACE311", severity=Severity.WARNING)
def executed_apart(report: Report) -> Iterator[Violation]:
    """Executed FLOPs are less than model FLOPs, or many times more.

    What it checks: `executed_flops` of an entry over its FLOPs: between 0.9 and 8.

    Why it matters: hardware runs what the model needs, and padding, recomputation and finished rows besides. Two
    figures of one pass that are further apart are of different passes, ranks or conventions.

    How to fix: count both over all ranks and all steps; say in a note what the hardware ran besides.

    Before:

        - {component: search, model: policy, operation: forward, flops: 1.2518e+14, executed_flops: 1.336e+13,
           method: profiler, basis: measured}

    After:

        - {component: search, model: policy, operation: forward, flops: 1.2518e+14, executed_flops: 1.336e+14,
           method: profiler, basis: measured}
    """
    books = account(report)
    least, most = _EXECUTED
    for run_index, run in enumerate(report.runs):
        for index, entry in enumerate(run.ledger):
            figure = books.figures[run_index][index].value
            if not entry.executed_flops or not figure or entry.component not in COMPONENTS:
                continue
            ratio = entry.executed_flops / figure
            here = f"/runs/{run_index}/ledger/{index}"
            if not least <= ratio <= most and not is_open(report, here, "executed_flops", "flops"):
                message = f"executed_flops is {entry.executed_flops:.4g}, and FLOPs are {figure:.4g}: ratio {ratio:.4g}"
                yield f"{here}/executed_flops", message, "are both over all ranks, all steps and the same passes?"


@rule("RACE312", severity=Severity.WARNING)
def figure_apart(report: Report) -> Iterator[Violation]:
    """FLOPs that were profiled or stated are not what the entry's counts give under the same conventions.

    What it checks: `flops` of method `profiler` or `stated` against the product of coefficients and counts, with the
    conventions of the entry, the run or the document; more than 10 % apart. Where the counts do not tell what a
    convention would give, nothing is compared.

    Why it matters: profilers miss kernels that they do not know, and count multiply-adds, masked scores or recomputed
    layers; the factor says which.

    How to fix: state the convention that the figure was counted under, or correct it.

    Before:

        # a profiler that does not see fused attention, nor the second operation of a multiply-add
        - {component: learning, phase: update, model: policy, operation: update, tokens: 1000, logit_rows: 1000,
           attention_pairs: 500500, adapter_tokens: 1000, flops: 3.27e+12, method: profiler, basis: measured}

    After:

        - {component: learning, phase: update, model: policy, operation: update, tokens: 1000, logit_rows: 1000,
           attention_pairs: 500500, adapter_tokens: 1000, flops: 3.27e+12, method: profiler, basis: measured,
           conventions: {multiply_add: 1}}
    """
    books = account(report)
    for run_index, run in enumerate(report.runs):
        for index, entry in enumerate(run.ledger):
            canonical = books.recomputed[run_index][index].flops
            if entry.method not in ("profiler", "stated") or not entry.flops or not canonical:
                continue
            priced = books.models[entry.model or ""]
            expected = _under_its_conventions(report, run, entry, priced)
            here = f"/runs/{run_index}/ledger/{index}"
            if expected and abs(entry.flops - expected) > _MATERIAL * expected and not is_open(report, here, "flops"):
                ratio, cause = entry.flops / expected, flops_cause(entry.flops, canonical, entry, priced, run)
                message = f"flops is {entry.flops:.4g}, and the counts under its conventions give {expected:.4g}"
                message += f": ratio {ratio:.4g}{f', {cause}' if cause else ''}"
                yield f"{here}/flops", message, "state the conventions that it was counted under, or correct it"


_READ_WHOLE: Final = frozenset(
    {"prefill", "old_logprobs", "reference_logprobs", "value", "update", "value_update", "reward", "reward_update"}
)
"""Phases whose sequences go through the model from their first token on."""


def _under_its_conventions(report: Report, run: Run, entry: LedgerEntry, priced: Priced) -> int | None:
    """Give what an entry's counts give as its figure was counted, or None where they do not say."""
    from race_report.conventions import LAYERS_RECOMPUTED, NOTHING_RECOMPUTED, Conventions, flops_under

    said: dict[str, Any] = {}
    for stated in (report.conventions, run.conventions, entry.conventions):  # the nearest last
        if stated is not None:
            said |= {key: value for key in Conventions._fields if (value := getattr(stated, key)) is not None}
    factors = factors_of(entry, priced.model)
    assert factors is not None
    return flops_under(
        Conventions()._replace(**said),
        ModelCoefficients(*(getattr(priced.coefficients, name) or 0 for name in ModelCoefficients._fields)),
        PassCounts(*(getattr(entry, name) or 0 for name in PassCounts._fields)),
        factors,
        shape="decode" if entry.phase == "decode" else "whole" if entry.phase in _READ_WHOLE else None,
        recomputed=LAYERS_RECOMPUTED if entry.operation == "update" else NOTHING_RECOMPUTED,
    )
