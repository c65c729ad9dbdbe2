"""Which matrices the layers of each architecture have, as transformers builds them from the same keys.

A family holds structure only: which matrices there are, which have a bias, which layers attend within a window. Sizes
come from the configuration and are never filled in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.architecture.table import Attention, Layer, Matrix, Vector
from race_report.architecture.words import STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from race_report.architecture.words import Words

Bias = bool | tuple[str, bool]
"""Whether a matrix has a bias: yes, no, or the key that says so and what holds without it."""

FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"


class Part(NamedTuple):
    """The matrices and vectors of a part of a layer."""

    matrices: tuple[Matrix, ...]
    vectors: tuple[Vector, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How the layers of an architecture are built from its words."""

    attention: Callable[[Words], tuple[Part, Attention]]
    windows: Callable[[Words, int], list[int | None]]
    """Words and number of layers -> the window of each layer."""
    feed_forward: Callable[[Words], Part]
    mixture: Callable[[Words], Part] | None = None
    """The feed-forward part of a layer with experts."""
    is_mixture: Callable[[Words, int], bool] = lambda words, index: False  # noqa: ARG005
    """Words and number of the layer -> whether it has experts."""
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    is_tied: bool = False
    """Whether the head is the embedding table where `tie_word_embeddings` does not say."""


def layers_of(family: Family, words: Words, width: int, number: int) -> tuple[Layer, ...]:
    """Build the layers; alike ones are one object."""
    part, attention = family.attention(words)
    norms = tuple(Vector(name, width) for name in family.norms)
    feed_forward: dict[bool, Part] = {}
    built: dict[tuple[int | None, bool], Layer] = {}
    layers = []
    for index, window in enumerate(family.windows(words, number)):
        has_experts = family.is_mixture(words, index)
        if has_experts not in feed_forward:
            build = family.mixture if has_experts and family.mixture is not None else family.feed_forward
            feed_forward[has_experts] = build(words)
        if (window, has_experts) not in built:
            rest = feed_forward[has_experts]
            built[window, has_experts] = Layer(
                part.matrices + rest.matrices,
                attention._replace(window=window),
                norms + part.vectors + rest.vectors,
            )
        layers.append(built[window, has_experts])
    return tuple(layers)


def _bias(words: Words, bias: Bias) -> bool:
    return bias if isinstance(bias, bool) else words.flag(bias[0], default=bias[1])


def _head_size(words: Words, heads: int) -> int:
    """Give `head_dim`, or the share of a head in the width."""
    stated = words.size_or_none("head_dim")
    if stated is None and words.size("hidden_size") % heads:
        raise words.refuse("head_dim", "is missing, and `hidden_size` does not divide by `num_attention_heads`")
    return stated or words.size("hidden_size") // heads


def _key_value_heads(words: Words, heads: int, *, may_be_left_out: bool) -> int:
    """Give the key and value heads: as many as query heads where the key is null, or missing and may be."""
    key = "num_key_value_heads"
    may_be_left_out = may_be_left_out or words.has(key)
    number = (words.size_or_none(key) or heads) if may_be_left_out else words.size(key)
    if heads % number:
        raise words.refuse(key, f"is {number}, which does not divide `num_attention_heads`, {heads}")
    return number


def grouped(
    words: Words,
    *,
    bias: Bias = False,
    output_bias: Bias = False,
    head_norms: bool = False,
    key_value_heads_may_be_left_out: bool = False,
    head_size_may_be_left_out: bool = True,
) -> tuple[Part, Attention]:
    """Build attention whose key and value heads are shared by groups of query heads."""
    width, heads = words.size("hidden_size"), words.size("num_attention_heads")
    shared = _key_value_heads(words, heads, may_be_left_out=key_value_heads_may_be_left_out)
    size = _head_size(words, heads) if head_size_may_be_left_out else words.size("head_dim")
    biased = _bias(words, bias)
    matrices = (
        Matrix("self_attn.q_proj", width, heads * size, biased),
        Matrix("self_attn.k_proj", width, shared * size, biased),
        Matrix("self_attn.v_proj", width, shared * size, biased),
        Matrix("self_attn.o_proj", heads * size, width, _bias(words, output_bias)),
    )
    norms = tuple(Vector(f"self_attn.{name}", size) for name in ("q_norm", "k_norm")) if head_norms else ()
    return Part(matrices, norms), Attention(heads, size, size)


def gated(words: Words, *, bias: Bias = False) -> Part:
    """Build a feed-forward part of three matrices, one of them a gate."""
    width, inner = words.size("hidden_size"), words.size("intermediate_size")
    return Part(_gated("mlp", width, inner, has_bias=_bias(words, bias)))


def _gated(name: str, width: int, inner: int, *, has_bias: bool = False) -> tuple[Matrix, ...]:
    return (
        Matrix(f"{name}.gate_proj", width, inner, has_bias),
        Matrix(f"{name}.up_proj", width, inner, has_bias),
        Matrix(f"{name}.down_proj", inner, width, has_bias),
    )


def nowhere(words: Words, number: int) -> list[int | None]:
    """No layer has a window; a configuration that says otherwise is of another architecture."""
    kinds = _layer_types(words, number) or [FULL] * number
    if set(kinds) != {FULL}:
        raise words.refuse("layer_types", f"has {SLIDING}, which this model_type does not have: {STATE}")
    return [None] * number


def late_layers(words: Words, number: int) -> list[int | None]:
    """Layers from `max_window_layers` on have the window, where `use_sliding_window` asks for one."""
    kinds = _layer_types(words, number)
    if not words.flag("use_sliding_window", default=False):
        if kinds and SLIDING in kinds:
            raise words.refuse("layer_types", f"has {SLIDING}, and `use_sliding_window` is not true")
        return [None] * number
    window = words.size_or_none("sliding_window") if words.has("sliding_window") else words.size("sliding_window")
    if kinds is None:
        first = words.count("max_window_layers") if window else number
        return [window if index >= first else None for index in range(number)]
    return _by_kind(words, kinds)


def _by_kind(words: Words, kinds: list[str]) -> list[int | None]:
    window = words.size("sliding_window") if SLIDING in kinds else None
    return [window if kind == SLIDING else None for kind in kinds]


def _layer_types(words: Words, number: int) -> list[str] | None:
    """Give what each layer attends with, where the configuration says so."""
    kinds = words.texts("layer_types")
    if kinds is None:
        return None
    if len(kinds) != number:
        raise words.refuse("layer_types", f"has {len(kinds)} words, and `num_hidden_layers` is {number}")
    strange = sorted(set(kinds) - {FULL, SLIDING})
    if strange:
        raise words.refuse("layer_types", f"has {', '.join(strange)}, whose cost depends on the model: {STATE}")
    return kinds


FAMILIES: Final = {
    "llama": Family(
        attention=partial(
            grouped,
            bias=("attention_bias", False),
            output_bias=("attention_bias", False),
            key_value_heads_may_be_left_out=True,
        ),
        windows=nowhere,
        feed_forward=partial(gated, bias=("mlp_bias", False)),
    ),
    "qwen2": Family(attention=partial(grouped, bias=True), windows=late_layers, feed_forward=gated),
}
"""The architectures that are known, by `model_type`."""
