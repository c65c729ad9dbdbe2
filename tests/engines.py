"""The verdicts of the schema's engine and of the pydantic classes in one form: a set of (rule, pointer)."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from race_report.document import Report
from race_report.parsed import Places, escape_pointer
from race_report.slips import type_fault
from race_report.structure import structure_faults

Verdict = set[tuple[str, str]]

_TYPES = {
    "int_type": ["integer"],
    "float_type": ["number"],
    "string_type": ["string"],
    "literal_error": ["string"],
    "bool_type": ["boolean"],
    "tuple_type": ["array"],
    "dict_type": ["object"],
    "model_type": ["object"],
}
_RULES = {
    "missing": "missing-key",
    "literal_error": "unknown-value",
    "greater_than": "out-of-range",
    "greater_than_equal": "out-of-range",
    "less_than_equal": "out-of-range",
    "string_too_short": "malformed-text",
    "string_pattern_mismatch": "malformed-text",
    "instant": "malformed-text",
    "too_short": "empty-list",
}


def schema_verdict(document: Any, engine: str = "jsonschema-rs") -> Verdict:
    """Give what an engine finds by the committed schema."""
    places = Places(text="")  # a document from memory has no text
    return {(fault.rule, fault.pointer) for fault in structure_faults(document, lambda: places, engine)}


def class_verdict(document: Any) -> Verdict:
    """Give what the pydantic classes find."""
    try:
        Report.model_validate(document)
    except ValidationError as error:
        return {_normalised(details) for details in error.errors()}
    return set()


def _normalised(error: Any) -> tuple[str, str]:
    kind, value = error["type"], error["input"]
    pointer = "".join(f"/{escape_pointer(str(token))}" for token in error["loc"])
    if (kind == "string_pattern_mismatch" and error.get("ctx", {}).get("pattern") == "^x-") or "'^x-'" in error["msg"]:
        return ("not-yet-supported" if pointer == "/allocation_study" else "unknown-key"), pointer
    subschema: dict[str, Any] = {"enum": []} if kind == "literal_error" and pointer != "/race_version" else {}
    if error["loc"] and error["loc"][-1] == "[key]":
        return "malformed-text", pointer.removesuffix("/[key]")
    if kind in _TYPES and not (kind == "literal_error" and isinstance(value, str)):
        return type_fault(pointer, value, _TYPES[kind], lambda: "", subschema).rule, pointer
    return _RULES[kind], pointer
