"""The rules of the standard, in the order of their codes: its table of contents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.rules.disclosure import (
    LEVEL_NOT_REACHED,
    coverage_mismatch,
    gap_not_named,
    outside_its_range,
    part_as_whole,
    project_not_told,
    reported_and_not_reported,
)
from race_report.rules.flops import counts_incomplete, flops_inexact, flops_mismatch, total_inexact, total_mismatch
from race_report.rules.hardware import busy_hours_over_pool, gpu_hours_doubtful, gpu_hours_mismatch, pools_over_run
from race_report.rules.identity import (
    dangling_pointer,
    duplicate_entry,
    duplicate_id,
    identity_leak,
    policy_of_another_role,
    unknown_model,
    unknown_run,
    unknown_stage,
)
from race_report.rules.methods import attention_missing, executed_apart, figure_apart, flops_too_few, rule_mismatch
from race_report.rules.passes import counts_impossible, ledger_beside_rollouts, pairs_below_tokens
from race_report.rules.peaks import accelerator_unknown, peak_mismatch, precision_without_units
from race_report.rules.reading import READING
from race_report.rules.rollouts import (
    all_truncated,
    filter_adds,
    group_sizes_mismatch,
    more_than_there_were,
    prompts_times_group,
    rollouts_lost,
    tokens_below_rollouts,
    tokens_over_cap,
)
from race_report.rules.sizes import size_inexact, size_mismatch
from race_report.rules.steps import steps_ambiguous, steps_mismatch, steps_reversed, steps_times_batch
from race_report.rules.structure import STRUCTURE
from race_report.rules.trace import TRACE
from race_report.rules.utilization import (
    hardware_flops_mismatch,
    mfu_above_one,
    mfu_implausible,
    utilization_mismatch,
)

if TYPE_CHECKING:
    from race_report.finding import Rule

RULES: Final[tuple[Rule, ...]] = (
    *READING,
    *STRUCTURE,
    unknown_model,
    unknown_run,
    unknown_stage,
    duplicate_id,
    duplicate_entry,
    dangling_pointer,
    policy_of_another_role,
    identity_leak,
    rollouts_lost,
    group_sizes_mismatch,
    prompts_times_group,
    more_than_there_were,
    all_truncated,
    tokens_over_cap,
    tokens_below_rollouts,
    pairs_below_tokens,
    filter_adds,
    ledger_beside_rollouts,
    counts_impossible,
    steps_times_batch,
    steps_mismatch,
    steps_ambiguous,
    steps_reversed,
    flops_mismatch,
    flops_inexact,
    total_mismatch,
    total_inexact,
    counts_incomplete,
    size_mismatch,
    size_inexact,
    rule_mismatch,
    attention_missing,
    flops_too_few,
    executed_apart,
    figure_apart,
    gpu_hours_mismatch,
    gpu_hours_doubtful,
    pools_over_run,
    busy_hours_over_pool,
    accelerator_unknown,
    peak_mismatch,
    precision_without_units,
    mfu_above_one,
    mfu_implausible,
    utilization_mismatch,
    hardware_flops_mismatch,
    LEVEL_NOT_REACHED,
    reported_and_not_reported,
    gap_not_named,
    part_as_whole,
    coverage_mismatch,
    project_not_told,
    outside_its_range,
    *TRACE,
)

CHECKS: Final = tuple((rule, rule.check) for rule in RULES if rule.check is not None)
"""The rules that look at a report whose structure is valid."""

BY_NAME: Final[dict[str, Rule]] = {rule.name: rule for rule in RULES}
BY_CODE: Final[dict[str, Rule]] = {rule.code: rule for rule in RULES}
