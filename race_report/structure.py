"""Schema errors -> findings: all of them, at the place of the fault, with "did you mean"."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final

from race_report._resources import read_text
from race_report.parsed import Fault, escape_pointer
from race_report.view import ViewFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from race_report.parsed import Places

VERSION: Final = "1.0"
"""The version of the standard that this tool checks."""

_NOT_YET: Final = {"allocation_study": "the allocation study comes with a later version of this tool"}

_NOUNS: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "an object with keys",
    "string": "text",
}

_RELATIONS: Final = {
    "minimum": ("at least", "counts and amounts are never negative, and some are never 0"),
    "exclusiveMinimum": ("more than", "this amount is never 0"),
    "maximum": ("at most", "check the unit: the key names it"),
}

_SHORT: Final = 40
"""Characters of a value that a message shows."""

_FEW: Final = 3
"""Names that a message lists where any would do."""

_MANY: Final = 12
"""Above so many, the words that are allowed are not all listed."""


@functools.cache
def schema() -> dict[str, Any]:
    """Give the JSON Schema of the standard."""
    result: dict[str, Any] = json.loads(read_text("schema", VERSION, "race-report.schema.json"))
    return result


@functools.cache
def view() -> ViewFactory:
    """Give what views valid documents."""
    return ViewFactory(schema())


@functools.cache
def _validator() -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(schema(), validate_formats=True)


def version_fault(value: dict[str, Any], literal: Callable[[], str]) -> Fault | None:
    """Say what is wrong with `race_version`; `literal` gives it as it stands in the file."""
    version = value["race_version"]
    if version == VERSION:
        return None
    if not isinstance(version, str):
        hint = f'quote it: "{literal()}"' if isinstance(version, int | float) else f'write race_version: "{VERSION}"'
        return Fault("text-as-number", "/race_version", "the version is not text", hint)
    message = f'this tool knows version {VERSION} of the standard, not "{version}"'
    looks_like_ours = re.fullmatch(r"v?\.?1(\.0)*", version.strip().lower()) is not None
    hint = f'did you mean "{VERSION}"?' if looks_like_ours else "install the version of race-compute that knows it"
    return Fault("unsupported-version", "/race_version", message, hint)


def structure_faults(value: Any, places: Callable[[], Places]) -> list[Fault]:
    """Give every structural fault of a document, one a place; `places` is called where it helps.

    Of a value of the wrong type nothing else is said: -0.5 is no count, whatever its sign.
    """
    faults: dict[str, Fault] = {}
    for error in _validator().iter_errors(value):
        for fault in _faults(error, value, places):
            if error.kind.name == "type" or fault.pointer not in faults:
                faults[fault.pointer] = fault
    return list(faults.values())


def _faults(error: Any, document: Any, places: Callable[[], Places]) -> Iterator[Fault]:
    """Turn one error of the schema engine into faults."""
    path: list[str | int] = list(error.instance_path)
    pointer = "".join(f"/{escape_pointer(str(token))}" for token in path)
    details: dict[str, Any] = error.kind.as_dict()
    keyword = error.kind.name
    value = _at(document, path)
    if keyword == "additionalProperties":
        for key in details["unexpected"]:
            yield _unknown_key(f"{pointer}/{escape_pointer(key)}", key, path)
    elif keyword == "required":
        yield _missing_key(pointer, details["property"], path, value)
    elif keyword == "type":
        yield type_fault(pointer, value, details["types"], lambda: _literal(places(), pointer))
    elif keyword in ("enum", "const"):
        options = details["options"] if keyword == "enum" else [details["expected_value"]]
        if isinstance(value, str):
            yield _unknown_value(pointer, value, options, path, document)
    elif keyword in ("minLength", "pattern", "format"):
        yield _malformed_text(pointer, value, _subschema(path))
    elif keyword == "minItems":
        yield Fault("empty-list", pointer, "the list is empty", "add an element")
    else:
        limit = details.get("limit")
        relation, hint = _RELATIONS[keyword]
        if keyword == "maximum" and limit == 1:
            hint = "write a fraction, not a percentage"
        yield Fault("out-of-range", pointer, f"{_short(str(value))} should be {relation} {limit:g}", hint)


def _at(document: Any, path: Sequence[str | int]) -> Any:
    for token in path:
        document = document[token]
    return document


def _literal(places: Places, pointer: str) -> str:
    """Give a value as it stands in the file."""
    start, end = places.values.get(pointer, (0, 0))
    return places.text[start:end]


def _subschema(path: Sequence[str | int]) -> dict[str, Any]:
    """Give the part of the schema that describes the value at a path; empty where the path is free."""
    node = schema()
    for token in path:
        node = node.get("items", {}) if isinstance(token, int) else node.get("properties", {}).get(token, {})
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            node = schema()["$defs"][name] | {"noun": _noun(name)}
    return node


def _noun(name: str) -> str:
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
    return f"an {words}" if words[0] in "aeio" else f"a {words}"


def _owner(path: Sequence[str | int]) -> str:
    return str(_subschema(path).get("noun", "a report"))


def type_fault(pointer: str, value: Any, types: Sequence[str], literal: Callable[[], str]) -> Fault:
    """Say that a value is of the wrong type, and which of the usual slips it is.

    Args:
        pointer: where it stands.
        value: the value.
        types: JSON Schema's names of the types that are right.
        literal: gives the value as it stands in the file.

    """
    expected = " or ".join(_NOUNS[name] for name in types)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None:
        name = pointer.rpartition("/")[2]
        message = f'"{name}" has no value; {expected} should stand here'
        hint = f"write {_NOUNS[types[0]]}, or delete the key and name the gap in not_reported"
        return Fault("empty-value", pointer, message, hint)
    if isinstance(value, str) and ("number" in types or "integer" in types):
        number = _number_in(value)
        if number:
            message = f'"{_short(value)}" is text, and {expected} should stand here'
            return Fault("number-as-text", pointer, message, f"write {number}")
    if is_number and "string" in types:
        message = f"{_short(literal())} reads as a number, and text should stand here"
        return Fault("text-as-number", pointer, message, f'quote it: "{_short(literal())}"')
    if isinstance(value, float) and "integer" in types:
        message = f"{_short(literal())} is no whole number, and a count should stand here"
        return Fault("fractional-count", pointer, message, "write a whole number")
    found = _NOUNS[_type_name(value)]
    return Fault("wrong-type", pointer, f"{found} stands here, and {expected} should", _type_hint(value, types))


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = ((str, "string"), (dict, "object"), (list, "array"), (int | float, "number"))
    return next(name for kind, name in kinds if isinstance(value, kind))


def _type_hint(value: Any, types: Sequence[str]) -> str:
    if "array" in types:
        return (
            "put it in brackets: [...]"
            if not isinstance(value, dict)
            else "begin each element with a dash, or use [...]"
        )
    if "boolean" in types and str(value).lower() in ("yes", "no", "on", "off"):
        return f"write {'true' if str(value).lower() in ('yes', 'on') else 'false'}: YAML 1.2 has no other words for it"
    if "object" in types:
        return "race schema shows the keys that belong here"
    if isinstance(value, bool):
        return "say how much or which, not whether"
    return "race schema shows what belongs here"


def _number_in(text: str) -> str:
    """Give the number that a text was meant to be, as JSON writes it, or nothing."""
    plain = re.sub(r"(?<=[0-9])[,_ '](?=[0-9]{3})", "", text.strip()).lstrip("+")
    plain = re.sub(r"\s*[x\u00d7*]\s*10\s*\^?\s*\{?", "e", plain).rstrip("}")
    if re.fullmatch(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", plain) is None:
        return ""
    number = float(plain)
    if number in (float("inf"), float("-inf")):
        return ""
    return str(int(plain)) if re.fullmatch(r"-?[0-9]+", plain) else plain if plain[0] != "." else f"0{plain}"


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:37]}..."


def _closest(word: str, options: Sequence[str]) -> str | None:
    from difflib import get_close_matches

    by_form = {option.lower(): option for option in options}
    form = re.sub(r"[-\s]+", "_", word.strip().lower())
    near = get_close_matches(form, by_form, n=1, cutoff=0.6)
    return by_form[near[0]] if near else None


def _unknown_key(pointer: str, key: str, path: Sequence[str | int]) -> Fault:
    if not path and key in _NOT_YET:
        return Fault("not-yet-supported", pointer, _NOT_YET[key], "leave it out for now, or keep it under an x- key")
    here = _subschema(path)
    near = _closest(key, list(here.get("properties", {})))
    message = f'"{key}" is no key of {_owner(path)}'
    if near is not None:
        return Fault("unknown-key", pointer, message, f'did you mean "{near}"?')
    owners = [_noun(name) for name, definition in schema()["$defs"].items() if key in definition.get("properties", {})]
    if key in schema()["properties"]:
        owners.append("the report itself")
    if owners:
        return Fault("unknown-key", pointer, message, f"it is a key of {' and of '.join(owners[:_FEW])}: move it there")
    return Fault(
        "unknown-key", pointer, message, f'race schema shows the keys; one of your own begins with x-: "x-{key}"'
    )


def _missing_key(pointer: str, key: str, path: Sequence[str | int], owner: dict[str, Any]) -> Fault:
    here = _subschema(path)
    companions = here.get("dependentRequired", {})
    because = [other for other in here.get("properties", {}) if other in owner and key in companions.get(other, ())]
    message = f'{_owner(path)} needs "{key}"'
    if because and key not in here.get("required", []):
        message = (
            f'{_owner(path)} with {" or ".join(because[:_FEW])}{", ..." if len(because) > _FEW else ""} needs "{key}"'
        )
    description = here.get("properties", {}).get(key, {}).get("description", "")
    hint = f"add it: {description.partition('. ')[0].rstrip('.')}" if description else "add it"
    return Fault("missing-key", f"{pointer}/{escape_pointer(key)}", message, hint)


def _unknown_value(pointer: str, value: str, options: Sequence[str], path: Sequence[str | int], document: Any) -> Fault:
    words = [option for option in options if isinstance(option, str)]
    message = f'"{_short(value)}" is none of the words for {path[-1] if path else "this"}'
    if path and path[-1] == "phase" and value in _subschema(path)["enum"]:
        message = f'"{value}" is no phase of {_at(document, path[:-1])["component"]}'
        return Fault(
            "unknown-value", pointer, message, f"it is one of {_component_of(value)}: change phase or component"
        )
    near = _closest(value, words)
    hint = f'did you mean "{near}"?' if near else ""
    if len(words) <= _MANY or not near:
        hint = f"{hint} It is one of: {', '.join(words)}".strip()
    return Fault("unknown-value", pointer, message, hint)


def _component_of(phase: str) -> str:
    """Give the component that a phase belongs to."""
    clauses = schema()["$defs"]["LedgerEntry"]["allOf"]
    return next(
        str(clause["if"]["properties"]["component"]["const"])
        for clause in clauses
        if phase in clause["then"]["properties"]["phase"]["enum"]
    )


def _malformed_text(pointer: str, value: str, subschema: dict[str, Any]) -> Fault:
    description = subschema.get("description", "")
    if value == "":
        return Fault("malformed-text", pointer, "the text is empty", "write it, or delete the key")
    if subschema.get("format") == "date-time":
        message = f'"{_short(value)}" is no instant with a time zone'
        return Fault("malformed-text", pointer, message, 'write it like "2026-12-01T12:00:00Z"')
    message = f'"{_short(value)}" is not of the right form'
    forms = (
        ("^[A-Za-z]", "begin with a letter; then letters, digits, dot, dash and underscore"),
        ("^https?", "write the whole address, beginning with https://"),
        ("^(/", "write a JSON Pointer such as /runs/main/totals"),
        ("^[0-9a-f]{64}", "write the 64 hexadecimal digits of the SHA-256 in lower case"),
    )
    hint = next((hint for start, hint in forms if subschema.get("pattern", "").startswith(start)), description)
    return Fault("malformed-text", pointer, message, hint)
