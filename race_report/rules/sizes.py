"""RACE306 and RACE307: sizes that a report states beside the architecture that they follow from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.finding import Severity, rule
from race_report.once import once_a_report
from race_report.rules.causes import keys_without_groups
from race_report.rules.said import Range, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.derivation import Derived
    from race_report.document import Model, Report
    from race_report.finding import Violation

_NAMED_SIZE: Final = 0.1
"""Relative difference that the round number in a model's name may make: 7 billion for 7.6."""

_COEFFICIENT: Final = 0.005

_SAME: Final = 1e-3
"""Relative difference up to which a wrong size is a right size of something else."""


class _Apart(NamedTuple):
    violation: Violation
    is_error: bool


@rule("RACE306")
def size_mismatch(report: Report) -> Iterator[Violation]:
    """A parameter count or a coefficient is not what the architecture gives.

    What it checks: `parameters` and `coefficients` of a model against those that follow from its `architecture` and
    `adapter`; more than 10 % apart for parameters, which are often rounded to the number in a model's name, more than
    0.5 % for coefficients. And what holds without an architecture: `trainable` is not 0 in a model that is trained,
    `active` and `body_parameters` are no more than `total`.

    Why it matters: one "N" can be the total, the part without the embedding, the active part or the trained one, and
    every FLOP of the model is off by the factor between them.

    How to fix: write the size that the message gives, or correct the architecture.

    Before:

        # the parameters without the embedding, called total
        models: [{id: policy, role: policy, trained: full, parameters: {total: 357898112}, architecture: {
          model_type: qwen2, hidden_size: 896, intermediate_size: 4864, num_hidden_layers: 24, num_attention_heads: 14,
          num_key_value_heads: 2, vocab_size: 151936, tie_word_embeddings: true}}]

    After:

        models: [{id: policy, role: policy, trained: full, parameters: {total: 494032768}, architecture: {
          model_type: qwen2, hidden_size: 896, intermediate_size: 4864, num_hidden_layers: 24, num_attention_heads: 14,
          num_key_value_heads: 2, vocab_size: 151936, tie_word_embeddings: true}}]
    """
    yield from (found.violation for found in _apart(report) if found.is_error)


@rule("RACE307", severity=Severity.WARNING)
def size_inexact(report: Report) -> Iterator[Violation]:
    """A parameter count or a coefficient is a rounding of what the architecture gives.

    What it checks: as size-mismatch; up to 10 % apart for parameters and 0.5 % for coefficients.

    Why it matters: rounded sizes make every FLOP of the model inexact, and the exact ones are free.

    How to fix: write the exact size that the message gives, or leave it out, and the tools derive it.

    Before:

        models: [{id: policy, role: policy, trained: full, parameters: {total: 500000000}, architecture: {
          model_type: qwen2, hidden_size: 896, intermediate_size: 4864, num_hidden_layers: 24, num_attention_heads: 14,
          num_key_value_heads: 2, vocab_size: 151936, tie_word_embeddings: true}}]

    After:

        models: [{id: policy, role: policy, trained: full, parameters: {total: 494032768}, architecture: {
          model_type: qwen2, hidden_size: 896, intermediate_size: 4864, num_hidden_layers: 24, num_attention_heads: 14,
          num_key_value_heads: 2, vocab_size: 151936, tie_word_embeddings: true}}]
    """
    yield from (found.violation for found in _apart(report) if not found.is_error)


@once_a_report
def _apart(report: Report) -> list[_Apart]:
    return [found for at, model in enumerate(report.models) for found in _of_model(report, f"/models/{at}", model)]


def _of_model(report: Report, here: str, model: Model) -> Iterator[_Apart]:
    sizes = model.parameters
    if sizes is not None and sizes.trainable == 0 and model.trained not in (None, "none"):
        message = f"trainable is 0, and the model is trained: {model.trained}"
        hint = "count before the weights are partitioned: under ZeRO-3 a rank sees empty placeholders"
        yield _Apart((f"{here}/parameters/trainable", message, hint), is_error=True)
    if model.architecture is None:
        if sizes is not None:
            yield from (_Apart(violation, is_error=True) for violation in _contradictions(here, model))
        return
    if sizes is None and model.coefficients is None:
        return
    from race_report.derivation import derived

    found = derived(report)[model.id]
    if found.parameters is None or found.coefficients is None:
        return
    if sizes is not None:
        names = _WITH_TRAINABLE if _is_known(model) else _SIZES
        yield from _of_group(report, f"{here}/parameters", (sizes, found.parameters), names, model, found)
    if model.coefficients is not None:
        both = (model.coefficients, found.coefficients)
        yield from _of_group(report, f"{here}/coefficients", both, found.coefficients._fields, model, found)


_SIZES: Final = ("total", "active", "embedding")
_WITH_TRAINABLE: Final = (*_SIZES, "trainable")


def _of_group(
    report: Report, here: str, both: tuple[object, object], names: tuple[str, ...], model: Model, found: Derived
) -> Iterator[_Apart]:
    """Compare what is stated with what follows, name by name."""
    stated, wanted = both
    for name in names:
        value: int | None = getattr(stated, name)
        if value is None:
            continue
        expected: int | None = getattr(wanted, name)
        if value == expected or expected is None or (name == "trainable" and value == 0):
            continue
        pointer = f"{here}/{name}"
        if not range_of(report, pointer, value).meets(Range(expected, expected)):
            tolerance = _COEFFICIENT if here.endswith("coefficients") else _NAMED_SIZE
            yield _difference(pointer, value, expected, tolerance, _kinds(model, found))


def _contradictions(here: str, model: Model) -> Iterator[Violation]:
    """Find parts that are more than the whole."""
    total = model.parameters.total if model.parameters is not None else None
    if total is None or model.parameters is None:
        return
    if (model.parameters.active or 0) > total:
        message = f"active is {model.parameters.active}, and all parameters are {total}"
        yield (
            f"{here}/parameters/active",
            message,
            "active parameters are those of the total that one token goes through",
        )
    body = model.coefficients.body_parameters if model.coefficients is not None else 0
    if body > total:
        message = f"total is {total}, and {body} of them are multiplied for one token"
        yield f"{here}/parameters/total", message, "is it in millions or billions? write it out"


def _is_known(model: Model) -> bool:
    """Tell whether what is trained follows from the report: everything, or the adapters that it describes."""
    return model.trained == "full" or (model.trained == "adapter" and model.adapter is not None)


def _difference(pointer: str, value: int, expected: int, tolerance: float, kinds: dict[str, int]) -> _Apart:
    name = pointer.rpartition("/")[2]
    is_error = abs(value - expected) > tolerance * expected
    message = f"{name} is {value}, and the architecture gives {expected}"
    if is_error:
        kind = next((kind for kind, size in kinds.items() if size and abs(value - size) <= _SAME * size), "")
        message += f": ratio {value / expected:.4g}" if expected else ""
        message += f", which is {kind}" if kind else ""
    return _Apart((pointer, message, f"write {expected}, or correct the architecture"), is_error=is_error)


def _kinds(model: Model, found: Derived) -> dict[str, int]:
    """Give the sizes that are taken for one another, by what they are."""
    sizes, costs = found.parameters, found.coefficients
    assert sizes is not None
    assert costs is not None
    body, head = costs.body_parameters, costs.head_parameters
    return {
        "the parameters without the embedding": sizes.total - sizes.embedding,
        "the active parameters": sizes.active,
        "the active parameters without the embedding": sizes.active - sizes.embedding,
        "all parameters": sizes.total,
        "the body's matrices with keys and values of every query head": body + keys_without_groups(model),
        "the body's matrices for every expert": body + sizes.total - sizes.active,
        "the body's matrices": body,
        "the body's matrices and the head": body + head,
        "the embedding": sizes.embedding,
        "the head": head,
        "the adapters": costs.adapter_parameters or 0,
        "what is trained": sizes.trainable,
        "twice the width, for keys and values": 2 * (costs.attention_width + (costs.bounded_attention_width or 0)),
        "four times the width, which are FLOPs of a pair": 4 * costs.attention_width,
    }
