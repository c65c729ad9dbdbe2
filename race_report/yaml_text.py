"""YAML 1.2 text -> value, places and every fault.

Built on parser events, not on a constructor: a constructor reads an unquoted `695e0514` as infinity, `1e21` as text and
a timestamp as an object. Plain scalars follow the core schema of YAML 1.2.2 (section 10.3.2), so that the YAML and the
JSON form of a report give the same value.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from race_report.parsed import (
    MAX_DEPTH,
    MAX_FAULTS,
    SURE_DIGITS,
    Fault,
    Parsed,
    Place,
    Places,
    Unparsable,
    duplicate_key,
    has_lone_surrogate,
    nested_too_deeply,
    not_finite,
    number_overflow,
)
from race_report.yaml_faults import forbidden_character, key_fault, surrogate_fault, syntax_fault

if TYPE_CHECKING:
    from collections.abc import Iterator


MAX_ALIAS_NODES: Final = 100_000
"""Nodes that aliases may stand for in one document, as the standard says."""

_PARSER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL: Final = re.compile(r"(?:null|Null|NULL|~|)\Z")
_BOOL: Final = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_DECIMAL: Final = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL: Final = re.compile(r"0o[0-7]+\Z")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE: Final = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")

_FORBIDDEN: Final = re.compile("[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters outside YAML's printable set, and the line ends of YAML 1.1 that 1.2 no longer has."""

_CORE_TAG: Final = "tag:yaml.org,2002:"
_SCALAR_TAGS: Final = {"str": str, "int": int, "float": float, "bool": bool, "null": type(None)}


def parse(text: str) -> Parsed:
    """Read a YAML text of one document.

    Raises:
        Unparsable: the text is not YAML, is no tree of plain data, or is over the limits of the standard.

    """
    places = Places(text=text)
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        raise Unparsable(forbidden_character(forbidden[0], places, forbidden.start()))
    try:
        composer = _Composer(text, places)
        value = composer.document()
    except yaml.MarkedYAMLError as error:
        raise Unparsable(syntax_fault(error, places)) from error
    return Parsed(value=value, places=places, faults=composer.faults)


class _Anchored(NamedTuple):
    """What an alias stands for."""

    value: Any
    place: Place
    nodes: int
    height: int


class _Composer:
    """Builds values from the parser's events, one document, aliases within a budget."""

    def __init__(self, text: str, places: Places) -> None:
        self.text = text
        self.places = places
        self.faults: list[Fault] = []
        self.events: Iterator[Any] = yaml.parse(text, Loader=_PARSER)
        self.anchors: dict[str, _Anchored] = {}
        self.nodes = 0
        self.alias_nodes = 0
        self.deepest = 0

    def document(self) -> Any:
        """Read the one document of the text."""
        next(self.events)
        event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            raise self.refusal("empty-file", self.places.root, "the file is empty", "start one with: race init", event)
        if event.version == (1, 1):
            message, hint = "the file declares YAML 1.1; a report is YAML 1.2", "delete the %YAML line"
            raise self.refusal("unsupported-yaml", self.places.root, message, hint, event)
        first: Any = next(self.events)
        value = self.node(first, self.places.root, 0)
        if value is None and not self.faults:
            raise self.refusal("empty-file", self.places.root, "the file is empty", "start one with: race init", first)
        next(self.events)
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            message, hint = "a second document begins here", "a file holds one report: put each into a file of its own"
            raise self.refusal("unsupported-yaml", self.places.root, message, hint, event)
        return value

    def node(self, event: Any, place: Place, depth: int) -> Any:
        """Read one node, whose first event was taken."""
        self.nodes += 1
        before = self.nodes
        self.deepest = max(self.deepest, depth)
        place.start, place.end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, place, depth)
        self.check_tag(event, place)
        around, self.deepest = self.deepest, depth
        if isinstance(event, yaml.ScalarEvent):
            place.end = place.start + len(self.text[place.start : place.end].rstrip())
            value = self.scalar(event, place)
        elif depth >= MAX_DEPTH:
            raise Unparsable(nested_too_deeply(place.pointer, self.span(event)))
        elif isinstance(event, yaml.MappingStartEvent):
            value = self.mapping(event, place, depth + 1)
        else:
            value = self.sequence(event, place, depth + 1)
        if event.anchor:
            self.anchors[event.anchor] = _Anchored(value, place, self.nodes - before + 1, self.deepest - depth)
        self.deepest = max(self.deepest, around)
        return value

    def mapping(self, event: Any, place: Place, depth: int) -> dict[str, Any]:
        """Read a mapping; of a key that stands twice the last value is kept and a fault is noted."""
        result: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            child = self.key(event, place)
            result[child.token] = self.node(next(self.events), child, depth)
            place.end = child.end
        self.close(event, place)
        return result

    def key(self, event: Any, place: Place) -> Place:
        """Read a key of a mapping and give the place of its value."""
        if not isinstance(event, yaml.ScalarEvent):
            message, hint = "a key must be a plain word here", "a key cannot be an alias, a list or a mapping"
            raise self.refusal("unsupported-yaml", place, message, hint, event)
        here = self.span(event)
        earlier = place.children.get(event.value)
        child = Place(place, event.value, (event.start_mark.index, event.end_mark.index))  # type: ignore[union-attr]
        if earlier is not None:
            first = self.places.span(earlier.key_start, earlier.key_end)
            self.note(duplicate_key(event.value, child.pointer, here, first))
        is_plain = event.implicit[0] and event.value
        if is_plain and not isinstance(_resolve(event.value), str):
            self.note(key_fault(event.value, child.pointer, here))
        return child

    def sequence(self, event: Any, place: Place, depth: int) -> list[Any]:
        """Read a sequence."""
        result: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            child = Place(place, str(len(result)))
            result.append(self.node(event, child, depth))
            place.end = child.end
        self.close(event, place)
        return result

    def close(self, event: Any, place: Place) -> None:
        """End a collection at its bracket; in block style, which has none, it ends with its last value."""
        if event.end_mark.index > event.start_mark.index:
            place.end = event.end_mark.index

    def note(self, fault: Fault) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)

    def alias(self, event: Any, place: Place, depth: int) -> Any:
        """Give the value that an alias stands for."""
        if event.anchor not in self.anchors:
            message = f"the alias *{event.anchor} stands for nothing"
            hint = f"put the anchor &{event.anchor} before it, outside of the value it is in"
            raise self.refusal("unsupported-yaml", place, message, hint, event)
        anchored = self.anchors[event.anchor]
        place.anchored, place.children = anchored.place, anchored.place.children
        self.nodes += anchored.nodes - 1
        self.alias_nodes += anchored.nodes
        self.deepest = max(self.deepest, depth + anchored.height)
        if depth + anchored.height >= MAX_DEPTH:
            raise Unparsable(nested_too_deeply(place.pointer, self.span(event)))
        if self.alias_nodes > MAX_ALIAS_NODES:
            message = f"the aliases of this file stand for more than {MAX_ALIAS_NODES:,} values"
            raise self.refusal("too-many-aliases", place, message, "write the values out, or leave them out", event)
        return anchored.value

    def scalar(self, event: Any, place: Place) -> Any:
        """Give the value of a scalar, with a fault where the standard refuses it."""
        here = self.span(event)
        is_plain = event.implicit[0] and event.tag != "!"  # the bare mark means: text
        value = _resolve(event.value) if is_plain else event.value
        if event.tag and event.tag.startswith(_CORE_TAG):
            kind = _SCALAR_TAGS[event.tag.removeprefix(_CORE_TAG)]
            value = event.value if kind is str else _resolve(event.value)
            if type(value) is not kind and not (kind is float and type(value) is int):
                message, hint = f"{event.value!r} is not what its tag says", "delete the tag"
                self.note(Fault("unsupported-yaml", place.pointer, message, hint, here))
                return None
        if isinstance(value, str) and has_lone_surrogate(value):  # only the parser in Python lets these pass
            raise Unparsable(surrogate_fault(place.pointer, event.start_mark.index, self.places))
        if isinstance(value, float) and not math.isfinite(value):
            is_word = _NOT_FINITE.match(event.value)
            fault = (
                not_finite(event.value, place.pointer, here)
                if is_word
                else number_overflow(event.value, place.pointer, here, quotable=True)
            )
            self.note(fault)
            return None
        return value

    def check_tag(self, event: Any, place: Place) -> None:
        """Refuse tags that JSON has no counterpart for."""
        tag = event.tag
        if not tag or tag == "!":
            return
        kinds = set(_SCALAR_TAGS)
        if not isinstance(event, yaml.ScalarEvent):
            kinds = {"map"} if isinstance(event, yaml.MappingStartEvent) else {"seq"}
        if tag.removeprefix(_CORE_TAG) not in kinds:
            message = f"the tag {tag.replace(_CORE_TAG, '!!')} has no meaning in a report"
            raise self.refusal("unsupported-yaml", place, message, "delete the tag", event)

    def span(self, event: Any) -> Any:
        return self.places.span(event.start_mark.index, event.end_mark.index)

    def refusal(self, rule: str, place: Place, message: str, hint: str, event: Any) -> Unparsable:
        return Unparsable(Fault(rule, place.pointer, message, hint, self.span(event)))


def _resolve(text: str) -> Any:
    """Give a plain scalar its value under the core schema; what overflows becomes an infinity."""
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text[0] in "tT"
    if _DECIMAL.match(text):
        return math.inf if math.isinf(float(text)) else int(text)
    if _OCTAL.match(text) or _HEXADECIMAL.match(text):
        return int(text, 0) if len(text) <= SURE_DIGITS // 2 else math.inf
    if _FLOAT.match(text):
        return float(text)
    return math.nan if _NOT_FINITE.match(text) else text
