"""Adapters against those that peft makes of the same words."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

sys.path.insert(0, str(Path(__file__).parent))
from random_configs import FAMILIES, FLAGS, Config

from race_report.architecture import Underivable, adapter_of, coefficients_of, transformer_of
from race_report.flops import FORWARD, PassCounts, entry_flops

DENSE = ("llama", "qwen2", "qwen3", "mistral", "phi3", "gemma2", "gemma3_text")
EXPERTS = ("mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v2", "deepseek_v3")
NAMES = ("q_proj", "k_proj", "v_proj", "o_proj", "self_attn.o_proj", "gate_proj", "up_proj", "down_proj", "qkv_proj")
ALL_SPARSE = {"mlp_only_layers": [], "decoder_sparse_step": 1, "first_k_dense_replace": 0}
RANKS = st.integers(1, 5)
AUTO = {
    None: AutoModelForCausalLM,
    "SEQ_CLS": AutoModelForSequenceClassification,
    "TOKEN_CLS": AutoModelForTokenClassification,
}
HEADS = {None: None, "SEQ_CLS": "sequence_classification", "TOKEN_CLS": "token_classification"}


def with_adapter(config: Config, words: dict[str, Any], task: str | None = None) -> Any:
    """Make the model of transformers and the adapters of peft; None where peft finds nothing to adapt."""
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AUTO[task].from_config(AutoConfig.for_model(**config))
        try:
            return get_peft_model(model, LoraConfig(task_type=task, **words))
        except ValueError as error:
            if "not found in the base model" in str(error) or "No modules were targeted" in str(error):
                return None
            raise


def counts_of(model: Any) -> tuple[dict[str, int], int]:
    """Give the rank of every adapted module by its full name, and how many parameters are trained."""
    ranks = {
        name.removeprefix("base_model.model.").removesuffix(".lora_A.default"): module.weight.shape[0]
        for name, module in model.named_modules()
        if name.endswith(".lora_A.default")
    }
    return ranks, sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


@st.composite
def words(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an adapter configuration: words, a text, layers, ranks, what is left out and what is trained in full."""
    drawn: dict[str, Any] = {"r": draw(RANKS), "use_dora": draw(FLAGS)}
    names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)
    texts = st.sampled_from(["all-linear", r".*\.(q|v)_proj", r"model\.layers\.[02]\..*proj", r".*mlp\..*_proj"])
    drawn["target_modules"] = draw(names if draw(st.integers(0, 2)) else texts)
    if not isinstance(drawn["target_modules"], str):
        if draw(FLAGS):
            drawn["layers_to_transform"] = draw(st.integers(0, 3) | st.lists(st.integers(0, 3), unique=True))
            drawn["layers_pattern"] = draw(st.sampled_from([None, "layers", ["h", "layers"]]))
        if draw(FLAGS):
            drawn["bias"] = draw(st.sampled_from(["all", "lora_only", "none"]))
    if draw(FLAGS):
        drawn["exclude_modules"] = draw(names | st.sampled_from([r".*layers\.1\..*", r".*\.o_proj"]))
    if draw(FLAGS):
        keys = st.sampled_from(
            [r".*_proj", "q_proj", r"layers\.0\.self_attn\.v_proj", r".*\.mlp\..*", "down_proj", "proj"]
        )
        drawn["rank_pattern"] = draw(st.dictionaries(keys, RANKS, max_size=3))
    if drawn.get("bias", "none") == "none" and draw(FLAGS):
        saved = st.sampled_from(["lm_head", "embed_tokens", "norm", "input_layernorm", "v_proj", "mlp"])
        drawn["modules_to_save"] = draw(st.lists(saved, max_size=2, unique=True))
    return drawn


@pytest.mark.parametrize("family", DENSE)
def test_adapters_are_those_that_peft_makes(family: str) -> None:
    @settings(max_examples=40)
    @given(FAMILIES[family], words())
    def check(config: Config, words: dict[str, Any]) -> None:
        config |= {"num_hidden_layers": 3}
        config.pop("layer_types", None)
        model = with_adapter(config, dict(words))
        table = transformer_of(config)
        if model is None:
            with pytest.raises(Underivable, match="matches no matrix"):
                adapter_of({"peft_type": "LORA", **words}, table)
            return
        adapter = adapter_of({"peft_type": "LORA", **words}, table)
        assert (adapter.ranks, adapter.trainable) == counts_of(model)
        if not words["use_dora"]:
            names = [name for name, _ in model.named_parameters() if "lora_" in name]
            sizes = dict(model.named_parameters())
            assert adapter.coefficient() == sum(sizes[name].numel() for name in names)

    check()


@pytest.mark.parametrize("layers", [0, 2, [0], [0, 2], [1, 7], []])
@pytest.mark.parametrize("pattern", [None, "", "layers", ["h", "layers"], ["h"]])
def test_layers_are_narrowed_as_peft_does(layers: Any, pattern: Any) -> None:
    config = {"model_type": "qwen2", "vocab_size": 3, "hidden_size": 4, "intermediate_size": 3, "num_hidden_layers": 3}
    config |= {"num_attention_heads": 2, "num_key_value_heads": 1}
    words = {
        "r": 2,
        "target_modules": ["q_proj", "model.layers.1.mlp.up_proj"],
        "layers_to_transform": layers,
        "layers_pattern": pattern,
        "rank_pattern": {"up_proj": 3},
    }
    model = with_adapter(config, dict(words))
    adapter = adapter_of({"peft_type": "LORA", **words}, transformer_of(config))
    assert (adapter.ranks, adapter.trainable) == counts_of(model)


@pytest.mark.parametrize("is_dora", [False, True])
@pytest.mark.parametrize("family", ["llama", "qwen2", "phi3", "gemma3_text"])
def test_adapters_cost_the_flops_that_torch_counts(family: str, is_dora: bool) -> None:
    """Beside its factors DoRA sends an identity through them, once a pass; that is in no coefficient."""

    @settings(max_examples=15)
    @given(FAMILIES[family], RANKS, st.integers(1, 9))
    def check(config: Config, rank: int, tokens: int) -> None:
        words = {"r": rank, "target_modules": "all-linear", "use_dora": is_dora}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            base = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config), attn_implementation="eager")
            model = get_peft_model(base, LoraConfig(**words))
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(torch.zeros((1, tokens), dtype=torch.long), use_cache=False)
        costs = coefficients_of(config, adapter={"peft_type": "LORA", **words})
        adapted = adapter_of({"peft_type": "LORA", **words}, transformer_of(config)).layers
        norms = sum(2 * matrix.inputs * rank * (matrix.inputs + matrix.outputs) for _, matrix, rank in adapted)
        counts = PassCounts(tokens, tokens, tokens**2, tokens**2, tokens)
        assert counter.get_total_flops() == entry_flops(costs, counts, FORWARD) + norms * is_dora

    check()


@pytest.mark.parametrize(
    ("task", "targets"),
    [("SEQ_CLS", "all-linear"), ("SEQ_CLS", ["q_proj", "down_proj"]), ("TOKEN_CLS", ["q_proj", "down_proj"])],
)
def test_classifiers_train_their_head(task: str, targets: Any) -> None:
    @settings(max_examples=20)
    @given(FAMILIES["qwen2"], RANKS)
    def check(config: Config, rank: int) -> None:
        model = with_adapter(config | {"num_labels": 3}, {"r": rank, "target_modules": targets}, task)
        saved = model.peft_config["default"].to_dict()
        table = transformer_of(config, head=HEADS[task], labels=3)
        typed = {"peft_type": "LORA", "task_type": task, "r": rank, "target_modules": targets}
        for words in (typed, {**saved, "target_modules": list(saved["target_modules"])}):
            adapter = adapter_of(words, table)
            assert (adapter.ranks, adapter.trainable) == counts_of(model)
            assert not adapter.head

    check()


@pytest.mark.parametrize("name", ["embed_tokens", "lm_head"])
def test_adapters_beside_the_layers_are_those_that_peft_makes(name: str) -> None:
    @settings(max_examples=20)
    @given(FAMILIES["llama"], RANKS)
    def check(config: Config, rank: int) -> None:
        words = {"r": rank, "target_modules": ["q_proj", name]}
        model = with_adapter(config | {"tie_word_embeddings": False}, dict(words))
        adapter = adapter_of({"peft_type": "LORA", **words}, transformer_of(config))
        assert adapter.trainable == counts_of(model)[1]
        layers = sum(one.active_size for one in adapter.layers)
        if name == "embed_tokens":
            assert adapter.coefficient() == layers + rank * config["hidden_size"]
        else:
            with pytest.raises(Underivable, match="logit rows"):
                adapter.coefficient()

    check()


@pytest.mark.parametrize("family", [name for name in EXPERTS if name != "qwen2_moe"])
def test_what_peft_writes_of_experts_is_read(family: str) -> None:
    """For transformers 5 peft writes adapters of experts as target parameters, with ranks beside them."""
    targets = ["w1", "w2", "w3"] if family == "mixtral" else ["gate_proj", "up_proj", "down_proj"]

    @settings(max_examples=15)
    @given(FAMILIES[family], RANKS)
    def check(config: Config, rank: int) -> None:
        config = {**config, **ALL_SPARSE}
        model = with_adapter(config, {"r": rank, "target_modules": ["o_proj", *targets]})
        saved = model.peft_config["default"].to_dict()
        for key in ("target_modules", "target_parameters"):
            saved[key] = sorted(saved[key])
        assert saved["target_parameters"] == ["down_proj", "gate_up_proj"]
        assert adapter_of(saved, transformer_of(config)).trainable == counts_of(model)[1]

    check()


@pytest.mark.parametrize("family", EXPERTS)
def test_adapters_on_tensors_are_those_that_peft_makes(family: str) -> None:
    tensors = st.sampled_from(["mlp.gate.weight", "experts.gate_up_proj", "mlp.experts.down_proj"])

    @settings(max_examples=15)
    @given(FAMILIES[family], RANKS, st.lists(tensors, min_size=1, unique=True))
    def check(config: Config, rank: int, tensors: list[str]) -> None:
        config = {**config, **ALL_SPARSE}
        words = {"r": rank, "target_modules": ["o_proj"], "target_parameters": tensors}
        model = with_adapter(config, dict(words))
        adapter = adapter_of({"peft_type": "LORA", **words}, transformer_of(config))
        assert adapter.trainable == counts_of(model)[1]

    check()
