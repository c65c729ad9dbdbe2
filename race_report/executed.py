"""Executed FLOPs: what the hardware runs, forward and backward.

Model FLOPs follow from coefficients and counts. What the hardware runs depends on more: it fills rectangles, masked or
padded; it leaves out gradients that nothing asks for; it runs layers again to save memory. So here the layers of a
table are walked as they run (`race_report.walk`).

Products are counted as SPEC.md section 1 has it, two operations a multiply-add, nothing else. Every figure equals that
of torch's `FlopCounterMode` to the integer (tests/reference). A kernel that skips what the mask hides runs less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from race_report.walk import Batch, Kernel, Product, Training, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from race_report.architecture import Transformer

__all__ = ["Batch", "Checkpointing", "Kernel", "Training", "executed_forward", "executed_generation", "executed_update"]

Checkpointing = Literal["none", "reentrant", "non_reentrant"]
"""Whether layers are run again for their backward pass: not, whole, or only up to the last tensor that it needs."""


def executed_forward(model: Transformer, batch: Batch, *, ranks: Mapping[str, int] | None = None) -> int:
    """Give the FLOPs of a forward pass; `ranks` are of adapters that are active and not merged."""
    parts = walk(model, batch, Training(ranks=ranks or {}), "eager")
    return sum(product.forward for part in parts for product in part)


def executed_generation(
    model: Transformer,
    sequences: int,
    prompt: int,
    completion: int,
    *,
    kv_cache: bool = True,
    ranks: Mapping[str, int] | None = None,
) -> int:
    """Give the FLOPs of a static batch: every prompt padded to `prompt`, every row decoded to `completion` tokens.

    One logit row a sequence and token. With a cache, completion - 1 single tokens follow the prompt; without, each
    token costs a pass over all before it.
    """
    if kv_cache:
        fed_back = completion - 1
        batches = [
            Batch(sequences, prompt, sequences),
            Batch(sequences, 1, sequences * fed_back, cached=prompt, passes=fed_back),
        ]
    else:
        batches = [Batch(sequences, prompt + sampled, sequences) for sampled in range(completion)]
    return sum(executed_forward(model, batch, ranks=ranks) for batch in batches)


def executed_update(
    model: Transformer,
    batch: Batch,
    training: Training,
    *,
    kernel: Kernel = "fused",
    checkpointing: Checkpointing = "none",
    recomputes_logits: bool = False,
) -> int:
    """Give the FLOPs of a forward and a backward pass.

    With `recomputes_logits` the head's products run forward once more, for a loss that does not keep the logits.
    Raises ValueError where nothing is trained, or where reentrant checkpointing would cut the gradient off.
    """
    if not (training.weights or training.head or training.ranks):
        raise ValueError("an update trains something: weights, the head or adapters")
    is_cut = training.ranks and not training.weights and not training.embedding_needs_gradient
    if checkpointing == "reentrant" and is_cut:
        raise ValueError("reentrant checkpointing needs the output of a frozen embedding to require a gradient")
    *layers, head = walk(model, batch, training, kernel)
    flops = sum(product.forward + product.backward for part in (*layers, head) for product in part)
    if recomputes_logits:
        flops += sum(product.forward for product in head)
    if checkpointing != "none":
        flops += sum(_run_again(products, checkpointing) for products in layers)
    return flops


def _run_again(products: list[Product], checkpointing: Checkpointing) -> int:
    """Give what a layer runs again for its backward pass; nothing where no gradient goes through it.

    Non-reentrant checkpointing stops at the last product that backward needs something of, and before it where that is
    not its result.
    """
    needed = [index for index, product in enumerate(products) if product.backward]
    if not needed:
        return 0
    end = len(products)
    if checkpointing == "non_reentrant":
        end = needed[-1] + products[needed[-1]].result_is_needed
    return sum(product.forward for product in products[:end])
