"""Which layers attend within a window, as each architecture reads it from its words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.architecture.words import STATE, brief

if TYPE_CHECKING:
    from race_report.architecture.words import Words

FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"


def nowhere(words: Words, number: int) -> list[int | None]:
    """No layer has a window; a configuration that lists one is of another architecture."""
    if SLIDING in (_listed(words, number) or ()):
        raise words.refuse("layer_types", f"has {SLIDING}, which this `model_type` does not read: {STATE}")
    return [None] * number


def every_layer(words: Words, number: int) -> list[int | None]:
    """All layers have the window of `sliding_window`, which is null where there is none."""
    nowhere(words, number)
    return [words.size_or_null("sliding_window")] * number


def every_layer_or_listed(words: Words, number: int) -> list[int | None]:
    """Layers have the window of `sliding_window`, if it is not null: those that are listed, else all."""
    window = words.size_or_null("sliding_window")
    kinds = _listed(words, number)
    return [window] * number if kinds is None else _by_kind(words, kinds)


def every_layer_if_stated(words: Words, number: int) -> list[int | None]:
    """All layers have the window of `sliding_window`; none where it is missing."""
    nowhere(words, number)
    return [words.size_or_none("sliding_window")] * number


def every_layer_where_asked(words: Words, number: int) -> list[int | None]:
    """All layers have the window, where `use_sliding_window` asks for one."""
    is_asked = words.flag("use_sliding_window", default=False)
    return every_layer(words, number) if is_asked else nowhere(words, number)


def late_layers(words: Words, number: int) -> list[int | None]:
    """Layers from `max_window_layers` on have the window, where `use_sliding_window` asks for one."""
    if not words.flag("use_sliding_window", default=False) or words.size_or_null("sliding_window") is None:
        return _without(words, number)
    kinds = _listed(words, number)
    if kinds is None:
        first = words.count("max_window_layers")
        kinds = [SLIDING if index >= first else FULL for index in range(number)]
    return _by_kind(words, kinds)


def even_early_layers(words: Words, number: int) -> list[int | None]:
    """Every other layer before `max_window_layers` has the window, where `use_sliding_window` asks for one."""
    if not words.flag("use_sliding_window", default=False):
        return _without(words, number)
    kinds = _listed(words, number)
    if kinds is None:
        end = words.count("max_window_layers")
        kinds = [SLIDING if index % 2 == 0 and index < end else FULL for index in range(number)]
    return _by_kind(words, kinds)


def alternating(words: Words, number: int, *, pattern: int) -> list[int | None]:
    """All layers have the window but every so many: as listed, by `sliding_window_pattern`, or by `pattern`."""
    if words.flag("use_bidirectional_attention", default=False):
        raise words.refuse("use_bidirectional_attention", f"is true, so tokens attend to later ones: {STATE}")
    kinds = _listed(words, number)
    if kinds is None:
        every = words.size_or_none("sliding_window_pattern") or pattern
        kinds = [FULL if (index + 1) % every == 0 else SLIDING for index in range(number)]
    return _by_kind(words, kinds)


def _without(words: Words, number: int) -> list[int | None]:
    if SLIDING in (_listed(words, number) or ()):
        raise words.refuse("layer_types", f"has {SLIDING}, and `use_sliding_window` or `sliding_window` says none")
    return [None] * number


def _by_kind(words: Words, kinds: list[str]) -> list[int | None]:
    window = words.size("sliding_window") if SLIDING in kinds else None
    return [window if kind == SLIDING else None for kind in kinds]


def _listed(words: Words, number: int) -> list[str] | None:
    """Give `layer_types`, what each layer attends with; None where it is missing."""
    kinds = words.texts("layer_types")
    if kinds is None:
        return None
    if len(kinds) != number:
        raise words.refuse("layer_types", f"has {len(kinds)} words, and `num_hidden_layers` is {number}")
    strange = sorted(set(kinds) - {FULL, SLIDING})
    if strange:
        raise words.refuse("layer_types", f"has {brief(', '.join(strange))}, whose cost depends on the model: {STATE}")
    return kinds
