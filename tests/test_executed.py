"""Executed FLOPs beside model FLOPs: where they are the same, and by what they differ."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from race_report.architecture import Transformer, transformer_of
from race_report.conventions import LAYERS_RECOMPUTED, Conventions, flops_under
from race_report.counts import Group, count_forward, count_generation, count_reward, sum_counts
from race_report.executed import Batch, Checkpointing, Training, executed_forward, executed_generation, executed_update
from race_report.flops import FORWARD, ModelCoefficients, default_factors

SIZE = st.integers(1, 9)
FULL = Conventions(attention="full", logit_rows="all")


@st.composite
def models(draw: st.DrawFn) -> Transformer:
    config: dict[str, Any] = {
        "model_type": "qwen2",
        "vocab_size": draw(SIZE),
        "hidden_size": 4 * draw(SIZE),
        "intermediate_size": draw(SIZE),
        "num_hidden_layers": draw(st.integers(1, 4)),
        "num_attention_heads": 4,
        "num_key_value_heads": draw(st.sampled_from([1, 2, 4])),
    }
    return transformer_of(config)


def ranks_of(model: Transformer, rank: int) -> dict[str, int]:
    return {name: rank for name, _ in model.named_matrices()}


def costs_of(model: Transformer, rank: int = 0) -> ModelCoefficients:
    adapters = sum(rank * (matrix.inputs + matrix.outputs) for _, matrix in model.named_matrices())
    return model.coefficients()._replace(adapter_parameters=adapters)


@given(models(), SIZE, SIZE, SIZE)
def test_a_forward_runs_what_full_attention_counts(model: Transformer, sequences: int, tokens: int, rank: int) -> None:
    counts = count_reward([tokens] * sequences, adapter=True)
    expected = flops_under(FULL, costs_of(model, rank), counts, FORWARD, shape="whole")
    batch = Batch(sequences, tokens, sequences * tokens)
    assert executed_forward(model, batch, ranks=ranks_of(model, rank)) == expected


@given(models(), SIZE, SIZE, st.sampled_from(["none", "reentrant"]))
def test_a_full_update_runs_three_forwards_and_again_what_is_not_kept(
    model: Transformer, sequences: int, tokens: int, checkpointing: Checkpointing
) -> None:
    factors = default_factors("update", "full")
    assert factors is not None
    conventions = FULL._replace(recomputation="excluded" if checkpointing == "none" else "included")
    counts = count_reward([tokens] * sequences)
    expected = flops_under(conventions, costs_of(model), counts, factors, shape="whole", recomputed=LAYERS_RECOMPUTED)
    batch = Batch(sequences, tokens, sequences * tokens)
    training = Training(weights=True)
    assert executed_update(model, batch, training, kernel="eager", checkpointing=checkpointing) == expected


@given(models(), SIZE, SIZE, SIZE)
def test_an_update_of_adapters_on_all_runs_what_is_counted_if_the_input_needs_gradients(
    model: Transformer, sequences: int, tokens: int, rank: int
) -> None:
    factors = default_factors("update", "adapter")
    assert factors is not None
    counts = count_reward([tokens] * sequences, adapter=True)
    expected = flops_under(FULL, costs_of(model, rank), counts, factors, shape="whole")
    batch = Batch(sequences, tokens, sequences * tokens)
    training = Training(ranks=ranks_of(model, rank), embedding_needs_gradient=True)
    assert executed_update(model, batch, training, kernel="eager") == expected
    first = model.layers[0].matrices[:3]
    exempt = 2 * batch.positions * sum(matrix.inputs * (matrix.outputs + rank) for matrix in first)
    frozen = Training(ranks=ranks_of(model, rank))
    assert (
        executed_update(model, batch, frozen, kernel="eager")
        == executed_update(model, batch, training, kernel="eager") - exempt
    )


@given(models(), SIZE, SIZE, st.integers(1, 9), st.booleans())
def test_generation_runs_the_rectangle_of_the_prompt_and_else_what_is_counted(
    model: Transformer, sequences: int, prompt: int, completion: int, kv_cache: bool
) -> None:
    costs = costs_of(model)
    groups = [Group(prompt, [completion])] * sequences
    if kv_cache:
        prefill, decode, _ = count_generation(groups)
        parts = [
            flops_under(Conventions(attention="full"), costs, prefill, FORWARD, shape="whole"),
            flops_under(Conventions(), costs, decode, FORWARD),
        ]
    else:
        passes = [count_forward(prompt + sampled, logit_rows=1) for sampled in range(completion)] * sequences
        parts = [flops_under(Conventions(attention="full"), costs, sum_counts(passes), FORWARD, shape="whole")]
    executed = executed_generation(model, sequences, prompt, completion, kv_cache=kv_cache)
    assert executed == sum(part or 0 for part in parts)


@given(models(), st.integers(1, 9), st.integers(1, 9))
def test_chunks_and_single_tokens_run_the_same_but_for_what_is_masked(
    model: Transformer, size: int, number: int
) -> None:
    tokens = size * number
    chunks = executed_forward(model, Batch(1, size, cached=0, passes=number))
    whole = executed_forward(model, Batch(1, tokens))
    masked = tokens * tokens - size * size * number * (number + 1) // 2
    assert whole - chunks == 4 * model.coefficients().attention_width * masked


def test_an_adapter_on_what_a_model_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match=r"qwen2 has no matrix named model\.layers\.9\.self_attn\.q_proj"):
        executed_forward(MODEL, Batch(1, 1), ranks={"model.layers.9.self_attn.q_proj": 1})


MODEL = transformer_of(
    {
        "model_type": "qwen2",
        "vocab_size": 9,
        "hidden_size": 8,
        "intermediate_size": 7,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
    }
)


def test_an_update_that_trains_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="trains something"):
        executed_update(MODEL, Batch(1, 1), Training(embedding_needs_gradient=True))


def test_reentrant_checkpointing_cannot_begin_at_a_frozen_embedding() -> None:
    training = Training(ranks=ranks_of(MODEL, 1))
    with pytest.raises(ValueError, match="frozen embedding"):
        executed_update(MODEL, Batch(1, 1), training, checkpointing="reentrant")


def test_what_is_not_said_is_the_common_case() -> None:
    """Sequences go through the body alone, with a cache, and attention is fused."""
    head = 2 * 3 * 8 * 9
    assert executed_forward(MODEL, Batch(1, 5, 3)) - executed_forward(MODEL, Batch(1, 5)) == head
    assert executed_generation(MODEL, 1, 3, 4) == executed_generation(MODEL, 1, 3, 4, kv_cache=True)
    fused = executed_update(MODEL, Batch(1, 5), Training(weights=True), kernel="fused")
    assert executed_update(MODEL, Batch(1, 5), Training(weights=True)) == fused


def test_the_head_alone_needs_only_the_gradient_of_its_weights() -> None:
    batch = Batch(2, 5, 3)
    head = 2 * 3 * 8 * 9
    assert executed_update(MODEL, batch, Training(head=True)) == executed_forward(MODEL, batch) + head
