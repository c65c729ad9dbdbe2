"""A model as a table of matrices: what its layers multiply, how they attend, what its head is.

Parameters and coefficients are sums over the table, so both follow from the same few shapes. Names are those of the
modules in transformers and in checkpoints, within the layer: `self_attn.q_proj`. The experts of a mixture are one
matrix with `copies`, and `*` stands for their number in the name: `mlp.experts.*.up_proj`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from race_report.flops import ModelCoefficients

if TYPE_CHECKING:
    from collections.abc import Iterator


class Underivable(ValueError):
    """What is asked for does not follow from a configuration; the message names the key and what to state instead."""

    def __init__(self, message: str, key: str = "") -> None:
        """Say why; `key` leads to what leaves it open, with dots between objects, where there is one."""
        super().__init__(message)
        self.key = key


class Matrix(NamedTuple):
    """A linear map that tokens go through, by the name of its module within the layer or, of a head, the model."""

    name: str
    inputs: int
    outputs: int
    has_bias: bool = False
    copies: int = 1
    """How many there are alike: the experts that exist."""
    active: int = 1
    """How many of them one token goes through."""

    @property
    def weights(self) -> int:
        """The weights of one copy, which are the multiply-adds of one token in it."""
        return self.inputs * self.outputs

    @property
    def size(self) -> int:
        """The parameters of one copy, its bias included."""
        return self.weights + (self.outputs if self.has_bias else 0)


class Vector(NamedTuple):
    """Parameters that no token is multiplied with as a matrix, such as the weights of a norm, by module name."""

    name: str
    size: int


class Attention(NamedTuple):
    """How a layer attends. A pair costs 2 x query_heads x (key_size + value_size) FLOPs."""

    query_heads: int
    key_size: int
    """Width of a head's query and key."""
    value_size: int
    """Width of a head's value."""
    window: int | None = None
    """Keys that a token attends to at most, itself included; None where all before it are in reach."""


class Layer(NamedTuple):
    """One transformer layer; a model repeats the same object where layers are alike."""

    matrices: tuple[Matrix, ...]
    attention: Attention
    vectors: tuple[Vector, ...] = ()

    @property
    def size(self) -> int:
        """All parameters, every expert included."""
        return sum(matrix.copies * matrix.size for matrix in self.matrices) + sum(size for _, size in self.vectors)

    @property
    def active_size(self) -> int:
        """The parameters that one token goes through."""
        return sum(matrix.active * matrix.size for matrix in self.matrices) + sum(size for _, size in self.vectors)

    @property
    def active_weights(self) -> int:
        """The multiply-adds of one token in the matrices of this layer."""
        return sum(matrix.active * matrix.weights for matrix in self.matrices)


class Head(NamedTuple):
    """What runs on logit rows after the last norm: one matrix, or several one after the other; nothing in an encoder.

    An LM head that is `tied` is the embedding table once more: its product is counted and its parameters are not.
    """

    kind: str
    matrices: tuple[Matrix, ...] = ()
    is_tied: bool = False

    @property
    def weights(self) -> int:
        """The multiply-adds of one row."""
        return sum(matrix.weights for matrix in self.matrices)

    @property
    def size(self) -> int:
        """The parameters that the head adds to the model's."""
        return 0 if self.is_tied else sum(matrix.size for matrix in self.matrices)


class ParameterCounts(NamedTuple):
    """How many parameters a model has, by the words of a report; adapters are in `trainable` only."""

    total: int
    active: int
    embedding: int
    trainable: int


class Transformer(NamedTuple):
    """A decoder: an embedding table, layers, a last norm and a head."""

    model_type: str
    vocabulary: int
    """Rows of the embedding table, padding rows included."""
    width: int
    """Of the residual stream."""
    layers: tuple[Layer, ...]
    head: Head
    norm: Vector
    """After the last layer."""
    body: str = "model"
    """Name of the module that holds `embed_tokens`, `layers` and `norm`; the head's names stand beside it."""
    notes: tuple[str, ...] = ()
    """What a reader should know of what the counts leave out, in sentences."""

    @property
    def embedding(self) -> int:
        """Parameters of the input table."""
        return self.vocabulary * self.width

    @property
    def size(self) -> int:
        """All parameters, a tied embedding counted once."""
        layers = sum(times * layer.size for layer, times in Counter(self.layers).items())
        return self.embedding + layers + self.norm.size + self.head.size

    @property
    def active_size(self) -> int:
        """The parameters in the pass of one token, the embedding included."""
        layers = sum(times * layer.active_size for layer, times in Counter(self.layers).items())
        return self.embedding + layers + self.norm.size + self.head.size

    def named_matrices(self) -> Iterator[tuple[str, Matrix]]:
        """Yield the matrices of the layers in order, by full module name: `model.layers.3.self_attn.q_proj`."""
        for index, layer in enumerate(self.layers):
            for matrix in layer.matrices:
                yield f"{self.body}.layers.{index}.{matrix.name}", matrix

    def modules(self) -> Iterator[tuple[str, int]]:
        """Yield the modules that hold parameters, by full name, with how many; a tied head as if it were not tied."""
        yield f"{self.body}.embed_tokens", self.embedding
        for index, layer in enumerate(self.layers):
            for matrix in layer.matrices:
                yield f"{self.body}.layers.{index}.{matrix.name}", matrix.copies * matrix.size
            for vector in layer.vectors:
                yield f"{self.body}.layers.{index}.{vector.name}", vector.size
        yield f"{self.body}.{self.norm.name}", self.norm.size
        for matrix in self.head.matrices:
            yield matrix.name, matrix.size

    def parameters(self) -> ParameterCounts:
        """Count the parameters; all are trainable where no adapter is."""
        return ParameterCounts(self.size, self.active_size, self.embedding, self.size)

    def coefficients(self) -> ModelCoefficients:
        """Give what one unit of each count costs, as SPEC.md, section 2, has it.

        Raises:
            Underivable: half a unit of width would be left over.

        """
        width = {False: 0, True: 0}
        for layer, times in Counter(self.layers).items():
            heads, key, value, window = layer.attention
            width[window is not None] += times * heads * (key + value)
        if any(twice % 2 for twice in width.values()):
            msg = "the mean of key and value size over all heads is no whole number: state the model's `coefficients`"
            raise Underivable(msg)
        return ModelCoefficients(
            body_parameters=sum(times * layer.active_weights for layer, times in Counter(self.layers).items()),
            head_parameters=self.head.weights,
            attention_width=width[False] // 2,
            bounded_attention_width=width[True] // 2,
        )
