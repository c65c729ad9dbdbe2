"""The products of a model in the order in which they run, and which gradients each needs.

One rule makes the backward pass, that of automatic differentiation: a product needs the gradient of its input where
that input depends on something trained, and that of its weights where they are trained.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from race_report.architecture import Attention, Layer, Matrix, Transformer

Kernel = Literal["eager", "fused"]
"""How attention runs: as two products whose scores are kept, or as one kernel that computes scores again backward."""


class Batch(NamedTuple):
    """What goes through a model: sequences side by side, padding included, in one pass or in several after another."""

    sequences: int
    tokens: int
    """Positions of each sequence in a pass."""
    logit_rows: int = 0
    """Rows through the head, of all sequences and passes together."""
    cached: int = 0
    """Positions before the first pass, whose keys and values a cache holds."""
    passes: int = 1
    """Passes of so many tokens each, each after those before it: chunks of a prompt, or tokens that are decoded."""

    @property
    def positions(self) -> int:
        """Positions that go through the body."""
        return self.sequences * self.tokens * self.passes

    def keys(self, window: int | None) -> int:
        """Give the keys of a layer that are in reach, pass by pass; a cache behind a window keeps window - 1 of them.

        Masked or not, every query of a pass meets every key: pairs are tokens times keys.
        """
        before = [self.cached + done * self.tokens for done in range(self.passes)]
        kept = before if window is None else [min(positions, window - 1) for positions in before]
        return self.sequences * sum(positions + self.tokens for positions in kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What an update changes, and so which gradients it needs."""

    weights: bool = False
    """All weights: embedding, norms, layers and head."""
    head: bool = False
    """The head, whatever else."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Rank of the adapter of each matrix that has one, by full module name, `model.layers.0.self_attn.q_proj`; or by
    that of the tensor where experts or routers are no modules, `model.layers.0.mlp.experts.gate_up_proj`."""
    embedding_needs_gradient: bool = False
    """Whether the first layer's input is made to require a gradient that nothing uses (enable_input_require_grads)."""


class Product(NamedTuple):
    """A matrix product of the forward pass, and what it costs in either direction, in FLOPs."""

    forward: int
    backward: int
    result_is_needed: bool = True
    """Whether something backward needs the result: not where it is added to the stream as it is."""


_READS: Final = {
    "o_proj": ("attention",),
    "q_b_proj": ("q_a_proj",),
    "kv_b_proj": ("kv_a_proj_with_mqa",),
}
"""What a matrix reads, by the last part of its name; every other reads the stream."""

_WAYS_DOWN: Final = frozenset({"down_proj", "w2"})
"""Matrices that read what the others of their block give."""

_OF_KEYS: Final = frozenset({"kv_b_proj"})
"""Matrices that make keys and values from what is cached, and so run over all of it in every pass."""

_LAST_NORM: Final = "post_feedforward_layernorm"
"""The norm between the last matrix of a layer and the stream, where there is one."""

_QUERY: Final = frozenset({"q_proj", "q_b_proj", "qkv_proj"})
_KEY: Final = frozenset({"k_proj", "kv_b_proj", "qkv_proj"})
_VALUE: Final = frozenset({"v_proj", "kv_b_proj", "qkv_proj"})
"""The matrices that make queries, keys and values."""


def matrix_products(matrix: Matrix, rows: int, rank: int, *, input_needs: bool, is_trained: bool) -> list[Product]:
    """Give the products of a matrix over rows, and of its adapter (rank 0: none), in the order in which they run.

    Backward, the gradient of the input costs as much as the product, and so does that of the weights. Both matrices of
    an adapter are trained, and what lies between them needs a gradient in any case.
    """
    rows *= matrix.active
    product = 2 * rows * matrix.inputs * matrix.outputs
    products = [Product(product, product * (input_needs + is_trained))]
    if rank:
        down, up = 2 * rows * matrix.inputs * rank, 2 * rows * rank * matrix.outputs
        products += [Product(down, down * (input_needs + 1)), Product(up, up * 2)]
    return products


def folded_products(matrix: Matrix, rows: int, passes: int, rank: int, *, input_needs: bool) -> list[Product]:
    """Give the products of a matrix whose adapter is multiplied out and added to its weights in every pass.

    So it is where weights are no module of their own: every copy is added to, used or not, and the gradient of the sum
    is needed in full. The sum of experts is made twice forward, when it is set up, to check it, and when it is used.
    """
    fold = 2 * passes * matrix.copies * matrix.inputs * rank * matrix.outputs
    product = 2 * rows * matrix.active * matrix.inputs * matrix.outputs
    times = 2 if _is_of_experts(matrix) else 1
    return [Product(fold * times, fold * 2), Product(product, product * (input_needs + 1))]


def attention_products(
    attention: Attention, pairs: int, kernel: Kernel, *, query: bool, key: bool, value: bool
) -> list[Product]:
    """Give the products of attention over pairs; `query`, `key` and `value` say which of them need gradients.

    Scores and weighted sums are two products. Backward a fused kernel runs five, whatever is asked for: the scores
    again, and the gradients of queries, keys, weights and values. Else only those that are needed run.
    """
    scores = 2 * attention.query_heads * pairs * attention.key_size
    weighted = 2 * attention.query_heads * pairs * attention.value_size
    scores_need = query or key
    if kernel == "eager":
        return [
            Product(scores, scores * (query + key)),
            Product(weighted, weighted * (scores_need + value)),
        ]
    backward = 3 * scores + 2 * weighted if scores_need or value else 0
    return [Product(scores + weighted, backward)]


def walk(model: Transformer, batch: Batch, training: Training, kernel: Kernel) -> list[list[Product]]:
    """Give the products of each layer and of the head, in the order in which they run."""
    _refuse_unknown(model, training.ranks)
    keys = {window: batch.keys(window) for window in {layer.attention.window for layer in model.layers}}
    stream = training.weights or training.embedding_needs_gradient
    parts = []
    for index, layer in enumerate(model.layers):
        work = _Work(batch, keys[layer.attention.window], kernel, f"{model.body}.layers.{index}.")
        products, stream = _layer_products(layer, work, training, stream=stream)
        parts.append(products)
    head: list[Product] = []
    is_trained = training.weights or training.head
    for matrix in model.head.matrices:
        rank = training.ranks.get(matrix.name, 0)
        head += matrix_products(matrix, batch.logit_rows, rank, input_needs=stream, is_trained=is_trained)
        stream = stream or is_trained or bool(rank)
    return [*parts, head]


class _Work(NamedTuple):
    batch: Batch
    keys: int
    kernel: Kernel
    prefix: str
    """Of the names of this layer's matrices."""


def _layer_products(layer: Layer, work: _Work, training: Training, *, stream: bool) -> tuple[list[Product], bool]:
    """Give the products of a layer, and whether its output depends on something trained; `stream`: its input does."""
    products: list[Product] = []
    depends: dict[str, bool] = {}
    for matrix in layer.matrices:
        block, _, name = matrix.name.rpartition(".")
        if name == "o_proj":
            query, key, value = (_any(depends, block, names) for names in (_QUERY, _KEY, _VALUE))
            pairs = work.batch.tokens * work.keys
            products += attention_products(layer.attention, pairs, work.kernel, query=query, key=key, value=value)
            depends[f"{block}.attention"] = query or key or value
        if name in _WAYS_DOWN:
            input_needs = any(depends[other] for other in depends if other.rpartition(".")[0] == block)
        else:
            input_needs = _any(depends, block, _READS[name]) if name in _READS else stream
        rows = work.keys if name in _OF_KEYS else work.batch.positions
        rank, tensor = training.ranks.get(work.prefix + matrix.name, 0), _tensor_of(matrix)
        folded = training.ranks.get(work.prefix + tensor, 0) if tensor else 0
        if folded:
            products += folded_products(matrix, rows, work.batch.passes, folded, input_needs=input_needs)
        else:
            products += matrix_products(matrix, rows, rank, input_needs=input_needs, is_trained=training.weights)
        if name == "down_proj" and not _is_weighted_or_normed(layer, matrix):
            products[-1] = products[-1]._replace(result_is_needed=False)
        depends[matrix.name] = input_needs or training.weights or bool(rank or folded)
        if name == "o_proj":
            stream = depends[matrix.name]
    return products, any(depends.values())


def _tensor_of(matrix: Matrix) -> str | None:
    """Give the name within the layer of the tensor that holds the weights of a router or of all experts."""
    name = matrix.name.rpartition(".")[2]
    if _is_of_experts(matrix):
        return "mlp.experts.down_proj" if name in _WAYS_DOWN else "mlp.experts.gate_up_proj"
    return "mlp.gate.weight" if name == "gate" else None


def _is_of_experts(matrix: Matrix) -> bool:
    return ".experts." in matrix.name


def _refuse_unknown(model: Transformer, ranks: Mapping[str, int]) -> None:
    """Raise ValueError where an adapter is on a matrix that the model does not have, and would cost nothing."""
    layers = [
        f"{model.body}.layers.{index}.{name}"
        for index, layer in enumerate(model.layers)
        for matrix in layer.matrices
        for name in (matrix.name, _tensor_of(matrix))
    ]
    for name in ranks.keys() - {*layers, *(matrix.name for matrix in model.head.matrices)}:
        raise ValueError(f"{model.model_type} has no matrix named {name}")


def _any(depends: Mapping[str, bool], block: str, names: Iterable[str]) -> bool:
    return any(depends.get(f"{block}.{name}", False) for name in names)


def _is_weighted_or_normed(layer: Layer, matrix: Matrix) -> bool:
    """Tell whether the result of a layer's way down is weighted, as that of experts is, or goes through a norm."""
    return _is_of_experts(matrix) or any(vector.name == _LAST_NORM for vector in layer.vectors)
