"""JSON Pointers as reports use them: an element's `id` stands for its index, and `*` for every element.

Such a pointer survives an insertion into the array before it. A plain RFC 6901 pointer is one too, because an `id`
begins with a letter. Findings carry plain pointers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

_SHORT: Final = 4
"""Elements of an array that is looked through as quickly as it is indexed."""

_INDEX: Final = re.compile("0|[1-9][0-9]{0,15}")


class _Node(Generic[T]):
    """The pointers of a set that begin alike."""

    __slots__ = ("children", "said")

    def __init__(self) -> None:
        self.children: dict[str, _Node[T]] = {}
        self.said: list[T] = []


class Pointed(Generic[T]):
    """What is said of places in a report, by the pointers of a report.

    A tree of the pointers' tokens: to look a place up costs a few steps for each of its own tokens, however many
    pointers there are and however many places a `*` stands for.
    """

    def __init__(self, root: object, said: Iterable[tuple[str, T]]) -> None:
        """Take pairs of a pointer and what is said of it, for a report."""
        self._report = root
        self._root: _Node[T] = _Node()
        for pointer, what in said:
            node = self._root
            for token in tokens(pointer):
                node = node.children.setdefault(token, _Node())
            node.said.append(what)

    def at(self, pointer: str) -> list[T]:
        """Give what is said of a place itself, by a plain pointer to it."""
        return [what for node in self._levels(pointer)[-1] for what in node.said]

    def covering(self, pointer: str) -> list[T]:
        """Give what is said of a place and of all that it lies in, the outermost first."""
        return [what for nodes in self._levels(pointer) for node in nodes for what in node.said]

    def _levels(self, pointer: str) -> list[list[_Node[T]]]:
        """Walk report and tree together: for each token the nodes that match so far."""
        value: Any = self._report
        levels = [[self._root]]
        for token in tokens(pointer):
            is_element = isinstance(value, tuple)
            value = child(value, token)
            names = {token, "*", getattr(value, "id", token)} if is_element else {token}
            levels.append([node.children[name] for node in levels[-1] for name in names if name in node.children])
        return levels


def tokens(pointer: str) -> list[str]:
    """Give the unescaped tokens of a pointer."""
    parts = pointer.split("/")[1:]
    if "~" not in pointer:
        return parts
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def index_of(token: str, values: tuple[Any, ...]) -> int | None:
    """Give the index that a token is by RFC 6901, or None where it is none of an array: no sign, no leading 0."""
    if not token[:1].isdecimal() or _INDEX.fullmatch(token) is None:
        return None
    return int(token) if int(token) < len(values) else None


def child(value: Any, token: str) -> Any:
    """Give the value below another by a plain token, or None where there is none."""
    if isinstance(value, tuple):
        index = index_of(token, value)
        return None if index is None else value[index]
    return value.get(token) if isinstance(value, dict) else getattr(value, token, None)


def is_absent(value: Any) -> bool:
    """Tell whether a report is silent where it has this value: an absent array is empty to the reader."""
    return value is None or value == ()


def stands(root: object, pointer: str) -> bool:
    """Tell whether a report has a value at a plain pointer."""
    value: Any = root
    for token in tokens(pointer):
        value = child(value, token)
    return not is_absent(value)


def places(root: object, pointer: str) -> Iterator[tuple[str, Any]]:
    """Give the values that a pointer of a report leads to, with plain pointers; those that are absent left out."""
    return _places("", root, tokens(pointer))


def _places(here: str, value: Any, path: list[str]) -> Iterator[tuple[str, Any]]:
    if is_absent(value):
        return
    if not path:
        yield here, value
        return
    token, rest = path[0], path[1:]
    if not isinstance(value, tuple):
        yield from _places(f"{here}/{token}", child(value, token), rest)
        return
    for at, element in enumerate(value):
        if token in ("*", str(at), getattr(element, "id", None)):
            yield from _places(f"{here}/{at}", element, rest)


class Elements:
    """Elements of a report's arrays by the token that stands for them, each array looked through once."""

    def __init__(self) -> None:
        self._by_id: dict[int, dict[str, list[Any]]] = {}

    def find(self, values: tuple[Any, ...], token: str) -> list[Any]:
        """Give the elements that an index, an id or `*` stands for."""
        if token == "*":  # noqa: S105 - a token of a pointer
            return list(values)
        if token[:1].isdecimal():
            index = index_of(token, values)
            return [] if index is None else [values[index]]
        if len(values) <= _SHORT:
            return [value for value in values if getattr(value, "id", None) == token]
        by_id = self._by_id.get(id(values))
        if by_id is None:
            by_id = self._by_id[id(values)] = {}
            for value in values:
                by_id.setdefault(getattr(value, "id", None) or "", []).append(value)
        return by_id.get(token, []) if token else []
