"""The formula of the standard on plain numbers: coefficients x counts = FLOPs.

SPEC.md section 2 is the source. Everything is computed in integers; a count or multiplier that is no integer is taken
as the exact fraction that it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from fractions import Fraction

EXACT: Final = 1e-9
"""Relative difference up to which two FLOP figures agree."""

ROUNDED: Final = 0.005
"""Relative difference up to which one of two FLOP figures is a rounding of the other."""


class ModelCoefficients(NamedTuple):
    """What one unit of each count costs in a model."""

    body_parameters: int
    head_parameters: int = 0
    attention_width: int = 0
    bounded_attention_width: int = 0
    adapter_parameters: int = 0


class PassCounts(NamedTuple):
    """What went through a model in a pass."""

    tokens: int
    logit_rows: int = 0
    attention_pairs: float = 0
    bounded_attention_pairs: float = 0
    adapter_tokens: int = 0


class Factors(NamedTuple):
    """How often each term of the formula counts."""

    body: float
    head: float
    attention: float
    adapter: float


FORWARD: Final = Factors(1, 1, 1, 1)

UPDATE: Final = {
    "full": Factors(3, 3, 3, 3),
    "adapter": Factors(2, 2, 3, 3),
    "head": Factors(1, 2, 1, 0),
}
"""Forward and backward, by what is trained.

A backward pass costs two matrix products for every one of the forward pass: one for the gradient of the input, one for
the gradient of the weights. A frozen matrix needs only the first; where the head alone is trained, only the second.
"""


def default_factors(operation: str, trained: str | None) -> Factors | None:
    """Give the multipliers of an operation, or None where nothing general can be said.

    `trained` is what the work changes in the model: `full`, `adapter`, `head`, `partial`, `none` or None for unknown.
    """
    if operation == "forward":
        return FORWARD
    return UPDATE.get(trained or "")


def entry_flops(coefficients: ModelCoefficients, counts: PassCounts, factors: Factors) -> int:
    """Give the model FLOPs of an entry.

    A multiply-add is two operations; a pair costs four a unit of width (score and weighted sum).
    """
    pairs = coefficients.attention_width * _exact(counts.attention_pairs)
    bounded_pairs = coefficients.bounded_attention_width * _exact(counts.bounded_attention_pairs)
    total = (
        _exact(factors.body) * 2 * coefficients.body_parameters * counts.tokens
        + _exact(factors.head) * 2 * coefficients.head_parameters * counts.logit_rows
        + _exact(factors.attention) * 4 * (pairs + bounded_pairs)
        + _exact(factors.adapter) * 2 * coefficients.adapter_parameters * counts.adapter_tokens
    )
    return round(total)


def _exact(number: float) -> int | Fraction:
    """Give a JSON number as an integer, or as the fraction that its decimal digits say."""
    if isinstance(number, int):
        return number
    if number.is_integer():
        return int(number)
    from fractions import Fraction

    return Fraction(repr(number))


def relative_difference(stated: float, computed: float) -> float:
    """Give |stated - computed| over computed; infinite where only the computed one is 0."""
    if stated == computed:
        return 0.0
    return abs(stated - computed) / computed if computed else float("inf")
