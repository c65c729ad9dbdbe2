"""What finds violations of the JSON Schema: a fast engine, and a second one in pure Python.

`jsonschema-rs` is used where it is installed; `jsonschema` stands in where it has no wheel, or on request. Both give
the same violations, which a test holds on thousands of documents.
"""

from __future__ import annotations

import functools
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.standard import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    SchemaOf = Callable[[], dict[str, Any]]


class SchemaError(NamedTuple):
    """A violation of one keyword of the schema at one place of a document."""

    keyword: str
    path: list[str | int]
    details: dict[str, Any]
    """`unexpected` keys, a missing `property`, `types` or `options` that are right, a `limit`."""


def is_valid(document: Any, engine: str | None = None, schema_of: SchemaOf = schema) -> bool:
    """Tell whether there is no violation, without collecting any."""
    if engine != "jsonschema":
        try:
            return bool(_rust_validator(schema_of).is_valid(document))
        except ImportError:
            if engine is not None:
                raise
    return bool(_python_validator(schema_of).is_valid(document))


def schema_errors(document: Any, engine: str | None = None, schema_of: SchemaOf = schema) -> Iterator[SchemaError]:
    """Give every violation, in no order.

    Args:
        document: a document without NaN, infinities or lone surrogates.
        engine: `jsonschema-rs` or `jsonschema`; None for the fastest that is installed.
        schema_of: gives the schema, that of a report or that of a record.

    """
    if engine == "jsonschema":
        return _errors_in_python(document, schema_of)
    try:
        return _errors_in_rust(document, schema_of)
    except ImportError:
        if engine is not None:
            raise
        return _errors_in_python(document, schema_of)


@functools.cache
def _rust_validator(schema_of: SchemaOf) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(schema_of(), validate_formats=True)


def _errors_in_rust(document: Any, schema_of: SchemaOf) -> Iterator[SchemaError]:
    validator = _rust_validator(schema_of)
    return (
        SchemaError(error.kind.name, list(error.instance_path), _rust_details(error.kind))
        for error in validator.iter_errors(document)
    )


def _rust_details(kind: Any) -> dict[str, Any]:
    details: dict[str, Any] = kind.as_dict()
    if kind.name == "const":
        return {"options": [details["expected_value"]]}
    return details


@functools.cache
def _python_validator(schema_of: SchemaOf) -> Any:
    import jsonschema

    formats = jsonschema.FormatChecker(formats=())
    formats.checks("date-time", raises=ValueError)(_is_instant)
    return jsonschema.Draft202012Validator(schema_of(), format_checker=formats)


def _is_instant(text: object) -> bool:
    """Tell whether a text is a day of the calendar; what the pattern settles is not looked at again."""
    if isinstance(text, str) and re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}T", text):
        datetime.fromisoformat(text)
    return True


def _errors_in_python(document: Any, schema_of: SchemaOf) -> Iterator[SchemaError]:
    for error in _python_validator(schema_of).iter_errors(document):
        details = _DETAILS.get(error.validator, _no_details)(error)
        for detail in details if isinstance(details, list) else [details]:
            yield SchemaError(error.validator, list(error.absolute_path), detail)


def _missing(error: Any) -> list[dict[str, Any]]:
    """Give the missing keys; the library reports one at a time, and the receiver drops what comes twice."""
    needed = error.validator_value
    if error.validator == "dependentRequired":
        needed = [key for present, keys in needed.items() if present in error.instance for key in keys]
    return [{"property": key} for key in needed if key not in error.instance]


def _unexpected(error: Any) -> dict[str, Any]:
    known = error.schema.get("properties", {})
    patterns = list(error.schema.get("patternProperties", {}))
    return {
        "unexpected": [
            key
            for key in error.instance
            if key not in known and not any(re.search(pattern, key) for pattern in patterns)
        ]
    }


def _types(error: Any) -> dict[str, Any]:
    types = error.validator_value
    return {"types": [types] if isinstance(types, str) else types}


def _no_details(_: Any) -> dict[str, Any]:
    return {}


_DETAILS: Final[dict[str, Callable[[Any], dict[str, Any] | list[dict[str, Any]]]]] = {
    "additionalProperties": _unexpected,
    "const": lambda error: {"options": [error.validator_value]},
    "dependentRequired": _missing,
    "enum": lambda error: {"options": error.validator_value},
    "exclusiveMinimum": lambda error: {"limit": error.validator_value},
    "maximum": lambda error: {"limit": error.validator_value},
    "minimum": lambda error: {"limit": error.validator_value},
    "required": _missing,
    "type": _types,
}
"""What is known of a violation, by keyword, in the words of the fast engine."""
