"""Executed FLOPs equal those that torch counts, to the integer, whatever the widths."""

from __future__ import annotations

import gc
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch
from trl.kernels.chunked_logprob import ChunkedLogProbFunction

from race_report.executed import Batch, Kernel, Training, executed_forward, executed_generation, executed_update

sys.path.insert(0, str(Path(__file__).parent))
from cells import ABSENT, CELLS, Cell
from flop_counter import counted_flops
from tiny import Built, build, draw_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS = (1, 2, 3)

pytestmark = [  # of peft with this transformers
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The following (rank|alpha)_pattern keys did not match:RuntimeWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def what_is_imported_stays() -> Iterator[None]:
    """Keep the collector from walking through the libraries after every few models."""
    gc.freeze()
    yield
    gc.unfreeze()


class Sizes(NamedTuple):
    sequences: int
    tokens: int
    completion: int
    padding: int

    def rows(self, cell: Cell) -> int:
        """Give the rows of all sequences that go through the head."""
        return self.sequences * (self.completion if cell.rows == "needed" else self.tokens)


def draw_sizes(cell: Cell, seed: int) -> Sizes:
    draw = random.Random(f"{cell} {seed}")
    tokens = draw.randint(7, 13)
    padding = draw.randint(1, tokens - 3) if cell.is_padded else 0
    return Sizes(draw.randint(1, 3), tokens, draw.randint(2, 5), padding)


def build_cell(cell: Cell, seed: int) -> Built:
    """Build the model of a cell, and set what requires gradients and what is run again."""
    built = build(
        cell.architecture,
        seed,
        kernel=cell.kernel,
        head=cell.head,
        targets=cell.targets,
        saves_head=cell.trains_head,
        experts=cell.experts,
    )
    network = built.network
    if cell.trains_head and cell.targets is None:
        network.requires_grad_(False)  # noqa: FBT003
        network.score.requires_grad_(True)  # noqa: FBT003
    if cell.checkpointing != "none":
        inner = built.inner
        inner.activation_checkpointing_enable({"use_reentrant": cell.checkpointing == "reentrant"})
        inner.disable_input_require_grads()  # which transformers couples with checkpointing, and we do not
    if cell.embedding_needs_gradient:
        network.enable_input_require_grads()
    return built


def run(cell: Cell, built: Built, batch: dict[str, Any], sizes: Sizes) -> None:
    """Run the library as the cell says."""
    network, rows = built.network, {"logits_to_keep": sizes.completion} if cell.rows == "needed" else {}
    if cell.what == "generate":
        length = {"max_new_tokens": sizes.completion, "min_new_tokens": sizes.completion}
        network.generate(**batch, **length, do_sample=False, use_cache=cell.kv_cache)
    elif cell.what == "forward":
        with torch.no_grad():
            network(**batch, **rows)
    elif cell.what == "chunks":
        chunks = batch["input_ids"].tensor_split(2, dim=1)
        with torch.no_grad():
            first = network(input_ids=chunks[0], use_cache=True)
            network(input_ids=chunks[1], cache=first.past_key_values, use_cache=True)
    elif cell.repeats_head:
        hidden = built.inner.model(**batch, use_cache=False).last_hidden_state.flatten(0, 1)
        head, targets = built.inner.lm_head.weight, batch["input_ids"].flatten()
        ChunkedLogProbFunction.apply(hidden, head, None, targets, 1.0, 32)[0].sum().backward()
    else:
        network(**batch, **rows, use_cache=False).logits.logsumexp(-1).sum().backward()


def executed(cell: Cell, built: Built, sizes: Sizes) -> int:
    """Compute the same from widths and lengths."""
    table, ranks = built.table, built.ranks
    if cell.what == "generate":
        return executed_generation(
            table, sizes.sequences, sizes.tokens, sizes.completion, kv_cache=cell.kv_cache, ranks=ranks
        )
    batch = Batch(sizes.sequences, sizes.tokens, sizes.rows(cell))
    if cell.what == "forward":
        return executed_forward(table, batch, ranks=ranks)
    if cell.what == "chunks":
        second = sizes.tokens // 2
        first = sizes.tokens - second
        return executed_forward(table, Batch(sizes.sequences, first, sizes.sequences * first)) + executed_forward(
            table, Batch(sizes.sequences, second, sizes.sequences * second, cached=first)
        )
    training = Training(
        weights=cell.targets is None and not cell.trains_head,
        head=cell.trains_head,
        ranks=ranks,
        embedding_needs_gradient=cell.embedding_needs_gradient,
    )
    return executed_update(
        table,
        batch,
        training,
        kernel=kernel_of(cell, built),
        checkpointing=cell.checkpointing,
        recomputes_logits=cell.repeats_head,
    )


def kernel_of(cell: Cell, built: Built) -> Kernel:
    """Give the kernel that runs: on a CPU torch has no fused one for keys and values of different size."""
    attention = built.table.layers[0].attention
    return cell.kernel if attention.key_size == attention.value_size else "eager"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_executed_flops_are_those_that_torch_counts(cell: Cell, seed: int) -> None:
    built = build_cell(cell, seed)
    sizes = draw_sizes(cell, seed)
    batch = draw_tokens(built.network, sizes.sequences, sizes.tokens, sizes.padding, seed)
    counted = counted_flops(lambda: run(cell, built, batch, sizes))
    assert executed(cell, built, sizes) == counted


@pytest.mark.parametrize(("cell", "message"), ABSENT, ids=str)
def test_an_absent_cell_still_cannot_be_run(cell: Cell, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_cell(cell, SEEDS[0])


def test_there_are_cells_enough() -> None:
    assert len(CELLS) == len(set(map(str, CELLS))) >= 150
