"""What every derived entry has: a model that is ready to be counted, its counts, and what has to be said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.fill.draft import weakest
from race_report.fill.lengths import NotDerived
from race_report.fill.models import shape_of

if TYPE_CHECKING:
    from race_report.document import Model, Report
    from race_report.fill.draft import Draft
    from race_report.flops import PassCounts


class Bearer(NamedTuple):
    """A model that ran, ready to be counted."""

    model: Model
    window: int | None
    adapters: int


FROM_MEANS: Final = "from mean lengths: pairs grow with the square of a length, so the true number is higher"


class Said(NamedTuple):
    """What has to be said of a count: its key, the basis, why, and the ends of its range."""

    key: str
    basis: str
    reason: str
    ends: dict[str, float] = {}  # noqa: RUF012 - a tuple's default, which nobody changes


class Entry(NamedTuple):
    """An entry to add, and what has to be said of its counts."""

    fields: dict[str, Any]
    said: list[Said]


def only_of_role(report: Report, role: str) -> str | None:
    """Give the id of the one model of a role, or None where there is none.

    Raises:
        NotDerived: there are several, or several runs that it may have served.

    """
    found = [model.id for model in report.models if model.role == role]
    if len(found) > 1 or (found and len(report.runs) > 1):
        several = "models are" if len(found) > 1 else "runs may have used the"
        raise NotDerived(f"several {several} {role}", "add the entries in which it ran")
    return found[0] if found else None


def bearer_of(draft: Draft, report: Report, name: str | None) -> Bearer:
    """Give a model that has what its counts ask for.

    Raises:
        NotDerived: it is not in the report, has no coefficients, or its windows are not known.

    """
    at, model = next(((at, model) for at, model in enumerate(report.models) if model.id == name), (-1, None))
    if model is None:
        raise NotDerived("no policy is named", "add policy, the id of the model that is trained")
    if model.coefficients is None:
        raise NotDerived(f'the model "{model.id}" has no coefficients', "see what is said of that model")
    window = None
    if model.coefficients.bounded_attention_width:
        shape = shape_of(draft, at, model)
        window = shape.window
        if window is None or shape.model.coefficients()[3] != model.coefficients.bounded_attention_width:
            why = f'the bounded layers of "{model.id}" do not have one window that is known'
            raise NotDerived(why, "add the entries with bounded_attention_pairs")
    return Bearer(model, window, model.coefficients.adapter_parameters or 0)


def entry_of(phase: str, bearer: Bearer, sequences: int, counts: PassCounts, own: str, said: list[Said]) -> Entry:
    """Make an entry: its basis is the weakest of that of the rollouts, `own`, and of what is said of its counts."""
    fields: dict[str, Any] = {
        "component": "search" if phase in ("prefill", "decode") else "learning",
        "phase": phase,
        "model": bearer.model.id,
        "operation": "update" if phase == "update" else "forward",
        "sequences": sequences,
        "tokens": counts.tokens,
        "attention_pairs": counts.attention_pairs,
        "bounded_attention_pairs": counts.bounded_attention_pairs,
        "logit_rows": counts.logit_rows,
        "adapter_tokens": counts.adapter_tokens,
        "basis": weakest([own, *(each.basis for each in said)]),
    }
    if bearer.window is None:
        del fields["bounded_attention_pairs"]
    if not bearer.adapters:
        del fields["adapter_tokens"]
    return Entry(fields, said)


def said_of_pairs(basis: str, reason: str, bearer: Bearer) -> list[Said]:
    """Say the same of pairs and, where layers have a window, of bounded pairs."""
    keys = ("attention_pairs", "bounded_attention_pairs") if bearer.window is not None else ("attention_pairs",)
    return [Said(key, basis, reason) for key in keys]
