"""The lengths of planned rollouts -> counts of the whole run: from the lengths of one step, or from means.

Both kinds answer the same questions. Counts hold no adapter tokens; whoever knows of an adapter adds them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from race_report.counts import GenerationCounts, Group, count_generation, count_scoring, scale_counts, sum_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from race_report.counts import PrefixSharing
    from race_report.flops import PassCounts


class Rollouts(NamedTuple):
    """How many rollouts the whole run has, and their tokens."""

    groups: int
    generated: int
    trained: int
    prompt_tokens: int
    """The prompt counted once a rollout."""
    completion_tokens: int
    trained_completion_tokens: int
    group_sizes: Mapping[int, int]
    """Groups by the number of their rollouts."""


class PlannedLengths(Protocol):
    """What a plan asks of its lengths; figures are of the whole run, a pass over each rollout once."""

    def rollouts(self) -> Rollouts:
        """Count rollouts and tokens."""

    def generation(self, prefix_sharing: PrefixSharing, window: int | None) -> GenerationCounts:
        """Count the sampling."""

    def scoring(self, window: int | None) -> PassCounts:
        """Count one pass over every rollout, with the rows of its completion."""

    def trained(self, window: int | None) -> PassCounts:
        """Count one pass over the rollouts that are trained on."""


class Means(NamedTuple):
    """One rollout step by its means, in tokens."""

    prompts: int
    group_size: int
    prompt_tokens: float
    completion_tokens: float


class LengthsOfStep:
    """Every length of one rollout step; all steps are like it."""

    def __init__(self, groups: Sequence[Group], steps: int, kept: int | None) -> None:
        """Take the groups of a step, and how many rollouts of each are trained on: None for all.

        Raises:
            ValueError: a group has fewer rollouts than are to be trained on.

        """
        if kept is not None and any(len(group.completions) < kept for group in groups):
            raise ValueError(f"of {min(len(group.completions) for group in groups)} rollouts {kept} cannot be kept")
        self._groups, self._steps, self._kept = groups, steps, kept
        self._scored: dict[int | None, PassCounts] = {}

    def rollouts(self) -> Rollouts:
        """Count rollouts and tokens."""
        sizes: dict[int, int] = {}
        for group in self._groups:
            size = len(group.completions)
            sizes[size] = sizes.get(size, 0) + self._steps
        prompts = self._steps * sum(group.prompt * len(group.completions) for group in self._groups)
        completions = self._steps * sum(sum(group.completions) for group in self._groups)
        return Rollouts(
            groups=self._steps * len(self._groups),
            generated=sum(size * number for size, number in sizes.items()),
            trained=sum((self._kept or size) * number for size, number in sizes.items()),
            prompt_tokens=prompts,
            completion_tokens=completions,
            trained_completion_tokens=completions if self._kept is None else self.trained(None).logit_rows,
            group_sizes=sizes,
        )

    def generation(self, prefix_sharing: PrefixSharing, window: int | None) -> GenerationCounts:
        """Count the sampling."""
        return _repeated(count_generation(self._groups, prefix_sharing=prefix_sharing, window=window), self._steps)

    def scoring(self, window: int | None) -> PassCounts:
        """Count one pass over every rollout, with the rows of its completion."""
        if window not in self._scored:
            self._scored[window] = scale_counts(count_scoring(self._groups, window=window), self._steps)
        return self._scored[window]

    def trained(self, window: int | None) -> PassCounts:
        """Count one pass over the rollouts that are trained on: m of n are m/n of their group, the mean of any choice.

        Counts of a step are rounded to whole numbers, once for all groups of a size.
        """
        if self._kept is None:
            return self.scoring(window)
        by_size: dict[int, list[Group]] = {}
        for group in self._groups:
            by_size.setdefault(len(group.completions), []).append(group)
        parts = (scale_counts(count_scoring(by_size[size], window=window), self._kept, size) for size in by_size)
        return scale_counts(sum_counts(parts), self._steps)


class LengthsByMeans:
    """Means over all steps; pairs are those of lengths as even as can be, the fewest that there can be."""

    def __init__(self, means: Means, steps: int, kept: int | None) -> None:
        """Take the means of a step, and how many rollouts of each group are trained on: None for all.

        Raises:
            ValueError: a group has fewer rollouts than are to be trained on, or a mean is below a token.

        """
        if kept is not None and means.group_size < kept:
            raise ValueError(f"of {means.group_size} rollouts {kept} cannot be kept")
        if min(means.prompt_tokens, means.completion_tokens) < 1:
            raise ValueError("a rollout has at least one token of prompt and of completion")
        self._means = means
        self._groups = steps * means.prompts
        self._generated = self._groups * means.group_size
        self._trained = self._groups * (kept or means.group_size)

    def rollouts(self) -> Rollouts:
        """Count rollouts and tokens."""
        scored, trained = self.scoring(None), self.trained(None)
        return Rollouts(
            groups=self._groups,
            generated=self._generated,
            trained=self._trained,
            prompt_tokens=scored.tokens - scored.logit_rows,
            completion_tokens=scored.logit_rows,
            trained_completion_tokens=trained.logit_rows,
            group_sizes={self._means.group_size: self._groups},
        )

    def generation(self, prefix_sharing: PrefixSharing, window: int | None) -> GenerationCounts:
        """Count the sampling.

        Raises:
            ValueError: blocks are shared, and a mean is no whole number of tokens: which blocks are full is not known.

        """
        from race_report.bounds_from_means import generation_from_means

        _, size, prompt, completion = self._means
        if prefix_sharing == "blocks":
            if prompt % 1 or completion % 1:
                raise ValueError("shared blocks follow from whole lengths: give whole means, or a file of lengths")
            return _repeated(_by_blocks(int(prompt), int(completion), size, window), self._groups)
        shared_by = size if prefix_sharing == "group" else 1
        found = generation_from_means(self._generated, prompt, completion, group_size=shared_by, window=window)
        read = found.prefill.counts.tokens
        cached = self.rollouts().prompt_tokens - read if prefix_sharing == "group" else 0
        return GenerationCounts(found.prefill.counts, found.decode.counts, cached)

    def scoring(self, window: int | None) -> PassCounts:
        """Count one pass over every rollout, with the rows of its completion."""
        return self._scored(self._generated, window)

    def trained(self, window: int | None) -> PassCounts:
        """Count one pass over the rollouts that are trained on."""
        return self._scored(self._trained, window)

    def _scored(self, sequences: int, window: int | None) -> PassCounts:
        from race_report.bounds_from_means import scoring_from_means

        _, _, prompt, completion = self._means
        return scoring_from_means(sequences, prompt, completion, window=window).counts


def _by_blocks(prompt: int, completion: int, size: int, window: int | None) -> GenerationCounts:
    """Count a group whose completions are equally long: the first, and as many others as it has."""
    one, two = (
        count_generation([Group(prompt, [completion] * number)], prefix_sharing="blocks", window=window)
        for number in (1, 2)
    )
    prefill, decode = (
        sum_counts([scale_counts(second, size - 1), scale_counts(first, 2 - size)])
        for first, second in zip(one[:2], two[:2], strict=True)
    )
    return GenerationCounts(prefill, decode, two.cached_tokens * (size - 1))


def _repeated(generation: GenerationCounts, number: int) -> GenerationCounts:
    prefill, decode, cached = generation
    return GenerationCounts(scale_counts(prefill, number), scale_counts(decode, number), cached * number)
