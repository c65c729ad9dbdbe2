"""Executed FLOPs equal those that torch counts, to the integer, whatever the widths."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch

from race_report.executed import Batch, Training, executed_forward, executed_generation, executed_update

sys.path.insert(0, str(Path(__file__).parent))
from flop_counter import counted_flops
from tiny import TARGETS, build, draw_tokens

if TYPE_CHECKING:
    from race_report.executed import Checkpointing, Kernel

pytestmark = [  # of peft with this transformers
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The following rank_pattern keys did not match:RuntimeWarning"),
]

ARCHITECTURES = (
    *("qwen2", "qwen3", "llama", "mistral", "phi3", "gemma2", "gemma3_text"),
    *("mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v3"),
)
KERNELS: tuple[Kernel, ...] = ("eager", "fused")
SEEDS = (1, 2, 3)


class Cell(NamedTuple):
    """One way to run a model."""

    architecture: str
    kernel: Kernel
    what: str
    head: str = "causal_lm"
    rows: str = "all"
    is_padded: bool = False
    kv_cache: bool = True
    targets: str | None = None
    embedding_needs_gradient: bool = False
    checkpointing: Checkpointing = "none"

    def __str__(self) -> str:
        """Name the cell by what differs from the plainest one."""
        words: list[str] = [self.architecture, self.kernel, self.what]
        words += [self.head] if self.head != "causal_lm" else []
        words += [f"{self.rows}-rows"] if self.what != "generate" else []
        words += ["left-padding"] if self.is_padded else []
        words += [] if self.kv_cache else ["no-cache"]
        words += [f"lora-{self.targets}"] if self.targets else []
        words += ["input-gradients"] if self.embedding_needs_gradient else []
        words += [] if self.checkpointing == "none" else [f"{self.checkpointing}-checkpointing"]
        return " ".join(words)


def forwards(architecture: str, kernel: Kernel) -> list[Cell]:
    heads = [
        ("causal_lm", "all"),
        ("causal_lm", "needed"),
        ("sequence_classification", "all"),
        ("token_classification", "all"),
    ]
    return [
        Cell(architecture, kernel, "forward", head, rows, is_padded)
        for head, rows in heads
        for is_padded in (False, True)
    ] + [Cell(architecture, kernel, "forward", targets=targets) for targets in TARGETS]


def generations(architecture: str, kernel: Kernel) -> list[Cell]:
    return [
        Cell(architecture, kernel, "generate", is_padded=is_padded, kv_cache=kv_cache)
        for is_padded in (False, True)
        for kv_cache in (False, True)
    ] + [Cell(architecture, kernel, "generate", targets="all-linear")]


def updates(architecture: str, kernel: Kernel) -> list[Cell]:
    full: list[tuple[str, str, bool, Checkpointing]] = [
        ("causal_lm", "needed", False, "none"),
        ("causal_lm", "all", True, "none"),
        ("sequence_classification", "all", True, "none"),
        ("token_classification", "all", False, "none"),
        ("causal_lm", "needed", True, "reentrant"),
        ("causal_lm", "needed", False, "non_reentrant"),
    ]
    adapters: list[tuple[bool, bool, Checkpointing]] = [
        (False, False, "none"),
        (True, True, "none"),
        (True, True, "reentrant"),
        (False, False, "non_reentrant"),
        (True, True, "non_reentrant"),
    ]
    return [
        Cell(architecture, kernel, "update", head, rows, is_padded, checkpointing=checkpointing)
        for head, rows, is_padded, checkpointing in full
    ] + [
        Cell(
            architecture,
            kernel,
            "update",
            rows="needed",
            is_padded=is_padded,
            targets=targets,
            embedding_needs_gradient=needs,
            checkpointing=checkpointing,
        )
        for targets in TARGETS
        for is_padded, needs, checkpointing in adapters
    ]


CELLS = [
    cell
    for architecture in ARCHITECTURES
    for kernel in KERNELS
    for kind in (forwards, generations, updates)
    for cell in kind(architecture, kernel)
]


class Sizes(NamedTuple):
    sequences: int
    tokens: int
    completion: int
    padding: int


def draw_sizes(cell: Cell, seed: int) -> Sizes:
    draw = random.Random(f"{cell} {seed}")
    tokens = draw.randint(7, 13)
    return Sizes(draw.randint(1, 3), tokens, draw.randint(2, 6), draw.randint(1, tokens - 3) if cell.is_padded else 0)


def rows_of(cell: Cell, sizes: Sizes) -> int:
    return sizes.completion if cell.rows == "needed" else sizes.tokens


def run(cell: Cell, network: Any, batch: dict[str, Any], sizes: Sizes) -> None:
    """Run the library as the cell says."""
    if cell.what == "generate":
        length = sizes.completion
        network.generate(
            **batch, max_new_tokens=length, min_new_tokens=length, do_sample=False, use_cache=cell.kv_cache
        )
        return
    rows = {"logits_to_keep": rows_of(cell, sizes)} if cell.rows == "needed" else {}
    if cell.what == "forward":
        with torch.no_grad():
            network(**batch, **rows)
        return
    logits = network(**batch, **rows, use_cache=False).logits
    logits.logsumexp(-1).sum().backward()


def executed(cell: Cell, table: Any, ranks: dict[str, int], sizes: Sizes) -> int:
    """Compute the same from widths and lengths."""
    if cell.what == "generate":
        return executed_generation(
            table, sizes.sequences, sizes.tokens, sizes.completion, kv_cache=cell.kv_cache, ranks=ranks
        )
    batch = Batch(sizes.sequences, sizes.tokens, sizes.sequences * rows_of(cell, sizes))
    if cell.what == "forward":
        return executed_forward(table, batch, ranks=ranks)
    training = Training(
        weights=cell.targets is None, ranks=ranks, embedding_needs_gradient=cell.embedding_needs_gradient
    )
    return executed_update(table, batch, training, kernel=kernel_of(cell, table), checkpointing=cell.checkpointing)


def kernel_of(cell: Cell, table: Any) -> Kernel:
    """Give the kernel that runs: on a CPU torch has no fused one for keys and values of different size."""
    return cell.kernel if all(key == value for _, key, value, _ in (x.attention for x in table.layers)) else "eager"


def prepare(cell: Cell, network: Any) -> None:
    """Set checkpointing, which transformers couples with gradients of the input, and those gradients apart from it."""
    if cell.checkpointing != "none":
        inner = network if cell.targets is None else network.base_model.model
        inner.activation_checkpointing_enable({"use_reentrant": cell.checkpointing == "reentrant"})
        inner.disable_input_require_grads()
    if cell.embedding_needs_gradient:
        network.enable_input_require_grads()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_executed_flops_are_those_that_torch_counts(cell: Cell, seed: int) -> None:
    built = build(cell.architecture, seed, kernel=cell.kernel, head=cell.head, targets=cell.targets)
    prepare(cell, built.network)
    sizes = draw_sizes(cell, seed)
    batch = draw_tokens(built.network, sizes.sequences, sizes.tokens, sizes.padding, seed)
    counted = counted_flops(lambda: run(cell, built.network, batch, sizes))
    assert executed(cell, built.table, built.ranks, sizes) == counted
