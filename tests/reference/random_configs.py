"""Random configurations of every family, with sizes far from those of any model."""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import strategies as st

Config = dict[str, Any]

WIDTHS = st.integers(1, 6)
FLAGS = st.booleans()


@st.composite
def common(draw: st.DrawFn, model_type: str) -> Config:
    shared, group, size = draw(st.integers(1, 2)), draw(st.integers(1, 3)), 2 * draw(st.integers(1, 3))
    heads = shared * group
    has_head_size = draw(FLAGS)
    return {
        "model_type": model_type,
        "vocab_size": draw(st.integers(3, 20)),
        "hidden_size": heads * size if not has_head_size else heads * draw(WIDTHS) * 2,
        "intermediate_size": draw(st.integers(1, 9)),
        "num_hidden_layers": draw(st.integers(1, 5)),
        "num_attention_heads": heads,
        "num_key_value_heads": shared,
        "tie_word_embeddings": draw(FLAGS),
        **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id")),
        **({"head_dim": size} if has_head_size else {}),
    }


@st.composite
def _with(draw: st.DrawFn, /, model_type: str, **keys: st.SearchStrategy[Any]) -> Config:
    """Draw a configuration with further keys, each of which may be missing."""
    config = draw(common(model_type))
    return config | {key: draw(values) for key, values in keys.items() if draw(FLAGS)}


@st.composite
def _with_head_size(draw: st.DrawFn, base: st.SearchStrategy[Config]) -> Config:
    config = draw(base)
    return {"head_dim": 2 * draw(st.integers(1, 3)), **config}


@st.composite
def _windowed(draw: st.DrawFn, base: st.SearchStrategy[Config]) -> Config:
    """Add the words of Qwen for windows: asked for or not, by a first layer or listed."""
    config = draw(base)
    config |= {"use_sliding_window": draw(FLAGS), "sliding_window": draw(st.integers(1, 5)), "max_window_layers": 2}
    if config["use_sliding_window"] and draw(FLAGS):
        config["layer_types"] = draw(layer_types(config["num_hidden_layers"]))
    return config


def layer_types(number: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(["full_attention", "sliding_attention"]), min_size=number, max_size=number)


@st.composite
def _alternating(draw: st.DrawFn, base: st.SearchStrategy[Config], *, has_pattern: bool) -> Config:
    config = draw(_with_head_size(base)) | {"sliding_window": draw(st.integers(1, 5))}
    if draw(FLAGS):
        config["layer_types"] = draw(layer_types(config["num_hidden_layers"]))
    elif has_pattern and draw(FLAGS):
        config["sliding_window_pattern"] = draw(st.integers(1, 3))
    return config


@st.composite
def _experts(draw: st.DrawFn, base: st.SearchStrategy[Config], *, name: str = "num_experts", fewest: int = 1) -> Config:
    config = draw(base)
    experts = draw(st.integers(fewest, 4))
    return config | {name: experts, "num_experts_per_tok": draw(st.integers(1, experts))}


def _without_layer_types(config: Config) -> Config:
    return {key: value for key, value in config.items() if key != "layer_types"}


@st.composite
def _qwen_experts(draw: st.DrawFn, /, base: st.SearchStrategy[Config], **keys: int) -> Config:
    config = draw(_experts(base)) | {key: draw(WIDTHS) for key in ("moe_intermediate_size", *keys)}
    if draw(FLAGS):
        config["decoder_sparse_step"] = draw(st.integers(1, 3))
    if draw(FLAGS):
        config["mlp_only_layers"] = draw(st.lists(st.integers(0, 4), unique=True))
    return config


@st.composite
def _deepseek(draw: st.DrawFn, base: st.SearchStrategy[Config]) -> Config:
    config = draw(_experts(base, name="n_routed_experts", fewest=2))  # a group of experts is judged by its two best
    config.pop("head_dim", None)
    return config | {
        "num_key_value_heads": config["num_attention_heads"],
        "q_lora_rank": draw(st.none() | WIDTHS),
        "kv_lora_rank": 2 * draw(WIDTHS),
        "qk_nope_head_dim": 2 * draw(WIDTHS),
        "qk_rope_head_dim": 2 * draw(WIDTHS),
        "v_head_dim": 2 * draw(WIDTHS),
        "moe_intermediate_size": draw(WIDTHS),
        "n_shared_experts": draw(st.integers(1, 2)),
        "first_k_dense_replace": draw(st.integers(0, 5)),
        "n_group": 1,
        "topk_group": 1,
    }


@st.composite
def _ministral(draw: st.DrawFn) -> Config:
    config = draw(common("ministral")) | {"sliding_window": draw(WIDTHS)}  # without one the model does not run
    if draw(FLAGS):
        config["layer_types"] = draw(layer_types(config["num_hidden_layers"]))
    return config


BIASES = {"attention_bias": FLAGS, "mlp_bias": FLAGS}
ATTENTION_BIAS = {"attention_bias": FLAGS}

FAMILIES: dict[str, st.SearchStrategy[Config]] = {
    "llama": _with("llama", **BIASES),
    "qwen2": _windowed(common("qwen2")),
    "qwen3": _with_head_size(_windowed(_with("qwen3", **ATTENTION_BIAS))),
    "granite": _with("granite", **BIASES),
    "seed_oss": _with_head_size(_with("seed_oss", attention_out_bias=FLAGS, **BIASES)),
    "ministral": _with_head_size(_ministral()),
    "mistral": st.builds(operator.or_, _with("mistral"), st.fixed_dictionaries({"sliding_window": st.none() | WIDTHS})),
    "phi3": _with("phi3", sliding_window=st.integers(1, 5)),
    "gemma": _with_head_size(_with("gemma", **ATTENTION_BIAS)),
    "gemma2": _alternating(_with("gemma2", **ATTENTION_BIAS), has_pattern=False),
    "gemma3_text": _alternating(_with("gemma3_text", **ATTENTION_BIAS), has_pattern=True),
    "mixtral": _experts(_with("mixtral", sliding_window=st.integers(1, 5)), name="num_local_experts"),
    "qwen2_moe": _qwen_experts(_windowed(_with("qwen2_moe", qkv_bias=FLAGS)), shared_expert_intermediate_size=1),
    "qwen3_moe": _qwen_experts(_windowed(_with("qwen3_moe", **ATTENTION_BIAS)).map(_without_layer_types)),
    "deepseek_v2": _deepseek(_with("deepseek_v2", **BIASES)),
    "deepseek_v3": _deepseek(_with("deepseek_v3", **ATTENTION_BIAS)),
}
