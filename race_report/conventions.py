"""Canonical counts -> FLOPs as another convention would state them; None where the counts do not say.

The canonical conventions of SPEC.md section 2 are exact attention pairs, needed logit rows, multiply-adds as two
operations, nothing recomputed. Other counters state other figures of the same pass, and both can be compared only under
one convention.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from race_report.flops import Factors, ModelCoefficients, PassCounts, entry_flops

PassShape = Literal["whole", "decode", "unknown"]
"""How the tokens of a pass lie: sequences whole from their first token, single tokens after a cache, or unknown."""


class Conventions(NamedTuple):
    """How FLOPs are counted, in the words of the standard; by default as it counts them."""

    attention: Literal["exact", "causal_half", "full", "omitted"] = "exact"
    logit_rows: Literal["needed", "all"] = "needed"
    multiply_add: Literal[2, 1] = 2
    recomputation: Literal["excluded", "included"] = "excluded"


LAYERS_RECOMPUTED: Final = Factors(1, 0, 1, 1)
"""What an update adds when each layer is run again for its backward pass: a forward of all but the head."""

NOTHING_RECOMPUTED: Final = Factors(0, 0, 0, 0)
"""What a forward adds, and an update that keeps its activations."""


def flops_under(
    conventions: Conventions,
    coefficients: ModelCoefficients,
    counts: PassCounts,
    factors: Factors,
    *,
    shape: PassShape = "unknown",
    recomputed: Factors | None = None,
) -> int | None:
    """Give the FLOPs of a pass under other conventions, or None where its counts do not tell them.

    - `full` pairs are T² a sequence read whole, which is 2·pairs - tokens over all of them; a decoded token attends to
      all there is. `causal_half` is half of that. Neither follows where the shape is unknown, or where a layer is
      bounded: counts do not say by what.
    - `all` logit rows are one a token, where the model has a head.
    - `multiply_add` of 1 gives half the FLOPs.
    - `included` recomputation adds `recomputed` times the terms; None is unknown.
    """
    if conventions.recomputation == "included":
        if recomputed is None:
            return None
        factors = Factors(*(once + again for once, again in zip(factors, recomputed, strict=True)))
    if conventions.logit_rows == "all":
        counts = counts._replace(logit_rows=counts.tokens)
    without = counts._replace(attention_pairs=0, bounded_attention_pairs=0)
    rest = entry_flops(coefficients, without, factors)
    exact = entry_flops(coefficients, counts, factors) - rest
    if conventions.attention in ("full", "causal_half") and exact:
        pairs = None if coefficients.bounded_attention_width else full_pairs(counts, shape)
        if pairs is None:
            return None
        full = entry_flops(coefficients, without._replace(attention_pairs=pairs), factors) - rest
        attention = full if conventions.attention == "full" else full // 2
    else:
        attention = 0 if conventions.attention == "omitted" else exact
    return (rest + attention) * conventions.multiply_add // 2


def full_pairs(counts: PassCounts, shape: PassShape) -> float | None:
    """Give the pairs of every query with every key, masked or not; None where the shape of the pass is unknown."""
    if shape == "whole":
        return 2 * counts.attention_pairs - counts.tokens
    return counts.attention_pairs if shape == "decode" else None
