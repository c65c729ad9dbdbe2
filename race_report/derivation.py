"""What follows from the architectures of a report's models: their parameters and coefficients."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.once import once_a_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from race_report.architecture import ParameterCounts
    from race_report.document import Model, Report
    from race_report.flops import ModelCoefficients

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.]+")
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
    return {
        model.id: _derived(_text(model.architecture), _text(model.adapter), model.trained, _Kept(model))
        for model in report.models
        if model.architecture is not None
    }


class _Kept:
    """A model beside the text that stands for it in the cache: for the cache all are equal."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kept) and other.model.role == self.model.role

    def __hash__(self) -> int:
        return hash(self.model.role)


@functools.lru_cache(maxsize=256)
def _derived(_architecture: str, _adapter: str, trained: str | None, kept: _Kept) -> Derived:
    """Derive once for all reports on the same model: papers come in folders of forty."""
    from race_report.architecture import Underivable, adapter_of, transformer_of, with_adapter

    words = _words(kept.model.adapter) if kept.model.adapter is not None else None
    if words is not None and (refusal := _refusal(words)):
        return Derived(why_not=refusal)
    try:
        model = transformer_of(_words(kept.model.architecture), role=kept.model.role)
        parameters, coefficients = with_adapter(model, None if words is None else adapter_of(words, model))
    except Underivable as refusal:
        return Derived(why_not=str(refusal))
    if words is None and trained == "adapter":
        coefficients = coefficients._replace(adapter_parameters=None)
    return Derived(parameters, coefficients)


def _text(value: Any) -> str:
    return "" if value is None else f"{vars(value)}{getattr(value, '__pydantic_extra__', None)}"


def _words(value: Any) -> dict[str, Any]:
    """Give what an object of a report says, whether it is a view or an object of the classes."""
    said: Mapping[str, Any] = vars(value) | (getattr(value, "__pydantic_extra__", None) or {})
    return {key: inner for key, inner in said.items() if inner is not None and inner != ()}


def _refusal(adapter: dict[str, Any]) -> str:
    """Refuse what a report's adapter should not be asked: a stranger's regular expression may run for ever."""
    state = "state `adapter_parameters` in the model's `coefficients`"
    if adapter["method"] not in _LOW_RANK:
        return f"the adapter's method is {adapter['method']}: {state}"
    if "target_modules_pattern" in adapter:
        return f"the adapter's matrices are chosen by a pattern, which is not run here: {state}"
    patterns = [name for name in adapter.get("rank_pattern", ()) if not _PLAIN_NAME.fullmatch(name)]
    return f"the key {patterns[0]} of `rank_pattern` is a pattern, which is not run here: {state}" if patterns else ""
