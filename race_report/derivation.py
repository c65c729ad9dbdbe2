"""What follows from the architectures of a report's models: their parameters and coefficients."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.once import once_a_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from race_report.architecture import ParameterCounts
    from race_report.document import Model, Report
    from race_report.flops import ModelCoefficients

_PLAIN_NAME: Final = r"[A-Za-z0-9_.]+"
_LONGEST_NAME: Final = 80
_LOW_RANK: Final = frozenset({"lora", "dora"})


class Derived(NamedTuple):
    """What follows from an architecture, with the adapter on it."""

    parameters: ParameterCounts | None = None
    coefficients: ModelCoefficients | None = None
    why_not: str = ""
    """Why nothing follows; empty where something does."""


@once_a_report
def derived(report: Report) -> dict[str, Derived]:
    """Derive, for each model of a report that has an architecture, what follows from it, by the model's id."""
    return {model.id: _derived(model) for model in report.models if model.architecture is not None}


_KNOWN: Final[dict[tuple[object, ...], Derived]] = {}
"""What followed from the words of a model: papers come in folders of forty, on the same few models."""

_MOST_KNOWN: Final = 256


def _derived(model: Model) -> Derived:
    words = (_key(model.architecture), _key(model.adapter), model.role, model.trained)
    found = _KNOWN.get(words)
    if found is None:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        found = _KNOWN[words] = _derive(model)
    return found


def _derive(model: Model) -> Derived:
    from race_report.architecture import Underivable, adapter_of, transformer_of, with_adapter

    words = _words(model.adapter) if model.adapter is not None else None
    if words is not None and (refusal := refusal_of(words)):
        return Derived(why_not=refusal)
    try:
        table = transformer_of(_words(model.architecture), role=model.role)
        parameters, coefficients = with_adapter(table, None if words is None else adapter_of(words, table))
    except Underivable as refusal:
        return Derived(why_not=str(refusal))
    if words is None and model.trained == "adapter":
        coefficients = coefficients._replace(adapter_parameters=None)
    return Derived(parameters, coefficients)


def _key(value: Any) -> object:
    """Give what stands for an object in the cache: all that it says."""
    if value is None:
        return None
    said = (tuple(vars(value).items()), str(getattr(value, "__pydantic_extra__", "")))
    try:
        hash(said)
    except TypeError:  # a list or an object within
        return str(said)
    return said


def _words(value: Any) -> dict[str, Any]:
    """Give what an object of a report says, whether it is a view or an object of the classes."""
    said: Mapping[str, Any] = vars(value) | (getattr(value, "__pydantic_extra__", None) or {})
    return {key: inner for key, inner in said.items() if inner is not None and inner != ()}


def refusal_of(adapter: dict[str, Any]) -> str:
    """Refuse what a report's adapter should not be asked: a stranger's regular expression may run for ever."""
    state = "state `adapter_parameters` in the model's `coefficients`"
    if adapter["method"] not in _LOW_RANK:
        return f"the adapter's method is {adapter['method']}: {state}"
    if "target_modules_pattern" in adapter:
        return f"the adapter's matrices are chosen by a pattern, which is not run here: {state}"
    for key in ("rank_pattern", "modules_to_save"):  # peft reads both as regular expressions
        for name in adapter.get(key, ()):
            if not re.fullmatch(_PLAIN_NAME, name):
                return f"{name[:_LONGEST_NAME]} in `{key}` is a pattern, which is not run here: {state}"
    return ""
