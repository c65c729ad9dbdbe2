"""config.json and adapter_config.json -> parameters and coefficients.

A model is a table of matrices (`table`), built from its configuration (`build`, `families`, `heads`) with sizes that
stand there and nowhere else. What a report needs is `coefficients_of`; whoever walks layers takes `transformer_of` and
`adapter_of`. What does not follow is refused (`Underivable`), never guessed.
"""

from __future__ import annotations

from race_report.architecture.adapter import Adapted, Adapter, adapter_of
from race_report.architecture.build import transformer_of
from race_report.architecture.catalogue import find_model, near_names
from race_report.architecture.derive import coefficients_of, with_adapter
from race_report.architecture.heads import HEADS
from race_report.architecture.table import (
    Attention,
    Head,
    Layer,
    Matrix,
    ParameterCounts,
    Transformer,
    Underivable,
    Vector,
)

__all__ = [
    "HEADS",
    "Adapted",
    "Adapter",
    "Attention",
    "Head",
    "Layer",
    "Matrix",
    "ParameterCounts",
    "Transformer",
    "Underivable",
    "Vector",
    "adapter_of",
    "coefficients_of",
    "find_model",
    "near_names",
    "transformer_of",
    "with_adapter",
]
