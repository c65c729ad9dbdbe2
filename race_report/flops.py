"""The formula of the standard on plain numbers: coefficients x counts = FLOPs.

SPEC.md section 2 is the source. Everything is computed in integers; a count or multiplier that is no integer is taken
as the exact fraction that it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol

    class HasCoefficients(Protocol):
        """What has the coefficients of a model: the tuple below, or the object of a report."""

        @property
        def body_parameters(self) -> int: ...  # noqa: D102 - the schema describes them
        @property
        def head_parameters(self) -> int: ...  # noqa: D102
        @property
        def attention_width(self) -> int: ...  # noqa: D102
        @property
        def bounded_attention_width(self) -> int | None: ...  # noqa: D102
        @property
        def adapter_parameters(self) -> int | None: ...  # noqa: D102

    class HasCounts(Protocol):
        """What has the counts of a pass: the tuple below, or an entry of a report."""

        @property
        def tokens(self) -> int | None: ...  # noqa: D102
        @property
        def logit_rows(self) -> int | None: ...  # noqa: D102
        @property
        def attention_pairs(self) -> float | None: ...  # noqa: D102
        @property
        def bounded_attention_pairs(self) -> float | None: ...  # noqa: D102
        @property
        def adapter_tokens(self) -> int | None: ...  # noqa: D102


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
    adapter_parameters: int | None = 0
    """None where adapters are trained and nothing is known of them."""


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


def entry_flops(coefficients: HasCoefficients, counts: HasCounts, factors: Factors) -> int:
    """Give the model FLOPs of an entry; a coefficient or count that is absent is 0.

    A multiply-add is two operations; a pair costs four a unit of width (score and weighted sum).
    """
    pairs = coefficients.attention_width * (counts.attention_pairs or 0)
    bounded_pairs = (coefficients.bounded_attention_width or 0) * (counts.bounded_attention_pairs or 0)
    total = (
        factors.body * 2 * coefficients.body_parameters * (counts.tokens or 0)
        + factors.head * 2 * coefficients.head_parameters * (counts.logit_rows or 0)
        + factors.attention * 4 * (pairs + bounded_pairs)
        + factors.adapter * 2 * (coefficients.adapter_parameters or 0) * (counts.adapter_tokens or 0)
    )
    if isinstance(total, float):
        exact = PassCounts(*(_exact(getattr(counts, name) or 0) for name in PassCounts._fields))
        return entry_flops(coefficients, exact, Factors(*map(_exact, factors)))
    return round(total)


def _exact(number: float) -> Any:
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
