"""A GRPO run that is built in code: tokenizer, model, data and rewards, nothing from any hub."""

from __future__ import annotations

from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    LogitsProcessor,
    PreTrainedTokenizerFast,
    Qwen2Config,
)
from trl import GRPOConfig, GRPOTrainer

from race_report.integrations.trl import metered

CHARACTERS = "0123456789+-="


def tokenizer() -> Any:
    vocabulary = {word: at for at, word in enumerate(["<pad>", "<eos>", "<unk>", *CHARACTERS])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))  # noqa: S106 - a word
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    names = ["input_ids", "attention_mask"]
    words: Any = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, model_input_names=names, **words)


def config(**more: Any) -> Any:
    shape = {
        "hidden_size": 24,
        "intermediate_size": 40,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 3 + len(CHARACTERS),
        "max_position_embeddings": 64,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": None,
        "tie_word_embeddings": True,
    }
    return Qwen2Config(**{**shape, **more})


def model(folder: Any, attention: str = "sdpa", **shape: Any) -> Any:
    """Make the policy, from a folder: where beta is not 0 TRL loads its reference from there."""
    path = f"{folder}-model"
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config(**shape)).save_pretrained(path)
    return AutoModelForCausalLM.from_pretrained(path, attn_implementation=attention, dtype=torch.float32)


def reward_model() -> Any:
    torch.manual_seed(1)
    return AutoModelForSequenceClassification.from_config(config(num_labels=1))


def even_digits(completions: list[str], **_: Any) -> list[float]:
    return [sum(text.count(digit) for digit in "02468") / 8 for text in completions]


def prompts(number: int = 16) -> Any:
    return Dataset.from_list([{"prompt": f"{at}+{at * 7 % 13}="} for at in range(number)])


class Script(LogitsProcessor):  # type: ignore[misc]
    """Decides each token by the prompt and the position alone, whatever stands beside it."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        position = input_ids.shape[1] - self.width
        forced = torch.full_like(scores, float("-inf"))
        for row, ids in enumerate(input_ids[:, : self.width].tolist()):
            drawn = sum(ids) * 31 + position * 7
            forced[row, 1 if position > sum(ids) % 7 else 3 + drawn % 10] = 0.0
        return forced


def script(made: Any) -> None:
    """Let a trainer's policy sample what `Script` says, through its own forward passes."""
    hooks = made.race_hooks["policy"]
    own = hooks.own_generate

    def generate(*args: Any, **kwargs: Any) -> Any:
        return own(*args, logits_processor=[Script(kwargs["input_ids"].shape[1])], **kwargs)

    hooks.own_generate = generate


def trainer(
    folder: Any,
    *,
    lora: bool = False,
    attention: str = "sdpa",
    rewards: Any = None,
    is_metered: bool = True,
    shape: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    chosen: dict[str, Any] = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2,
        "num_generations": 4,
        "max_completion_length": 8,
        "max_steps": 10,
        "learning_rate": 1e-3,
        "logging_steps": 5,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "seed": 3,
    }
    rewards = rewards or [even_digits]
    return (metered(GRPOTrainer) if is_metered else GRPOTrainer)(
        model=model(folder, attention, **(shape or {})),
        reward_funcs=rewards,
        reward_processing_classes=[tokenizer() if isinstance(one, torch.nn.Module) else None for one in rewards],
        args=GRPOConfig(**{**chosen, **options}),
        train_dataset=prompts(),
        eval_dataset=prompts(8),
        processing_class=tokenizer(),
        peft_config=LoraConfig(r=3, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM") if lora else None,
    )
