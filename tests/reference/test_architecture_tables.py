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
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

sys.path.insert(0, str(Path(__file__).parent))
from random_configs import FAMILIES, Config

from race_report.architecture import Transformer, transformer_of
from race_report.architecture.catalogue import known_models, text_defaults
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


def process_reward_model_of(config: Config) -> Any:
    """Build what the class of Qwen2.5-Math-PRM builds, which is not part of transformers."""
    width = config["hidden_size"]
    with torch.device("meta"):
        score = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))
    return torch.nn.ModuleDict({"model": model_of(config, AutoModel), "score": score})


@given(FAMILIES["qwen2"])
@settings(max_examples=20)
def test_the_head_of_a_process_reward_model_is_two_matrices(config: Config) -> None:
    table = transformer_of({**config, "architectures": ["Qwen2ForProcessRewardModel"]})
    assert sizes_in(table) == sizes_of(process_reward_model_of(config))


@pytest.mark.parametrize("source", sorted({known.source for known in known_models().values()}))
def test_known_models_are_those_that_transformers_builds(source: str) -> None:
    known = next(known for known in known_models().values() if known.source == source)
    config = {key: value for key, value in known.architecture.items() if key != "architectures"}
    (cls,) = known.architecture["architectures"]
    if cls == "Qwen2ForProcessRewardModel":
        model = process_reward_model_of(config)
    else:
        is_classifier = cls.endswith("SequenceClassification")
        model = model_of(config, AutoModelForSequenceClassification if is_classifier else AutoModelForCausalLM)
        assert type(model).__name__ == cls
    assert sizes_in(transformer_of(known.architecture)) == sizes_of(model)
    assert sum(sizes_of(model).values()) == known.parameters_total


@st.composite
def text_configs(draw: st.DrawFn) -> Config:
    """Draw the text part of a Gemma 3 with an encoder, as it is saved: without what is as in its class."""
    keys = draw(st.sets(st.sampled_from(["num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size"])))
    config = draw(FAMILIES["gemma3_text"])
    return {key: value for key, value in config.items() if key not in {*keys, "tie_word_embeddings"}}


@settings(max_examples=15)
@given(text_configs())
def test_the_text_part_of_a_model_with_an_encoder_is_the_one_that_transformers_builds(text: Config) -> None:
    vision = {
        "model_type": "siglip_vision_model",
        "hidden_size": 4,
        "intermediate_size": 4,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
    }
    heads = text.get("num_attention_heads", 8), text.get("num_key_value_heads", 4)
    if heads[0] % heads[1]:
        return
    text["hidden_size"] = heads[0] * 2
    config = {"model_type": "gemma3", "text_config": text, "vision_config": vision}
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(AutoConfig.for_model(**config))
    sizes = sizes_of(model)
    ours = Counter({name: size for name, size in sizes.items() if "vision" not in name and "multi_modal" not in name})
    assert sizes_in(transformer_of(config)) == ours
    windows = [layer.attention.window for layer in transformer_of(config).layers]
    assert windows == windows_of(model.config.text_config)


@pytest.mark.parametrize("name", text_defaults())
def test_defaults_of_a_text_part_are_those_of_its_class(name: str) -> None:
    config = AutoConfig.for_model(name)
    assert text_defaults()[name] == {key: getattr(config, key) for key in text_defaults()[name]}


@settings(max_examples=15)
@given(FAMILIES["qwen3"])
def test_the_text_part_of_qwen3_vl_is_the_one_that_transformers_builds(text: Config) -> None:
    vision = {"depth": 1, "hidden_size": 4, "intermediate_size": 4, "num_heads": 1, "out_hidden_size": 4}
    text = {key: value for key, value in text.items() if key not in ("use_sliding_window", "layer_types")}
    text |= {"model_type": "qwen3_vl_text", "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}
    tied = text.pop("tie_word_embeddings")
    config = {"model_type": "qwen3_vl", "text_config": text, "vision_config": vision, "tie_word_embeddings": tied}
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(AutoConfig.for_model(**config))
    ours = Counter({name: size for name, size in sizes_of(model).items() if "visual" not in name})
    assert sizes_in(transformer_of(config)) == ours


@settings(max_examples=15)
@given(FAMILIES["qwen2"])
def test_the_text_part_of_a_flat_configuration_is_the_one_that_transformers_builds(config: Config) -> None:
    vision = {"depth": 1, "hidden_size": 4, "intermediate_size": 4, "num_heads": 1, "out_hidden_size": 4}
    config |= {"hidden_size": 2 * config["num_attention_heads"]}
    flat = {**config, "model_type": "qwen2_5_vl", "vision_config": vision}
    flat.pop("head_dim", None)  # which the class does not read
    whole = {**flat, "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 1], "rope_theta": 1e4}}
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(AutoConfig.for_model(**whole))
    ours = Counter({name: size for name, size in sizes_of(model).items() if "visual" not in name})
    assert sizes_in(transformer_of(flat)) == ours
