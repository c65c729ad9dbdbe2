"""Tiny random models of transformers: every width drawn, so that no figure can be written down."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from race_report.architecture import transformer_of

if TYPE_CHECKING:
    from race_report.architecture import Transformer

HEADS = {
    "causal_lm": AutoModelForCausalLM,
    "sequence_classification": AutoModelForSequenceClassification,
    "token_classification": AutoModelForTokenClassification,
}

TARGETS = {
    "q,v": ("q_proj", "v_proj"),
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "mlp": ("gate_proj", "up_proj", "down_proj"),
    "all-linear": ("all-linear",),
}
"""Four sets of matrices that adapters are put on, by the names that most architectures use."""


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
    if model_type in EXTRA:
        shape |= EXTRA[model_type](draw, heads)
    return AutoConfig.for_model(model_type, **shape)


def _free_head_size(draw: random.Random, heads: int) -> dict[str, Any]:
    return {"head_dim": 2 * draw.randint(3, 8), "hidden_size": heads * 2 * draw.randint(4, 9)}


EXTRA = {"qwen3": _free_head_size}


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A model as the library runs it, and as a table."""

    network: Any
    table: Transformer
    ranks: dict[str, int]


def build(model_type: str, seed: int, *, kernel: str, head: str = "causal_lm", targets: str | None = None) -> Built:
    """Build a model with random weights, and adapters on a set of its matrices where one is named."""
    torch.manual_seed(seed)
    config = draw_config(model_type, seed)
    implementation = {"eager": "eager", "fused": "sdpa"}[kernel]
    network = HEADS[head].from_config(config, attn_implementation=implementation)
    table = transformer_of(config.to_dict(), head=head, labels=None if head == "causal_lm" else config.num_labels)
    ranks: dict[str, int] = {}
    if targets is not None:
        rank = random.Random(f"{targets} {seed}").randint(1, 5)
        names = TARGETS[targets]
        chosen = names[0] if names == ("all-linear",) else list(names)
        network = get_peft_model(network, LoraConfig(r=rank, target_modules=chosen, task_type="CAUSAL_LM"))
        ranks = {
            name: rank
            for name, _ in table.named_matrices()
            if names == ("all-linear",) or name.rpartition(".")[2] in names
        }
        found = {
            name.removeprefix("base_model.model.").removesuffix(".lora_A.default")
            for name, _ in network.named_modules()
            if name.endswith(".lora_A.default")
        }
        assert found == set(ranks)
    return Built(network=network.train(), table=table, ranks=ranks)


def draw_tokens(network: Any, sequences: int, tokens: int, padding: int, seed: int) -> dict[str, Any]:
    """Draw a batch whose first sequence has so many tokens of padding on its left."""
    torch.manual_seed(seed)
    ids = torch.randint(3, network.config.vocab_size, (sequences, tokens))
    mask = torch.ones_like(ids)
    mask[0, :padding] = 0
    ids[0, :padding] = network.config.pad_token_id
    return {"input_ids": ids, "attention_mask": mask}
