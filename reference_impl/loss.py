"""The clipped surrogate of GRPO, by TRL's loss types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from reference_impl.config import Grpo


def grpo_loss(  # the tensors of one batch
    logprobs_BC: Any,  # noqa: N803 - the shape is in the name
    old_BC: Any,  # noqa: N803
    advantages_B: Any,  # noqa: N803
    mask_BC: Any,  # noqa: N803
    settings: Grpo,
    reference_BC: Any = None,  # noqa: N803
) -> Any:
    """Give the loss of a batch: min(ratio x A, clipped ratio x A), with the k3 divergence where beta is not 0.

    `grpo` is the mean over sequences of their token means, `dapo` the mean over all tokens, `dr_grpo` the sum over
    tokens divided by sequences x the cap.
    """
    ratio = torch.exp(logprobs_BC - old_BC)
    clipped = ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high)
    gain_BC = torch.minimum(ratio * advantages_B[:, None], clipped * advantages_B[:, None])  # noqa: N806
    if reference_BC is not None:
        apart = reference_BC - logprobs_BC
        gain_BC = gain_BC - settings.kl_coefficient * (torch.exp(apart) - apart - 1)  # noqa: N806
    loss_BC = -gain_BC * mask_BC  # noqa: N806
    if settings.loss_type == "grpo":
        return (loss_BC.sum(1) / mask_BC.sum(1)).mean()
    if settings.loss_type == "dapo":
        return loss_BC.sum() / mask_BC.sum()
    return loss_BC.sum() / (len(loss_BC) * settings.max_completion_tokens)
