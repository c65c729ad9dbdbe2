"""What `race model` prints of a model: from its configuration, or from the catalogue by its name."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from race_report.architecture import (
    Underivable,
    adapter_of,
    find_model,
    near_names,
    transformer_of,
    with_adapter,
)
from race_report.finding import Exit
from race_report.source import MAX_BYTES, STDIN, SUFFIXES, Loaded, load_bytes, read_file, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from race_report.architecture import ParameterCounts, Transformer
    from race_report.flops import ModelCoefficients
    from race_report.parsed import Fault

T = TypeVar("T")

CONFIG: Final = "config.json"

_UNITS: Final = {
    "body_parameters": (2, "token"),
    "head_parameters": (2, "logit row"),
    "attention_width": (4, "attention pair"),
    "bounded_attention_width": (4, "bounded attention pair"),
    "adapter_parameters": (2, "adapter token"),
}
"""FLOPs of a forward pass for one of each coefficient, and the count that it goes with."""


class NotDescribed(Exception):
    """A model that cannot be described: what to print, and the exit code."""

    def __init__(self, code: Exit, *lines: str) -> None:
        """Keep the lines, the first of which says what is wrong."""
        super().__init__(lines[0])
        self.code = code
        self.lines = lines


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPage:
    """A model, and where its shape stands."""

    name: str
    source: str
    model: Transformer
    parameters: ParameterCounts
    coefficients: ModelCoefficients
    architecture: Mapping[str, Any]
    """The keys of its configuration that were read."""
    is_known: bool
    """Whether it stands in the catalogue, so that its name is public."""
    adapter_words: Mapping[str, Any] | None = None
    """The keys of the adapter_config.json that it was read from."""

    def json_text(self) -> str:
        """Give the page for programs; all keys are there, whatever the model."""
        data = {
            "model": self.name,
            "source": self.source,
            "model_type": self.model.model_type,
            "head": self.model.head.kind,
            "parameters": self.parameters._asdict(),
            "coefficients": self.coefficients._asdict(),
            "notes": list(self.model.notes),
        }
        return json.dumps(data, indent=2)

    def text_lines(self) -> Iterator[str]:
        """Yield the page for people."""
        yield f"{self.name}: {self.model.model_type}, head {self.model.head.kind}"
        yield f"from {self.source}"
        yield ""
        yield "parameters"
        for key, value in self.parameters._asdict().items():
            yield f"  {key:<23} {value:>19,}"
        yield ""
        yield f"{'coefficients':<45}   FLOPs of a forward pass"
        for key, value in self.coefficients._asdict().items():
            factor, unit = _UNITS[key]
            yield f"  {key:<23} {value:>19,}   {factor * value:>19,} per {unit}"
        for note in self.model.notes:
            yield ""
            yield note


class _Read(dict[str, Any]):
    """The keys of a configuration; those that are asked for are remembered, because a report holds them and no more."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """Give a value and remember that it mattered."""
        self._asked.add(key)
        return super().get(key, default)

    def that_mattered(self) -> dict[str, Any]:
        """Give the keys that were asked for and have a value."""
        return {key: value for key, value in self.items() if key in self._asked and value is not None}


def describe(
    name: str,
    *,
    adapter: str | Mapping[str, Any] | None = None,
    head: str | None = None,
    labels: int | None = None,
    role: str | None = None,
    command: str = "race model",
) -> ModelPage:
    """Describe the model of a configuration file, of the folder that holds it, or of the catalogue.

    `adapter` is the path of an adapter_config.json, or an adapter in the words of a report.

    Raises:
        NotDescribed: there is no such file or model, a file cannot be read, or nothing follows from it.

    """
    path = _config_path(name)
    known = None if path is not None else find_model(name)
    if path is not None:
        loaded = read_object(path)
        config, source = _Read(loaded.value), path
    elif known is not None:
        loaded = None
        config, source = _Read(known.architecture), known.source
    else:
        raise _unknown(name, command)
    model = _derived(path or name, loaded, lambda: transformer_of(config, head=head, labels=labels, role=role))
    adapting = read_object(adapter) if isinstance(adapter, str) else None
    words: Any = adapter if adapting is None else adapting.value
    where = adapter if isinstance(adapter, str) else path or name
    carried = None if words is None else _derived(where, adapting, lambda: adapter_of(words, model))
    parameters, coefficients = _derived(where, None, lambda: with_adapter(model, carried))
    return ModelPage(
        name=known.name if known is not None else name,
        source=source,
        model=model,
        parameters=parameters,
        coefficients=coefficients,
        architecture=config.that_mattered(),
        is_known=known is not None,
        adapter_words=None if adapting is None else adapting.value,
    )


def _config_path(name: str) -> str | None:
    """Give the file that is meant; None where a name of the catalogue is."""
    if os.path.isdir(name):
        return os.path.join(name, CONFIG)
    is_path = name == STDIN or os.path.exists(name) or name.lower().endswith(SUFFIXES)
    return name if is_path else None


def _unknown(name: str, command: str) -> NotDescribed:
    near = near_names(name)
    hint = f"did you mean {' or '.join(near)}?" if near else "give the model's config.json"
    return NotDescribed(Exit.USAGE, f'{command}: no file and no model of the catalogue is named "{name}"; {hint}')


def read_object(path: str) -> Loaded:
    """Read a file that holds one object."""
    from race_report.parsed import Unparsable

    try:
        loaded = load_bytes(within(read_file(path), MAX_BYTES), path)
    except Unparsable as error:
        raise NotDescribed(Exit.UNREADABLE, *fault_lines(path, error.fault)) from error
    fault = next((fault for fault in loaded.faults if fault.rule != "byte-order-mark"), None)
    if fault is not None:
        raise NotDescribed(Exit.UNREADABLE, *fault_lines(path, fault))
    if not isinstance(loaded.value, dict):
        raise NotDescribed(Exit.FINDINGS, f"{path}: this is no object with the keys of a configuration")
    return loaded


def fault_lines(path: str, fault: Fault) -> tuple[str, ...]:
    """Say what is wrong with a file, with its place."""
    span = None if fault.rule in ("unreadable-file", "file-too-large") else fault.span
    place = path if span is None else f"{path}:{span.line}:{span.column}"
    hint = (f"    mend: {fault.hint}",) if fault.hint and fault.rule == "invalid-syntax" else ()
    return (f"{place}: {fault.message}", *hint)


def _derived(path: str, loaded: Loaded | None, derive: Callable[[], T]) -> T:
    """Derive something; what does not follow is told with its place in the file."""
    try:
        return derive()
    except Underivable as error:
        place = path
        if loaded is not None and error.key:
            span = loaded.places.of_value("/" + error.key.replace(".", "/"))
            place = f"{path}:{span.line}:{span.column}"
        raise NotDescribed(Exit.FINDINGS, f"{place}: {error}") from error
