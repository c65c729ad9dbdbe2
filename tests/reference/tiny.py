"""Tiny random models of transformers: every width drawn, so that no figure can be written down."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from peft import LoraConfig, get_peft_model
from torch.nn import Linear, ReLU, Sequential
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from race_report.architecture import transformer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.architecture import Transformer

HEADS = {
    "causal_lm": AutoModelForCausalLM,
    "sequence_classification": AutoModelForSequenceClassification,
    "token_classification": AutoModelForTokenClassification,
    "process_reward": AutoModelForTokenClassification,
}

TARGETS = {
    "q,v": ["q_proj", "v_proj"],
    "attention": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "mlp": ["gate_proj", "up_proj", "down_proj"],
    "all-linear": "all-linear",
}
"""Four sets of matrices that adapters are put on, by the names that most architectures use."""

SINGLE_TARGETS = {
    **{name: [f"{name}_proj"] for name in ("q", "k", "v", "gate", "up")},
    "head": ["score.0"],
    "experts": [],
}
"""Sets of one matrix, in which few gradients are needed."""

TENSORS = {"experts": ["mlp.experts.gate_up_proj"]}
"""Sets of tensors that are no modules."""

OWN_TARGETS = {
    "phi3": {"q,v": ["qkv_proj"], "attention": ["qkv_proj", "o_proj"], "mlp": ["gate_up_proj", "down_proj"]},
    "deepseek_v3": {
        "q,v": ["q_b_proj", "kv_b_proj"],
        "attention": ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"],
    },
}
"""The same by the names of those that have others."""

EXPERTS = {"eager": "eager", "fused": "grouped_mm"}
"""How experts run beside each kernel of attention: one after the other, or all in one product."""

MIXTURES = ("mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v3")


def draw_config(model_type: str, seed: int) -> Any:
    """Draw the shape of a model: 2 or 3 layers, widths of 8 to 64, sizes that differ from one another."""
    draw = random.Random(f"{model_type} {seed}")
    groups, shared = draw.choice([1, 2, 3]), draw.choice([1, 2])
    heads = groups * shared
    shape = {
        "hidden_size": heads * 2 * draw.randint(4, 9),
        "intermediate_size": draw.randint(17, 63),
        "num_hidden_layers": draw.choice([2, 3]),
        "num_attention_heads": heads,
        "num_key_value_heads": shared,
        "vocab_size": draw.randint(65, 130),
        "max_position_embeddings": 64,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    if model_type in _FURTHER:
        shape |= _FURTHER[model_type](draw, heads)
    return AutoConfig.for_model(model_type, **shape)


def _free_head_size(draw: random.Random, heads: int) -> dict[str, Any]:  # noqa: ARG001
    return {"head_dim": 2 * draw.randint(3, 8)}


def _window(draw: random.Random, heads: int) -> dict[str, Any]:  # noqa: ARG001
    return {"sliding_window": draw.randint(3, 6)}


def _window_in_some(draw: random.Random, heads: int) -> dict[str, Any]:
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    shape = _free_head_size(draw, heads) | _window(draw, heads)
    return shape | {"num_hidden_layers": 3, "layer_types": kinds, "query_pre_attn_scalar": 8}


def _experts(draw: random.Random, heads: int) -> dict[str, Any]:
    """Draw experts; the widths of a grouped product are multiples of 16 bytes."""
    return {
        "hidden_size": heads * 4 * draw.randint(2, 4),
        "intermediate_size": 4 * draw.randint(4, 9),
        "num_local_experts": draw.randint(3, 4),
        "num_experts_per_tok": 2,
    }


def _experts_in_some(draw: random.Random, heads: int) -> dict[str, Any]:
    return _free_head_size(draw, heads) | {
        "num_experts": draw.randint(3, 4),
        "num_experts_per_tok": 2,
        "hidden_size": heads * 4 * draw.randint(2, 4),
        "moe_intermediate_size": 4 * draw.randint(3, 6),
        "shared_expert_intermediate_size": draw.randint(9, 21),
        "mlp_only_layers": [0],
    }


def _latent(draw: random.Random, heads: int) -> dict[str, Any]:
    return {
        "num_key_value_heads": heads,
        "q_lora_rank": draw.randint(5, 9),
        "kv_lora_rank": 2 * draw.randint(3, 6),
        "qk_nope_head_dim": 2 * draw.randint(3, 4),
        "qk_rope_head_dim": 2 * draw.randint(2, 4),
        "v_head_dim": 2 * draw.randint(2, 3),
        "n_routed_experts": draw.randint(3, 4),
        "num_experts_per_tok": 2,
        "hidden_size": heads * 4 * draw.randint(2, 4),
        "moe_intermediate_size": 4 * draw.randint(3, 6),
        "n_shared_experts": draw.choice([1, 2]),
        "first_k_dense_replace": 1,
        "n_group": 1,
        "topk_group": 1,
    }


_FURTHER = {
    "qwen3": _free_head_size,
    "mistral": _window,
    "gemma2": _window_in_some,
    "gemma3_text": _window_in_some,
    "mixtral": _experts,
    "qwen2_moe": _experts_in_some,
    "qwen3_moe": _experts_in_some,
    "deepseek_v3": _latent,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A model as the library runs it, and as a table."""

    network: Any
    table: Transformer
    ranks: dict[str, int]

    @property
    def inner(self) -> Any:
        """Give the model itself, without what peft wraps around it."""
        return self.network.base_model.model if self.ranks else self.network


def build(
    model_type: str,
    seed: int,
    *,
    kernel: str,
    head: str,
    targets: str | None,
    saves_head: bool,
    experts: str | None,
) -> Built:
    """Build a model with random weights, and adapters on a set of its matrices where one is named."""
    torch.manual_seed(seed)
    config = draw_config(model_type, seed)
    implementation = {"eager": "eager", "fused": "sdpa"}[kernel]
    options = {"experts_implementation": experts or EXPERTS[kernel]} if model_type in MIXTURES else {}
    network = HEADS[head].from_config(config, attn_implementation=implementation, **options)
    if head == "process_reward":
        width = config.hidden_size
        network.score = Sequential(Linear(width, width), ReLU(), Linear(width, config.num_labels))
    table = transformer_of(config.to_dict(), head=head, labels=None if head == "causal_lm" else config.num_labels)
    ranks: dict[str, int] = {}
    if targets is not None:
        rank = random.Random(f"{targets} {seed}").randint(1, 5)
        names = OWN_TARGETS.get(model_type, {}).get(targets) or {**TARGETS, **SINGLE_TARGETS}[targets]
        saved = ["score"] if saves_head else None
        network = get_peft_model(
            network,
            LoraConfig(r=rank, target_modules=names, target_parameters=TENSORS.get(targets), modules_to_save=saved),
        )
        ranks = dict(_ranks_of(network))
    return Built(network=network.train(), table=table, ranks=ranks)


def _ranks_of(network: Any) -> Iterator[tuple[str, int]]:
    """Yield the modules and tensors that peft has put adapters on, and the rank of each."""
    for full_name, module in network.named_modules():
        if hasattr(module, "lora_A"):
            name = full_name.removeprefix("base_model.model.").removesuffix(".base_layer")
            inner = module.lora_A["default"].out_features
            if hasattr(module, "parameter_name"):
                yield f"{name}.{module.parameter_name}", inner // module.num_experts
            else:
                yield name, inner


def draw_tokens(network: Any, sequences: int, tokens: int, padding: int, seed: int) -> dict[str, Any]:
    """Draw a batch whose first sequence has so many tokens of padding on its left."""
    torch.manual_seed(seed)
    ids = torch.randint(3, network.config.vocab_size, (sequences, tokens))
    mask = torch.ones_like(ids)
    mask[0, :padding] = 0
    ids[0, :padding] = network.config.pad_token_id
    return {"input_ids": ids, "attention_mask": mask}
