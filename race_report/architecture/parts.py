"""The parts that layers are made of: attention of three kinds, feed-forward parts with and without experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.architecture.table import Attention, Matrix, Vector

if TYPE_CHECKING:
    from race_report.architecture.words import Words

Bias = bool | tuple[str, bool]
"""Whether a matrix has a bias: yes, no, or the key that says so and what holds without it."""


_EXPERTS: Final = ("num_experts", "num_local_experts", "n_routed_experts")
"""Names for the number of experts that exist."""

MOST_EXPERTS: Final = 10_000
"""Experts of a layer above which a number is a slip and no model."""


class Part(NamedTuple):
    """The matrices and vectors of a part of a layer."""

    matrices: tuple[Matrix, ...]
    vectors: tuple[Vector, ...] = ()


class Attending(NamedTuple):
    """The attention of a layer."""

    part: Part
    attention: Attention


class Heads(NamedTuple):
    """The numbers and the size of the heads of a layer."""

    query: int
    shared: int
    """Of keys and values."""
    size: int


def heads_of(words: Words, *, shared_may_be_left_out: bool, size_may_be_left_out: bool) -> Heads:
    """Read the heads. A null stands for as many shared heads as query heads, and for a head's share of the width."""
    heads, width = words.size("num_attention_heads"), words.size("hidden_size")
    is_open = shared_may_be_left_out or words.has("num_key_value_heads")
    shared = (words.size_or_none("num_key_value_heads") or heads) if is_open else words.size("num_key_value_heads")
    if heads % shared:
        raise words.refuse("num_key_value_heads", f"is {shared}, which does not divide `num_attention_heads`, {heads}")
    if not size_may_be_left_out:
        return Heads(heads, shared, words.size("head_dim"))
    size = words.size_or_none("head_dim")
    if size is None and width % heads:
        raise words.refuse("head_dim", f"is missing, and {heads} heads do not divide `hidden_size`, {width}")
    return Heads(heads, shared, size or width // heads)


def grouped(
    words: Words,
    *,
    bias: Bias = False,
    output_bias: Bias = False,
    head_norms: bool = False,
    shared_may_be_left_out: bool = False,
    size_may_be_left_out: bool = True,
) -> Attending:
    """Build attention in which groups of query heads share keys and values."""
    width = words.size("hidden_size")
    heads, shared, size = heads_of(
        words, shared_may_be_left_out=shared_may_be_left_out, size_may_be_left_out=size_may_be_left_out
    )
    biased = _bias(words, bias)
    matrices = (
        Matrix("self_attn.q_proj", width, heads * size, biased),
        Matrix("self_attn.k_proj", width, shared * size, biased),
        Matrix("self_attn.v_proj", width, shared * size, biased),
        Matrix("self_attn.o_proj", heads * size, width, _bias(words, output_bias)),
    )
    norms = tuple(Vector(f"self_attn.{name}", size) for name in ("q_norm", "k_norm")) if head_norms else ()
    return Attending(Part(matrices, norms), Attention(heads, size, size))


def fused(words: Words) -> Attending:
    """Build grouped attention whose three input matrices are one."""
    width = words.size("hidden_size")
    heads, shared, size = heads_of(words, shared_may_be_left_out=True, size_may_be_left_out=True)
    matrices = (
        Matrix("self_attn.qkv_proj", width, (heads + 2 * shared) * size),
        Matrix("self_attn.o_proj", heads * size, width),
    )
    return Attending(Part(matrices), Attention(heads, size, size))


def latent(words: Words) -> Attending:
    """Build latent attention, unabsorbed: keys and values are made from a narrow latent for every head."""
    width, heads = words.size("hidden_size"), words.size("num_attention_heads")
    rank, rotary, value = words.size("kv_lora_rank"), words.size("qk_rope_head_dim"), words.size("v_head_dim")
    plain = words.size("qk_nope_head_dim")
    biased = words.flag("attention_bias", default=False)
    query, norms = _latent_query(words, width, heads * (plain + rotary), has_bias=biased)
    matrices = (
        *query,
        Matrix("self_attn.kv_a_proj_with_mqa", width, rank + rotary, biased),
        Matrix("self_attn.kv_b_proj", rank, heads * (plain + value)),
        Matrix("self_attn.o_proj", heads * value, width, biased),
    )
    norms = (*norms, Vector("self_attn.kv_a_layernorm", rank))
    return Attending(Part(matrices, norms), Attention(heads, plain + rotary, value))


def _latent_query(
    words: Words, width: int, outputs: int, *, has_bias: bool
) -> tuple[tuple[Matrix, ...], tuple[Vector, ...]]:
    """Build the way to the queries: through a latent of `q_lora_rank`, or straight where that is null."""
    rank = words.size_or_null("q_lora_rank")
    if rank is None:
        return (Matrix("self_attn.q_proj", width, outputs),), ()
    down, up = Matrix("self_attn.q_a_proj", width, rank, has_bias), Matrix("self_attn.q_b_proj", rank, outputs)
    return (down, up), (Vector("self_attn.q_a_layernorm", rank),)


def gated(words: Words, *, bias: Bias = False) -> Part:
    """Build a feed-forward part of three matrices, one of them a gate."""
    return Part(_three("mlp", words.size("hidden_size"), words.size("intermediate_size"), has_bias=_bias(words, bias)))


def gated_fused(words: Words) -> Part:
    """Build a gated feed-forward part whose two input matrices are one."""
    width, inner = words.size("hidden_size"), words.size("intermediate_size")
    return Part((Matrix("mlp.gate_up_proj", width, 2 * inner), Matrix("mlp.down_proj", inner, width)))


def mixture(
    words: Words,
    *,
    module: str = "mlp",
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
    size: str = "moe_intermediate_size",
    shared: str = "",
    is_shared_gated: bool = False,
    shared_bias: Bias = False,
) -> Part:
    """Build a router and its experts; `shared` names the module of an expert that every token goes through."""
    width, inner = words.size("hidden_size"), words.size(size)
    key = next(filter(words.has, _EXPERTS), _EXPERTS[0])
    copies = words.size(key)
    active = words.size("num_experts_per_tok")
    if copies > MOST_EXPERTS:
        raise words.refuse(key, f"is {copies}, more than any model has")
    if active > copies:
        raise words.refuse("num_experts_per_tok", f"is {active}, and there are {copies} experts")
    experts = _three(f"{module}.experts.*", width, inner, names=names, copies=copies, active=active)
    matrices = (Matrix(f"{module}.gate", width, copies), *experts)
    inner = _shared_size(words, inner) if shared else 0
    if inner:
        matrices += _three(f"{module}.{shared}", width, inner, has_bias=_bias(words, shared_bias))
    if is_shared_gated:
        matrices += (Matrix(f"{module}.{shared}_gate", width, 1),)
    return Part(matrices)


def _shared_size(words: Words, inner: int) -> int:
    """Give the inner width of the shared expert: stated, or so many times that of the others."""
    stated = words.size_or_none("shared_expert_intermediate_size")
    return stated or inner * words.count("n_shared_experts")


def _three(
    name: str,
    width: int,
    inner: int,
    *,
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
    has_bias: bool = False,
    copies: int = 1,
    active: int = 1,
) -> tuple[Matrix, ...]:
    """Build gate, way up and way down."""
    gate, up, down = names
    return (
        Matrix(f"{name}.{gate}", width, inner, has_bias, copies, active),
        Matrix(f"{name}.{up}", width, inner, has_bias, copies, active),
        Matrix(f"{name}.{down}", inner, width, has_bias, copies, active),
    )


def _bias(words: Words, bias: Bias) -> bool:
    return bias if isinstance(bias, bool) else words.flag(bias[0], default=bias[1])
