"""The base model: trained until worked solutions are right, whichever step that is, so that every seed starts alike."""

from __future__ import annotations

import math
import random
import time
from typing import TYPE_CHECKING

import torch

from race_report.counts import Group, count_update
from race_report.executed import Batch, Training, executed_update
from reference_impl.policy import logprobs_of
from reference_impl.reward import is_right
from reference_impl.rollout import Purpose, generate
from reference_impl.tasks import FORCED, direct_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from race_report.meter import Meter
    from reference_impl.config import WarmStart
    from reference_impl.policy import Policy
    from reference_impl.tasks import Split

PREPARATION = Purpose(component="preparation", reading="warm_start", sampling="warm_start", model="base")


def warm_start(
    base: Policy, split: Split, settings: WarmStart, seed: int, meter: Meter, tell: Callable[[int, float], None]
) -> int:
    """Train all weights on direct answers drawn at random and on worked solutions; give the steps that it took.

    It ends when the worked form, its first two characters given, is right for the target share of the validation
    problems. `tell` hears the step and that share at every check.

    Raises:
        ValueError: the share was not reached in `max_steps`.

    """
    draw = random.Random(seed)  # noqa: S311 - examples are drawn, not secrets
    optimizer = torch.optim.AdamW(
        base.model.parameters(), lr=settings.learning_rate, weight_decay=0.0, betas=(0.9, 0.98)
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _rate)
    share = 0.0
    for step in range(1, settings.max_steps + 1):
        _train_step(base, split, settings, draw, optimizer, meter)
        schedule.step()
        if step % settings.check_every:
            continue
        groups = generate(base, split.validation, meter, PREPARATION, temperature=0, forced=FORCED)
        share = sum(is_right(rollout) for (rollout,) in groups) / len(groups)
        tell(step, share)
        if share >= settings.target:
            return step
    raise ValueError(
        f"the warm start reached {share:.2f} of {settings.target} in {settings.max_steps} steps: raise "
        "warm_start.max_steps, or try another seed"
    )


def _rate(done: int) -> float:
    """Give the share of the peak learning rate: up in 100 steps, and down with the root of the steps after 400."""
    return min(1.0, (done + 1) / 100) * min(1.0, math.sqrt(400 / (done + 1)))


def _train_step(
    base: Policy, split: Split, settings: WarmStart, draw: random.Random, optimizer: torch.optim.Optimizer, meter: Meter
) -> None:
    begin = time.perf_counter()
    problems = draw.choices(split.train, k=settings.batch)
    texts = [problem.worked if draw.random() < settings.worked else direct_answer(draw) for problem in problems]
    prompts = [base.tokenizer.encode(problem.prompt) for problem in problems]
    completions = [[*base.tokenizer.encode(text), base.tokenizer.eos_token_id] for text in texts]
    logprobs, mask = logprobs_of(base, prompts, completions, 1.0)
    optimizer.zero_grad()
    (-(logprobs * mask).sum() / mask.sum()).backward()
    torch.nn.utils.clip_grad_norm_(base.model.parameters(), 1.0)
    optimizer.step()
    counts = count_update(Group(len(p), [len(c)]) for p, c in zip(prompts, completions, strict=True))
    width = max(map(len, prompts)) + mask.shape[1]
    batch = Batch(len(prompts), width, logit_rows=mask.numel())
    meter.record(
        "preparation",
        "warm_start",
        model="base",
        operation="update",
        counts=counts,
        sequences=len(prompts),
        extra_tokens=batch.positions - counts.tokens,
        executed_flops=executed_update(base.table, batch, Training(weights=True)),
        seconds=time.perf_counter() - begin,
    )
