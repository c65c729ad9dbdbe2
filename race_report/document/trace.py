"""A record of a trace: one line of the journal from which a ledger follows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from race_report.document.base import END, Amount, Basis, Count, Id, Maybe, Text
from race_report.document.ledger import Component, Passes, Phase


class TraceRecord(Passes):
    """A record of a trace: what one worker did in one go, by the names of the ledger."""

    worker: Id
    """The process that wrote the record, such as `rank-0`; with `sequence_number` it is the record's key."""
    sequence_number: Count
    """The record's number among those of its worker, from 0, across all attempts."""
    attempt: Count
    """How often the worker had been resumed: 0 at first."""
    step: Maybe[Count] = None
    """The step that the work was for."""
    policy_version: Maybe[Count] = None
    """The version of the policy that ran, or whose output was judged."""
    component: Component
    """As in the ledger."""
    phase: Maybe[Phase] = None
    """As in the ledger."""
    part: Maybe[Text] = None
    """As in the ledger."""
    stage: Maybe[Id] = None
    """As in the ledger."""
    model: Maybe[Id] = None
    """The model that ran, by its id in the report."""
    operation: Maybe[Literal["forward", "update"]] = None
    """`forward`, or `update`: forward and backward."""
    sequences: Maybe[Count] = None
    """Sequences, summed over passes."""
    tokens: Maybe[Count] = None
    """Tokens that went through the body."""
    attention_pairs: Maybe[Amount] = None
    """Sum over the tokens of the keys each attends to."""
    bounded_attention_pairs: Maybe[Amount] = None
    """The same in the layers of `bounded_attention_width`."""
    logit_rows: Maybe[Count] = None
    """Rows that went through the head because they were needed."""
    adapter_tokens: Maybe[Count] = None
    """Tokens that went through unmerged adapters."""
    extra_tokens: Maybe[Count] = None
    """Positions the hardware ran beyond `tokens`."""
    cached_tokens: Maybe[Count] = None
    """Positions served from a cache and not computed."""
    executed_flops: Maybe[Amount] = None
    """FLOPs that the hardware ran for this record alone: no reading of a counter that goes on."""
    calls: Maybe[Count] = None
    """Calls of a judge, a tool, a sandbox or a search engine."""
    cpu_seconds: Maybe[Amount] = None
    """CPU time in seconds."""
    gpu_hours: Maybe[Amount] = None
    """Busy GPU-hours."""
    cost_usd: Maybe[Amount] = None
    """Cost in US dollars."""
    seconds: Maybe[Amount] = None
    """Seconds on the clock; no figure of the ledger follows from them."""
    basis: Maybe[Basis] = None
    """How the counts were come by; measured where nothing is said."""
    crc32: Maybe[Annotated[str, Field(pattern=f"^[0-9a-f]{{8}}{END}")]] = None
    """CRC-32 of the line's bytes before `,"crc32":`, in hexadecimal digits; stands last."""
