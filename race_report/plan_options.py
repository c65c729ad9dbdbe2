"""The options of `race count` -> a plan, and what it is to run on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from race_report.finding import Exit
from race_report.flops import UPDATE, ModelCoefficients
from race_report.model_page import NotDescribed, describe
from race_report.plan import JudgedTokens, Plan, PlannedModel, planned_ledger
from race_report.planned_lengths import Means

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from race_report.architecture import Transformer
    from race_report.counts import Group
    from race_report.flops import Factors
    from race_report.model_page import ModelPage
    from race_report.plan import Line
    from race_report.planned_report import PlannedHardware

COMMAND: Final = "race count"

MOST: Final = 2**53
"""The largest count of the standard."""

_SIZE: Final = re.compile(r"(\d+)(?:\.(\d+))?(?:([kmbt])|e(\d{1,2}))?", re.IGNORECASE)
_POWERS: Final = {"k": 3, "m": 6, "b": 9, "t": 12}


def ledger_of(plan: Plan) -> tuple[Line, ...]:
    """Count a plan.

    Raises:
        NotDescribed: its lengths leave open what is asked for.

    """
    try:
        ledger = planned_ledger(plan)
    except ValueError as error:
        raise _usage(str(error)) from error
    most = max(line.counts.tokens for line in ledger)
    if most > MOST:
        raise _usage(f"{most:,} tokens are more than any run has")
    return ledger


def _usage(message: str) -> NotDescribed:
    return NotDescribed(Exit.USAGE, f"{COMMAND}: {message}")


def plan_of(options: Mapping[str, Any]) -> Plan:
    """Make the plan that the options of the command mean.

    Raises:
        NotDescribed: they contradict each other, name what is not known, or a file cannot be read.

    """
    is_by_rule = options["parameter_rule"]
    reward_model = options["reward_model"]
    if options["reward_tokens"] is not None and reward_model is None:
        raise _usage("--reward-tokens are those of a --reward-model, which is not named")
    if (options["judge"] is None) != (options["judge_tokens"] is None):
        raise _usage("--judge and --judge-tokens go together: which model, and what it reads and writes for a rollout")
    policy = _policy(options)
    if options["unmerged_adapter"] and policy.trained != "adapter":
        raise _usage("--unmerged-adapter is of a policy with an adapter: give --rank or --adapter")
    reward = None
    if reward_model is not None:
        reward = _reward_model(reward_model, options, is_by_rule=is_by_rule)
    judge = None if options["judge"] is None else _model(options["judge"], "judge", is_by_rule=is_by_rule)
    return Plan(
        policy=policy,
        lengths=_lengths(options),
        steps=options["steps"],
        updates_per_batch=options["updates_per_batch"],
        trained_per_group=options["trained_per_group"],
        prefix_sharing=options["prefix_sharing"],
        is_adapter_merged=not options["unmerged_adapter"],
        has_old_logprobs=options["old_logprobs"],
        kl_coefficient=options["kl_coefficient"],
        reward_model=reward,
        reward_tokens=options["reward_tokens"],
        judge=judge,
        judged_tokens=None if judge is None else JudgedTokens(*options["judge_tokens"]),
        is_by_parameter_rule=is_by_rule,
    )


def _lengths(options: Mapping[str, Any]) -> Means | Sequence[Group]:
    path, prompt, completion = options["lengths"], options["prompt_tokens"], options["completion_tokens"]
    kept = options["trained_per_group"]
    if path is None:
        if prompt is None or completion is None:
            raise _usage("say how long rollouts are: --prompt-tokens and --completion-tokens, or --lengths FILE")
        size = options["group_size"] or 1
        if kept is not None and kept > size:
            raise _usage(f"--trained-per-group is {kept}, and a group has {size}")
        return Means(options["prompts"] or 1, size, prompt, completion)
    for key in ("prompt_tokens", "completion_tokens", "prompts", "group_size"):
        if options[key] is not None:
            raise _usage(f"--{key.replace('_', '-')} follows from the file of --lengths: leave it out")
    from race_report.lengths import read_lengths

    groups = read_lengths(path)
    fewest = min(len(group.completions) for group in groups)
    if kept is not None and kept > fewest:
        raise _usage(f"--trained-per-group is {kept}, and {path} has a group of {fewest}")
    return groups


def _policy(options: Mapping[str, Any]) -> PlannedModel:
    name, rank, path = options["model"], options["rank"], options["adapter"]
    if rank is not None and path is not None:
        raise _usage("--rank and --adapter both say what the adapter is: give one")
    if options["target_modules"] and rank is None:
        raise _usage("--target-modules are those of an adapter: give its --rank")
    if rank is None and path is None:
        return _model(name, "policy", is_by_rule=options["parameter_rule"])._replace(trained="full")
    if _size_of(name) is not None:
        raise _usage(f"{name} is a size and no matrices that an adapter could be on: name a model or its config.json")
    words: dict[str, Any] | None = None
    if rank is not None:
        words = {"method": "lora", "rank": rank, "target_modules": list(options["target_modules"]) or ["all-linear"]}
    page = describe(name, adapter=path or words, role="policy", command=COMMAND)
    if words is None:
        words = _words_of_adapter(page)
    policy = _described("policy", "policy", page)._replace(
        trained="adapter", adapter=words, update_factors=_factors_beside(page)
    )
    return policy if _follows(page, words) else policy._replace(architecture=None)


def _words_of_adapter(page: ModelPage) -> dict[str, Any]:
    """Say an adapter_config.json in the words of a report, as far as they go."""
    own = page.adapter_words
    assert own is not None
    targets = own.get("target_modules")
    is_pattern = isinstance(targets, str) and targets.lower() != "all-linear"
    said = {
        "method": "dora" if own.get("use_dora") or str(own.get("peft_type")).lower() == "dora" else "lora",
        "rank": own.get("r"),
        "alpha": own.get("lora_alpha"),
        "target_modules": None if is_pattern else ["all-linear"] if isinstance(targets, str) else targets,
        "target_modules_pattern": targets if is_pattern else None,
        "rank_pattern": own.get("rank_pattern"),
        "modules_to_save": own.get("modules_to_save"),
    }
    return {key: value for key, value in said.items() if value}


def _factors_beside(page: ModelPage) -> Factors | None:
    """Give the multipliers of an update that trains the head beside the adapter; None where it does not."""
    saved = (page.adapter_words or {}).get("modules_to_save")
    if not saved:
        return None
    if any(_is_saved(name, saved) for name, _ in page.model.named_matrices()):
        why = "`modules_to_save` trains matrices of layers beside the adapter, whose update is not counted here"
        raise NotDescribed(Exit.FINDINGS, f"{page.name}: {why}")
    is_head = any(_is_saved(matrix.name, saved) for matrix in page.model.head.matrices)
    return UPDATE["adapter"]._replace(head=UPDATE["full"].head) if is_head else None


def _is_saved(name: str, saved: Sequence[str]) -> bool:
    """Tell whether a module, or one that it lies in, ends with a listed word."""
    words = name.split(".")
    return any(".".join(words[: end + 1]).endswith(tuple(saved)) for end in range(len(words)))


def _follows(page: ModelPage, words: Mapping[str, Any]) -> bool:
    """Tell whether coefficients and trained parameters follow from the words of a report; a file can say more."""
    from race_report.architecture import Underivable, adapter_of, with_adapter

    if page.adapter_words is None:
        return True
    if "target_modules_pattern" in words:
        return False
    try:
        return with_adapter(page.model, adapter_of(words, page.model)) == (page.parameters, page.coefficients)
    except Underivable:
        return False


def _reward_model(name: str, options: Mapping[str, Any], *, is_by_rule: bool) -> PlannedModel:
    if is_by_rule and _size_of(name) is not None:
        return _model(name, "reward_model", is_by_rule=True)
    head, labels = options["reward_head"], options["reward_labels"]
    try:
        page = describe(name, head=head, labels=labels, role="reward_model", command=COMMAND)
    except NotDescribed as error:
        if head is None and error.code == Exit.FINDINGS:
            raise NotDescribed(error.code, *error.lines, "    mend: --reward-head says what its head is") from error
        raise
    kind = page.model.head.kind
    role = "process_reward_model" if kind in ("process_reward", "token_classification") else "reward_model"
    return _described("reward_model", role, page)


def _model(name: str, role: str, *, is_by_rule: bool) -> PlannedModel:
    """Give a model by its name or file, or, where the parameter rule counts, by its size."""
    size = _size_of(name)
    if size is None:
        return _described(role, role, describe(name, role=role, command=COMMAND))
    if not is_by_rule:
        raise _usage(f"{name} is a size; what a token costs follows from an architecture, or by --parameter-rule")
    return PlannedModel(role, role, ModelCoefficients(size), name)


def _described(name: str, role: str, page: ModelPage) -> PlannedModel:
    return PlannedModel(
        id=name,
        role=role,
        coefficients=page.coefficients,
        name=page.name if page.is_known else None,
        parameters=page.parameters,
        architecture=page.architecture,
        window=_window(page.name, page.model),
    )


def _window(name: str, model: Transformer) -> int | None:
    """Give the window of the layers that slide."""
    windows = {layer.attention.window for layer in model.layers} - {None}
    if len(windows) > 1:
        raise NotDescribed(Exit.FINDINGS, f"{name}: its layers have several windows, which are not counted here")
    return windows.pop() if windows else None


def _size_of(name: str) -> int | None:
    """Read a number of parameters: 1.5B, 3e9; None where a name stands."""
    match = _SIZE.fullmatch(name)
    if match is None:
        return None
    whole, part, unit, exponent = match.groups(default="")
    power = int(exponent or 0) + _POWERS.get(unit.lower(), 0) - len(part)
    size = int(whole + part) * 10 ** max(power, 0) // 10 ** max(-power, 0)
    return size or None


def hardware_of(options: Mapping[str, Any]) -> PlannedHardware | None:
    """Give what the plan is to run on; None where nothing is said.

    Raises:
        NotDescribed: options are missing beside others, or a name means several devices with different peaks.

    """
    name, precision = options["accelerator"], options["precision"]
    if name is None:
        for key in ("count", "mfu", "peak"):
            if options[key] is not None:
                raise _usage(f"--{key} is of an --accelerator, which is not named")
        return None
    from race_report.accelerators import candidates
    from race_report.planned_report import PlannedHardware

    peak, found = options["peak"], candidates(name)
    if len(found) == 1:
        name = found[0].name
    if peak is None:
        peaks = {device.name: device.peaks(precision)[:1] for device in found}
        if len(set(peaks.values())) > 1:
            raise _usage(f'"{name}" may be {" or ".join(peaks)}, with different peaks: name one, or give --peak')
        first = next(iter(peaks.values()), ())
        peak = first[0] if first else None
    return PlannedHardware(accelerator=name, count=options["count"], precision=precision, mfu=options["mfu"], peak=peak)
