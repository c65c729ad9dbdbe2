"""What a report needs of a model: parameters and coefficients, with the adapter that it carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from race_report.architecture.adapter import adapter_of
from race_report.architecture.build import transformer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from race_report.architecture.adapter import Adapter
    from race_report.architecture.table import ParameterCounts, Transformer
    from race_report.flops import ModelCoefficients


def coefficients_of(
    architecture: Mapping[str, Any],
    *,
    adapter: Mapping[str, Any] | None = None,
    role: str | None = None,
    head: str | None = None,
    labels: int | None = None,
) -> ModelCoefficients:
    """Give the coefficients that follow from the keys of config.json and of an adapter.

    `adapter` is adapter_config.json, or `adapter` of a report; `role` is that of a report's model.

    Raises:
        Underivable: they do not follow; the message names the key and asks for `coefficients`.

    """
    model = transformer_of(architecture, head=head, labels=labels, role=role)
    return with_adapter(model, None if adapter is None else adapter_of(adapter, model))[1]


def with_adapter(model: Transformer, adapter: Adapter | None) -> tuple[ParameterCounts, ModelCoefficients]:
    """Give parameters and coefficients of a model; with an adapter, what it trains and what it costs.

    Raises:
        Underivable: a coefficient does not follow.

    """
    parameters, coefficients = model.parameters(), model.coefficients()
    if adapter is None:
        return parameters, coefficients
    return (
        parameters._replace(trainable=adapter.trainable),
        coefficients._replace(adapter_parameters=adapter.coefficient()),
    )
