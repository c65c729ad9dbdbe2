"""The cells of the proof: every way in which a tiny model is run and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tiny import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.executed import Checkpointing, Kernel

ARCHITECTURES = (
    *("qwen2", "qwen3", "llama", "mistral", "phi3", "gemma2", "gemma3_text"),
    *("mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v3"),
)
KERNELS: tuple[Kernel, ...] = ("eager", "fused")
CHECKPOINTING: tuple[Checkpointing, ...] = ("none", "non_reentrant")
EAGER_ONLY = ("qwen3", "qwen2_moe")
"""Architectures whose attention is that of others."""


class Cell(NamedTuple):
    """One way to run a model."""

    architecture: str
    kernel: Kernel
    what: str
    """`forward`, `chunks` (a forward in two passes, with a cache), `generate` or `update`."""
    head: str = "causal_lm"
    rows: str = "all"
    """Rows through the head: all positions, or those `needed` for a completion."""
    is_padded: bool = False
    kv_cache: bool = True
    targets: str | None = None
    trains_head: bool = False
    """The head beside adapters, or alone where there are none."""
    embedding_needs_gradient: bool = False
    checkpointing: Checkpointing = "none"
    repeats_head: bool = False
    """The loss is that of TRL, which computes logits again backward."""
    experts: str | None = None
    """How experts run, where it is not what goes with the kernel."""

    def __str__(self) -> str:
        """Name the cell by what differs from the plainest one."""
        words: list[str] = [self.architecture, self.kernel, self.what]
        words += [self.head] if self.head != "causal_lm" else []
        words += ["needed-rows"] if self.rows == "needed" else []
        words += ["left-padding"] if self.is_padded else []
        words += [] if self.kv_cache else ["no-cache"]
        words += [f"lora-{self.targets}"] if self.targets else []
        words += ["trained-head"] if self.trains_head else []
        words += ["input-gradients"] if self.embedding_needs_gradient else []
        words += [] if self.checkpointing == "none" else [f"{self.checkpointing}-checkpointing"]
        words += ["repeated-head"] if self.repeats_head else []
        words += [self.experts] if self.experts else []
        return " ".join(words)


CLASSIFIERS = ("sequence_classification", "token_classification", "process_reward")


def _forwards(plain: Cell) -> Iterator[Cell]:
    for is_padded in (False, True):
        yield plain._replace(is_padded=is_padded)
        yield plain._replace(is_padded=is_padded, rows="needed")
    yield plain._replace(what="chunks")
    if plain.kernel == "eager":  # heads and adapters do not know how attention runs
        yield from (plain._replace(is_padded=True, head=head) for head in CLASSIFIERS)
        yield from (plain._replace(targets=targets) for targets in TARGETS)


def _generations(plain: Cell) -> Iterator[Cell]:
    for is_padded in (False, True):
        for kv_cache in (False, True):
            yield plain._replace(is_padded=is_padded, kv_cache=kv_cache)
    if plain.kernel == "eager":
        yield from (plain._replace(targets=targets) for targets in TARGETS)


def _updates(plain: Cell) -> Iterator[Cell]:
    yield plain
    yield plain._replace(is_padded=True, rows="needed")
    yield plain._replace(is_padded=True, checkpointing="reentrant")
    yield plain._replace(rows="needed", checkpointing="non_reentrant")
    for targets in TARGETS:
        adapted = plain._replace(targets=targets, rows="needed")
        yield adapted
        yield adapted._replace(is_padded=True, checkpointing="non_reentrant")
        if plain.kernel == "eager":
            yield adapted._replace(is_padded=True, embedding_needs_gradient=True)
            yield adapted._replace(embedding_needs_gradient=True, checkpointing="reentrant")
            yield adapted._replace(embedding_needs_gradient=True, checkpointing="non_reentrant")
    if plain.kernel == "eager":
        yield from (plain._replace(is_padded=True, head=head) for head in CLASSIFIERS)
        yield from (plain._replace(trains_head=True, head=head) for head in CLASSIFIERS)
        yield plain._replace(repeats_head=True)
        yield plain._replace(targets="q,v", repeats_head=True)
        yield plain._replace(targets="q,v", head="sequence_classification", trains_head=True)


def _single_targets() -> Iterator[Cell]:
    """Give cells in which a gradient goes one way only."""
    for kernel in KERNELS:
        for targets in ("q", "k", "v", "gate", "up"):
            yield Cell("qwen2", kernel, "update", targets=targets)
    for targets in ("q,v", "head"):
        yield Cell("qwen2", "eager", "update", head="process_reward", targets=targets)
    for checkpointing in CHECKPOINTING:
        yield Cell("mixtral", "eager", "update", targets="experts", checkpointing=checkpointing)


def _batched_experts() -> Iterator[Cell]:
    for architecture in ("mixtral", "qwen3_moe"):
        for what in ("forward", "update"):
            yield Cell(architecture, "eager", what, experts="batched_mm")


ALL_CELLS = [
    cell
    for architecture in ARCHITECTURES
    for kernel in KERNELS
    if kernel == "eager" or architecture not in EAGER_ONLY
    for kind, what in ((_forwards, "forward"), (_generations, "generate"), (_updates, "update"))
    for cell in kind(Cell(architecture, kernel, what))
] + [*_single_targets(), *_batched_experts()]


class Absence(NamedTuple):
    """Cells that the libraries cannot run, and what they say."""

    architecture: str
    message: str
    kernel: str | None = None
    head: str | None = None
    targets: str | None = None

    def is_of(self, cell: Cell) -> bool:
        """Tell whether a cell is absent for this reason."""
        return self.architecture == cell.architecture and all(
            wanted in (None, actual)
            for wanted, actual in [
                (self.kernel, cell.kernel),
                (self.head, cell.head),
                (self.targets, cell.targets),
            ]
        )


ABSENCES = (
    Absence("gemma2", "does not support .*scaled_dot_product_attention", kernel="fused"),
    Absence("gemma3_text", "Unrecognized configuration class", head="token_classification"),
    Absence("gemma3_text", "Unrecognized configuration class", head="process_reward"),
    Absence("mixtral", "Target modules .* not found in the base model", targets="mlp"),
)

CELLS = [cell for cell in ALL_CELLS if not any(absence.is_of(cell) for absence in ABSENCES)]
ABSENT = [(cell, absence.message) for cell in ALL_CELLS for absence in ABSENCES if absence.is_of(cell)]
