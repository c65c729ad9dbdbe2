"""Passes that ran, as shapes and lengths, and the figures of the ledger that follow from them.

Shapes are known on the host; lengths lie on the device until `settle` brings them over in one transfer. Then all is
counted in integers, by `race_report.counts`, and executed FLOPs by `race_report.executed`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from race_report.counts import Group, count_forward, count_generation, scale_counts, sum_counts
from race_report.executed import Batch, Checkpointing, Kernel, Training, executed_forward, executed_update
from race_report.flops import PassCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from race_report.architecture import Transformer

READING: Final = "reading"
SAMPLING: Final = "sampling"
"""Kinds of passes without gradients: over text that is there, and over a token that was sampled."""

UPDATE: Final = "update"


class Rectangle(NamedTuple):
    """A rectangle of positions that the hardware filled, in one pass or in several after another."""

    kind: str
    sequences: int
    tokens: int
    cached: int
    rows: int
    """Rows through the head, of all passes."""
    ranks: tuple[tuple[str, int], ...]
    passes: int = 1
    sparse_rows: torch.Tensor | None = None
    """Rows through the head that only the device knows, instead of `rows`."""

    def goes_on(self, other: Rectangle) -> bool:
        """Tell whether another rectangle is the next pass of this one."""
        return (
            self.kind == other.kind
            and other.cached == self.cached + self.passes * self.tokens
            and other.cached > 0
            and (self.sequences, self.tokens, self.ranks) == (other.sequences, other.tokens, other.ranks)
            and self.sparse_rows is None
            and other.sparse_rows is None
        )


@dataclass(slots=True, kw_only=True)
class Pass:
    """One pass with a gradient, or without one outside of `generate`."""

    rectangle: Rectangle
    lengths: torch.Tensor
    """[3, sequences]: real tokens, real tokens in the cache before them, rows that were needed."""
    adapter: bool
    training: Training | None = None
    kernel: Kernel = "fused"
    checkpointing: Checkpointing = "none"
    recomputes_logits: bool = False
    updates: bool = False
    """Whether a backward pass went through it, or is on its way."""


@dataclass(slots=True, kw_only=True)
class Generation:
    """One call of `generate`."""

    lengths: torch.Tensor
    """[2, sequences]: tokens of each prompt, tokens of each completion."""
    kv_cache: bool
    adapter: bool


@dataclass(slots=True)
class Figures:
    """What the ledger wants to know of alike passes."""

    counts: list[PassCounts] = field(default_factory=list)
    sequences: int = 0
    positions: int = 0
    executed: int | None = 0

    def as_record(self, *, is_bounded: bool) -> dict[str, Any]:
        """Give the figures by the names of a record."""
        total = sum_counts(self.counts)
        found: dict[str, Any] = {name: number for name, number in total._asdict().items() if number}
        found |= {"tokens": total.tokens, "logit_rows": total.logit_rows, "attention_pairs": total.attention_pairs}
        if is_bounded:
            found["bounded_attention_pairs"] = total.bounded_attention_pairs
        found |= {"sequences": self.sequences, "extra_tokens": max(0, self.positions - total.tokens)}
        return found if self.executed is None else {**found, "executed_flops": self.executed}


class Passes:
    """What one model ran within one phase."""

    def __init__(self, table: Transformer | None, window: int | None) -> None:
        """Begin with nothing; without a table executed FLOPs stay unknown."""
        self.table = table
        self.window = window
        self.passes: list[Pass] = []
        self.generations: list[Generation] = []
        self.rectangles: list[Rectangle] = []
        """Of generations, whose lengths are known at their end."""

    def add_rectangle(self, rectangle: Rectangle) -> None:
        """Add a pass within `generate`."""
        if self.rectangles and self.rectangles[-1].goes_on(rectangle):
            last = self.rectangles[-1]
            self.rectangles[-1] = last._replace(passes=last.passes + 1, rows=last.rows + rectangle.rows)
        else:
            self.rectangles.append(rectangle)

    def settle(self) -> dict[str, Figures]:
        """Give the figures by kind of pass; the only place that waits for the device."""
        figures: dict[str, Figures] = {}
        tensors = [one.lengths for one in self.passes] + [one.lengths for one in self.generations]
        tensors += [one.rectangle.sparse_rows for one in self.passes if one.rectangle.sparse_rows is not None]
        numbers = iter(_on_host(tensors))
        of_passes = [next(numbers) for _ in self.passes]
        of_generations = [next(numbers) for _ in self.generations]
        for one, lengths in zip(self.passes, of_passes, strict=True):
            rows = one.rectangle.rows if one.rectangle.sparse_rows is None else next(numbers)[0]
            self._add_pass(figures, one, lengths, rows)
        for generation, lengths in zip(self.generations, of_generations, strict=True):
            self._add_generation(figures, generation, lengths)
        for rectangle in self.rectangles:
            self._add_executed(figures.setdefault(rectangle.kind, Figures()), rectangle)
            if rectangle.kind == SAMPLING and rectangle.tokens > 1:
                self._move_what_was_read_again(figures, rectangle)
        return figures

    def _add_pass(self, figures: dict[str, Figures], one: Pass, lengths: list[int], rows: int) -> None:
        number = one.rectangle.sequences
        tokens, cached, needed = lengths[:number], lengths[number : 2 * number], lengths[2 * number :]
        found = figures.setdefault(UPDATE if one.updates else one.rectangle.kind, Figures())
        for (length, before), times in Counter(zip(tokens, cached, strict=True)).items():
            if length:
                once = count_forward(length, before, window=self.window, adapter=one.adapter)
                found.counts.append(scale_counts(once, times))
        found.counts.append(PassCounts(0, sum(needed)))
        found.sequences += sum(map(bool, tokens))
        rectangle = one.rectangle._replace(rows=rows)
        if not one.updates:
            self._add_executed(found, rectangle)
            return
        found.positions += number * rectangle.tokens
        if self.table is None or one.training is None or found.executed is None:
            found.executed = None
            return
        found.executed += executed_update(
            self.table,
            _batch(rectangle),
            one.training,
            kernel=one.kernel,
            checkpointing=one.checkpointing,
            recomputes_logits=one.recomputes_logits,
        )

    def _add_generation(self, figures: dict[str, Figures], generation: Generation, lengths: list[int]) -> None:
        half = len(lengths) // 2
        by_prompt: dict[int, list[int]] = {}
        for prompt, done in zip(lengths[:half], lengths[half:], strict=True):
            by_prompt.setdefault(prompt, []).append(done)
        groups = [Group(prompt, done) for prompt, done in by_prompt.items() if prompt]
        options: Any = {"kv_cache": generation.kv_cache, "window": self.window, "adapter": generation.adapter}
        counted = count_generation(groups, **options)
        for kind, counts, least in ((READING, counted.prefill, 0), (SAMPLING, counted.decode, 1)):
            number = sum(done > least for group in groups for done in group.completions)
            found = figures.setdefault(kind, Figures())
            found.counts.append(counts)
            found.sequences += number

    def _add_executed(self, found: Figures, rectangle: Rectangle) -> None:
        found.positions += _batch(rectangle).positions
        if self.table is None or found.executed is None:
            found.executed = None
        else:
            found.executed += executed_forward(self.table, _batch(rectangle), ranks=dict(rectangle.ranks))

    def _move_what_was_read_again(self, figures: dict[str, Figures], rectangle: Rectangle) -> None:
        """Leave a pass without a cache the one token that it is for; all else that ran is reading."""
        reading, sampling = figures.setdefault(READING, Figures()), figures[SAMPLING]
        token = rectangle._replace(tokens=1, cached=rectangle.tokens - 1)
        moved = rectangle.sequences * (rectangle.tokens - 1)
        reading.positions += moved
        sampling.positions -= moved
        if self.table is None or reading.executed is None or sampling.executed is None:
            return
        whole, own = (executed_forward(self.table, _batch(one), ranks=dict(one.ranks)) for one in (rectangle, token))
        reading.executed += whole - own
        sampling.executed -= whole - own


def _batch(rectangle: Rectangle) -> Batch:
    return Batch(rectangle.sequences, rectangle.tokens, rectangle.rows, rectangle.cached, rectangle.passes)


def _on_host(tensors: Sequence[torch.Tensor]) -> Iterable[list[int]]:
    """Bring integers to the host, in one transfer, and give them as lists."""
    if not tensors:
        return []
    sizes = [tensor.numel() for tensor in tensors]
    device = next((one.device for one in tensors if one.device.type != "cpu"), tensors[0].device)
    flat = torch.cat([tensor.detach().reshape(-1).to(device=device, dtype=torch.int64) for tensor in tensors]).tolist()
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    return [flat[end - size : end] for end, size in zip(ends, sizes, strict=True)]
