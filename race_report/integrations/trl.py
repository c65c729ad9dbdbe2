"""Counts what a GRPOTrainer of TRL computes, with one line more in a user's script.

    trainer = metered(GRPOTrainer)(model=..., reward_funcs=..., args=..., train_dataset=...)
    trainer.train()

The folder `race` within `output_dir` then holds a journal for each process, the trace that they make together and
`report.json`, of level 3. A run that was killed is counted on when it is resumed; what it does again is `redone`.

Rollouts of `transformers`, LoRA and full fine-tuning, checkpointing, the fused head, evaluation, reward models and two
processes are tested as they run. vLLM (colocated and server), DeepSpeed and FSDP are written from TRL's source, and
were not run here: vLLM is counted from the lengths that it returns.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import time
from typing import TYPE_CHECKING, Any, Final

import torch

from race_report.accelerators import candidates
from race_report.integrations import emit
from race_report.integrations.transformers import ModelMeter
from race_report.meter import Meter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

POLICY: Final = "policy"
REFERENCE: Final = "reference"


@functools.cache
def metered(trainer: type) -> Any:
    """Give a trainer class that counts what it computes and reports it, otherwise the same.

    Args:
        trainer: GRPOTrainer or a class derived from it.

    Raises:
        ValueError: it is another trainer, whose phases are not known.

    """
    if not hasattr(trainer, "_get_per_token_logps_and_entropies") or not hasattr(trainer, "_calculate_rewards"):
        message = f"{trainer.__name__} is no GRPOTrainer: count its loop with race_report.integrations.transformers"
        raise ValueError(message)
    return type(f"Metered{trainer.__name__}", (_Metered, trainer), {"__doc__": trainer.__doc__})


class _Metered:
    """What is laid over a GRPOTrainer: a phase of the meter around each of its methods that runs a model."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make the trainer, then put the hooks on its models."""
        super().__init__(*args, **kwargs)
        trainer: Any = self
        if getattr(trainer, "use_liger_kernel", False) or getattr(trainer, "use_liger_loss", False):
            message = "the loss of Liger hides the rows of the head: set use_liger_kernel=False"
            raise ValueError(message)
        self.race_folder = os.path.join(trainer.args.output_dir, "race")
        os.makedirs(self.race_folder, exist_ok=True)
        subjects = emit.subjects_of(trainer)
        rank = trainer.accelerator.process_index
        self.race_models = [emit.model_of(subject) for subject in subjects]
        path = os.path.join(self.race_folder, f"journal-{rank}.jsonl")
        self.race_meter = Meter(path, models=self.race_models, worker=f"rank-{rank}")
        self.race_hooks = {
            subject.id: ModelMeter(subject.module, self.race_meter, subject.id)
            for subject in subjects
            if subject.module is not None
        }
        self._race_policy = self.race_hooks[POLICY]
        self._race_is_fused = "forward" in vars(self._race_policy.inner)
        self._race_rules = sum(not isinstance(one, torch.nn.Module) for one in trainer.reward_funcs)
        self._race_logged = time.perf_counter(), 0.0
        self._race_tracker = emit.energy_tracker() if rank == 0 else None

    def _race_begin(self, *, is_resumed: bool) -> None:
        """Save what is known; where the run is not resumed, a journal that is there is another run's and set aside."""
        trainer: Any = self
        meter = self.race_meter
        if meter.journal.attempt and not is_resumed:
            path, worker = meter.journal.path, meter.journal.worker
            meter.close()
            aside = next(name for at in itertools.count() if not os.path.exists(name := f"{path}.{at}"))
            os.rename(path, aside)
            self.race_meter = Meter(path, models=self.race_models, worker=worker)
            for hooks in self.race_hooks.values():
                hooks.meter = self.race_meter
        if trainer.accelerator.is_main_process:
            emit.save_facts(self.race_folder, emit.facts_of(trainer, self.race_models))

    # Phases.

    @property
    def _race_trains(self) -> bool:
        trainer: Any = self
        return bool(trainer.model.training)

    def _race_phase(self, component: str, phase: str | None) -> contextlib.AbstractContextManager[Any]:
        """Open a phase of training, or of evaluation where the model is not trained just now."""
        if not self._race_trains:
            component, phase = "evaluation", "evaluation"
        return self.race_meter.phase(component, phase)

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """Count forward and backward passes of a step; what else runs within has phases of its own."""
        trainer: Any = self
        step = trainer.state.global_step
        self.race_meter.begin_step(step, policy_version=step)
        with self.race_meter.phase("learning", "update", model=POLICY):
            return super().training_step(*args, **kwargs)  # type: ignore[misc]

    def prediction_step(self, *args: Any, **kwargs: Any) -> Any:
        """Count an evaluation."""
        with self.race_meter.phase("evaluation", "evaluation", model=POLICY):
            return super().prediction_step(*args, **kwargs)  # type: ignore[misc]

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        component = "search" if self._race_trains else "evaluation"
        with self.race_meter.phase(component, model=POLICY):
            return super()._generate(*args, **kwargs)  # type: ignore[misc]

    def _generate_single_turn(self, prompts: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        trainer: Any = self
        output = super()._generate_single_turn(prompts, *args, **kwargs)  # type: ignore[misc]
        if getattr(trainer, "use_vllm", False):
            self._count_served(prompts, output)
        return output

    def _count_served(self, prompts: Sequence[Any], output: Any) -> None:
        """Count what vLLM did for this process, from lengths; early versions of TRL return those of prompts too."""
        trainer: Any = self
        has_prompts = len(output) > 2 and isinstance(output[1], list)  # noqa: PLR2004 - prompts, completions, logprobs
        prompt_ids, completion_ids = (output[0], output[1]) if has_prompts else (prompts, output[0])
        lengths = [len(ids) for ids in prompt_ids]
        cached = None
        if trainer.vllm_mode == "server":  # a prompt is sent once for its group, and the group may span processes
            size = trainer.num_generations if self._race_trains else trainer.num_generations_eval
            first = trainer.accelerator.process_index * len(lengths)
            cached = [length if (first + at) % size else 0 for at, length in enumerate(lengths)]
        self.race_meter.generation(
            model=POLICY,
            prompt_tokens=lengths,
            completion_tokens=[len(ids) for ids in completion_ids],
            cached_tokens=cached,
            window=self._race_policy.window,
            component="search" if self._race_trains else "evaluation",
            basis="derived",
        )

    def _get_per_token_logps_and_entropies(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        needed = kwargs["logits_to_keep"] if "logits_to_keep" in kwargs else args[2]
        with self._race_scoring(model, int(needed)):
            return super()._get_per_token_logps_and_entropies(model, *args, **kwargs)  # type: ignore[misc]

    @contextlib.contextmanager
    def _race_scoring(self, model: Any, needed: int) -> Iterator[None]:
        trainer: Any = self
        is_other = trainer.ref_model is not None and model is trainer.ref_model
        hooks = self.race_hooks[REFERENCE] if is_other else self._race_policy
        with hooks.scoring(needed, fused=self._race_is_fused), contextlib.ExitStack() as stack:
            if not torch.is_grad_enabled():
                is_reference = is_other or self._is_base_of_policy()
                if is_reference and not is_other:
                    stack.callback(setattr, hooks, "alias", hooks.alias)
                    hooks.alias = REFERENCE
                name = REFERENCE if is_reference else POLICY
                phase = "reference_logprobs" if is_reference else "old_logprobs"
                if self._race_trains:
                    stack.enter_context(self.race_meter.phase("learning", phase, model=name))
                else:
                    stack.enter_context(self.race_meter.phase("evaluation", "evaluation", model=name))
            yield

    def _is_base_of_policy(self) -> bool:
        """Tell whether the policy serves as its own reference just now: without its adapter, or with a frozen copy."""
        adapted = self._race_policy.adapted
        if not adapted:
            return False
        active = {name for _, module in adapted for name in module.active_adapters}
        return not self._race_policy.ranks() or active == {"ref"}

    def _calculate_rewards(self, inputs: Any, prompts: Any, *args: Any, **kwargs: Any) -> Any:
        begin = time.process_time()
        with contextlib.ExitStack() as stack:
            others = [name for name in self.race_hooks if name not in (POLICY, REFERENCE)]
            if others:
                stack.enter_context(self._race_phase("feedback", "reward"))
            rewards = super()._calculate_rewards(inputs, prompts, *args, **kwargs)  # type: ignore[misc]
        if self._race_rules:
            component = "feedback" if self._race_trains else "evaluation"
            spent: dict[str, Any] = {} if others else {"cpu_seconds": time.process_time() - begin}
            self.race_meter.record(component, calls=self._race_rules * len(prompts), **spent)
        return rewards

    # What is said while the run goes on, and at its end.

    def log(self, logs: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """Add FLOPs, learning share and MFU to what the trackers get."""
        logs.update(self.race_figures())
        super().log(logs, *args, **kwargs)  # type: ignore[misc]

    def race_figures(self) -> dict[str, float]:
        """Give FLOPs by component, p, and MFU since the last time where the peak is known; every process calls it."""
        trainer: Any = self
        names = ("search", "learning", "feedback", "evaluation")
        known = self.race_meter.flops()
        spent = torch.tensor([float(known.get(name, 0)) for name in names], dtype=torch.float64)
        if trainer.accelerator.num_processes > 1:
            spent = trainer.accelerator.reduce(spent.to(trainer.accelerator.device)).cpu()
        figures = {f"race_flops/{name}": value for name, value in zip(names, spent.tolist(), strict=True)}
        total = sum(spent.tolist()[:3])
        figures["race_flops/total"] = total
        if total:
            figures["race_p"] = figures["race_flops/learning"] / total
        now, (then, before) = time.perf_counter(), self._race_logged
        peak = peak_of(trainer)
        if peak is not None and total > before and now > then:
            figures["race_mfu"] = (total - before) / ((now - then) * peak * trainer.accelerator.num_processes)
        self._race_logged = now, total
        return figures

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train, and write the report, also of a run that an exception ends."""
        trainer: Any = self
        resumed = kwargs.get("resume_from_checkpoint", args[0] if args else None)
        self._race_begin(is_resumed=bool(resumed or trainer.args.resume_from_checkpoint))
        begin = time.perf_counter()
        is_finished = False
        if self._race_tracker is not None:
            self._race_tracker.start()
        try:
            output = super().train(*args, **kwargs)  # type: ignore[misc]
            is_finished = True
        finally:
            if self._race_tracker is not None:
                self._race_tracker.stop()
            self.race_meter.journal.sync()
            if is_finished:
                trainer.accelerator.wait_for_everyone()
            if trainer.accelerator.is_main_process:
                found = emit.facts_at_end(trainer, self._race_tracker, time.perf_counter() - begin)
                emit.save_facts(self.race_folder, found | {"finished": is_finished}, "end.json")
                emit.write_report(self.race_folder)
            self.race_meter.journal.relock()
        return output


def peak_of(trainer: Any) -> float | None:
    """Give the dense peak of one accelerator in the format that is trained in; None where it is not known."""
    device = trainer.accelerator.device
    if device.type != "cuda":
        return None
    found = candidates(torch.cuda.get_device_name(device))
    precision = trainer.accelerator.mixed_precision
    if precision not in {"bf16", "fp16"}:  # whether torch runs fp32 on tensor cores is a setting of the user's
        return None
    peaks = {peak for one in found for peak in one.peaks(precision)[:1]}
    return peaks.pop() if len(peaks) == 1 else None
