from __future__ import annotations

from typing import Any

import pytest

from race_report.architecture import Underivable, transformer_of

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 12,
    "intermediate_size": 20,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
}


def test_a_llama_by_hand() -> None:
    model = transformer_of(LLAMA)
    layer = 12 * 12 + 12 * 4 + 12 * 4 + 12 * 12 + 3 * 12 * 20
    assert model.coefficients() == (3 * layer, 100 * 12, 3 * 12, 0, 0)
    total = 3 * (layer + 2 * 12) + 2 * 100 * 12 + 12
    assert model.parameters() == (total, total, 1200, total)
    assert [name for name, _ in model.named_matrices()][:2] == [
        "model.layers.0.self_attn.q_proj",
        "model.layers.0.self_attn.k_proj",
    ]
    assert model.layers[0] is model.layers[2]


def test_a_tied_head_is_counted_and_its_parameters_are_not() -> None:
    tied = transformer_of({**LLAMA, "tie_word_embeddings": True})
    assert tied.coefficients() == transformer_of(LLAMA).coefficients()
    assert tied.size == transformer_of(LLAMA).size - 1200


@pytest.mark.parametrize("key", [key for key in LLAMA if key != "num_key_value_heads"])
def test_what_is_missing_is_refused_by_name(key: str) -> None:
    with pytest.raises(Underivable, match=f"`{key}` is missing"):
        transformer_of({name: value for name, value in LLAMA.items() if name != key})
