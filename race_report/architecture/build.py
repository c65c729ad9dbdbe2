"""Configuration -> table: which family it is, its text part, its layers, its head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from race_report.architecture.catalogue import text_defaults
from race_report.architecture.families import FAMILIES, Family, layers_of
from race_report.architecture.heads import head_of
from race_report.architecture.table import Transformer, Vector
from race_report.architecture.words import STATE, Words, brief, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_LAYERS: Final = 10_000
"""Layers above which a number is a slip and no model."""


def transformer_of(
    config: Mapping[str, Any], *, head: str | None = None, labels: int | None = None, role: str | None = None
) -> Transformer:
    """Build the table of a model from the keys of its config.json.

    `head` is one of `HEADS`, with its number of `labels`; without it the class in `architectures` tells, and without
    that the `role`, by the words of a report. Without all three the model is a causal LM. Of a configuration with a
    `text_config` the text part is taken; an encoder beside it is a model of its own.

    Raises:
        Underivable: the keys leave the shape open; the message names the one that does.

    """
    outer = Words(config)
    if outer.get("is_encoder_decoder"):
        raise outer.refuse("is_encoder_decoder", f"is true, and only decoders are known here: {STATE}")
    words, body, notes = _text_part(outer)
    family = _family(words)
    width, vocabulary = words.size("hidden_size"), words.size("vocab_size")
    number = words.size("num_hidden_layers")
    if number > MOST_LAYERS:
        raise words.refuse("num_hidden_layers", f"is {number}, more than any model has")
    if words.size_or_none("num_nextn_predict_layers", "num_mtp_layers"):
        notes += ("Layers that predict further tokens (`num_nextn_predict_layers`) are not counted.",)
    return Transformer(
        model_type=words.text("model_type"),
        vocabulary=vocabulary,
        width=width,
        layers=layers_of(family, words, width, number),
        head=head_of(
            outer,
            width,
            vocabulary,
            is_tied=_is_tied(outer, words, family),
            kind=head,
            labels=labels,
            role=role,
        ),
        norm=Vector("norm", width),
        body=body,
        notes=notes,
    )


def _text_part(outer: Words) -> tuple[Words, str, tuple[str, ...]]:
    """Give the words of the text model, the name of its module, and what is left out."""
    inner = outer.inner("text_config")
    if inner is None and outer.inner("vision_config") is None:
        return outer, "model", ()
    note = "The text model alone: the encoder beside it is a model of its own."
    return _with_defaults(inner) if inner is not None else outer, "model.language_model", (note,)


def _with_defaults(words: Words) -> Words:
    """Add the sizes that transformers leaves out of a `text_config`, where they are those of the class."""
    name = words.get("model_type")
    return words.beneath(text_defaults().get(name, {})) if isinstance(name, str) else words


def _family(words: Words) -> Family:
    name = words.text("model_type")
    family = FAMILIES.get(name)
    if family is None:
        from difflib import get_close_matches

        near = get_close_matches(name, FAMILIES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {listed(FAMILIES)}"
        why = f'is "{brief(name)}", whose matrices are not known here: {STATE}; {hint}'
        raise words.refuse("model_type", why)
    return family


def _is_tied(outer: Words, words: Words, family: Family) -> bool:
    """Tell whether the head is the embedding table once more."""
    key = "tie_word_embeddings"
    if outer is words:
        return words.flag(key, default=family.is_tied)
    stated = {part.flag(key, default=False) for part in (outer, words) if part.get(key) is not None}
    if len(stated) > 1:
        raise words.refuse(key, f"contradicts {outer.name(key)}: correct one of the two")
    if not stated and not family.is_tied:
        raise outer.refuse(key, f"is missing, and versions of transformers differ about it: add it, or {STATE}")
    return stated.pop() if stated else True
