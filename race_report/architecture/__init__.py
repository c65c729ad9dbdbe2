"""config.json and adapter_config.json -> parameters and coefficients."""

from __future__ import annotations

from race_report.architecture.adapter import Adapted, Adapter, adapter_of
from race_report.architecture.build import transformer_of
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
    "transformer_of",
]
