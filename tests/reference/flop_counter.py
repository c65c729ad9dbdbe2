"""torch's own FLOP counter, with the operators that it misses mapped to torch's own formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils.flop_counter import FlopCounterMode, mm_flop, sdpa_backward_flop_count, sdpa_flop_count

if TYPE_CHECKING:
    from collections.abc import Callable

aten = torch.ops.aten


def _attention(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
    return sdpa_flop_count(query, key, value)


def _attention_backward(gradient: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
    return sdpa_backward_flop_count(gradient, query, key, value)


def _add_product(_: Any, left: Any, right: Any, **__: Any) -> Any:
    return mm_flop(left, right)


def _grouped_product(left: Any, right: Any, *_: Any, **__: Any) -> Any:
    """Rows of one operand meet one group of the other, so all groups cost what one product of all rows does."""
    return mm_flop(left[-2:], right[-2:])


MAPPING = {
    aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
    aten.addmm_: _add_product,
    aten._grouped_mm: _grouped_product,
}
"""Operators that torch 2.13 counts as nothing."""


def counted_flops(run: Callable[[], object]) -> int:
    """Give the FLOPs of what is run, forward and backward."""
    with FlopCounterMode(display=False, custom_mapping=MAPPING) as counter:
        run()
    return int(counter.get_total_flops())
