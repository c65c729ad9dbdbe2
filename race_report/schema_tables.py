"""The JSON Schema -> the field tables of SPEC.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from race_report.standard import record_schema, schema

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOUNS = (
    ("^[A-Za-z]", "[id](#3-the-document)"),
    ("^https?", "address"),
    ("^(/", "[pointer](#6-names-and-pointers)"),
    ("^(?![/~]", "relative path"),
    ("^[0-9a-f]{64}", "64 hexadecimal digits"),
    ("^[0-9a-f]{8}", "8 hexadecimal digits"),
    ("^(", "identifier"),
    ("^10[.]", "identifier"),
)
"""What a text is, by the beginning of its pattern."""


def field_tables() -> str:
    """Give a table for every object of a report, in the order in which a reader meets them."""
    return "\n".join(line for name in _order() for line in _table(name))


def record_table() -> str:
    """Give the table of a record of a trace."""
    return "\n".join(_fields(record_schema()))


def _order() -> list[str]:
    """Give the names of all objects, depth first from the report."""
    found = ["Report"]
    for name in found:
        for field in _definition(name)["properties"].values():
            inner = _reference(field)
            if inner and inner not in found:
                found.append(inner)
    return found


def _definition(name: str) -> dict[str, Any]:
    definition: dict[str, Any] = schema() if name == "Report" else schema()["$defs"][name]
    return definition


def _reference(field: dict[str, Any]) -> str:
    """Give the name of the object that a field holds, or holds a list of."""
    reference: str = field.get("$ref") or field.get("items", {}).get("$ref", "")
    return reference.rpartition("/")[2]


def _table(name: str) -> Iterator[str]:
    definition = _definition(name)
    yield f"### {name}"
    yield ""
    yield definition["description"]
    yield ""
    yield from _fields(definition)


def _fields(definition: dict[str, Any]) -> Iterator[str]:
    required = definition.get("required", ())
    yield "| key | value | meaning |"
    yield "|---|---|---|"
    for key, field in definition["properties"].items():
        shown = f"**`{key}`**" if key in required else f"`{key}`"
        yield f"| {shown} | {_value(field)} | {field['description']} |"
    yield ""


def _value(field: dict[str, Any]) -> str:  # noqa: PLR0911 - one answer a kind
    if "$ref" in field:
        return f"[{_reference(field)}](#{_reference(field).lower()})"
    if "const" in field:
        return f'`"{field["const"]}"`'
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    kind = field.get("type")
    if kind == "array":
        return f"list of {_value(field['items'])}"
    if kind == "object":
        return f"object of {' or '.join(map(_value, field['patternProperties'].values()))}"
    if kind in ("integer", "number"):
        return _number(field, "count" if kind == "integer" and field["minimum"] >= 0 else kind)
    if kind == "boolean":
        return "`true`, `false`"
    return _text(field)


def _number(field: dict[str, Any], noun: str) -> str:
    if "exclusiveMinimum" in field:
        return f"{noun}, more than {field['exclusiveMinimum']:g}"
    low, high = field.get("minimum"), field.get("maximum")
    if high in (1, 2):
        return f"{noun}, {low:g} to {high:g}"
    if low is not None and low >= 0:
        return f"{noun}, at least {low:g}"
    return noun


def _text(field: dict[str, Any]) -> str:
    if field.get("format") == "date-time":
        return "[instant](#3-the-document)"
    pattern = field.get("pattern", "")
    return next((noun for start, noun in _NOUNS if pattern.startswith(start)), "text")
