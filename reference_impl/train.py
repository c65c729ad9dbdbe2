"""GRPO from an untrained model to a report: rollout, score, advantage, update.

What differs from the paper (DeepSeekMath, arXiv 2402.03300):

- No divergence from a reference by default (beta 0); with beta, the reference is the policy without its adapter.
- The loss is averaged over the tokens of the batch (`dapo`), as TRL does by default; `grpo` is the paper's.
- One update a batch (mu 1), so the ratio is 1 and old log-probabilities are those of the update itself, without their
  gradient. With mu above 1 they are those of its first pass, and no separate pass is made either way.
- 1e-4 is added to the standard deviation of a group.
- Adapters (LoRA) are trained, not all weights; the learning rate falls linearly.

    python -m reference_impl.train --config reference_impl/configs/demo.yaml --output demo
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import torch

from race_report.counts import Group, count_scoring, count_update
from race_report.executed import Batch, Training, executed_forward, executed_update
from race_report.meter import Meter
from reference_impl.advantage import group_advantages
from reference_impl.config import Config, Grpo, read_config
from reference_impl.emit import Outcome, Tally, write_report
from reference_impl.loss import grpo_loss
from reference_impl.policy import Policy, adapt, base_policy, build_base, build_tokenizer, logprobs_of
from reference_impl.reward import is_right, rule_reward
from reference_impl.rollout import EVALUATION, Rollout, generate
from reference_impl.tasks import Problem, Split, split_problems
from reference_impl.warm_start import warm_start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Groups = list[list[Rollout]]


class Scored(NamedTuple):
    """The rollouts of one prompt, and what each is worth."""

    rollouts: list[Rollout]
    rewards: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Where a system changes the loop; without changes it is GRPO."""

    control: Callable[[Sequence[Problem]], Sequence[Problem]] = field(default=lambda problems: problems)
    """Which of the problems drawn get rollouts."""
    generate: Callable[..., Groups] = generate
    """Problems -> groups of rollouts, counted; as `reference_impl.rollout.generate`."""
    filter: Callable[[list[Scored]], list[Scored]] = field(default=lambda groups: groups)
    """Which scored groups, and rollouts of them, may be trained on."""
    replay: Callable[[list[Scored]], list[Scored]] = field(default=lambda groups: groups)
    """Fresh groups -> the batch: what is kept for later, what comes from before."""
    estimate: Callable[[list[Scored]], list[list[float]]] = field(
        default=lambda groups: group_advantages([group.rewards for group in groups])
    )
    """Groups -> advantages."""


def train(  # the parts of a run
    policy: Policy,
    split: Split,
    config: Config,
    meter: Meter,
    tally: Tally,
    *,
    hooks: Hooks | None = None,
    tell: Callable[[float, float], None] = lambda *_: None,
) -> None:
    """Run GRPO; every pass is in the meter, what happened to rollouts in the tally.

    `tell` hears after each step the mean reward, and the share of learning in the FLOPs of search and learning so far.
    """
    hooks, settings = hooks or Hooks(), config.grpo
    trained = [weights for weights in policy.model.parameters() if weights.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=settings.learning_rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, settings.steps)
    order = torch.Generator().manual_seed(config.seed)
    for step in range(settings.steps):
        meter.begin_step(step, policy_version=step)
        drawn = torch.randint(len(split.train), (settings.prompts,), generator=order).tolist()
        problems = hooks.control([split.train[at] for at in drawn])
        groups = hooks.generate(
            policy,
            problems,
            meter,
            copies=settings.group_size,
            temperature=settings.temperature,
            max_tokens=settings.max_completion_tokens,
        )
        with meter.phase("feedback", "reward"):
            scored = [Scored(group, [rule_reward(rollout) for rollout in group]) for group in groups]
        batch = hooks.replay(hooks.filter(scored))
        update(policy, batch, hooks.estimate(batch), optimizer, settings, meter)
        schedule.step()
        tally.add(groups, [group.rollouts for group in batch])
        rewards = [reward for group in scored for reward in group.rewards]
        spent = meter.flops()
        share = spent["learning"] / (spent["learning"] + spent["search"])
        tell(sum(rewards) / len(rewards), share)


def update(
    policy: Policy,
    batch: list[Scored],
    advantages: list[list[float]],
    optimizer: torch.optim.Optimizer,
    settings: Grpo,
    meter: Meter,
) -> None:
    """Train on a batch `updates_per_batch` times, one optimizer step each."""
    rollouts = [rollout for group in batch for rollout in group.rollouts]
    prompts, completions = [one.prompt for one in rollouts], [one.completion for one in rollouts]
    advantages_B = torch.tensor([one for group in advantages for one in group])  # noqa: N806 - the shape is in the name
    lengths = [Group(len(group.rollouts[0].prompt), [len(one.completion) for one in group.rollouts]) for group in batch]
    longest = max(map(len, completions))
    rectangle = Batch(len(rollouts), max(map(len, prompts)) + longest, logit_rows=len(rollouts) * longest)
    reference = _reference(policy, prompts, completions, lengths, rectangle, settings, meter)
    old = None
    for _ in range(settings.updates_per_batch):
        with meter.phase("learning", "update", model="policy") as phase:
            logprobs, mask = logprobs_of(policy, prompts, completions, settings.temperature)
            old = logprobs.detach() if old is None else old
            optimizer.zero_grad()
            grpo_loss(logprobs, old, advantages_B, mask, settings, reference).backward()
            trained = [weights for part in optimizer.param_groups for weights in part["params"]]
            torch.nn.utils.clip_grad_norm_(trained, settings.max_gradient_norm)
            optimizer.step()
            counts = count_update(lengths, adapter=policy.is_adapted)
            training = Training(ranks=policy.ranks, weights=not policy.is_adapted)
            executed = executed_update(policy.table, rectangle, training)
            padding = rectangle.positions - counts.tokens
            phase.count(counts, sequences=len(rollouts), extra_tokens=padding, executed_flops=executed)


def _reference(
    policy: Policy,
    prompts: list[list[int]],
    completions: list[list[int]],
    lengths: list[Group],
    rectangle: Batch,
    settings: Grpo,
    meter: Meter,
) -> Any:
    """Give log-probabilities of the policy without its adapter; None where the loss does not ask for them."""
    if not settings.kl_coefficient:
        return None
    with (
        meter.phase("learning", "reference_logprobs", model="policy") as phase,
        torch.no_grad(),
        policy.model.disable_adapter(),
    ):
        found, _ = logprobs_of(policy, prompts, completions, settings.temperature)
        counts = count_scoring(lengths)
        executed = executed_forward(policy.table, rectangle)
        padding = rectangle.positions - counts.tokens
        phase.count(counts, sequences=sum(len(group.completions) for group in lengths), extra_tokens=padding)
        phase.count(executed_flops=executed)
    return found


def accuracy(policy: Policy, problems: Sequence[Problem], meter: Meter, temperature: float = 0.0) -> float:
    """Give the share of problems that a policy solves, greedily where nothing else is said."""
    groups = generate(policy, problems, meter, EVALUATION, temperature=temperature)
    return sum(is_right(rollout) for (rollout,) in groups) / len(groups)


def run(config: Config, folder: str, *, quiet: bool = False) -> Outcome:
    """Warm start, GRPO, evaluation, report; `trace.jsonl` and `report.json` are written into the folder.

    Raises:
        ValueError: a run is there already, or the warm start does not succeed.

    """
    trace = os.path.join(folder, "trace.jsonl")
    if os.path.exists(trace):
        raise ValueError(f"{trace} holds a run already: give another folder, or remove it")
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(config.seed)
    split, tokenizer = split_problems(config.seed), build_tokenizer()
    base = base_policy(build_base(tokenizer), tokenizer)
    described = base.described("base", "auxiliary")
    seconds: dict[str, float] = {}
    begin = time.perf_counter()
    policy_shape = adapt(base_policy(build_base(tokenizer), tokenizer), config.lora).described("policy", "policy")
    with Meter(trace, models=[policy_shape, described]) as meter:
        steps = _warm_start(base, split, config, meter, quiet=quiet)
        seconds["warm_start"] = time.perf_counter() - begin
        policy, tally = adapt(base, config.lora), Tally()
        start = accuracy(policy, split.held_out, meter)
        sampled = accuracy(policy, split.held_out, meter, temperature=1.0)
        begin = time.perf_counter()
        _grpo(policy, split, config, meter, tally, quiet=quiet)
        seconds["grpo"] = time.perf_counter() - begin
        end = accuracy(policy, split.held_out, meter)
        outcome = Outcome(
            start=start,
            sampled_start=sampled,
            end=end,
            warm_start_steps=steps,
            seconds=seconds,
            samples=len(split.held_out),
        )
        write_report(meter, config, tally, outcome, os.path.join(folder, "report.json"))
    return outcome


def _warm_start(base: Policy, split: Split, config: Config, meter: Meter, *, quiet: bool) -> int:
    def tell(step: int, share: float) -> None:
        if not quiet:
            end = "\r" if share < config.warm_start.target else "\n"
            goal = config.warm_start.target
            click.echo(f"warm start  step {step:4}  worked solutions right {share:.2f} of {goal:.2f} ", nl=False)
            click.echo(end, nl=False)

    return warm_start(base, split, config.warm_start, config.seed, meter, tell)


def _grpo(policy: Policy, split: Split, config: Config, meter: Meter, tally: Tally, *, quiet: bool) -> None:
    """Run GRPO behind a bar that shows the reward and how the seconds divide."""
    if quiet:
        train(policy, split, config, meter, tally)
        return
    with click.progressbar(length=config.grpo.steps, label="GRPO", item_show_func=_shown) as bar:
        train(policy, split, config, meter, tally, tell=lambda *figures: bar.update(1, figures))


def _shown(figures: tuple[float, float] | None) -> str | None:
    return None if figures is None else f"reward {figures[0]:.2f}  learning {figures[1]:.0%} of FLOPs"


@click.command()
@click.option("--config", "path", default="reference_impl/configs/demo.yaml", show_default=True, help="Settings.")
@click.option("--seed", type=click.IntRange(min=0), help="In place of the seed of the settings.")
@click.option("--output", default="demo", show_default=True, help="Folder of trace.jsonl and report.json.")
@click.option("--minimum-rise", type=float, help="Fail where held-out accuracy rises by less.")
def main(path: str, seed: int | None, output: str, minimum_rise: float | None) -> None:
    """Warm start, GRPO and report."""
    try:
        config = read_config(path)
        outcome = run(config if seed is None else config.model_copy(update={"seed": seed}), output)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    times = outcome.seconds
    click.echo(
        f"held-out accuracy {outcome.start:.3f} (sampled {outcome.sampled_start:.3f}) -> {outcome.end:.3f}; warm start "
        f"{times['warm_start']:.0f} s ({outcome.warm_start_steps} steps), GRPO {times['grpo']:.0f} s"
    )
    if minimum_rise is not None and outcome.end - outcome.start < minimum_rise:
        raise click.ClickException(
            f"held-out accuracy rose by {outcome.end - outcome.start:.3f}, not by {minimum_rise}"
        )


if __name__ == "__main__":
    main()
