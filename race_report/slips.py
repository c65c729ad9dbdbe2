"""Values of the wrong type, and which of the usual slips each is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from race_report.parsed import Fault
from race_report.standard import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from race_report.parsed import Places

_NOUNS: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "an object with keys",
    "string": "text",
}

_POWERS: Final = {"K": 3, "k": 3, "M": 6, "B": 9, "G": 9, "T": 12, "P": 15, "E": 18}
"""Powers of ten that stand behind a number in prose: 1.5B parameters, 989 TFLOPS."""

_SHORT: Final = 40
"""Characters of a value that a message shows."""


def version_fault(value: dict[str, Any], places: Callable[[], Places]) -> Fault | None:
    """Say what is wrong with `race_version`; an unquoted 1.10 is 1.1 to a parser and must not be taken for it."""
    pointer = "/race_version"
    version = value["race_version"]
    if version == VERSION:
        return None
    if not isinstance(version, str):
        fault = type_fault(pointer, version, ["string"], lambda: places().literal(pointer), {})
        is_other_number = fault.rule == "text-as-number" and version != float(VERSION)
        return fault if is_other_number else fault._replace(hint=f'write race_version: "{VERSION}"')
    message = f'this tool knows version {VERSION} of the standard, not "{version}"'
    looks_like_ours = re.fullmatch(r"v?\.?1(\.0)*", version.strip().lower()) is not None
    hint = f'did you mean "{VERSION}"?' if looks_like_ours else "install the version of race-compute that knows it"
    return Fault("unsupported-version", "/race_version", message, hint)


def type_fault(
    pointer: str, value: Any, types: Sequence[str], literal: Callable[[], str | None], subschema: dict[str, Any]
) -> Fault:
    """Say that a value is of the wrong type, and which of the usual slips it is.

    Args:
        pointer: where it stands.
        value: the value.
        types: JSON Schema's names of the types that are right.
        literal: gives the value as it stands in the file, if it does.
        subschema: what describes the value.

    """
    expected = " or ".join(_NOUNS[name] for name in types)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None:
        name = pointer.rpartition("/")[2]
        message = f'"{name}" has no value; {expected} should stand here'
        meaning = subschema.get("description", expected).partition(". ")[0].rstrip(".")
        hint = one_of(subschema["enum"]) if "enum" in subschema else f"write it: {meaning}"
        return Fault("empty-value", pointer, message, hint)
    if isinstance(value, str) and ("number" in types or "integer" in types):
        number = _number_in(value)
        if number:
            message = f'"{shorten(value)}" is text, and {expected} should stand here'
            return Fault("number-as-text", pointer, message, f"write {number}")
    if is_number and "string" in types and "enum" not in subschema:
        shown = shorten(literal() or repr(value))
        message = f"{shown} reads as a number, and text should stand here"
        is_instant = subschema.get("format") == "date-time"
        hint = 'write it like "2026-12-01T12:00:00Z"' if is_instant else f'quote it: "{shown}"'
        return Fault("text-as-number", pointer, message, hint)
    if isinstance(value, float) and "integer" in types:
        message = f"{shorten(literal() or repr(value))} is no whole number, and a count should stand here"
        return Fault("fractional-count", pointer, message, "write a whole number")
    found = _NOUNS[_type_name(value)]
    hint = one_of(subschema["enum"]) if "enum" in subschema else _type_hint(value, types)
    return Fault("wrong-type", pointer, f"{found} stands here, and {expected} should", hint)


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = ((str, "string"), (dict, "object"), (list, "array"), (int | float, "number"))
    return next(name for kind, name in kinds if isinstance(value, kind))


def _type_hint(value: Any, types: Sequence[str]) -> str:
    if "array" in types:
        return "put it in a list: [...]"
    if "boolean" in types and str(value).lower() in ("yes", "no", "on", "off"):
        return f"write {'true' if str(value).lower() in ('yes', 'on') else 'false'}: YAML 1.2 has no other words for it"
    if "object" in types:
        return "race schema shows the keys that belong here"
    if isinstance(value, bool):
        return "say how much or which, not whether"
    return "race schema shows what belongs here"


def _number_in(text: str) -> str:
    """Say how JSON writes the number that a text was meant to be; nothing where it is none."""
    plain = re.sub(r"(?<=[0-9])[,_ '](?=[0-9]{3})", "", text.strip()).lstrip("+")
    plain = re.sub(r"\s*[x\u00d7*]\s*10\s*\^?\s*\{?", "e", plain).rstrip("}")
    match = re.fullmatch(r"(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([-+]?[0-9]+))?\s*([A-Za-z%$/ -]*)", plain)
    if match is None or len(plain) > _SHORT:
        return ""
    digits, exponent, unit = match[1], int(match[2] or 0), match[3].strip()
    digits = f"0{digits}" if digits[0] == "." else digits
    if unit == "%":
        return f"{float(digits) / 100:g}, a fraction"
    if unit in _POWERS or re.fullmatch("[KMGTPE]FLOPS?(?:/s)?", unit, re.IGNORECASE):
        exponent, unit = exponent + _POWERS[unit[0]], ""
    number = f"{digits}e{exponent}" if exponent else digits
    return f"{number}; the key names the unit" if unit else number


def shorten(text: str) -> str:
    """Cut a text that is too long for a message."""
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."


def one_of(words: Sequence[str]) -> str:
    """List the words that would be right."""
    return f"it is one of: {', '.join(words)}"
