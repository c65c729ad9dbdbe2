"""A view of a valid report, not to be changed, with the attributes of the pydantic classes and none of their cost.

The classes are made from the committed schema: every property is a class attribute (None, or the empty tuple for an
array), and the data of an object is its `__dict__`. So a rule reads `entry.flops` and gets None where the report is
silent, and a misspelt name raises. Rules are typed against `race_report.document`, whose attributes are the same.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from race_report.document import Report

    Maker = Callable[[Any], Any]


_PLAIN: Final = frozenset({str, int, bool})
"""Types of raw values that are their own view."""


class Viewed:
    """An object of a report. `_makers` turn raw values into views, tuples and integers, by key."""

    _makers: dict[str, Maker]

    def __repr__(self) -> str:
        """Show what the report says."""
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in vars(self).items())})"


class ViewFactory:
    """Makes views of documents that the schema accepts."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._definitions = schema["$defs"]
        self._classes: dict[str, type[Viewed]] = {}
        self._root = self._class("Report", schema)

    def __call__(self, document: dict[str, Any]) -> Report:
        """View a document."""
        return cast("Report", _view(self._root, document))

    def _class(self, name: str, definition: dict[str, Any]) -> type[Viewed]:
        """Make the class of an object, and before it those of the objects within."""
        made = self._classes.get(name)
        if made is None:
            properties: dict[str, Any] = definition["properties"]
            makers = {key: maker for key, value in properties.items() if (maker := self._maker(value)) is not None}
            absent = {key: () if value.get("type") == "array" else None for key, value in properties.items()}
            made = self._classes[name] = type(name, (Viewed,), {**absent, "_makers": makers})
        return made

    def _maker(self, schema: dict[str, Any]) -> Maker | None:
        """Give what turns a raw value into its view, or None where the raw value will do."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            cls = self._class(name, self._definitions[name])
            return partial(_view, cls)
        if schema.get("type") == "array":
            item = self._maker(schema["items"])
            return (lambda values: tuple(map(item, values))) if item is not None else tuple
        if schema.get("type") == "integer":
            return int  # 5.0 is an integer to JSON Schema
        if schema.get("type") == "object":
            of_value = next(map(self._maker, schema["patternProperties"].values()))
            return of_value and (lambda values: {key: of_value(value) for key, value in values.items()})
        return None


def _view(cls: type[Viewed], value: dict[str, Any]) -> Viewed:
    viewed = cls.__new__(cls)
    makers = cls._makers
    data = value
    for key, raw in value.items():
        if type(raw) not in _PLAIN and (maker := makers.get(key)) is not None:
            if data is value:
                data = value.copy()
            data[key] = maker(raw)
    viewed.__dict__ = data
    return viewed
