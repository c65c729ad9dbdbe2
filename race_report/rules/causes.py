"""What a wrong factor most likely comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.accounting import factors_of
from race_report.flops import FORWARD, UPDATE, Factors, ModelCoefficients, PassCounts, entry_flops, relative_difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.accounting import Priced
    from race_report.document import LedgerEntry, Model, Run
    from race_report.flops import HasCoefficients

_SAME: Final = 1e-3
"""Relative difference up to which a factor is one that has a cause: factors are read from rounded figures."""

_LOOSE: Final = 0.02
"""The same for rules of thumb."""

_AS_FULL: Final = "LoRA counted as full fine-tuning"

_LARGEST_MULTIPLE: Final = 4096
"""Largest whole factor that is taken for a number of devices, of steps or of passes."""


class _Cause(NamedTuple):
    """What a factor, or a wrong figure, comes from."""

    number: float
    words: str


class _Number(NamedTuple):
    """A number of a run, what it is, and how a count comes to be wrong by it."""

    number: int
    words: str
    slip: str


_UNITS: Final = (_Cause(1e3, "thousands"), _Cause(1e6, "millions"), _Cause(1e9, "billions"), _Cause(1e12, "10^12"))


def factor(ratio: float, run: Run) -> str:
    """Say by which factor two counts differ, and what it most likely comes from."""
    cause = count_cause(ratio, run)
    return f"ratio {ratio:.4g}{f', {cause}' if cause else ''}"


def count_cause(ratio: float, run: Run) -> str:
    """Name what makes two counts differ by a factor: numbers of the run, a unit; empty where nothing fits."""
    times = max(ratio, 1 / ratio) if ratio else 0.0
    fitting = [cause for cause in _numbers_of(run) if _is(times, cause.number)]
    if fitting:
        names = " and ".join(cause.words for cause in fitting)
        return f"{fitting[0].number} is {names}: {' or '.join(cause.slip for cause in fitting)}?"
    for unit in _UNITS:
        if _is(times, unit.number):
            return f"is one of them in {unit.words}?"
    if 1 < times <= _LARGEST_MULTIPLE and _is(times, round(times)):
        whole = "a whole number" if ratio > 1 else f"which is 1/{round(times)}"
        return f"{whole}: is one of them per GPU, per step or per minibatch?"
    return ""


def _is(times: float, other: float) -> bool:
    return other > 1 and abs(times - other) <= _SAME * other


def _numbers_of(run: Run) -> Iterator[_Number]:
    """Give the numbers of a run that a count is multiplied or divided by in error, the likeliest first."""
    settings = run.algorithm
    if settings is not None:
        yield from _numbers_given(
            (settings.updates_per_batch, "updates_per_batch", "is one of them counted for every update"),
            (settings.group_size, "the group size", "are prompts taken for rollouts"),
            (settings.minibatches_per_batch, "minibatches_per_batch", "is one of them per minibatch"),
        )
    gpus = [pool.count for pool in run.hardware if pool.count is not None]
    yield from _numbers_given(*((count, "the number of GPUs", "per GPU") for count in sorted({sum(gpus), *gpus})))
    if settings is not None:
        yield from _numbers_given(
            (settings.rollout_steps, "rollout_steps", "of a single step"),
            (settings.optimizer_steps, "optimizer_steps", "of a single step"),
            (settings.prompts_per_step, "prompts_per_step", "steps taken for prompts"),
        )


def _numbers_given(*numbers: tuple[int | None, str, str]) -> Iterator[_Number]:
    return (_Number(number, words, slip) for number, words, slip in numbers if number is not None)


def flops_cause(stated: float, exact: int, entry: LedgerEntry, priced: Priced, run: Run) -> str:
    """Name the slip by which an entry of these counts gets the FLOPs that it states; empty where none fits."""
    model, coefficients, *_ = priced
    assert coefficients is not None
    slips = [slip for slip in _slips(entry, model, coefficients) if slip.number != exact]
    for figure, more in ((stated, ""), (2 * stated, ", and multiply-adds for FLOPs")):
        nearest = min(slips, key=lambda slip: relative_difference(figure, slip.number))
        if relative_difference(figure, nearest.number) <= _SAME:
            return f"{nearest.words}{more}?"
    return count_cause(stated / exact, run) if exact else ""


def rule_cause(stated: float, bounds: tuple[float, float], entry: LedgerEntry, model: Model, run: Run) -> str:
    """Name the slip by which a figure of 2N, 4N or 6N a token misses the least and the most that the rule gives."""
    low, high = bounds
    slips: list[tuple[float, str]] = [(0.5, "multiply-adds, which are 2 FLOPs each?")]
    if entry.operation == "update":
        slips += (
            [(1.5, f"{_AS_FULL}?")] if model.trained == "adapter" else [(2 / 3, "a full update as one of adapters?")]
        )
        slips += [(0.5 if model.trained == "adapter" else 1 / 3, "the forward pass only?")]
    else:
        slips += [(3, "an update's factor for a forward pass?")]
    for ratio, words in slips:
        if (1 - _LOOSE) * ratio * low <= stated <= (1 + _LOOSE) * ratio * high:
            return words
    return count_cause(stated / (low if stated < low else high), run)


def sum_cause(stated: float, parts: list[tuple[str, float]], run: Run) -> str:
    """Name what makes a stated sum another than that of its parts: one left out, twice, or alone."""
    total = sum(value for _, value in parts)
    for name, value in parts:
        for number, words in ((total - value, "without"), (total + value, "twice"), (value, "alone")):
            if value and number and number != total and relative_difference(stated, number) <= _SAME:
                return f"without {name}?" if words == "without" else f"{name} {words}?"
    if total and relative_difference(2 * stated, total) <= _SAME:
        return "multiply-adds, which are 2 FLOPs each?"
    return count_cause(stated / total, run) if total else ""


def _slips(entry: LedgerEntry, model: Model, coefficients: HasCoefficients) -> Iterator[_Cause]:
    """Give the FLOPs of an entry under each slip that is made, the commonest first."""
    costs = ModelCoefficients(*(getattr(coefficients, name) or 0 for name in ModelCoefficients._fields))
    counts = PassCounts(*(getattr(entry, name) or 0 for name in PassCounts._fields))
    factors = factors_of(entry, model)
    assert factors is not None

    def cause(words: str, *, costs: ModelCoefficients = costs, counts: PassCounts = counts, **kinds: float) -> _Cause:
        return _Cause(entry_flops(costs, counts, factors._replace(**kinds)), words)

    yield _Cause(entry_flops(costs, counts, factors) / 2, "multiply-adds, which are 2 FLOPs each")
    for other, words in (
        (FORWARD, "the forward pass only"),
        (UPDATE["full"], _AS_FULL if model.trained == "adapter" else "an update's factors"),
        (UPDATE["adapter"], "a full update counted as one of adapters"),
        (Factors(*(factor + 1 for factor in factors)), "recomputation included, which is executed FLOPs"),
    ):
        if other != factors:
            yield cause(words, **other._asdict())
            yield cause(words, **other._replace(adapter=0)._asdict())
    yield cause("attention left out", attention=0)
    yield cause("attention over the whole square, not up to each token", attention=2 * factors.attention)
    yield cause("the head left out", head=0)
    yield cause(
        "the head on every token, not on the rows that were needed", counts=counts._replace(logit_rows=counts.tokens)
    )
    yield cause("only the adapter's parameters", body=0, head=0, attention=0)
    yield from _size_slips(entry, model, costs, counts, factors)


def _size_slips(
    entry: LedgerEntry, model: Model, costs: ModelCoefficients, counts: PassCounts, factors: Factors
) -> Iterator[_Cause]:
    """Give the FLOPs with another size of the model: the embedding, every expert, all heads, or plain 2N and 6N."""
    sizes = model.parameters
    total, active = (sizes.total, sizes.active) if sizes is not None else (None, None)
    embedding = (sizes.embedding if sizes is not None else None) or 0

    def cause(words: str, body: int, **rest: int) -> _Cause:
        return _Cause(entry_flops(costs._replace(body_parameters=body, **rest), counts, factors), words)

    if embedding:
        yield cause("the embedding counted as a matrix multiplication", costs.body_parameters + embedding)
    if total is not None and active is not None and total > active:
        yield cause("every expert counted, not the active ones", costs.body_parameters + total - active)
    shared = keys_without_groups(model)
    if shared:
        yield cause("keys and values of every query head, not of the groups", costs.body_parameters + shared)
    is_update = entry.operation == "update"
    rule = 6 if is_update else 2
    slip = f"{_AS_FULL}, {rule}N" if is_update and model.trained == "adapter" else f"{rule}N"
    for size, words in ((total, "all"), (active, "the active")):
        if size:
            yield _Cause(rule * size * counts.tokens, f"{slip} a token with {words} parameters")
            yield _Cause(rule * (size - embedding) * counts.tokens, f"{slip} a token without the embedding")


def keys_without_groups(model: Model) -> int:
    """Give the parameters that key and value matrices would have more if every query head had its own."""
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
    width, layers, queries, keys, size = (getattr(model.architecture, name, None) for name in names)
    if not (width and layers and queries and isinstance(keys, int)):
        return 0
    head_size: int = size if isinstance(size, int) else width // queries
    return int(2 * width * layers * (queries - keys) * head_size)
