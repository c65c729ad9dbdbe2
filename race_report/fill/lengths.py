"""What `rollouts` says of sequences, and whether lengths follow from it or only their means."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from race_report.fill.draft import weakest

if TYPE_CHECKING:
    from race_report.document import Rollouts, Run
    from race_report.fill.draft import Draft, Path

_NEEDED: Final = ("generated", "prompt_tokens", "completion_tokens")


class NotDerived(ValueError):
    """Entries that do not follow: why, and what to add."""

    def __init__(self, why: str, mend: str) -> None:
        super().__init__(why)
        self.mend = mend


class Lengths(NamedTuple):
    """The rollouts of a run, as far as counts depend on them."""

    run: int
    rollouts: int
    """Rollouts that were sampled."""
    trained: int | None
    """Rollouts that entered an update; None where it does not follow."""
    mean_prompt: Fraction
    """Tokens of a prompt, with text that was read."""
    mean_completion: Fraction
    has_one_prompt_length: bool
    """Whether all prompts have one length, because all have that of the cap."""
    has_one_completion_length: bool
    basis: str
    """The weakest of what the author says of these figures, `derived` at best."""

    @property
    def are_known(self) -> bool:
        """Whether the length of every rollout is known."""
        return self.has_one_prompt_length and self.has_one_completion_length

    @property
    def are_all_trained(self) -> bool:
        """Whether the rollouts of the updates are those that were sampled."""
        return self.trained == self.rollouts


def lengths_of(draft: Draft, at: int, run: Run) -> Lengths:
    """Read the lengths of a run's rollouts.

    Raises:
        NotDerived: a figure is missing, or rollouts came from elsewhere.

    """
    counts = run.rollouts
    missing = [key for key in _NEEDED if counts is None or getattr(counts, key) is None]
    if counts is None or missing:
        listed = ", ".join(missing)
        raise NotDerived(f"rollouts without {listed}", f"add rollouts: {listed}")
    generated, prompts, completions = counts.generated, counts.prompt_tokens, counts.completion_tokens
    assert generated is not None
    assert prompts is not None
    assert completions is not None
    if not generated or counts.carried_in:
        why = "rollouts came from before the run" if counts.carried_in else "no rollouts were generated"
        raise NotDerived(f"{why}, and no field says how long those are", "add the entries, with sequences and tokens")
    caps = run.algorithm
    max_prompt = caps.max_prompt_tokens if caps is not None else None
    max_completion = caps.max_completion_tokens if caps is not None else None
    is_staged = any(stage.algorithm is not None for stage in run.stages)
    read = counts.read_tokens or 0
    return Lengths(
        run=at,
        rollouts=generated,
        trained=_trained(counts),
        mean_prompt=Fraction(prompts + read, generated),
        mean_completion=Fraction(completions, generated),
        has_one_prompt_length=prompts == generated * (max_prompt or 0) and not read and not is_staged,
        has_one_completion_length=completions == generated * (max_completion or 0) and not read and not is_staged,
        basis=_basis(draft, ("runs", at, "rollouts")),
    )


def _trained(counts: Rollouts) -> int | None:
    """Give the rollouts that were trained on: as stated, else what was neither discarded nor left over."""
    if counts.trained is not None or counts.discarded is None or counts.generated is None:
        return counts.trained
    return max(0, counts.generated - counts.discarded - (counts.carried_out or 0))


def _basis(draft: Draft, here: Path) -> str:
    keys = (*_NEEDED, "trained", "discarded", "read_tokens")
    return weakest(["derived", *draft.bases(*((*here, key) for key in keys))]) or "derived"
