"""Rollouts -> the entries of learning: the update, and the reference where the divergence from it has a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from race_report.bounds_from_means import scoring_from_means
from race_report.fill.lengths import Lengths, NotDerived, lengths_of
from race_report.fill.passes import FROM_MEANS, Bearer, Entry, Said, bearer_of, entry_of, only_of_role, said_of_pairs
from race_report.flops import default_factors

if TYPE_CHECKING:
    from race_report.document import Report, Run
    from race_report.fill.draft import Draft


def learning_entries(draft: Draft, report: Report, at: int, run: Run) -> list[Entry]:
    """Count the updates of a run's policy, and the scoring by its reference.

    Raises:
        NotDerived, Unshaped: they do not follow.

    """
    lengths = lengths_of(draft, at, run)
    bearer = bearer_of(draft, report, run.policy)
    _refuse_updates(run, bearer, lengths)
    assert run.rollouts is not None
    assert lengths.trained is not None
    settings = run.algorithm
    mu = (settings.updates_per_batch if settings is not None else None) or 1
    trained = lengths.trained + (run.rollouts.reused or 0)
    has_all = lengths.are_all_trained and not run.rollouts.reused
    entries = []
    if settings is not None and settings.kl_coefficient:
        entries.append(_reference(draft, report, run, bearer, lengths))
    found = scoring_from_means(
        trained * mu,
        lengths.mean_prompt,
        lengths.mean_completion,
        window=bearer.window,
        adapter=bool(bearer.adapters),
    )
    said: list[Said] = []
    if settings is None or settings.updates_per_batch is None:
        reason = "assumed: updates_per_batch is 1"
        said.append(Said("sequences", "lower_bound", reason))
    said += _said_of_lengths(lengths, bearer, has_all=has_all)
    reason = "assumed: rows go through the head only where they predict completion tokens"
    said.append(Said("logit_rows", "derived", reason))
    entries.append(entry_of("update", bearer, trained * mu, found.counts, lengths.basis, said))
    return entries


def _refuse_updates(run: Run, bearer: Bearer, lengths: Lengths) -> None:
    """Raise NotDerived where the number or the kind of updates is not known."""
    model = bearer.model
    if lengths.trained is None:
        raise NotDerived("rollouts without trained", "add rollouts: trained")
    if default_factors("update", model.trained) is None:
        why = f'what is trained of "{model.id}" is {model.trained or "not stated"}'
        raise NotDerived(why, "add trained: full, adapter or head; or the entry of the update, with multipliers")
    if model.trained == "adapter" and not bearer.adapters:
        why = f'"{model.id}" trains an adapter, and its coefficients have no adapter_parameters'
        raise NotDerived(why, "add adapter, or adapter_parameters")
    own = [stage.algorithm for stage in run.stages if stage.algorithm is not None]
    if any(settings.updates_per_batch or settings.kl_coefficient is not None for settings in own):
        raise NotDerived("stages change updates_per_batch or kl_coefficient", "add the entries of learning by stage")


def _said_of_lengths(lengths: Lengths, bearer: Bearer, *, has_all: bool) -> list[Said]:
    if lengths.are_known:
        return []
    if has_all:
        return said_of_pairs("lower_bound", FROM_MEANS, bearer)
    reason = "assumed: rollouts that were trained on are as long as all that were generated, in the mean"
    return [Said("tokens", "estimated", reason), *said_of_pairs("estimated", "from mean lengths", bearer)]


def _reference(draft: Draft, report: Report, run: Run, policy: Bearer, lengths: Lengths) -> Entry:
    """Count one scoring of each rollout that is trained on, by the reference."""
    reference = only_of_role(report, "reference")
    bearer = policy if reference is None else bearer_of(draft, report, reference)
    assert lengths.trained is not None
    found = scoring_from_means(lengths.trained, lengths.mean_prompt, lengths.mean_completion, window=bearer.window)
    who = "the reference"
    if reference is None:
        how = "with adapters disabled" if policy.model.trained == "adapter" else "with its first weights"
        who = f"the policy {how}, as reference,"
    kl = run.algorithm.kl_coefficient if run.algorithm is not None else None
    reason = f"assumed: {who} scores each rollout that is trained on once, because kl_coefficient is {kl}"
    said = [Said("sequences", "derived", reason)]
    said += _said_of_lengths(lengths, bearer, has_all=lengths.are_all_trained)
    return entry_of("reference_logprobs", bearer, lengths.trained, found.counts, lengths.basis, said)
