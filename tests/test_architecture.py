"""Tables of matrices by hand, what is published, and what is refused; the rest is compared in tests/reference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from race_report.architecture import Underivable, adapter_of, coefficients_of, find_model, near_names, transformer_of
from race_report.architecture.catalogue import known_models

if TYPE_CHECKING:
    from pathlib import Path

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 12,
    "intermediate_size": 20,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
}
LAYER = 12 * 12 + 12 * 4 + 12 * 4 + 12 * 12 + 3 * 12 * 20
MIXTRAL = LLAMA | {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}
QWEN2 = LLAMA | {"model_type": "qwen2"}
DEEPSEEK = LLAMA | {
    "model_type": "deepseek_v3",
    "q_lora_rank": None,
    "kv_lora_rank": 6,
    "qk_rope_head_dim": 2,
    "qk_nope_head_dim": 4,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 5,
    "first_k_dense_replace": 1,
}
LORA: dict[str, Any] = {"peft_type": "LORA", "r": 2, "target_modules": ["q_proj", "down_proj"]}


def without(config: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != key}


def test_a_llama_by_hand() -> None:
    model = transformer_of(LLAMA)
    assert model.coefficients() == (3 * LAYER, 100 * 12, 3 * 12, 0, 0)
    total = 3 * (LAYER + 2 * 12) + 2 * 100 * 12 + 12
    assert model.parameters() == (total, total, 1200, total)
    assert [name for name, _ in model.named_matrices()][:2] == [
        "model.layers.0.self_attn.q_proj",
        "model.layers.0.self_attn.k_proj",
    ]
    assert model.layers[0] is model.layers[2]


def test_a_mixture_by_hand() -> None:
    """Of four experts a token goes through two; the router is a product for every token."""
    model = transformer_of(MIXTRAL)
    expert = 3 * 12 * 20
    assert model.coefficients().body_parameters == 3 * (LAYER + expert + 4 * 12)
    assert model.size - model.active_size == 3 * 2 * expert


def test_keys_and_values_of_different_size_count_by_their_mean() -> None:
    assert transformer_of(DEEPSEEK).coefficients().attention_width == 3 * 3 * (4 + 2 + 8) // 2
    with pytest.raises(Underivable, match="no whole number"):
        transformer_of(DEEPSEEK | {"v_head_dim": 7}).coefficients()


def test_a_tied_head_is_counted_and_its_parameters_are_not() -> None:
    tied = transformer_of({**LLAMA, "tie_word_embeddings": True})
    assert tied.coefficients() == transformer_of(LLAMA).coefficients()
    assert tied.size == transformer_of(LLAMA).size - 1200


@pytest.mark.parametrize(
    ("config", "key"),
    [
        *((LLAMA, key) for key in LLAMA if key != "num_key_value_heads"),
        *((MIXTRAL, key) for key in ("num_key_value_heads", "num_local_experts", "num_experts_per_tok")),
        *((DEEPSEEK, key) for key in DEEPSEEK if key not in (*LLAMA, "n_routed_experts")),
        (LLAMA | {"model_type": "qwen3"}, "head_dim"),
        (LLAMA | {"model_type": "mistral"}, "sliding_window"),
        (LLAMA | {"model_type": "gemma2", "head_dim": 4}, "sliding_window"),
        (QWEN2 | {"use_sliding_window": True}, "sliding_window"),
        (QWEN2 | {"use_sliding_window": True, "sliding_window": 8}, "max_window_layers"),
    ],
)
def test_a_size_that_is_missing_is_refused_by_name(config: dict[str, Any], key: str) -> None:
    with pytest.raises(Underivable, match=f"`(num_experts|{key})` is missing") as caught:
        transformer_of(without(config, key))
    assert caught.value.key in ("num_experts", key)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"model_type": "jamba"}, '`model_type` is "jamba", whose matrices are not known here: state the model\'s `co'),
        ({"model_type": "qwen3_next"}, "did you mean qwen3"),
        ({"model_type": 3}, "`model_type` is 3; text should stand here"),
        ({"layer_types": ["full_attention", "linear_attention", "mamba"]}, "linear_attention, mamba"),
        ({"layer_types": ["full_attention"]}, "has 1 words, and `num_hidden_layers` is 3"),
        ({"layer_types": ["full_attention", "sliding_attention", "full_attention"]}, "does not read"),
        ({"layer_types": "full_attention"}, "a list of texts should stand here"),
        ({"hidden_size": "12"}, '`hidden_size` is the text "12"; a whole number without quotes'),
        ({"hidden_size": 12.5}, "`hidden_size` is 12.5"),
        ({"hidden_size": True}, "`hidden_size` is true"),
        ({"hidden_size": [12]}, "`hidden_size` is a list"),
        ({"hidden_size": 0}, "`hidden_size` is 0, and should be above 0"),
        ({"hidden_size": -12}, "`hidden_size` is -12"),
        ({"hidden_size": 10**30}, "larger than any count"),
        ({"hidden_size": None}, "`hidden_size` is null, and no size is guessed"),
        ({"hidden_size": 13}, "`head_dim` is missing, and 3 heads do not divide"),
        ({"num_hidden_layers": 10**9}, "more than any model has"),
        ({"num_key_value_heads": 2}, "does not divide"),
        ({"tie_word_embeddings": "yes"}, "true or false should stand here"),
        ({"is_encoder_decoder": True}, "only decoders"),
        ({"architectures": ["LlamaForRewardModel"]}, "names a class whose head is not known"),
        ({"architectures": ["LlamaForQuestionAnswering"]}, "names a class whose head is not known"),
        ({"architectures": ["LlamaForCausalLM", "LlamaForTokenClassification"]}, "whose head is not known"),
        ({"text_config": 3}, "`text_config` is 3; an object should stand here"),
        ({"text_config": {"model_type": "mamba2"}}, "`text_config.model_type` is"),
        ({"text_config": LLAMA | {"hidden_size": "a"}}, "`text_config.hidden_size` is the text"),
        (
            {"text_config": LLAMA | {"tie_word_embeddings": True}, "tie_word_embeddings": False},
            "`text_config.tie_word_embeddings` contradicts `tie_word_embeddings`",
        ),
        ({**MIXTRAL, "num_experts_per_tok": 5}, "is 5, and there are 4 experts"),
        ({**MIXTRAL, "num_local_experts": 10**6}, "more than any model has"),
        ({**DEEPSEEK, "moe_layer_freq": 2}, "`moe_layer_freq`"),
        ({"model_type": "gemma2", "head_dim": 4, "use_bidirectional_attention": True}, "attend to later ones"),
        (QWEN2 | {"layer_types": ["sliding_attention"] * 3}, "says none"),
    ],
)
def test_what_leaves_the_shape_open_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(Underivable) as caught:
        transformer_of(LLAMA | words)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@given(st.sampled_from([LLAMA, QWEN2, MIXTRAL, DEEPSEEK]), st.data())
def test_any_value_under_any_key_is_derived_or_refused(config: dict[str, Any], data: st.DataObject) -> None:
    further = ["layer_types", "head_dim", "text_config", "architectures", "id2label", "sliding_window"]
    keys = data.draw(st.lists(st.sampled_from([*config, *further]), unique=True))
    adapter = LORA | data.draw(st.dictionaries(st.sampled_from([*LORA, "rank_pattern", "bias"]), JSON_VALUES))
    try:
        costs = coefficients_of(config | {key: data.draw(JSON_VALUES) for key in keys}, adapter=adapter)
    except Underivable:
        return
    assert all(type(value) is int and value >= 0 for value in costs)


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert transformer_of(LLAMA | {"hidden_size": 12.0}) == transformer_of(LLAMA)


def test_windows_are_counted_apart() -> None:
    config = QWEN2 | {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}
    costs = transformer_of(config).coefficients()
    assert (costs.attention_width, costs.bounded_attention_width) == (12, 24)
    assert transformer_of(config | {"use_sliding_window": False}).coefficients().bounded_attention_width == 0
    assert transformer_of(config | {"sliding_window": None}).coefficients().bounded_attention_width == 0


@pytest.mark.parametrize(
    ("words", "options", "head"),
    [
        ({}, {}, 1200),
        ({"architectures": ["LlamaForCausalLM"]}, {}, 1200),
        ({"architectures": ["LlamaModel"]}, {}, 0),
        ({"architectures": ["LlamaForSequenceClassification"]}, {}, 24),
        ({"architectures": ["LlamaForTokenClassification"], "id2label": {"0": "a"}}, {}, 12),
        ({"architectures": ["Qwen2ForProcessRewardModel"]}, {}, 12 * 12 + 12 * 2),
        ({"architectures": ["Qwen2ForRewardModel"]}, {}, 12 * 12 + 12),
        ({"architectures": ["LlamaForCausalLM"]}, {"head": "token_classification", "labels": 1}, 12),
        ({}, {"role": "policy"}, 1200),
        ({"architectures": ["LlamaForCausalLM"]}, {"role": "process_reward_model"}, 1200),
        (
            {"architectures": ["LlamaForCausalLM"]},
            {"role": "value", "head": "sequence_classification", "labels": 1},
            12,
        ),
    ],
)
def test_the_head_is_that_of_the_class_or_the_one_asked_for(
    words: dict[str, Any], options: dict[str, Any], head: int
) -> None:
    assert transformer_of(LLAMA | words, **options).coefficients().head_parameters == head


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ({}, {"role": "value"}, "the head of a value is not guessed"),
        ({}, {"role": "process_reward_model"}, "is not guessed"),
        ({"architectures": ["LlamaForCausalLM"]}, {"role": "reward_model"}, "a reward_model has another head"),
        ({}, {"head": "token_classification"}, "`num_labels` is missing"),
        ({}, {"head": "lm"}, "no head is named"),
    ],
)
def test_a_head_is_not_guessed(words: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(Underivable, match=message):
        coefficients_of(LLAMA | words, **options)


def test_a_text_model_is_taken_out_of_a_larger_one() -> None:
    whole = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "text_config": LLAMA}
    with pytest.raises(Underivable, match="`tie_word_embeddings` is missing"):
        transformer_of(whole)
    model = transformer_of(whole | {"tie_word_embeddings": False})
    assert model.coefficients() == transformer_of(LLAMA).coefficients()
    assert model.notes == ("The text model alone: the encoder beside it is a model of its own.",)
    with pytest.raises(Underivable, match="encoder beside"):
        adapter_of(LORA, model)


def test_lora_by_hand() -> None:
    """Rank 2 on the queries, 12 to 12, and on the way down, 20 to 12."""
    adapter = adapter_of(LORA, transformer_of(LLAMA))
    assert adapter.trainable == adapter.coefficient() == 3 * 2 * (24 + 32)
    assert adapter.ranks["model.layers.2.mlp.down_proj"] == 2
    assert coefficients_of(LLAMA, adapter=LORA).adapter_parameters == 3 * 2 * 56


def test_every_expert_carries_its_own_adapter() -> None:
    """By the names of checkpoints; a token goes through those of its experts."""
    adapter = adapter_of(LORA | {"target_modules": ["w2"]}, transformer_of(MIXTRAL))
    assert (adapter.trainable, adapter.coefficient()) == (3 * 4 * 2 * 32, 3 * 2 * 2 * 32)
    with pytest.raises(Underivable, match="different adapters"):
        adapter_of(LORA | {"target_modules": ["experts.0.w2"]}, transformer_of(MIXTRAL))


def test_dora_trains_magnitudes_that_are_no_product() -> None:
    plain, dora = (adapter_of(LORA | {"use_dora": is_dora}, transformer_of(LLAMA)) for is_dora in (False, True))
    assert dora.trainable == plain.trainable + 3 * (12 + 12)
    assert dora.coefficient() == plain.coefficient()


@pytest.mark.parametrize(
    ("reported", "saved"),
    [
        ({"target_modules": ["all-linear"]}, {"target_modules": "all-linear"}),
        ({"target_modules": ["q_proj", "v_proj"]}, {"target_modules": ["q_proj", "v_proj"]}),
        ({"target_modules": ("q_proj",)}, {"target_modules": ["q_proj"]}),
        ({"target_modules_pattern": r".*\.(q|v)_proj"}, {"target_modules": r".*\.(q|v)_proj"}),
        (
            {"target_modules": ["q_proj", "v_proj"], "rank_pattern": {"v_proj": 5}, "modules_to_save": ["lm_head"]},
            {"target_modules": ["q_proj", "v_proj"], "rank_pattern": {"v_proj": 5}, "modules_to_save": ["lm_head"]},
        ),
        ({"method": "dora", "target_modules": ["q_proj"]}, {"use_dora": True, "target_modules": ["q_proj"]}),
    ],
)
def test_the_words_of_a_report_mean_the_same(reported: dict[str, Any], saved: dict[str, Any]) -> None:
    model = transformer_of(LLAMA)
    by_report = adapter_of({"method": "lora", "rank": 2, "alpha": 4} | reported, model)
    assert by_report == adapter_of({"peft_type": "LORA", "r": 2} | saved, model)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"peft_type": "IA3"}, 'is "IA3", whose parameters are not derived here'),
        ({"peft_type": None}, "`peft_type` is null"),
        ({"r": None}, "`r` is null"),
        ({"r": "8"}, "without quotes"),
        ({"target_modules": None}, "no choice is guessed"),
        ({"target_modules": []}, "matches no matrix of llama"),
        ({"target_modules": ["c_attn"]}, "matches no matrix of llama"),
        ({"target_modules": "(q"}, "`target_modules` is no regular expression"),
        ({"target_modules": 3}, "a list of texts"),
        ({"rank_pattern": {"(": 3}}, "`rank_pattern` is no regular expression"),
        ({"rank_pattern": {"q_proj": 0}}, "is 0, and should be above 0"),
        ({"modules_to_save": ["classifer"]}, "names classifer, which llama does not have"),
        ({"layer_replication": [[0, 2]]}, "`layer_replication` changes what is trained"),
        ({"bias": "some"}, "`bias` is"),
        ({"target_modules": "all-linear", "layers_to_transform": [1]}, "narrows a list"),
        ({"method": "ia3"}, '`method` is "ia3"'),
        ({"method": "lora"}, "`rank` is missing"),
    ],
)
def test_an_adapter_that_is_not_understood_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(Underivable) as caught:
        adapter_of(LORA | words, transformer_of(LLAMA))
    assert message in str(caught.value)


@pytest.mark.parametrize("name", known_models())
def test_a_known_model_has_the_parameters_that_are_published(name: str) -> None:
    known = known_models()[name]
    assert transformer_of(known.architecture).size == known.parameters_total
    assert known.source.startswith("https://huggingface.co/")


def test_names_of_the_catalogue_are_unique_whatever_their_capitals(root: Path) -> None:
    entries = json.loads((root / "schema" / "models.json").read_text("utf-8"))["models"]
    names = [name.lower() for first, entry in entries.items() for name in (first, *entry["same_shape"])]
    assert len(names) == len(set(names)) > 100
    found = find_model("qwen/qwen2.5-1.5b-INSTRUCT")
    assert found is not None
    assert found.name == "Qwen/Qwen2.5-1.5B-Instruct"
    assert near_names("Qwen2.5-7B")[0] == "Qwen/Qwen2.5-7B"
    assert near_names("Qwen/Qwen2.5-7b-Instuct")[0] == "Qwen/Qwen2.5-7B-Instruct"
    assert near_names("x") == []


@pytest.mark.parametrize(
    ("name", "active", "body", "width"),
    [
        ("Qwen/Qwen2.5-1.5B", 1_543_714_304, 1_310_195_712, 43_008),
        ("Qwen/Qwen2.5-Math-PRM-7B", 7_083_474_946, 6_525_288_448, 100_352),
        ("Qwen/Qwen3-0.6B", 596_049_920, 440_401_920, 57_344),
        ("meta-llama/Llama-3.1-8B", 8_030_261_248, 6_979_321_856, 131_072),
        ("Qwen/Qwen3-30B-A3B", 3_353_032_704, None, 48 * 32 * 128),
        ("mistralai/Mixtral-8x7B-v0.1", 12_879_925_248, None, 32 * 4096),
        ("deepseek-ai/DeepSeek-V3", 37_552_282_624, None, 61 * 128 * (128 + 64 + 128) // 2),
    ],
)
def test_coefficients_of_known_models(name: str, active: int, body: int | None, width: int) -> None:
    known = find_model(name)
    assert known is not None
    model = transformer_of(known.architecture)
    costs = model.coefficients()
    assert (model.active_size, costs.attention_width) == (active, width)
    assert body in (None, costs.body_parameters)


def test_lora_on_all_matrices_of_known_models() -> None:
    """Rank 16, as in the table of worked shares."""
    words = {"method": "lora", "rank": 16, "target_modules": ["all-linear"]}
    expected = {
        "Qwen/Qwen2.5-0.5B": 8_798_208,
        "Qwen/Qwen2.5-1.5B": 18_464_768,
        "Qwen/Qwen2.5-72B": 210_534_400,
        "Qwen/Qwen3-8B": 43_646_976,
        "meta-llama/Llama-3.1-8B": 41_943_040,
    }
    for name, parameters in expected.items():
        known = find_model(name)
        assert known is not None
        assert coefficients_of(known.architecture, adapter=words).adapter_parameters == parameters
