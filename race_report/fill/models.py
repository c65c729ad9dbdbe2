"""Parameters and coefficients of every model whose shape is known: stated, in a file beside the report, or by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.architecture import (
    Underivable,
    adapter_of,
    find_model,
    near_names,
    transformer_of,
)
from race_report.derivation import refusal_of
from race_report.parsed import Unparsable
from race_report.source import MAX_BYTES, load_bytes, read_file, within

if TYPE_CHECKING:
    from race_report.architecture import Adapter, Transformer
    from race_report.document import Model
    from race_report.fill.draft import Draft, Path

_ALWAYS: Final = ("body_parameters", "head_parameters", "attention_width")
"""Coefficients that every model states; the others where they are not 0."""

_BY_US: Final = "from the architecture, by race fill"
_MEND: Final = "add architecture_file, the path of its config.json; or coefficients"


class Shape(NamedTuple):
    """The shape of a model, and where it stands."""

    model: Transformer
    source: str

    @property
    def window(self) -> int | None:
        """The one window of the layers that have one; None where there is none, or several."""
        windows = {layer.attention.window for layer in self.model.layers} - {None}
        return windows.pop() if len(windows) == 1 else None


class Unshaped(ValueError):
    """A model whose shape is not known: why, and what to add."""

    def __init__(self, why: str, mend: str = _MEND) -> None:
        super().__init__(why)
        self.mend = mend


def fill_models(draft: Draft) -> None:
    """Add `parameters` and `coefficients`, or what is missing of them."""
    for at, model in enumerate(draft.report().models):
        if draft.is_excluded("models", at) or model.id in draft.closed:
            continue
        try:
            shape = shape_of(draft, at, model)
        except Unshaped as error:
            if model.coefficients is None:
                draft.miss(("models", at, "coefficients"), str(error), error.mend)
            continue
        _fill_model(draft, at, model, shape)


def shape_of(draft: Draft, at: int, model: Model) -> Shape:
    """Give the shape of a model: from `architecture`, else `architecture_file`, else the catalogue of names.

    Raises:
        Unshaped: there is none of these, or the model does not follow from it.

    """
    config: Any
    if model.architecture is not None:
        config, source = draft.value["models"][at]["architecture"], "architecture"
    elif model.architecture_file is not None:
        config, source = _read_config(draft.folder, model.architecture_file), model.architecture_file
    elif model.name is None:
        raise Unshaped("the model has neither name nor architecture", "add its name; or architecture_file")
    else:
        known = find_model(model.name)
        if known is None:
            near = near_names(model.name)
            mend = f"write name: {' or '.join(near)}, if it is that; else {_MEND}" if near else _MEND
            raise Unshaped(f'no model of the catalogue is named "{model.name}"', mend)
        config, source = known.architecture, known.source
    try:
        return Shape(transformer_of(config, role=model.role), source)
    except Underivable as error:
        raise Unshaped(f"{source}: {error}") from error


def _read_config(folder: str, path: str) -> Any:
    try:
        loaded = load_bytes(within(read_file(os.path.join(folder, path)), MAX_BYTES), path)
    except Unparsable as error:
        raise Unshaped(f"architecture_file {path}: {error}", "correct the path, or the file") from error
    if not isinstance(loaded.value, dict) or any(fault.rule != "byte-order-mark" for fault in loaded.faults):
        raise Unshaped(f"architecture_file {path}: it is no plain object of JSON", "name a config.json")
    return loaded.value


def _fill_model(draft: Draft, at: int, model: Model, shape: Shape) -> None:
    carried = _adapter(draft, at, model, shape)
    parameters = dict(zip(("total", "active", "embedding"), shape.model.parameters(), strict=False))
    if model.trained == "full":
        parameters["trainable"] = parameters["total"]
    elif model.trained == "adapter" and carried is not None:
        parameters["trainable"] = carried.trainable
    _fill_object(draft, ("models", at, "parameters"), parameters, shape.source)
    try:
        coefficients = shape.model.coefficients()
        if carried is not None:
            coefficients = coefficients._replace(adapter_parameters=carried.coefficient())
    except Underivable as error:
        draft.miss(("models", at, "coefficients"), str(error), "add coefficients")
        return
    derived = {key: value for key, value in coefficients._asdict().items() if value or key in _ALWAYS}
    _fill_object(draft, ("models", at, "coefficients"), derived, shape.source)


def _adapter(draft: Draft, at: int, model: Model, shape: Shape) -> Adapter | None:
    if model.adapter is None:
        if model.trained == "adapter":
            mend = "add adapter: {method: lora, rank: 16, target_modules: [all-linear]}, as it was"
            draft.miss(("models", at, "adapter"), "an adapter is trained, and nothing says which", mend)
        return None
    words = draft.value["models"][at]["adapter"]
    why = refusal_of(words)
    if why:
        draft.miss(("models", at, "adapter"), why, "add coefficients with adapter_parameters")
        return None
    try:
        return adapter_of(words, shape.model)
    except Underivable as error:
        draft.miss(("models", at, "adapter"), str(error), "add coefficients with adapter_parameters")
        return None


def _fill_object(draft: Draft, path: Path, derived: dict[str, int], source: str) -> None:
    """Add an object, or the keys that it lacks where those that stand are as derived."""
    reason = f"follows from {source}"
    model = draft.value["models"][path[1]]
    stands = model.get(path[2])
    if stands is None:
        if draft.add(path, derived, reason):
            draft.qualify(path, "derived", _BY_US, source=source)
        return
    for key, value in derived.items():
        if key in stands and stands[key] != value and key != "trainable":
            why = f"{key} {stands[key]} stands, and {value} {reason}; all of {path[2]} are left as they are"
            draft.miss(path, why, "check which is right")
            return
    for key, value in derived.items():
        if draft.add((*path, key), value, reason):
            draft.qualify((*path, key), "derived", _BY_US, source=source)
