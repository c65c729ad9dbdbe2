"""The words of a configuration: keys that are read by kind, and refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from race_report.architecture.table import Underivable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LONGEST: Final = 80

MOST: Final = 2**53
"""The largest count of the standard."""

STATE: Final = "state the model's `coefficients` instead"


class Words:
    """The keys of a config.json, or of an object within it; what is missing or malformed is named with its place."""

    def __init__(self, values: Mapping[str, Any], within: str = "") -> None:
        """Take keys; `within` is what leads to them, such as `text_config.`."""
        self._values = values
        self._within = within

    def beneath(self, defaults: Mapping[str, Any]) -> Words:
        """Give the same words with defaults for those that are missing."""
        return Words({**defaults, **self._values}, self._within)

    def name(self, key: str) -> str:
        """Give a key as messages name it."""
        return f"`{self._within}{key}`"

    @property
    def keys(self) -> list[str]:
        """The keys, in their order."""
        return list(self._values)

    def get(self, key: str) -> Any:
        """Give a value as it stands; None where the key is missing."""
        return self._values.get(key)

    def has(self, key: str) -> bool:
        """Tell whether a key is there, be its value null."""
        return key in self._values

    def refuse(self, key: str, why: str) -> Underivable:
        """Make the error for a key that leaves the shape open."""
        return Underivable(f"{self.name(key)} {why}", f"{self._within}{key}")

    def size(self, *keys: str) -> int:
        """Give a whole number above 0, under the first of several names for it that is there.

        Raises:
            Underivable: it is missing, or is no such number.

        """
        value = self.size_or_none(*keys)
        if value is None:
            present = next((key for key in keys if self.has(key)), None)
            why = "is missing" if present is None else "is null"
            raise self.refuse(present or keys[0], f"{why}, and no size is guessed: add it, or {STATE}")
        return value

    def size_or_none(self, *keys: str) -> int | None:
        """Give a whole number above 0, or None where it is missing or null."""
        for key in keys:
            value = self._whole(key)
            if value is not None:
                if value < 1:
                    raise self.refuse(key, f"is {value}, and should be above 0")
                return value
        return None

    def size_or_null(self, key: str) -> int | None:
        """Give a whole number above 0, or None where it is null; it must be there."""
        if not self.has(key):
            raise self.refuse(key, f"is missing: write null where there is none, or {STATE}")
        return self.size_or_none(key)

    def count(self, key: str, default: int | None = None) -> int:
        """Give a whole number from 0 on; `default` where it is missing or null, if there is one."""
        value = self._whole(key)
        if value is None:
            value = default
        if value is None:
            raise self.refuse(key, f"is missing, and no count is guessed: add it, or {STATE}")
        if value < 0:
            raise self.refuse(key, f"is {value}, and should not be below 0")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """Give true or false; `default` where it is missing or null."""
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.refuse(key, f"is {_shown(value)}; true or false should stand here")
        return value

    def text(self, key: str) -> str:
        """Give a text that must be there."""
        value = self.get(key)
        if not isinstance(value, str) or not value.strip():
            why = f"is {_shown(value)}; text should stand here" if self.has(key) else "is missing: add it"
            raise self.refuse(key, why)
        return value

    def texts(self, key: str) -> list[str] | None:
        """Give a list of texts; None where it is missing or null."""
        return self._list(key, str, "texts")

    def counts(self, key: str) -> list[int] | None:
        """Give a list of whole numbers; None where it is missing or null."""
        return self._list(key, int, "whole numbers")

    def _list(self, key: str, kind: type, what: str) -> list[Any] | None:
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, list | tuple) or not all(type(item) is kind for item in value):
            raise self.refuse(key, f"is {_shown(value)}; a list of {what} should stand here")
        return list(value)

    def inner(self, key: str) -> Words | None:
        """Give the words of an object within; None where it is missing or null."""
        from collections.abc import Mapping

        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.refuse(key, f"is {_shown(value)}; an object should stand here")
        return Words(value, f"{self._within}{key}.")

    def _whole(self, key: str) -> int | None:
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(key, f"is {_shown(value)}; a whole number without quotes should stand here")
        if value > MOST:
            raise self.refuse(key, "is larger than any count")
        return value


def _shown(value: Any) -> str:
    """Show a value in a message, briefly."""
    if isinstance(value, dict | list | tuple):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return f'the text "{brief(value)}"'
    return "null" if value is None else brief(str(value).lower())


def brief(text: str) -> str:
    """Cut a text that is longer than anybody reads."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def listed(names: Iterable[str]) -> str:
    """Write names in a sentence."""
    return ", ".join(sorted(names))
