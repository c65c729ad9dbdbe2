"""The report: one document about the compute of one piece of work."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from race_report.document.base import (
    END,
    Amount,
    Array,
    Basis,
    DocumentObject,
    FilledArray,
    Id,
    Instant,
    Maybe,
    Number,
    Pointer,
    Text,
    Url,
)
from race_report.document.ledger import Conventions
from race_report.document.model import Model
from race_report.document.run import Run


class ReportInfo(DocumentObject):
    """What this document is."""

    id: Maybe[Id] = None
    """A name for the report."""
    status: Maybe[Literal["draft", "final", "corrected"]] = None
    """Whether the figures may still change."""
    created: Maybe[Instant] = None
    """When it was written: RFC 3339, with a time zone."""
    generator: Maybe[Text] = None
    """What wrote it: a tool and its version, or a hand."""
    supersedes: Maybe[Text] = None
    """The report that this one corrects: its id, digest or address."""


class Subject(DocumentObject):
    """The work that the report is about. Absent under double-blind review."""

    title: Maybe[Text] = None
    """Title of the paper or model."""
    authors: Array[Text] = ()
    """Authors."""
    url: Maybe[Url] = None
    """Where the work is found."""
    arxiv: Maybe[
        Annotated[str, Field(pattern=f"^([0-9]{{4}}[.][0-9]{{4,5}}|[a-z-]+([.][A-Z]{{2}})?/[0-9]{{7}})(v[0-9]+)?{END}")]
    ] = None
    """arXiv identifier, such as `2607.13389`."""
    doi: Maybe[Annotated[str, Field(pattern=f"^10[.][0-9]{{4,9}}/[^ \t\r\n]+{END}")]] = None
    """DOI, without the resolver's address."""
    code_url: Maybe[Url] = None
    """Where the code is found."""
    code_revision: Maybe[Text] = None
    """Commit or tag of the code."""


class OtherCompute(DocumentObject):
    """Compute of the project that is in none of the runs reported here."""

    id: Maybe[Id] = None
    """A name for pointers from elsewhere in the report."""
    what: Text
    """What it was spent on."""
    flops: Maybe[Amount] = None
    """FLOPs."""
    gpu_hours: Maybe[Amount] = None
    """Accelerator-hours."""
    cost_usd: Maybe[Amount] = None
    """Cost in US dollars."""
    basis: Maybe[Basis] = None
    """How the figure was come by."""
    note: Maybe[Text] = None
    """Anything a reader should know, such as a relative claim: 58 times the final run."""


class Study(DocumentObject):
    """The whole project, beside the runs reported here."""

    other_compute: Array[OtherCompute] = ()
    """Sweeps, failed runs, preliminary experiments."""
    complete: Maybe[bool] = None
    """Whether runs and other compute together are all that the project used."""


class Qualification(DocumentObject):
    """What has to be said about a number that stands elsewhere in the report."""

    pointer: Pointer
    """JSON Pointer to the number; an `id` may stand for an index, `*` for all."""
    basis: Literal[Basis, "stated", "contested"]
    """Where the number comes from; `contested` where sources disagree."""
    low: Maybe[Number] = None
    """The number is at least this."""
    high: Maybe[Number] = None
    """The number is at most this."""
    source: Maybe[Text] = None
    """Who states it, or where it can be read."""
    reason: Maybe[Text] = None
    """Why it is qualified; the assumption that was made."""


class NotReported(DocumentObject):
    """A gap that is named: not zero, and not forgotten."""

    pointer: Pointer
    """JSON Pointer to what is missing and all below it; an `id` may stand for an index, `*` for all."""
    reason: Text
    """`not_measured`, `not_published`, `not_applicable`, or a sentence."""


class Report(DocumentObject):
    """A RACE report: the compute of RL post-training and how it divides."""

    race_version: Literal["1.0"]
    """Version of this standard; what marks a file as a report."""
    report: Maybe[ReportInfo] = None
    """The document's own name, status and date."""
    subject: Maybe[Subject] = None
    """The work it is about."""
    conventions: Maybe[Conventions] = None
    """Conventions of all figures."""
    models: FilledArray[Model]
    """Every neural network that a run uses."""
    runs: FilledArray[Run]
    """Every run that is reported."""
    study: Maybe[Study] = None
    """The whole project beside these runs."""
    qualifications: Array[Qualification] = ()
    """What has to be said about single numbers."""
    not_reported: Array[NotReported] = ()
    """Gaps, with their reasons."""
