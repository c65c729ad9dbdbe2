"""Common models by their hub names: `schema/models.json`."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

from race_report._resources import read_text


class KnownModel(NamedTuple):
    """A model of the catalogue."""

    name: str
    """Its hub name, or that of one of the same shape, as asked for."""
    architecture: dict[str, Any]
    """The keys of its config.json that matter."""
    source: str
    """Where that file is published."""
    parameters_total: int
    """The number of parameters that is published."""


@cache
def known_models() -> dict[str, KnownModel]:
    """Give all models by hub name in small letters."""
    return {
        name.lower(): KnownModel(name, entry["architecture"], entry["source"], entry["parameters_total"])
        for first, entry in _data()["models"].items()
        for name in (first, *entry["same_shape"])
    }


def find_model(name: str) -> KnownModel | None:
    """Find a model by its hub name, whatever its capitals."""
    return known_models().get(name.strip().lower())


def near_names(name: str) -> list[str]:
    """Give the hub names that are nearest to one that is not known, with or without their owner."""
    from difflib import get_close_matches

    models = known_models()
    asked = name.strip().lower()
    whole = get_close_matches(asked, models, n=3, cutoff=0.75)
    short = [key for key in models if key.partition("/")[2] == asked.rpartition("/")[2]]
    return [models[key].name for key in dict.fromkeys([*short, *whole])][:3]


def text_defaults() -> dict[str, dict[str, Any]]:
    """Give what transformers leaves out of a `text_config`, by its `model_type`."""
    defaults: dict[str, dict[str, Any]] = _data()["text_defaults"]
    return defaults


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(read_text("schema", "models.json"))
    return data
