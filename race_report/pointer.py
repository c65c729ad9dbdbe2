"""JSON Pointers as reports use them: an element's `id` stands for its index, and `*` for every element.

Such a pointer survives an insertion into the array before it. A plain RFC 6901 pointer is one too, because an `id`
begins with a letter. Findings carry plain pointers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from race_report.parsed import escape_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def resolve(root: object, pointer: str) -> list[str]:
    """Give the plain pointers that a pointer stands for, into a report that may lack the value at its end.

    An element that does not exist (an index beyond the array, an `id` that none has) resolves to nothing.
    """
    found: list[tuple[Any, str]] = [(root, "")]
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        found = [step for value, plain in found for step in _step(value, plain, key)]
    return [plain for _, plain in found]


def _step(value: Any, plain: str, key: str) -> Iterator[tuple[Any, str]]:
    if isinstance(value, tuple):
        for index, element in enumerate(value):
            if key in ("*", str(index), getattr(element, "id", None)):
                yield element, f"{plain}/{index}"
    elif isinstance(value, dict):
        yield value.get(key), f"{plain}/{escape_pointer(key)}"
    else:
        attribute = None if key.startswith("_") else getattr(value, key, None)
        yield None if callable(attribute) else attribute, f"{plain}/{escape_pointer(key)}"


def is_covered(pointer: str, covering: Iterable[str]) -> bool:
    """Tell whether a plain pointer is one of these or lies below one."""
    return any(pointer == above or pointer.startswith(f"{above}/") for above in covering)
