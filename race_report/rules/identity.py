"""RACE1xx: names, and what refers to them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from race_report.finding import Severity, rule
from race_report.rules.said import trail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from race_report.document import Report
    from race_report.finding import Violation

_FEW: Final = 6
_LONGEST: Final = 200
"""Names that a message lists, and characters of a pointer that it shows."""

_PRIVATE: Final = (
    r"(?<![\w.+-])[\w.+-]{1,64}@(?!github\.com|gitlab\.com)(?:(?=[0-9-]*[A-Za-z])[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}\b"
    r"|(?:/home/|/Users/|[A-Za-z]:\\Users\\)(?!(?:ubuntu|ray|user|root|runner|work)\b)[\w.-]{1,64}"
)
"""An e-mail address, or somebody's home folder."""


@rule("RACE101")
def unknown_model(report: Report) -> Iterator[Violation]:
    """A reference to a model that `models` does not have.

    What it checks: `policy` of a run, and `model` of ledger entries, feedback and pipeline items, against the ids under
    `models`.

    Why it matters: coefficients are looked up by that id; without them nobody can recompute the entry.

    How to fix: correct the id, or add the model.

    Before:

        models: [{id: policy, role: policy}]
        runs: [{id: main, policy: polcy}]

    After:

        models: [{id: policy, role: policy}]
        runs: [{id: main, policy: policy}]
    """
    known = {model.id for model in report.models}
    for index, run in enumerate(report.runs):
        unknown = [("policy", run.policy)] if run.policy is not None and run.policy not in known else []
        for name in ("ledger", "feedback", "pipeline"):
            for at, item in enumerate(getattr(run, name)):
                if item.model is not None and item.model not in known:
                    unknown.append((f"{name}/{at}/model", item.model))
        for where, model in unknown:
            yield f"/runs/{index}/{where}", f'no model has the id "{model}"', f"models has {_listed(known)}"


@rule("RACE102")
def unknown_run(report: Report) -> Iterator[Violation]:
    """A run builds on a run that the report does not have, or on itself.

    What it checks: `builds_on` against the ids of the other runs, and that no run leads back to itself.

    Why it matters: the compute of a run that others build on is counted there, once; a wrong id loses it.

    How to fix: correct the id, or add the run with its own ledger (role `preparation` where it has no split).

    Before:

        runs: [{id: main, builds_on: [warmup]}]

    After:

        runs: [{id: main, builds_on: [warmup]}, {id: warmup, role: preparation}]
    """
    if not any(run.builds_on for run in report.runs):
        return
    builds_on = {run.id: run.builds_on for run in report.runs}
    circular = _circular(builds_on)
    for index, run in enumerate(report.runs):
        for at, base in enumerate(run.builds_on):
            pointer = f"/runs/{index}/builds_on/{at}"
            if base == run.id:
                yield pointer, f'"{run.id}" builds on itself', "take it out"
            elif base not in builds_on:
                yield pointer, f'no run has the id "{base}"', f"runs has {_listed(builds_on)}"
            elif base in circular and _leads_to(base, run.id, builds_on):
                yield pointer, f'"{run.id}" builds on itself by way of "{base}"', "take one of the two out"


def _circular(builds_on: dict[str, tuple[str, ...]]) -> set[str]:
    """Give the runs whose bases never end, so that most reports need no search for the way back."""
    waiting = {run: {base for base in bases if base in builds_on} for run, bases in builds_on.items()}
    above: dict[str, list[str]] = {run: [] for run in builds_on}
    for run, bases in waiting.items():
        for base in bases:
            above[base].append(run)
    settled = [run for run, bases in waiting.items() if not bases]
    for base in settled:
        for run in above[base]:
            waiting[run].discard(base)
            if not waiting[run]:
                settled.append(run)
    return set(builds_on).difference(settled)


def _leads_to(start: str, goal: str, builds_on: dict[str, tuple[str, ...]]) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        run = waiting.pop()
        if run == goal:
            return True
        if run not in seen:
            seen.add(run)
            waiting += builds_on.get(run, ())
    return False


@rule("RACE103")
def unknown_stage(report: Report) -> Iterator[Violation]:
    """A ledger entry or a pool names a stage that its run does not have.

    What it checks: `stage` of ledger entries and `stages` of hardware pools against the ids under the run's `stages`.

    Why it matters: counts by stage cannot be laid beside the settings of the stage.

    How to fix: correct the id, or add the stage.

    Before:

        stages: [{id: short}]
        ledger: [{component: search, stage: shrot}]

    After:

        stages: [{id: short}]
        ledger: [{component: search, stage: short}]
    """
    for index, run in enumerate(report.runs):
        known = {stage.id for stage in run.stages}
        unknown = [
            (f"ledger/{at}/stage", entry.stage)
            for at, entry in enumerate(run.ledger)
            if entry.stage is not None and entry.stage not in known
        ]
        for at, pool in enumerate(run.hardware):
            unknown += [(f"hardware/{at}/stages/{n}", name) for n, name in enumerate(pool.stages) if name not in known]
        for where, stage in unknown:
            yield f"/runs/{index}/{where}", f'the run has no stage "{stage}"', f"it has {_listed(known)}"


@rule("RACE104")
def duplicate_id(report: Report) -> Iterator[Violation]:
    """Two elements of a list have one id.

    What it checks: ids within `models`, `runs` and `study.other_compute`, and within the lists of a run.

    Why it matters: an id stands for its element, in references and in pointers; of two nobody knows which is meant.

    How to fix: rename one of them, and what refers to it.

    Before:

        models: [{id: policy, role: policy}, {id: judge, role: judge}, {id: judge, role: judge}]

    After:

        models: [{id: policy, role: policy}, {id: judge, role: judge}, {id: second-judge, role: judge}]
    """
    owners: list[tuple[str, Any, tuple[str, ...]]] = [("", report, ("models", "runs"))]
    names = ("stages", "ledger", "hardware", "pipeline", "feedback", "results")
    owners += [(f"/runs/{index}", run, names) for index, run in enumerate(report.runs)]
    if report.study is not None:
        owners.append(("/study", report.study, ("other_compute",)))
    for pointer, owner, lists in owners:
        for name in lists:
            elements = getattr(owner, name)
            if len(elements) <= 1:
                continue
            first: dict[str, int] = {}
            for at, element in enumerate(elements):
                if element.id is not None and first.setdefault(element.id, at) != at:
                    message = f'the id "{element.id}" is that of element {first[element.id]} too'
                    yield f"{pointer}/{name}/{at}/id", message, "give each an id of its own"


@rule("RACE105")
def duplicate_entry(report: Report) -> Iterator[Violation]:
    """Two lines of a ledger are about the same thing.

    What it checks: component, phase, model, operation, stage and part together, which must be unique in a ledger.

    Why it matters: every FLOP is entered once. Alike passes are one entry with summed counts; of two lines one may be
    a copy, and the total too high.

    How to fix: add the counts up in one entry, or tell the lines apart by `part`: votes, turns, a feedback id.

    Before:

        - {component: search, phase: decode, model: policy, operation: forward, tokens: 100}
        - {component: search, phase: decode, model: policy, operation: forward, tokens: 900}

    After:

        - {component: search, phase: decode, model: policy, operation: forward, tokens: 1000}
    """
    for index, run in enumerate(report.runs):
        first: dict[tuple[str | None, ...], int] = {}
        for at, entry in enumerate(run.ledger):
            key = (entry.component, entry.phase, entry.model, entry.operation, entry.stage, entry.part)
            if first.setdefault(key, at) != at:
                words = ", ".join(word for word in key if word)
                message = f"entry {first[key]} is about the same: {words}"
                yield f"/runs/{index}/ledger/{at}", message, "add the counts up in one entry, or give each a `part`"


@rule("RACE106")
def dangling_pointer(report: Report) -> Iterator[Violation]:
    """A pointer in `qualifications` or `not_reported` leads nowhere.

    What it checks: every step of the pointer: that an element has the id or the index, and that the standard knows the
    key. The value at its end may be missing; that is what `not_reported` is for.

    Why it matters: a gap that is named at a place that does not exist is a gap that nobody has named.

    How to fix: correct the step that the message names.

    Before:

        not_reported: [{pointer: /runs/mian/energy, reason: not_measured}]

    After:

        not_reported: [{pointer: /runs/main/energy, reason: not_measured}]
    """
    for name in ("qualifications", "not_reported"):
        for at, item in enumerate(getattr(report, name)):
            lost, _, names = trail(report, item.pointer)
            if lost is not None:
                hint = "an element is named by its id, its index or *; race schema shows the keys"
                near = _near(lost, names)
                if near is not None:
                    hint = f'did you mean "{near}"?'
                elif 0 < len(names) <= _FEW:
                    hint = f"there is {_listed(names)}; * stands for every element"
                message = f'"{item.pointer[:_LONGEST]}" leads nowhere: there is no "{lost[:_LONGEST]}" there'
                yield f"/{name}/{at}/pointer", message, hint


def _near(name: str, names: tuple[str, ...]) -> str | None:
    """Give the name that one most likely means."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:_LONGEST], names, n=1)), None)


@rule("RACE107", severity=Severity.WARNING)
def policy_of_another_role(report: Report) -> Iterator[Violation]:
    """The policy of a run is a model whose role is another.

    What it checks: that the model which `policy` names has the role `policy`.

    Why it matters: readers and tools find the model that is trained by its role.

    How to fix: correct the role or the reference. A smaller model that samples is a `rollout_policy` of its own.

    Before:

        models: [{id: actor, role: reference}]
        runs: [{id: main, policy: actor}]

    After:

        models: [{id: actor, role: policy}]
        runs: [{id: main, policy: actor}]
    """
    roles = {model.id: model.role for model in report.models}
    for index, run in enumerate(report.runs):
        role = roles.get(run.policy or "")
        if role is not None and role != "policy":
            message = f'the model "{run.policy}" has the role {role}'
            yield f"/runs/{index}/policy", message, "write role: policy there, or name the model that is trained"


@rule("RACE108", severity=Severity.WARNING)
def identity_leak(report: Report) -> Iterator[Violation]:
    """A report without a subject, as for double-blind review, tells who wrote it.

    What it checks: where `subject` is absent, that no text holds an e-mail address or somebody's home folder. It sees
    no other sign: names, hosts and repositories are yours to look for.

    Why it matters: a reviewer who can tell the authors is no blind reviewer, and some venues reject for it.

    How to fix: take the address or the path out, or write paths relative to the report.

    Before:

        runs: [{id: main, note: logs in /home/lovelace/runs}]

    After:

        runs: [{id: main, note: logs are with the report}]
    """
    if report.subject is not None:
        return
    for pointer, text in _texts(report, ""):
        found = re.search(_PRIVATE, text, re.ASCII)
        if found is not None:
            message = f'"{found[0]}" tells who wrote this report, which names no subject'
            yield pointer, message, "take it out, or name the subject where the review is not blind"


def _texts(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Give every text of the document that the standard has a key for, with its pointer."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, tuple):
        for index, element in enumerate(value):
            yield from _texts(element, f"{pointer}/{index}")
    elif hasattr(value, "__dict__"):
        for key, child in vars(value).items():
            if child is not None and child != () and not key.startswith(("x-", "_")):
                yield from _texts(child, f"{pointer}/{key}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(Counter(names))) or "none"
