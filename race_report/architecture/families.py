"""What the layers of each architecture are made of, as transformers builds them from the same keys.

A family holds structure only: which matrices there are, which have a bias, which layers have a window or experts.
Sizes come from the configuration and are never filled in.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.architecture import windows
from race_report.architecture.parts import Attending, Part, fused, gated, gated_fused, grouped, latent, mixture
from race_report.architecture.table import Layer, Vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from race_report.architecture.words import Words


class Family(NamedTuple):
    """How the layers of an architecture are built from its words."""

    attention: Callable[[Words], Attending]
    windows: Callable[[Words, int], list[int | None]]
    """Words and number of layers -> the window of each."""
    feed_forward: Callable[[Words], Part]
    mixture: Callable[[Words], Part] | None = None
    """The feed-forward part of the layers that have experts."""
    is_mixture: Callable[[Words, int], bool] | None = None
    """Words and a layer's place, from 0 -> whether it has experts."""
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    """Norms over the width."""
    is_tied: bool = False
    """Whether the head is the embedding table where `tie_word_embeddings` does not say."""


def layers_of(family: Family, words: Words, width: int, number: int) -> tuple[Layer, ...]:
    """Build the layers; alike ones are one object."""
    own, attention = family.attention(words)
    norms = tuple(Vector(name, width) for name in family.norms)
    parts: dict[bool, Part] = {}
    built: dict[tuple[int | None, bool], Layer] = {}
    layers = []
    for index, window in enumerate(family.windows(words, number)):
        has_experts = family.is_mixture is not None and family.is_mixture(words, index)
        build = family.mixture if has_experts and family.mixture is not None else family.feed_forward
        if has_experts not in parts:
            parts[has_experts] = build(words)
        kind = (window, has_experts)
        if kind not in built:
            rest = parts[has_experts]
            vectors = norms + own.vectors + rest.vectors
            built[kind] = Layer(own.matrices + rest.matrices, attention._replace(window=window), vectors)
        layers.append(built[kind])
    return tuple(layers)


def _everywhere(words: Words, index: int) -> bool:  # noqa: ARG001
    return True


def _by_step(words: Words, index: int) -> bool:
    """Every `decoder_sparse_step`-th layer has experts, but for `mlp_only_layers`."""
    step = words.size_or_none("decoder_sparse_step") or 1
    return (index + 1) % step == 0 and index not in (words.counts("mlp_only_layers") or ())


def _after_dense(words: Words, index: int) -> bool:
    """All layers but the first `first_k_dense_replace` have experts."""
    if words.size_or_none("moe_layer_freq") not in (None, 1):
        raise words.refuse("moe_layer_freq", "is above 1, which transformers does not read")
    return index >= words.count("first_k_dense_replace")


_LLAMA: Final = Family(
    attention=partial(
        grouped, bias=("attention_bias", False), output_bias=("attention_bias", False), shared_may_be_left_out=True
    ),
    windows=windows.nowhere,
    feed_forward=partial(gated, bias=("mlp_bias", False)),
)
_QWEN2: Final = Family(attention=partial(grouped, bias=True), windows=windows.late_layers, feed_forward=gated)
_QWEN3: Final = Family(
    attention=partial(
        grouped,
        bias=("attention_bias", False),
        output_bias=("attention_bias", False),
        head_norms=True,
        size_may_be_left_out=False,
    ),
    windows=windows.late_layers,
    feed_forward=gated,
)
_MISTRAL: Final = Family(attention=grouped, windows=windows.every_layer, feed_forward=gated)
_GEMMA: Final = Family(
    attention=partial(
        grouped, bias=("attention_bias", False), output_bias=("attention_bias", False), size_may_be_left_out=False
    ),
    windows=windows.nowhere,
    feed_forward=gated,
    is_tied=True,
)
_GEMMA2: Final = _GEMMA._replace(
    windows=partial(windows.alternating, pattern=2),
    norms=(
        "input_layernorm",
        "post_attention_layernorm",
        "pre_feedforward_layernorm",
        "post_feedforward_layernorm",
    ),
)
_DEEPSEEK: Final = Family(
    attention=latent,
    windows=windows.nowhere,
    feed_forward=gated,
    mixture=partial(mixture, shared="shared_experts"),
    is_mixture=_after_dense,
)

FAMILIES: Final = {
    "llama": _LLAMA,
    "qwen2": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen2_vl_text": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen2_5_vl_text": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_vl_text": _QWEN3._replace(windows=windows.nowhere),
    "granite": _LLAMA,
    "seed_oss": _LLAMA._replace(
        attention=partial(
            grouped,
            bias=("attention_bias", True),
            output_bias=("attention_out_bias", False),
            size_may_be_left_out=False,
        ),
    ),
    "mistral": _MISTRAL,
    "ministral": _MISTRAL._replace(
        attention=partial(grouped, size_may_be_left_out=False),
        windows=windows.every_layer_or_listed,
    ),
    "phi3": Family(attention=fused, windows=windows.every_layer_if_stated, feed_forward=gated_fused),
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3_text": _GEMMA2._replace(
        attention=_QWEN3.attention,
        windows=partial(windows.alternating, pattern=6),
    ),
    "mixtral": Family(
        attention=grouped,
        windows=windows.every_layer_if_stated,
        feed_forward=gated,
        mixture=partial(mixture, module="block_sparse_moe", names=("w1", "w3", "w2"), size="intermediate_size"),
        is_mixture=_everywhere,
    ),
    "qwen2_moe": Family(
        attention=partial(grouped, bias=("qkv_bias", True)),
        windows=windows.even_early_layers,
        feed_forward=gated,
        mixture=partial(mixture, shared="shared_expert", is_shared_gated=True),
        is_mixture=_by_step,
    ),
    "qwen3_moe": _QWEN3._replace(
        attention=partial(
            grouped, bias=("attention_bias", False), output_bias=("attention_bias", False), head_norms=True
        ),
        windows=windows.every_layer_where_asked,
        mixture=mixture,
        is_mixture=_by_step,
    ),
    "deepseek_v2": _DEEPSEEK._replace(
        feed_forward=partial(gated, bias=("mlp_bias", False)),
        mixture=partial(mixture, shared="shared_experts", shared_bias=("mlp_bias", False)),
    ),
    "deepseek_v3": _DEEPSEEK,
}
"""The architectures that are known, by `model_type`."""
