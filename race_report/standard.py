"""The standard as data: its version, its schema, and what the schema says of a place in a report."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report._resources import read_text
from race_report.view import ViewFactory

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION: Final = "1.0"
"""The version of the standard that this tool checks."""


@functools.cache
def schema() -> dict[str, Any]:
    """Give the JSON Schema of the standard."""
    result: dict[str, Any] = json.loads(read_text("schema", VERSION, "race-report.schema.json"))
    return result


@functools.cache
def record_schema() -> dict[str, Any]:
    """Give the JSON Schema of a record of a trace."""
    result: dict[str, Any] = json.loads(read_text("schema", VERSION, "trace-record.schema.json"))
    return result


@functools.cache
def view() -> ViewFactory:
    """Give what views valid documents."""
    return ViewFactory(schema())


class Shape(NamedTuple):
    """What the schema says of a place in a report, as far as a pointer needs it."""

    properties: dict[str, Shape]
    items: Shape | None
    """The shape of an array's elements; None where it is no array."""
    is_open: bool
    """Whether it takes keys that it does not name, besides those that begin with `x-`."""


@functools.cache
def shape() -> Shape:
    """Give the shape of a report."""
    return _shape_of(schema())


@functools.cache
def _shape_named(name: str) -> Shape:
    return _shape_of(schema()["$defs"][name])


def _shape_of(node: dict[str, Any]) -> Shape:
    if "$ref" in node:
        return _shape_named(node["$ref"].rpartition("/")[2])
    properties = {key: _shape_of(value) for key, value in node.get("properties", {}).items()}
    takes_any = node.get("type") == "object" and "additionalProperties" not in node
    is_map = "properties" not in node and "patternProperties" in node
    return Shape(properties, _shape_of(node["items"]) if "items" in node else None, takes_any or is_map)


def subschema(path: Sequence[str | int]) -> dict[str, Any]:
    """Give the part of the schema that describes the value at a path; empty where the path is free."""
    node = schema()
    for token in path:
        inner = node.get("items", {}) if isinstance(token, int) else node.get("properties", {}).get(token, {})
        node = resolved(inner)
    return node


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """Give what a reference of the schema stands for, with the noun of the object that it describes."""
    return _definition(node["$ref"].rpartition("/")[2]) if "$ref" in node else node


@functools.cache
def _definition(name: str) -> dict[str, Any]:
    definition: dict[str, Any] = schema()["$defs"][name]
    return definition | {"noun": noun(name)}


def noun(name: str) -> str:
    """Give the name of a class as a message says it: `LedgerEntry` is a ledger entry."""
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
    if name == "ReportInfo":
        return "`report`"
    if words.endswith("s") or words.startswith("other"):
        return words
    return f"an {words}" if words[0] in "aeio" else f"a {words}"
