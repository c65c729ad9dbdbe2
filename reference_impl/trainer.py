"""The trainer path: the same run on TRL's GRPOTrainer, counted by `race_report.integrations.trl`.

It brings accelerate, FSDP, DeepSpeed and vLLM; the loop of `reference_impl.train` is what it is tested against.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from race_report.integrations.trl import metered
from reference_impl.tasks import answer_of

if TYPE_CHECKING:
    from reference_impl.config import Config
    from reference_impl.policy import Policy
    from reference_impl.tasks import Split


def answer_reward(completions: list[str], answer: list[int], **_: Any) -> list[float]:
    """Give 1 to a completion that ends in the right answer, else 0; TRL calls it, with texts that have no end token."""
    return [float(answer_of(text) == right) for text, right in zip(completions, answer, strict=True)]


def build_trainer(policy: Policy, split: Split, config: Config, folder: str, **options: Any) -> Any:
    """Make a metered GRPOTrainer with the settings of the loop; `options` are further arguments of GRPOConfig."""
    grpo = config.grpo
    arguments = GRPOConfig(
        output_dir=folder,
        seed=config.seed,
        max_steps=grpo.steps,
        per_device_train_batch_size=grpo.prompts * grpo.group_size,
        num_generations=grpo.group_size,
        num_iterations=grpo.updates_per_batch,
        learning_rate=grpo.learning_rate,
        temperature=grpo.temperature,
        max_completion_length=grpo.max_completion_tokens,
        epsilon=grpo.clip_low,
        epsilon_high=grpo.clip_high,
        beta=grpo.kl_coefficient,
        loss_type=grpo.loss_type,
        max_grad_norm=grpo.max_gradient_norm,
        **{
            "use_cpu": not torch.cuda.is_available(),
            "bf16": torch.cuda.is_available(),
            "gradient_checkpointing": False,
            "report_to": [],
            "save_strategy": "no",
            "logging_steps": 1,
            **options,
        },
    )
    rows = [{"prompt": problem.prompt, "answer": problem.answer} for problem in split.train]
    return metered(GRPOTrainer)(
        model=policy.model,
        processing_class=policy.tokenizer,
        reward_funcs=answer_reward,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
    )
