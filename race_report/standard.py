"""The standard as data: its version, its schema, and what the schema says of a place in a report."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final

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
