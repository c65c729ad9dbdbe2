"""Rollouts -> the entries of search: what the policy read, and what it sampled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from race_report.bounds_from_means import generation_from_means
from race_report.fill.lengths import Lengths, NotDerived, lengths_of
from race_report.fill.passes import FROM_MEANS, Entry, Said, bearer_of, entry_of, only_of_role, said_of_pairs

if TYPE_CHECKING:
    from race_report.document import Report, Run
    from race_report.fill.draft import Draft

_OF_BOTH: Final = "from mean lengths; prefill and decode together are a lower bound where no prompt is shared"
_MERGED: Final = "assumed: adapters are merged into the weights during rollouts; else every token goes through them"
_OWN_PROMPT: Final = "assumed: every rollout read its prompt; else state conventions: {prefix_sharing: group}"


def search_entries(draft: Draft, report: Report, at: int, run: Run) -> list[Entry]:
    """Count prefill and decode of a run's rollouts.

    Raises:
        NotDerived, Unshaped: they do not follow.

    """
    lengths = lengths_of(draft, at, run)
    bearer = bearer_of(draft, report, only_of_role(report, "rollout_policy") or run.policy)
    rollouts = run.rollouts
    assert rollouts is not None
    if rollouts.read_tokens or (run.algorithm is not None and (run.algorithm.max_turns or 1) > 1):
        raise NotDerived("rollouts have turns, whose number is not known", "add the entries of search")
    sharing, size = _sharing(report, run, lengths)
    counts = generation_from_means(
        lengths.rollouts,
        lengths.mean_prompt,
        lengths.mean_completion,
        group_size=size,
        one_prompt_length=lengths.has_one_prompt_length,
        window=bearer.window,
    )
    is_linear = lengths.has_one_completion_length and bearer.window is None
    bases = {
        "prefill": "derived" if lengths.has_one_prompt_length else counts.prefill.basis,
        "decode": "derived" if lengths.are_known or is_linear else counts.decode.basis,
    }
    entries = []
    for phase, found in (("prefill", counts.prefill.counts), ("decode", counts.decode.counts)):
        said = _said_of_sharing(sharing, run, lengths) if phase == "prefill" else []
        if bases[phase] != "derived":
            said += said_of_pairs(bases[phase], _OF_BOTH if bases[phase] == "estimated" else FROM_MEANS, bearer)
        if bearer.adapters:
            said.append(Said("adapter_tokens", "lower_bound", _MERGED, {"low": 0, "high": found.tokens}))
        sequences = lengths.rollouts // size if phase == "prefill" else lengths.rollouts
        entries.append(entry_of(phase, bearer, sequences, found, lengths.basis, said))
    return entries


def _sharing(report: Report, run: Run, lengths: Lengths) -> tuple[str | None, int]:
    """Give what the conventions say of shared prefixes, and the rollouts that share one reading of their prompt."""
    said = [conventions for conventions in (run.conventions, report.conventions) if conventions is not None]
    if next((each.kv_cache for each in said if each.kv_cache is not None), True) is False:
        raise NotDerived("the engine had no KV cache, and read all again for every token", "add the entries of search")
    sharing = next((each.prefix_sharing for each in said if each.prefix_sharing is not None), None)
    if sharing in (None, "none"):
        return sharing, 1
    size = _group_size(run, lengths)
    if sharing == "tree" or size is None:
        why = "prefixes were shared in trees" if sharing == "tree" else "groups shared prefixes, and differ in size"
        raise NotDerived(why, "add the entries of search, with the tokens and pairs of unique edges")
    return sharing, size


def _group_size(run: Run, lengths: Lengths) -> int | None:
    """Give the one size that the groups of a run have; None where they have several, or it is not known."""
    rollouts = run.rollouts
    assert rollouts is not None
    sizes = {group.size for group in rollouts.group_sizes if group.groups}
    if not sizes and rollouts.prompts and lengths.rollouts % rollouts.prompts == 0:
        sizes = {lengths.rollouts // rollouts.prompts}
    elif not sizes and run.algorithm is not None and run.algorithm.group_size:
        sizes = {run.algorithm.group_size}
    size = sizes.pop() if len(sizes) == 1 else None
    return size if size is not None and lengths.rollouts % size == 0 else None


def _said_of_sharing(sharing: str | None, run: Run, lengths: Lengths) -> list[Said]:
    if sharing == "blocks":
        reason = "counted as if whole prompts were shared: the last block of each is read by every rollout"
        return [Said("tokens", "lower_bound", reason)]
    size = _group_size(run, lengths)
    if sharing is not None or size == 1:
        return []
    prompts = lengths.mean_prompt * lengths.rollouts
    ends: dict[str, float] = {} if size is None else {"low": math.ceil(prompts / size), "high": int(prompts)}
    return [Said("tokens", "upper_bound", _OWN_PROMPT, ends)]
