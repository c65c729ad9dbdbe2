"""The settings of a run, typed: YAML -> `Config`."""

from __future__ import annotations

from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Positive = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
LossType = Literal["grpo", "dapo", "dr_grpo"]


class Settings(BaseModel):
    """Settings that refuse what they do not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WarmStart(Settings):
    """How the base model is made: until a condition holds, not for a number of steps."""

    learning_rate: Rate
    batch: Positive
    worked: Share
    """Share of worked solutions; the rest are direct answers drawn at random, which cannot be learned."""
    target: Share
    """Accuracy of worked solutions on the validation problems at which the warm start ends."""
    check_every: Positive
    max_steps: Positive


class Grpo(Settings):
    """The algorithm, by the names of TRL and of the standard."""

    steps: Positive
    prompts: Positive
    """Prompts a step."""
    group_size: Annotated[int, Field(ge=2)]
    """Rollouts a prompt."""
    learning_rate: Rate
    """Peak; it falls linearly to 0."""
    temperature: Rate
    max_completion_tokens: Positive
    updates_per_batch: Positive
    """Times each batch is trained on (mu)."""
    clip_low: Rate
    clip_high: Rate
    kl_coefficient: Annotated[float, Field(ge=0)]
    """Weight of the divergence from the policy without its adapter (beta)."""
    loss_type: LossType
    max_gradient_norm: Rate


class Lora(Settings):
    """The adapter on every linear layer."""

    rank: Positive
    alpha: Positive


class Config(Settings):
    """A run."""

    seed: Annotated[int, Field(ge=0)]
    """Of initialisation, data and sampling."""
    warm_start: WarmStart
    grpo: Grpo
    lora: Lora


def read_config(path: str) -> Config:
    """Read settings from YAML.

    Raises:
        ValueError: the file cannot be read, or a setting is missing, unknown or out of range; the message names it.

    """
    try:
        with open(path, encoding="utf-8") as file:
            return Config.model_validate(yaml.safe_load(file))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: no YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
