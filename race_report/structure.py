"""Schema errors -> findings: all of them, at the place of the fault, with "did you mean"."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.numbers import show_number
from race_report.parsed import MAX_FAULTS, Fault, escape_pointer
from race_report.schema_engines import SchemaError, is_valid, schema_errors
from race_report.slips import one_of, shorten, type_fault
from race_report.standard import noun, schema, subschema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

from race_report.parsed import Places

_NOT_YET: Final = {"allocation_study": "the allocation study comes with a later version of this tool"}

_SYNONYMS: Final = {
    "actor": "policy",
    "critic": "value",
    "generation": "decode",
    "generate": "decode",
    "inference": "search",
    "llm_judge": "judge",
    "lora": "adapter",
    "orm": "outcome_reward_model",
    "peft": "adapter",
    "prm": "process_reward_model",
    "qlora": "adapter",
    "ref": "reference",
    "reward": "feedback",
    "rm": "reward_model",
    "rollout": "search",
    "rollouts": "search",
    "scoring": "old_logprobs",
    "train": "update",
    "training": "learning",
    "verifier": "rule",
}
"""Words of the field, and the standard's word for the same."""

_FORMS: Final = (
    ("^[A-Za-z]", "begin with a letter; then letters, digits, dot, dash and underscore"),
    ("^https?", "write the whole address, beginning with https://"),
    ("^(/", "write a JSON Pointer such as /runs/main/totals"),
    ("^(?![/~]|[A-Za-z]:)", "write a path relative to the report, with forward slashes"),
    ("^[0-9a-f]{64}", "write the 64 hexadecimal digits of the SHA-256 in lower case"),
    ("^([0-9]{4}[.]", "write the bare identifier, such as 2607.13389"),
    ("^10[.]", "write the bare DOI, such as 10.48550/arXiv.2607.13389"),
)
"""What to write, by the beginning of the pattern that a text does not match."""

_MANY_ELEMENTS: Final = 20_000
"""Elements of all lists together that are looked at first."""

_FEW: Final = 3
"""Names that a message lists where any would do."""


class _Error(NamedTuple):
    """One error of the schema engine, and what an explanation of it may need."""

    pointer: str
    path: list[str | int]
    value: Any
    details: dict[str, Any]
    subschema: dict[str, Any]
    document: Any
    places: Callable[[], Places]


def structure_faults(document: Any, places: Callable[[], Places], engine: str | None = None) -> list[Fault]:
    """Give every structural fault of a document, one a place; `places` is called where it helps.

    Of a value of the wrong type nothing else is said: -0.5 is no count, whatever its sign.
    """
    if is_valid(document, engine):
        return []
    faults: dict[str, Fault] = {}
    beginning = _Beginning(document)
    for error in islice(beginning.errors(engine), MAX_FAULTS):
        context = _Error(
            pointer="".join(f"/{escape_pointer(str(token))}" for token in error.path),
            path=error.path,
            value=_at(document, error.path),
            details=error.details,
            subschema=subschema(error.path),
            document=document,
            places=places,
        )
        for fault in EXPLAINERS[error.keyword](context):
            if error.keyword == "type" or fault.pointer not in faults:
                faults[fault.pointer] = fault
    found = list(faults.values())
    if not beginning.is_all or len(found) >= MAX_FAULTS:
        message = f"at most {MAX_FAULTS:,} findings in {_MANY_ELEMENTS:,} elements are looked for at a time"
        found.append(Fault("too-many-findings", "", message, "mend these, and check again"))
    return found


class _Beginning:
    """The beginning of a long document, which bounds what a hostile one costs.

    An engine collects violations before it gives them, some for every element of every list.
    """

    def __init__(self, document: Any) -> None:
        self._document = document
        self._left = _MANY_ELEMENTS
        self._beginning = self._cut(document)
        self.is_all = self._left >= 0

    def _cut(self, value: Any) -> Any:
        """Copy a value without the elements of lists that are too many."""
        if isinstance(value, dict):
            return {key: self._cut(child) for key, child in value.items()}
        if not isinstance(value, list):
            return value
        kept = value[: max(0, self._left)]
        self._left -= len(value)
        return [self._cut(child) for child in kept]

    def errors(self, engine: str | None) -> Iterator[SchemaError]:
        """Give the violations of the beginning; where it has none, of the whole."""
        if not self.is_all:
            found = list(schema_errors(self._beginning, engine))
            if found:
                return iter(found)
            self.is_all = True
        return schema_errors(self._document, engine)


def _at(document: Any, path: Sequence[str | int]) -> Any:
    for token in path:
        document = document[token]
    return document


def _owner(error: _Error) -> str:
    return str(error.subschema.get("noun", "a report"))


def _closest(word: str, options: Sequence[str]) -> str | None:
    from difflib import get_close_matches

    by_form = {option.lower(): option for option in options}
    form = re.sub(r"[-\s]+", "_", word.strip().lower())
    near = get_close_matches(form, by_form, n=1, cutoff=0.6)
    return by_form[near[0]] if near else None


def _unknown_keys(error: _Error) -> Iterator[Fault]:
    for key in error.details["unexpected"]:
        yield _unknown_key(error, key, f"{error.pointer}/{escape_pointer(key)}")


def _unknown_key(error: _Error, key: str, pointer: str) -> Fault:
    if not error.path and key in _NOT_YET:
        return Fault("not-yet-supported", pointer, _NOT_YET[key], "leave it out for now, or keep it under an x- key")
    if "properties" not in error.subschema:
        return Fault("malformed-text", pointer, "a key is blank", "write the name it stands for")
    message = f'"{shorten(key)}" is no key of {_owner(error)}'
    return Fault("unknown-key", pointer, message, _mend_of_key(error, key))


def _mend_of_key(error: _Error, key: str) -> str:
    """Say what an unknown key was most likely meant to be."""
    if key.lower().startswith("x-") and len(key) > len("x-"):
        return f'did you mean "x-{shorten(key[2:])}"?'
    if key == "<<":
        return "YAML 1.2 has no merge keys: write the keys out"
    near = _closest(key, list(error.subschema["properties"]))
    if near is not None:
        return f'did you mean "{near}"?'
    owners = [noun(name) for name, definition in schema()["$defs"].items() if key in definition.get("properties", {})]
    if key in schema()["properties"]:
        owners.append("the report itself")
    if owners:
        return f"it is a key of {' and of '.join(owners[:_FEW])}: move it there"
    return f'race schema shows the keys; a key of your own begins with x-: "x-{shorten(key)}"'


def _missing_key(error: _Error) -> Iterator[Fault]:
    key = error.details["property"]
    here = error.subschema
    companions = here.get("dependentRequired", {})
    because = [other for other in here["properties"] if other in error.value and key in companions.get(other, ())]
    message = f'{_owner(error)} needs "{key}"'
    if because and key not in here.get("required", []):
        more = ", ..." if len(because) > _FEW else ""
        message = f'{_owner(error)} with {" or ".join(because[:_FEW])}{more} needs "{key}"'
    description = here["properties"][key].get("description", "")
    hint = f"add it: {description.partition('. ')[0].rstrip('.')}" if description else "add it"
    yield Fault("missing-key", f"{error.pointer}/{escape_pointer(key)}", message, hint)


def _wrong_type(error: _Error) -> Iterator[Fault]:
    def literal() -> str | None:
        return error.places().literal(error.pointer)

    fault = type_fault(error.pointer, error.value, error.details["types"], literal, error.subschema)
    is_required = bool(error.path) and error.path[-1] in subschema(error.path[:-1]).get("required", ())
    if fault.rule == "empty-value" and not is_required:
        fault = fault._replace(hint=f"{fault.hint}; or delete the key, and name the gap in not_reported")
    yield fault


def _unknown_value(error: _Error) -> Iterator[Fault]:
    if not isinstance(error.value, str):
        return  # the type is wrong, and that is said
    options = error.details["options"]
    name = next((token for token in reversed(error.path) if isinstance(token, str)), "this")
    message = f'"{shorten(error.value)}" is none of the words for {name}'
    if name == "phase" and error.value in error.subschema["enum"]:
        message = f'"{error.value}" is no phase of {_at(error.document, error.path[:-1])["component"]}'
        hint = f"it is one of {_component_of(error.value)}: change phase or component"
        yield Fault("unknown-value", error.pointer, message, hint)
        return
    near = _closest(error.value, options)
    if near is None and _SYNONYMS.get(error.value.lower()) in options:
        near = _SYNONYMS[error.value.lower()]
    hint = f'did you mean "{near}"?' if near else one_of(options)
    yield Fault("unknown-value", error.pointer, message, hint)


def _component_of(phase: str) -> str:
    """Give the component that a phase belongs to."""
    clauses = schema()["$defs"]["LedgerEntry"]["allOf"]
    return next(
        str(clause["if"]["properties"]["component"]["const"])
        for clause in clauses
        if phase in clause["then"]["properties"]["phase"]["enum"]
    )


def _malformed_text(error: _Error) -> Iterator[Fault]:
    value, subschema = error.value, error.subschema
    message = f'"{shorten(value)}" is not of the right form'
    hint = next((hint for start, hint in _FORMS if subschema.get("pattern", "").startswith(start)), "")
    if not value.strip():
        message, hint = "the text is empty", f"write it: {error.subschema.get('description', '')}"
    elif subschema.get("format") == "date-time":
        message = f'"{shorten(value)}" {_what_is_no_instant(value, subschema["pattern"])}'
        hint = 'write it like "2026-12-01T12:00:00Z"'
    yield Fault("malformed-text", error.pointer, message, hint or f"write {subschema.get('description', '')}")


def _what_is_no_instant(value: str, pattern: str) -> str:
    if re.search(pattern, value):
        return "is no day of the calendar"
    return "has no time zone" if re.search(pattern, f"{value}Z") else "is no instant"


def _empty_list(error: _Error) -> Iterator[Fault]:
    yield Fault("empty-list", error.pointer, "the list is empty", "add an element")


def _too_small(error: _Error) -> Iterator[Fault]:
    limit = error.details["limit"]
    message = f"{shorten(str(error.value))} is too small: it should be at least {limit:g}"
    hint = "it is never 0; if it is not known, delete the key" if limit else "counts and amounts are never negative"
    yield Fault("out-of-range", error.pointer, message, hint)


def _not_positive(error: _Error) -> Iterator[Fault]:
    message = f"{shorten(str(error.value))} is too small: it should be more than {error.details['limit']:g}"
    yield Fault("out-of-range", error.pointer, message, "it is never 0; if it is not known, delete the key")


def _too_large(error: _Error) -> Iterator[Fault]:
    limit = error.details["limit"]
    message = f"{shorten(str(error.value))} is too large: it should be at most {show_number(limit)}"
    is_fraction = limit == 1
    hint = (
        "write a fraction, not a percentage" if is_fraction else "check the exponent, and the unit that the key names"
    )
    yield Fault("out-of-range", error.pointer, message, hint)


EXPLAINERS: Final[dict[str, Callable[[_Error], Iterator[Fault]]]] = {
    "additionalProperties": _unknown_keys,
    "const": _unknown_value,
    "dependentRequired": _missing_key,
    "enum": _unknown_value,
    "exclusiveMinimum": _not_positive,
    "format": _malformed_text,
    "maximum": _too_large,
    "minItems": _empty_list,
    "minimum": _too_small,
    "pattern": _malformed_text,
    "required": _missing_key,
    "type": _wrong_type,
}
"""What explains a violation, by the keyword of the schema that is violated."""
