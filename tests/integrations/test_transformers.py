"""Hooks on a model in a loop of one's own: what ran is what is counted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(Path(__file__).parent))
import tiny_run

from race_report.counts import Group, count_generation, count_scoring
from race_report.integrations.emit import Subject, model_of
from race_report.integrations.transformers import metered
from race_report.meter import Meter
from race_report.trace import read_trace

if TYPE_CHECKING:
    from race_report.flops import PassCounts

pytestmark = pytest.mark.filterwarnings("ignore")

PROMPTS = torch.tensor([[0, 0, 4, 5, 6], [4, 6, 7, 8, 9], [0, 4, 4, 5, 9]])
MASK = (PROMPTS != 0).long()
LENGTHS = [3, 5, 4]


def policy(*, lora: bool = False, **more: Any) -> Any:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(tiny_run.config(**more))
    return get_peft_model(model, LoraConfig(r=3, target_modules=["q_proj"])) if lora else model


def meter_of(model: Any, folder: Path) -> Meter:
    trained = "adapter" if hasattr(model, "peft_config") else "full"
    return Meter(folder / "trace.jsonl", models=[model_of(Subject("policy", "policy", trained, model, model))])


def records(meter: Meter) -> dict[str, dict[str, float]]:
    return {f"{one.key.phase} {one.key.operation}": one.amounts for one in read_trace(meter.journal.path).records}


def assert_counts(amounts: dict[str, float], expected: PassCounts) -> None:
    assert {name: amounts.get(name, 0) for name in expected._fields} == expected._asdict()


def scripted(lengths: list[int], tokens: int) -> Any:
    """Give a `generate` that samples so many tokens of each row, by passes of the model itself."""

    def generate(model: Any) -> Any:
        steps = iter(range(tokens))

        def force(_: Any, scores: Any) -> Any:
            step = next(steps)
            forced = torch.full_like(scores, float("-inf"))
            for row, length in enumerate(lengths):
                forced[row, 1 if step >= length - 1 else 5] = 0.0
            return forced

        return model.generate(input_ids=PROMPTS, attention_mask=MASK, max_new_tokens=tokens, logits_processor=[force])

    return generate


@pytest.mark.parametrize("lengths", [[1, 1, 1], [6, 6, 6], [2, 6, 1], [3, 4, 5]])
@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("lora", [False, True])
def test_generation_is_counted_as_it_went(lengths: list[int], window: int | None, lora: bool, tmp_path: Path) -> None:
    more = {"use_sliding_window": True, "sliding_window": window, "max_window_layers": 0} if window else {}
    model = policy(lora=lora, **more)
    with meter_of(model, tmp_path) as meter, metered(model, meter, "policy"):
        with meter.phase("search"):
            scripted(lengths, 6)(model)
        found = records(meter)
    expected = count_generation(
        [Group(p, [c]) for p, c in zip(LENGTHS, lengths, strict=True)], window=window, adapter=lora
    )
    assert_counts(found["prefill forward"], expected.prefill)
    if expected.decode.tokens:
        assert_counts(found["decode forward"], expected.decode)
    else:
        assert "decode forward" not in found


def test_a_generator_that_returns_nothing_costs_nothing(tmp_path: Path) -> None:
    model = policy()
    with meter_of(model, tmp_path) as meter, metered(model, meter, "policy") as hooks:
        hooks.own_generate = lambda **inputs: inputs["input_ids"]
        with meter.phase("search", model="policy"):
            model.generate(input_ids=PROMPTS, attention_mask=MASK)
        assert records(meter) == {}


def test_a_generator_that_repeats_its_work_is_counted_twice(tmp_path: Path) -> None:
    model = policy()
    with meter_of(model, tmp_path) as meter, metered(model, meter, "policy"):
        with meter.phase("search"):
            scripted([2, 6, 1], 6)(model)
        once = records(meter)
    (tmp_path / "trace.jsonl").unlink()
    with meter_of(model, tmp_path) as meter, metered(model, meter, "policy"):
        with meter.phase("search"):
            scripted([2, 6, 1], 6)(model)
            scripted([2, 6, 1], 6)(model)
        for key, amounts in records(meter).items():
            doubled = {name: 2 * number for name, number in once[key].items()}
            assert amounts == doubled


def test_a_loop_of_ones_own_decodes_with_a_cache_and_stops_rows_that_ended(tmp_path: Path) -> None:
    model = policy().eval()
    sampled = torch.tensor([[5, 1, 0], [5, 5, 5], [1, 0, 0]])
    with meter_of(model, tmp_path) as meter, metered(model, meter, "policy"), torch.no_grad():
        with meter.phase("search"):
            mask, ids, cache = MASK, PROMPTS, None
            for step in range(3):
                output = model(
                    input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, logits_to_keep=1
                )
                cache, ids = output.past_key_values, sampled[:, step : step + 1]
                mask = torch.cat([mask, torch.ones(3, 1, dtype=torch.long)], 1)
        found = records(meter)
    expected = count_generation([Group(p, [c]) for p, c in zip(LENGTHS, [2, 3, 1], strict=True)])
    assert_counts(found["prefill forward"], expected.prefill)
    assert_counts(found["decode forward"], expected.decode)
    assert found["decode forward"]["extra_tokens"] == 3


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize("state", ["none", "enabled", "disabled", "merged"])
def test_scoring_and_updates_are_told_apart_whatever_the_adapter_does(state: str, trains: bool, tmp_path: Path) -> None:
    model = policy(lora=state != "none").train(trains)
    with meter_of(model, tmp_path) as meter, metered(model, meter, "policy"):
        if state == "merged":
            model.merge_adapter()
        phase = "update" if trains and state in ("none", "enabled") else "old_logprobs"
        with meter.phase("learning", phase), torch.set_grad_enabled(phase == "update"):
            if state == "disabled":
                with model.disable_adapter():
                    model(input_ids=PROMPTS, attention_mask=MASK)
            else:
                loss = model(input_ids=PROMPTS, attention_mask=MASK).logits.sum()
                if phase == "update":
                    loss.backward()
        found = records(meter)
    operation = "update" if phase == "update" else "forward"
    expected = count_scoring([Group(p, [0]) for p in LENGTHS], logit_rows="all", adapter=state == "enabled")
    assert_counts(found[f"{phase} {operation}"], expected)


def test_evaluation_with_gradients_on_and_no_backward_is_a_forward(tmp_path: Path) -> None:
    model = policy().eval()
    with meter_of(model, tmp_path) as meter, metered(model, meter, "policy"):
        with meter.phase("evaluation"):
            model(input_ids=PROMPTS, attention_mask=MASK)
        assert list(records(meter)) == ["evaluation forward"]


class Waits(TorchDispatchMode):  # type: ignore[misc]
    """Counts the operations that wait for the device."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.number += func in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default)
        return func(*args, **(kwargs or {}))


def loop(model: Any) -> int:
    """Score, update and decode; give how often something waited."""
    with Waits() as waits:
        model(input_ids=PROMPTS, attention_mask=MASK).logits.sum().backward()
        with torch.no_grad():
            output = model(input_ids=PROMPTS, attention_mask=MASK, use_cache=True)
            mask = torch.cat([MASK, torch.ones(3, 1, dtype=torch.long)], 1)
            model(input_ids=PROMPTS[:, :1], attention_mask=mask, past_key_values=output.past_key_values)
    return int(waits.number)


def test_nothing_waits_for_the_device_before_the_end_of_a_phase(tmp_path: Path) -> None:
    model = policy()
    alone, lists = loop(model), 0

    def listed(tensor: Any) -> Any:
        nonlocal lists
        lists += 1
        return own(tensor)

    own = torch.Tensor.tolist
    with meter_of(model, tmp_path) as meter, metered(model, meter, "policy"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "tolist", listed)
        with meter.phase("preparation", "warm_start"):
            assert loop(model) == alone
            assert lists == 0
        assert lists == 1  # one transfer


def test_what_ran_outside_of_a_phase_is_said(tmp_path: Path) -> None:
    model = policy()
    with (
        meter_of(model, tmp_path) as meter,
        metered(model, meter, "policy"),
        pytest.warns(RuntimeWarning, match="outside"),
    ):
        model(input_ids=PROMPTS)
    assert records(meter) == {}


def test_hooks_come_off(tmp_path: Path) -> None:
    model = policy()
    with meter_of(model, tmp_path) as meter:
        with metered(model, meter, "policy"):
            pass
        with meter.phase("search", model="policy"):
            model.generate(input_ids=PROMPTS, attention_mask=MASK, max_new_tokens=2)
    assert records(meter) == {}


def test_a_mask_without_lengths_and_what_is_no_model_are_refused(tmp_path: Path) -> None:
    model = policy()
    with meter_of(model, tmp_path) as meter:
        with metered(model, meter, "policy"), pytest.raises(ValueError, match="count the pass with"):
            with meter.phase("learning", "old_logprobs", model="policy"):
                model(input_ids=PROMPTS, attention_mask=torch.ones(3, 1, 5, 5, dtype=torch.bool))
        with pytest.raises(ValueError, match="Linear is no decoder"), metered(torch.nn.Linear(2, 2), meter, "policy"):
            pass
