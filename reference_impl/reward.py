"""What a rollout is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_impl.tasks import answer_of

if TYPE_CHECKING:
    from reference_impl.rollout import Rollout


def is_right(rollout: Rollout) -> bool:
    """Tell whether a rollout ended, and with the right answer."""
    return rollout.is_complete and answer_of(rollout.text) == rollout.problem.answer


def rule_reward(rollout: Rollout) -> float:
    """Give 1 for the right answer, else 0."""
    return float(is_right(rollout))
