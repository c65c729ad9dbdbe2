"""vLLM and what wraps models, as fakes with the interfaces that TRL uses; the engines themselves were not run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
import tiny_run

from race_report.counts import Group, count_generation
from race_report.integrations import trl
from race_report.trace import read_trace

pytestmark = pytest.mark.filterwarnings("ignore")


class FakeEngine:
    """What `trainer.vllm_generation` is: it takes ids and gives completions of scripted lengths."""

    def __init__(self) -> None:
        self.prompts: list[list[int]] = []
        self.completions: list[list[int]] = []

    def sync_weights(self) -> None:
        """Do nothing: there is one model."""

    def generate(self, prompts: list[list[int]], **_: Any) -> Any:
        completions = [[5] * (1 + (sum(ids) + at) % 6) + [1] for at, ids in enumerate(prompts)]
        self.prompts += prompts
        self.completions += completions
        return prompts, completions, [[[-1.0] for _ in ids] for ids in completions], None


@pytest.mark.parametrize("mode", ["colocate", "server"])
def test_vllm_is_counted_from_the_lengths_that_it_returns(mode: str, tmp_path: Path) -> None:
    trainer = tiny_run.trainer(tmp_path, max_steps=3)
    engine = FakeEngine()
    trainer.use_vllm, trainer.vllm_mode, trainer.vllm_generation = True, mode, engine
    trainer.vllm_importance_sampling_correction = False
    trainer._last_loaded_step = -1
    trainer.train()
    found = {one.key.phase: [0, 0, 0] for one in read_trace(trainer.race_meter.journal.path).records}
    for one in read_trace(trainer.race_meter.journal.path).records:
        for at, name in enumerate(("tokens", "attention_pairs", "logit_rows")):
            found[one.key.phase][at] += int(one.amounts.get(name, 0))
    size = trainer.num_generations
    pairs = list(zip(engine.prompts, engine.completions, strict=True))
    assert len(pairs) == 3 * 8
    if mode == "server":
        drawn = [pairs[at : at + size] for at in range(0, len(pairs), size)]
        groups = [Group(len(group[0][0]), [len(done) for _, done in group]) for group in drawn]
        expected = count_generation(groups, prefix_sharing="group")
        assert found["prefill"][:2] == [expected.prefill.tokens, expected.prefill.attention_pairs]
    else:
        expected = count_generation([Group(len(ids), [len(done)]) for ids, done in pairs])
        assert found["prefill"][:2] == [expected.prefill.tokens, expected.prefill.attention_pairs]
    decode = expected.decode
    assert found["decode"] == [decode.tokens, decode.attention_pairs, decode.logit_rows]


class Wrapped(torch.nn.Module):  # type: ignore[misc]
    """A wrapper as DDP, FSDP and DeepSpeed's engine are: the model lies in `module`."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


def test_a_wrapped_model_is_counted_through_its_wrapper(tmp_path: Path) -> None:
    trainer = tiny_run.trainer(tmp_path)
    wrapped = Wrapped(trainer.model)
    ids = torch.tensor([[4, 5, 6]])
    with trainer.race_meter.phase("learning", "update", model="policy"):
        wrapped(input_ids=ids).logits.sum().backward()
    (record,) = read_trace(trainer.race_meter.journal.path).records
    assert record.key.operation == "update"
    assert record.amounts["tokens"] == 3


def test_what_is_no_grpo_trainer_is_refused() -> None:
    with pytest.raises(ValueError, match="dict is no GRPOTrainer"):
        trl.metered(dict)


def test_the_peak_is_that_of_the_table_or_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = tiny_run.trainer(tmp_path)
    assert trl.peak_of(trainer) is None

    class Accelerator:
        device = torch.device("cuda")
        mixed_precision = "bf16"
        num_processes = 1

    class Other:
        accelerator = Accelerator()

    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA H100 80GB HBM3")
    assert trl.peak_of(Other()) == 989.4e12
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Vendor X9000")
    assert trl.peak_of(Other()) is None
