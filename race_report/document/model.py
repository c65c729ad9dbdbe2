"""The neural networks of a report: what they are called, how large they are, what a token costs in them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from race_report.document.base import (
    Amount,
    Array,
    Count,
    DocumentObject,
    Id,
    Maybe,
    PositiveCount,
    Precision,
    RelativePath,
    Text,
    Url,
)

ModelRole = Literal[
    "policy",
    "rollout_policy",
    "reference",
    "value",
    "reward_model",
    "process_reward_model",
    "judge",
    "teacher",
    "draft",
    "encoder",
    "auxiliary",
]

Trained = Literal["none", "full", "adapter", "head", "partial"]


class Parameters(DocumentObject):
    """How many parameters a model has."""

    total: Maybe[PositiveCount] = None
    """All parameters, adapters excluded, a tied embedding counted once."""
    active: Maybe[PositiveCount] = None
    """Parameters in the pass of one token, the embedding included: fewer than `total` in a mixture of experts."""
    embedding: Maybe[Count] = None
    """Parameters of the input table; looking a token up in it costs no FLOPs."""
    trainable: Maybe[Count] = None
    """Parameters that this work changes, adapters and `modules_to_save` included."""


class Architecture(DocumentObject):
    """The shape of a model in the words of its config.json; the keys that are not listed are kept as they stand."""

    __pydantic_extra__: dict[str, Any]

    closed: ClassVar = False

    model_type: Text
    """The architecture's name, such as `qwen2`."""
    hidden_size: Maybe[PositiveCount] = None
    """Width of the residual stream."""
    num_hidden_layers: Maybe[PositiveCount] = None
    """Transformer layers."""
    num_attention_heads: Maybe[PositiveCount] = None
    """Query heads of a layer."""
    vocab_size: Maybe[PositiveCount] = None
    """Rows of the embedding table, padding rows included."""


class Coefficients(DocumentObject):
    """What one unit of each count costs in this model: the model's side of the product."""

    body_parameters: Count
    """Matrix-multiplication parameters active for one token, without embedding and head."""
    head_parameters: Count
    """Parameters of the part that runs on its own rows: the LM head (tied or not), a reward or value head."""
    attention_width: Count
    """Sum over the layers of query heads times head size; of key and value size the mean, where they differ."""
    bounded_attention_width: Maybe[Count] = None
    """The same sum over the layers that attend to a bounded set: sliding window, linear, sparse or cross attention."""
    adapter_parameters: Maybe[Count] = None
    """Parameters of the adapters that every token goes through, unless they are merged."""


class Adapter(DocumentObject):
    """A parameter-efficient addition to frozen weights, in the words of its adapter_config.json."""

    method: Literal[
        "lora", "dora", "adalora", "vera", "ia3", "oft", "bottleneck", "prefix_tuning", "prompt_tuning", "other"
    ]
    """The kind of adapter; QLoRA is `lora` on weights whose `precision` is four bits."""
    rank: Maybe[PositiveCount] = None
    """Inner width of a low-rank adapter."""
    alpha: Maybe[Amount] = None
    """Scale of a low-rank adapter, before the division by its rank."""
    target_modules: Array[Text] = ()
    """Names of the matrices that carry adapters, or the one word `all-linear`."""
    target_modules_pattern: Maybe[Text] = None
    """A regular expression over the full module names, where that is how the matrices were chosen."""
    rank_pattern: Maybe[dict[Text, PositiveCount]] = None
    """Ranks that differ from `rank`, by module name."""
    modules_to_save: Array[Text] = ()
    """Modules trained in full beside the adapters; they count as trainable and not as adapter."""


class ModelPrecision(DocumentObject):
    """The number formats of a model."""

    weights: Maybe[Precision] = None
    """How the weights are stored; `nf4` or `int4` under QLoRA."""
    compute: Maybe[Precision] = None
    """How matrix multiplications are done."""


class Model(DocumentObject):
    """One neural network that a run uses; a critic, a reference and a judge are models of their own."""

    id: Id
    """The name by which the rest of the report refers to this model."""
    role: ModelRole
    """What the model is for; `policy` is the one that is trained, `rollout_policy` one that samples in its place."""
    name: Maybe[Text] = None
    """The model's public name, a hub id where there is one."""
    revision: Maybe[Text] = None
    """Commit or version of the weights."""
    url: Maybe[Url] = None
    """Where the model is described."""
    parameters: Maybe[Parameters] = None
    """Parameter counts."""
    architecture: Maybe[Architecture] = None
    """The keys of config.json from which the coefficients follow."""
    architecture_file: Maybe[RelativePath] = None
    """Path of a config.json, relative to the report, with forward slashes."""
    coefficients: Maybe[Coefficients] = None
    """FLOPs per token, row and pair; absent for a closed model."""
    adapter: Maybe[Adapter] = None
    """The adapter that this work trains or uses."""
    trained: Maybe[Trained] = None
    """What this work changes: nothing, all weights, adapters on frozen weights, the head alone, or some part of them;
    an update of a `partial` model needs `multipliers`."""
    precision: Maybe[ModelPrecision] = None
    """Number formats."""
    origin_flops: Maybe[Amount] = None
    """What the base weights cost to make, in FLOPs; beside the totals, never in them."""
