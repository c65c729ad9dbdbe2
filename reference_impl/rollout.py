"""Batched decoding with a cache, and what it cost."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch
from transformers import DynamicCache, Qwen2ForCausalLM

from race_report.counts import Group, count_generation
from race_report.executed import Batch, executed_forward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from race_report.meter import Meter
    from reference_impl.policy import Policy
    from reference_impl.tasks import Problem


CACHE: Final = "cache" if "cache" in inspect.signature(Qwen2ForCausalLM.forward).parameters else "past_key_values"
"""What transformers calls the cache: it was renamed in version 5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A prompt and one completion, as tokens."""

    problem: Problem
    prompt: list[int]
    completion: list[int]
    """Sampled tokens, the one that ends the sequence included."""
    text: str
    """The completion without its end."""
    is_complete: bool
    """Whether the policy ended it; otherwise it was cut at the cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """Where in the ledger a generation stands."""

    component: str
    reading: str
    sampling: str
    model: str


SEARCH = Purpose(component="search", reading="prefill", sampling="decode", model="policy")
EVALUATION = Purpose(component="evaluation", reading="evaluation", sampling="evaluation", model="policy")


@torch.inference_mode()  # type: ignore[untyped-decorator]  # torch has types only where it is installed
def generate(
    policy: Policy,
    problems: Sequence[Problem],
    meter: Meter,
    purpose: Purpose = SEARCH,
    *,
    copies: int = 1,
    temperature: float = 1.0,
    max_tokens: int = 24,
    forced: int = 0,
) -> list[list[Rollout]]:
    """Sample `copies` completions of each problem, a group each; a temperature of 0 is greedy.

    A prompt is read once for its group. `forced` characters of the worked solution are appended to the prompt.
    """
    begin = time.perf_counter()
    texts = [problem.prompt + problem.worked[:forced] for problem in problems]
    prompts = [policy.tokenizer.encode(text) for text in texts]
    padded = policy.tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    mask = padded["attention_mask"]
    cache = DynamicCache(config=policy.model.config)
    positions = _last_positions(mask, mask.shape[1])
    out = policy.model(**padded, position_ids=positions, logits_to_keep=1, use_cache=True, **{CACHE: cache})
    read = time.perf_counter()
    cache.batch_repeat_interleave(copies)
    sampled = _decode(policy, out.logits[:, -1].repeat_interleave(copies, 0), cache, mask, temperature, max_tokens)
    completions = [_until_end(row, policy.tokenizer.eos_token_id) for row in sampled.tolist()]
    groups = [completions[at : at + copies] for at in range(0, len(completions), copies)]
    _record(policy, meter, purpose, prompts, groups, (read - begin, time.perf_counter() - read))
    return [
        [_rollout(policy, problem, prompt, completion, forced) for completion in group]
        for problem, prompt, group in zip(problems, prompts, groups, strict=True)
    ]


def _decode(policy: Policy, logits: Any, cache: Any, mask: Any, temperature: float, max_tokens: int) -> Any:
    """Sample token by token until every sequence has ended: tokens_BC."""
    mask = mask.repeat_interleave(len(logits) // len(mask), 0)
    columns: list[Any] = []
    ended = torch.zeros(len(logits), dtype=torch.bool)
    while True:
        column = torch.multinomial((logits / temperature).softmax(-1), 1) if temperature else logits.argmax(-1)[:, None]
        columns.append(column)
        ended |= column[:, 0] == policy.tokenizer.eos_token_id
        if ended.all() or len(columns) == max_tokens:
            return torch.cat(columns, 1)
        mask = torch.cat([mask, torch.ones_like(column)], 1)
        out = policy.model(
            input_ids=column,
            attention_mask=mask,
            position_ids=_last_positions(mask, 1),
            use_cache=True,
            **{CACHE: cache},
        )
        logits = out.logits[:, -1]


def _last_positions(mask: Any, number: int) -> Any:
    return (mask.cumsum(1) - 1).clamp(min=0)[:, -number:]


def _until_end(row: list[int], end: int) -> list[int]:
    return row[: row.index(end) + 1] if end in row else row


def _rollout(policy: Policy, problem: Problem, prompt: list[int], completion: list[int], forced: int) -> Rollout:
    is_complete = completion[-1] == policy.tokenizer.eos_token_id
    text = policy.tokenizer.decode(completion, skip_special_tokens=True)
    return Rollout(
        problem=problem,
        prompt=prompt,
        completion=completion,
        text=problem.worked[:forced] + text,
        is_complete=is_complete,
    )


def _record(
    policy: Policy,
    meter: Meter,
    purpose: Purpose,
    prompts: list[list[int]],
    groups: list[list[list[int]]],
    seconds: tuple[float, float],
) -> None:
    lengths = [
        Group(len(prompt), [len(completion) for completion in group])
        for prompt, group in zip(prompts, groups, strict=True)
    ]
    counted = count_generation(lengths, prefix_sharing="group", adapter=policy.is_adapted)
    every = [length for group in lengths for length in group.completions]
    width, passes = max(map(len, prompts)), max(every) - 1
    reading = Batch(len(prompts), width, len(prompts))
    sampling = Batch(len(every), 1, len(every) * passes, cached=width, passes=passes)
    found = (
        (purpose.reading, counted.prefill, reading, len(prompts), counted.cached_tokens),
        (purpose.sampling, counted.decode, sampling, sum(length > 1 for length in every), None),
    )
    for (phase, counts, batch, sequences, cached), elapsed in zip(found, seconds, strict=True):
        meter.record(
            purpose.component,
            phase,
            model=purpose.model,
            operation="forward",
            counts=counts,
            sequences=sequences,
            cached_tokens=cached,
            extra_tokens=batch.positions - counts.tokens,
            executed_flops=executed_forward(policy.table, batch, ranks=policy.ranks),
            seconds=elapsed,
        )
