"""Names of modules against the words of an adapter configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from race_report.architecture.words import STATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from race_report.architecture.words import Words

ALL_LINEAR: Final = "all-linear"


def ends_with(name: str, targets: Iterable[str]) -> bool:
    """Tell whether a name is one of the words, or ends with one behind a dot."""
    return any(name == target or name.endswith(f".{target}") for target in targets)


def rank_of(words: Words, name: str, rank: int) -> int:
    """Give the rank of a module: that of the first pattern that its name ends with, else the general one."""
    patterns = words.inner("rank_pattern")
    for pattern in patterns.keys if patterns is not None else ():
        if compiled(words, "rank_pattern", rf"(?:.*\.)?(?:{pattern})").fullmatch(name):
            assert patterns is not None
            return patterns.size(pattern)
    return rank


def compiled(words: Words, key: str, pattern: str) -> re.Pattern[str]:
    """Compile a regular expression; refuse what is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise words.refuse(key, f"is no regular expression: {error}") from error


class Chooser:
    """Which modules `target_modules` takes, with what narrows it."""

    def __init__(self, words: Words, saved: list[str], *, takes_head: bool) -> None:
        """Read the words; `saved` are modules trained in full, which carry no adapters."""
        target, exclude = words.get("target_modules"), words.get("exclude_modules")
        self.takes_head = takes_head
        """Whether `all-linear` takes a head that is no LM head."""
        self.is_all_linear = isinstance(target, str) and target.lower() == ALL_LINEAR
        is_pattern = isinstance(target, str) and not self.is_all_linear
        self._pattern = compiled(words, "target_modules", target) if is_pattern else None
        self._listed = [] if isinstance(target, str) else words.texts("target_modules")
        if self._listed is None:
            if not words.get("target_parameters"):
                raise words.refuse("target_modules", f"is missing, and no choice is guessed: add it, or {STATE}")
            self._listed = []
        self._excluded = compiled(words, "exclude_modules", exclude) if isinstance(exclude, str) else None
        self._excluded_words = [] if isinstance(exclude, str) else words.texts("exclude_modules") or []
        self._saved = [compiled(words, "modules_to_save", rf"(?:.*\.)?{name}(?:\..*)?") for name in saved]
        self._layers = _layers(words, is_text=isinstance(target, str))
        self._lists = [compiled(words, "layers_pattern", rf"(?:.*?\.)?{name}\.\d+\..*") for name in _patterns(words)]

    @property
    def is_alike_in_layers(self) -> bool:
        """Whether the choice is the same in every layer and for every expert: no pattern, and no number in a word."""
        words = (*(self._listed or ()), *self._excluded_words)
        has_number = any(part.isdecimal() for word in words for part in word.split("."))
        narrowed = (self._pattern, self._excluded, self._layers, *self._saved, *self._lists)
        return not has_number and all(each is None for each in narrowed)

    def takes(self, name: str, layer: int | None) -> bool:
        """Tell whether a module carries an adapter; `layer` is its layer, or None for what is outside of them."""
        if self._excluded is not None and self._excluded.fullmatch(name):
            return False
        if ends_with(name, self._excluded_words) or any(saved.fullmatch(name) for saved in self._saved):
            return False
        if self.is_all_linear:
            return True
        if self._pattern is not None:
            return self._pattern.fullmatch(name) is not None
        if name in (self._listed or ()):
            return True
        return ends_with(name, self._listed or ()) and self._is_in_reach(name, layer)

    def _is_in_reach(self, name: str, layer: int | None) -> bool:
        if self._layers is None:
            return True
        return layer in self._layers and (not self._lists or any(one.fullmatch(name) for one in self._lists))


def _layers(words: Words, *, is_text: bool) -> set[int] | None:
    """Give the layers that `layers_to_transform` narrows a list to; None where it does not."""
    key = "layers_to_transform"
    value = words.get(key)
    if value is None or value == []:
        return None
    if is_text:
        raise words.refuse(key, "narrows a list of `target_modules`, and they are a text")
    return {words.count(key)} if isinstance(value, int) else set(words.counts(key) or ())


def _patterns(words: Words) -> list[str]:
    """Give the names that lists of layers may have."""
    value = words.get("layers_pattern")
    if isinstance(value, str):
        return [value] if value else []
    return words.texts("layers_pattern") or []
