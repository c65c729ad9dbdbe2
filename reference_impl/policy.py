"""The policy: a character tokenizer, a small Qwen2 built in code, an adapter, and what a report says of them."""

from __future__ import annotations

import string
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import torch
from peft import LoraConfig, get_peft_model
from tokenizers import Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from race_report.architecture import adapter_of, transformer_of, with_adapter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from race_report.architecture import Transformer
    from reference_impl.config import Lora

PAD, EOS = "<pad>", "<eos>"
CHARACTERS: Final = string.digits + string.ascii_lowercase + " +-*/=#,.:?()"


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Build a tokenizer of 51 tokens: characters, padding, end of sequence."""
    vocabulary = {token: number for number, token in enumerate((PAD, EOS, *CHARACTERS))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=PAD))
    tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
    tokenizer.decoder = Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],
    )


def build_base(tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    """Build the untrained base of 310,272 parameters from torch's seed."""
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen2ForCausalLM(config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A model that samples, its tokenizer, and its table for counting."""

    model: Any
    tokenizer: PreTrainedTokenizerFast
    table: Transformer
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Rank of the adapter of each matrix that has one."""
    adapter: Mapping[str, Any] | None = None
    """The adapter, in the words of the standard."""

    @property
    def is_adapted(self) -> bool:
        """Whether adapters run beside the base, not merged into it."""
        return self.adapter is not None

    def described(self, name: str, role: str) -> dict[str, Any]:
        """Give the model by the keys of the standard."""
        adapter = None if self.adapter is None else adapter_of(self.adapter, self.table)
        parameters, coefficients = with_adapter(self.table, adapter)
        counted = parameters._asdict()
        return {
            "id": name,
            "role": role,
            "name": "a Qwen2 of 3 layers, built in code",
            "parameters": counted if adapter else {**counted, "trainable": counted["total"]},
            "architecture": _architecture(self.model.config),
            "coefficients": {key: value for key, value in coefficients._asdict().items() if value is not None},
            **({"adapter": dict(self.adapter)} if self.adapter else {}),
            "trained": "adapter" if adapter else "full",
            "precision": {"weights": "fp32", "compute": "fp32"},
        }


def base_policy(model: Any, tokenizer: PreTrainedTokenizerFast) -> Policy:
    """Give a model whose weights are all trained."""
    return Policy(model=model, tokenizer=tokenizer, table=transformer_of(_architecture(model.config)))


def adapt(base: Policy, lora: Lora) -> Policy:
    """Freeze a base and put LoRA on its linear layers."""
    config = LoraConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules="all-linear", task_type="CAUSAL_LM")
    adapter = {"method": "lora", "rank": lora.rank, "alpha": lora.alpha, "target_modules": ["all-linear"]}
    ranks = adapter_of(adapter, base.table).ranks
    model = get_peft_model(base.model, config)
    return Policy(model=model, tokenizer=base.tokenizer, table=base.table, ranks=ranks, adapter=adapter)


def logprobs_of(policy: Policy, prompts: list[list[int]], completions: list[list[int]], temperature: float) -> Any:
    """Give the log-probability of each completion token, `logprobs_BC`, and which of them are there, `mask_BC`.

    Only rows that predict a completion go through the head.
    """
    read = policy.tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    written = policy.tokenizer.pad({"input_ids": completions}, padding_side="right", return_tensors="pt")
    ids_BT = torch.cat([read["input_ids"], written["input_ids"]], 1)  # noqa: N806 - the shape is in the name
    attended_BT = torch.cat([read["attention_mask"], written["attention_mask"]], 1)  # noqa: N806
    begin, width = read["input_ids"].shape[1], written["input_ids"].shape[1]
    logits = policy.model(
        input_ids=ids_BT,
        attention_mask=attended_BT,
        position_ids=(attended_BT.cumsum(1) - 1).clamp(min=0),
        logits_to_keep=torch.arange(begin - 1, begin + width - 1),
        use_cache=False,
    ).logits
    spread = torch.log_softmax(logits / temperature, -1)
    return spread.gather(-1, written["input_ids"][..., None])[..., 0], written["attention_mask"]


def _architecture(config: Any) -> dict[str, Any]:
    kept = (
        "model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "vocab_size", "tie_word_embeddings",
    )  # fmt: skip
    return {key: getattr(config, key) for key in kept}
