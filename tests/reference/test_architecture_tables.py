"""Tables of matrices against the models that transformers builds from the same configuration."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

sys.path.insert(0, str(Path(__file__).parent))
from random_configs import FAMILIES, Config

from race_report.architecture import Transformer, transformer_of
from race_report.architecture.families import FAMILIES as KNOWN

TOKENS = 7


def model_of(config: Config, auto: Any = AutoModelForCausalLM, device: str = "meta") -> Any:
    """Build the model of transformers; eager, so that the counter of torch sees every product."""
    with torch.device(device):
        return auto.from_config(
            AutoConfig.for_model(**config), attn_implementation="eager", experts_implementation="eager"
        )


def sizes_of(model: Any) -> Counter[str]:
    """Give the parameters of each tensor by name; all experts of a layer together, as some fuse them."""
    sizes: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        sizes[re.sub(r"(\.experts)\..*", r"\1", name)] += parameter.numel()
    return sizes


def sizes_in(table: Transformer) -> Counter[str]:
    """Give the same of a table, by the names that transformers 5 has for modules."""
    sizes = Counter({f"{table.body}.embed_tokens.weight": table.embedding, f"{table.body}.norm.weight": table.width})
    for index, layer in enumerate(table.layers):
        prefix = f"{table.body}.layers.{index}"
        for vector in layer.vectors:
            sizes[f"{prefix}.{vector.name}.weight"] += vector.size
        for matrix in layer.matrices:
            name = matrix.name.replace("block_sparse_moe", "mlp")
            if ".experts." in name:
                sizes[f"{prefix}.mlp.experts"] += matrix.copies * matrix.size
            else:
                sizes[f"{prefix}.{name}.weight"] += matrix.weights
                sizes[f"{prefix}.{name}.bias"] += matrix.size - matrix.weights
    for matrix in () if table.head.is_tied else table.head.matrices:
        sizes[f"{matrix.name}.weight"] += matrix.weights
        sizes[f"{matrix.name}.bias"] += matrix.size - matrix.weights
    return +sizes


def windows_of(config: Any) -> list[int | None]:
    """Give the windows as transformers has read them."""
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        return [getattr(config, "sliding_window", None)] * config.num_hidden_layers
    return [config.sliding_window if kind == "sliding_attention" else None for kind in kinds]


def test_every_family_is_tested() -> None:
    assert {name for name in KNOWN if "_vl" not in name} == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_parameters_are_those_that_transformers_builds(family: str) -> None:
    @settings(max_examples=60)
    @given(FAMILIES[family])
    def check(config: Config) -> None:
        model, table = model_of(config), transformer_of(config)
        assert sizes_in(table) == sizes_of(model)
        assert table.size == sum(parameter.numel() for parameter in model.parameters())
        assert [layer.attention.window for layer in table.layers] == windows_of(model.config)

    check()


@pytest.mark.parametrize("family", FAMILIES)
def test_coefficients_give_the_flops_that_torch_counts(family: str) -> None:
    """The counter counts every query with every key, masked or not: pairs are the square of the tokens."""

    @settings(max_examples=25)
    @given(FAMILIES[family])
    def check(config: Config) -> None:
        model = model_of(config, device="cpu")
        costs = transformer_of(config).coefficients()
        ids = torch.zeros((1, TOKENS), dtype=torch.long)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(ids, use_cache=False)
        width = costs.attention_width + costs.bounded_attention_width
        expected = 2 * TOKENS * (costs.body_parameters + costs.head_parameters) + 4 * width * TOKENS**2
        assert counter.get_total_flops() == expected

    check()


@pytest.mark.parametrize(
    ("auto", "head"),
    [
        (AutoModelForSequenceClassification, "sequence_classification"),
        (AutoModelForTokenClassification, "token_classification"),
    ],
)
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "mistral", "phi3", "gemma2", "mixtral", "qwen2_moe"])
def test_classifiers_are_those_that_transformers_builds(family: str, auto: Any, head: str) -> None:
    @settings(max_examples=20)
    @given(FAMILIES[family], st.integers(1, 5))
    def check(config: Config, labels: int) -> None:
        config = {**config, "num_labels": labels}
        model = model_of(config, auto)
        assert sizes_in(transformer_of(config, head=head)) == sizes_of(model)
        saved = {**model.config.to_diff_dict(), **config, "architectures": [type(model).__name__]}
        saved.pop("num_labels")  # transformers writes labels by name, and none where there are two
        assert transformer_of(saved).head == transformer_of(config, head=head).head

    check()
