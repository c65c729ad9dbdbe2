"""A meter for any training loop: phases and counts -> a journal -> a report. It needs no torch.

    meter = Meter("trace.jsonl", models=[...])
    meter.begin_step(3)
    with meter.phase("learning", "update", model="policy") as phase:
        phase.count(count_update(groups))
    report = meter.report(run={"hardware": [...]})

What an engine in another process did (vLLM, SGLang, a judge's server, a verifier) is told in explicit calls, `record`
and `generation`. Every record is in the file before the call returns.
"""

from __future__ import annotations

import contextlib
import operator
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Self

from race_report.accounting import account, missing_for_recomputation, recompute
from race_report.counts import count_served
from race_report.reporting import report_of, viewed
from race_report.standard import VERSION, view
from race_report.trace import Journal, Key
from race_report.trace.climbing import EXECUTED, Climb
from race_report.trace.reading import BESIDE, COUNTED, SECONDS

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from race_report.document.ledger import LedgerEntry
    from race_report.flops import PassCounts

_FRACTIONS: Final = frozenset({"bounded_attention_pairs", *BESIDE, SECONDS})
"""Figures that need not be whole."""

_WHERE_THERE_ARE: Final = frozenset({"bounded_attention_pairs", "adapter_tokens"})
"""Counts that many passes do not have, and then are silent about."""

GENERATION: Final = {
    "search": ("prefill", "decode"),
    "feedback": ("judge_prefill", "judge_decode"),
    "evaluation": ("evaluation", "evaluation"),
    "preparation": ("data_generation", "data_generation"),
}
"""The phases of reading prompts and of sampling, by component."""


class Readings:
    """Turns readings of a counter that goes on into what was done since the last one."""

    def __init__(self, start: float = 0) -> None:
        """Begin at a reading."""
        self._last = start

    def __call__(self, reading: float) -> float:
        """Give what was counted since the last reading.

        Raises:
            ValueError: the counter fell, so it began anew and the difference says nothing.

        """
        if reading < self._last:
            message = f"the counter fell from {self._last} to {reading}: was it reset? Begin with new Readings"
            raise ValueError(message)
        done, self._last = reading - self._last, reading
        return done


class Phase:
    """What is counted within `with meter.phase(...)`; written at its end."""

    def __init__(self, component: str, phase: str | None) -> None:
        """Begin with nothing counted."""
        self.component = component
        self.phase = phase
        self.counts: dict[str, float] = {}
        self.at_end: list[Callable[[], Iterable[dict[str, Any]]]] = []
        """What gives further records at the end, as arguments of `Meter.record`: sums that are not known before."""
        self.nested_seconds = 0.0
        """Seconds of the phases within, which are theirs."""

    def count(self, counts: PassCounts | None = None, **figures: float) -> None:
        """Add to what the phase has counted.

        Args:
            counts: what `race_report.counts` gives.
            figures: counts and other figures by name, as in `Meter.record`.

        Raises:
            ValueError: a figure is negative, no number, or none of the standard's.

        """
        for name, number in _all_figures(counts, figures).items():
            self.counts[name] = self.counts.get(name, 0) + number


class Meter:
    """Counts what a run computes, into the journal of this process."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        models: Sequence[Mapping[str, Any]],
        worker: str = "main",
        attempt: int | None = None,
        multipliers: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        """Begin a journal, or go on with the one that is there.

        Args:
            path: the journal; every process has its own.
            models: the models of the report, by the keys of the standard.
            worker: the name of this process among those of the run.
            attempt: how often the run had been resumed; counted on from the journal where it is not given.
            multipliers: factors of the formula for the updates of a model, by its id, where the defaults are not true.

        Raises:
            ValueError: the models are none of a report, or the file is no journal of this worker.

        """
        self.models = [dict(model) for model in models]
        self.multipliers = {name: dict(factors) for name, factors in (multipliers or {}).items()}
        seen = viewed({"race_version": VERSION, "models": self.models, "runs": [{"id": "main"}]})
        self._models = account(seen).models
        self._complete: set[tuple[Any, ...]] = set()
        self._climbs: dict[Key, Climb] = {}
        self._phase: ContextVar[Phase | None] = ContextVar("phase", default=None)
        self.step: int | None = None
        self.policy_version: int | None = None
        self.journal = Journal(path, worker=worker, attempt=attempt)
        self._sums: dict[Key, dict[str, float]] = {}
        for record in self.journal.earlier:
            self._add(record.key, record.amounts)
        self.journal.earlier = []

    def _add(self, key: Key, amounts: Mapping[str, float]) -> None:
        known = self._sums.setdefault(key, {})
        for name, number in amounts.items():
            known[name] = known.get(name, 0) + number

    def flops(self) -> dict[str, int]:
        """Give the model FLOPs that this process has recorded so far, by component; those of a closed model are none.

        Work of earlier attempts is in it, redone or not.
        """
        found: dict[str, int] = {}
        for key, amounts in self._sums.items():
            counted = 0
            if key.model is not None:
                seen = self._viewed(key, amounts)
                counted = recompute(seen, self._models.get(key.model)).flops or 0
            found[key.component] = found.get(key.component, 0) + counted
        return found

    def _viewed(self, key: Key, counts: Mapping[str, float]) -> LedgerEntry:
        """View counts as the entry that they would be."""
        entry = {**key._asdict(), **counts, "multipliers": self.multipliers.get(key.model or "")}
        stated = {name: value for name, value in entry.items() if value is not None and name != SECONDS}
        return view()({"models": [], "runs": [{"ledger": [stated]}]}).runs[0].ledger[0]

    @property
    def current(self) -> Phase | None:
        """The innermost phase that is open here, for whoever counts within it."""
        return self._phase.get()

    def begin_step(self, step: int, policy_version: int | None = None) -> None:
        """Say which step, and which version of the policy, later records are of unless they say it themselves."""
        self.step = step
        self.policy_version = policy_version

    def record(  # noqa: PLR0913 - the keys of a record
        self,
        component: str,
        phase: str | None = None,
        *,
        model: str | None = None,
        operation: str | None = None,
        part: str | None = None,
        stage: str | None = None,
        step: int | None = None,
        policy_version: int | None = None,
        basis: str | None = None,
        counts: PassCounts | None = None,
        **figures: float | None,
    ) -> int:
        """Write what was done, and give the record's number.

        Args:
            component: what it was for: search, learning, feedback, evaluation or preparation.
            phase: the phase of that component.
            model: the id of the model that ran; None for a rule, a sandbox, a search engine.
            operation: forward or update; what the phase says where it is not given.
            part: a label, such as pilot.
            stage: a stage of the run.
            step: that of `begin_step` where it is not given.
            policy_version: likewise.
            basis: how the counts were come by; measured where nothing is said.
            counts: what `race_report.counts` gives.
            figures: tokens, attention_pairs, logit_rows and so on, by the names of the ledger; `calls`, `cpu_seconds`,
                `executed_flops`, `seconds`.

        Raises:
            ValueError: a figure is negative or no number, the model is unknown, its FLOPs do not follow from the
                counts, or executed FLOPs grow as a counter does that was not reset.

        """
        checked = _all_figures(counts, figures)
        if model is not None and operation is None:
            operation = "update" if (phase or "").endswith("update") else "forward"
        key = Key(component, phase, model, operation, stage, part)
        self._refuse_incomplete(key, checked)
        self._refuse_running_total(key, checked)
        number = self.journal.append(
            step=self.step if step is None else step,
            policy_version=self.policy_version if policy_version is None else policy_version,
            **key._asdict(),
            **checked,
            basis=basis,
        )
        self._add(key, checked)
        return number

    def _refuse_incomplete(self, key: Key, counts: dict[str, float]) -> None:
        """Refuse counts of a model from which its FLOPs do not follow, at once and not at the end of the run."""
        if key.model is None:
            return
        if key.model not in self._models:
            message = f'there is no model "{key.model}": the meter has {", ".join(self._models)}'
            raise ValueError(message)
        seen = (key.model, key.operation, *sorted(name for name, number in counts.items() if number), *sorted(counts))
        if "tokens" not in counts or seen in self._complete:
            return
        lacking = missing_for_recomputation(self._viewed(key, counts), self._models[key.model])
        for lack in lacking:
            if lack.key != "coefficients":  # a closed model has none
                message = f'FLOPs of {key.words} do not follow from these counts: "{key.model}" needs {lack.what}'
                raise ValueError(message)
        self._complete.add(seen)

    def _refuse_running_total(self, key: Key, counts: dict[str, float]) -> None:
        """Refuse executed FLOPs that grow while nothing else does: the reading of a counter that was not reset."""
        climb = self._climbs.setdefault(key, Climb())
        before = list(climb.values)
        climb.takes(counts)
        if climb.jumps or climb.is_even:
            message = (
                f"executed_flops of {key.words} grow from {before[-1]} to {counts[EXECUTED]} while the counts stay "
                "the same: is it a counter that was not reset? Give what this record alone did; Readings takes the "
                "differences"
            )
            climb.values = before
            raise ValueError(message)

    @contextlib.contextmanager
    def phase(self, component: str, phase: str | None = None, **where: Any) -> Iterator[Phase]:
        """Count a stretch of the loop: what is counted within becomes one record, with its seconds.

        What was counted before an exception is written too. Where nothing of a model was counted, nothing ran and
        nothing is written. Phases may be nested: what is counted, and the time, is the innermost one's.

        Args:
            component: as in `record`.
            phase: as in `record`.
            where: model, operation, part, stage, step, policy_version and basis, as in `record`.

        Raises:
            ValueError: as `record`.

        """
        counted, begin = Phase(component, phase), time.perf_counter()
        token = self._phase.set(counted)
        try:
            yield counted
        finally:
            self._phase.reset(token)
            seconds = time.perf_counter() - begin
            if self.current is not None:
                self.current.nested_seconds += seconds
            records = [{"phase": phase, **where, **late} for give in counted.at_end for late in give()]
            if counted.counts or (where.get("model") is None and not records):
                records.append({"phase": phase, **where, **counted.counts})
            if len(records) == 1:  # else nobody knows whose time it was
                records[0] = {SECONDS: max(0.0, seconds - counted.nested_seconds), **records[0]}
            for record in records:
                self.record(component, **record)

    def generation(
        self,
        *,
        model: str,
        prompt_tokens: Sequence[int],
        completion_tokens: Sequence[int],
        cached_tokens: Sequence[int] | None = None,
        window: int | None = None,
        adapter: bool = False,
        component: str = "search",
        seconds: float | None = None,
        **where: Any,
    ) -> None:
        """Write what an engine read and sampled, from the lengths that it tells: two records, prefill and decode.

        Args:
            model: the model that sampled.
            prompt_tokens: tokens of the prompt, for every completion.
            completion_tokens: tokens that were sampled, the one that ends the sequence included.
            cached_tokens: prompt tokens that were served from a cache: vLLM's `num_cached_tokens`, SGLang's
                `cached_tokens`; of a prompt that is read once for a group, all of it but for the first completion.
            window: keys that a layer of bounded attention lets a token see.
            adapter: whether adapters ran beside their base, not merged into it.
            component: search, feedback (a judge), evaluation or preparation.
            seconds: the time that it took.
            where: part, stage, step, policy_version and basis, as in `record`.

        Raises:
            ValueError: as `record`; or the lists differ in length.

        """
        reading, sampling = GENERATION[component]
        counted = count_served(prompt_tokens, completion_tokens, cached_tokens, window=window, adapter=adapter)
        cached = cached_tokens if cached_tokens is not None else [0] * len(prompt_tokens)
        begun = [at for at, length in enumerate(completion_tokens) if length]
        self.record(
            component,
            reading,
            model=model,
            operation="forward",
            counts=counted.prefill,
            sequences=sum(cached[at] < prompt_tokens[at] for at in begun),
            cached_tokens=None if cached_tokens is None else counted.cached_tokens,
            calls=len(prompt_tokens) if reading == "judge_prefill" else None,
            seconds=seconds,
            **where,
        )
        more = sum(completion_tokens[at] > 1 for at in begun)
        counts = counted.decode
        self.record(component, sampling, model=model, operation="forward", counts=counts, sequences=more, **where)

    def report(self, *, run: Mapping[str, Any] | None = None, **document: Any) -> dict[str, Any]:
        """Make the report of what was recorded so far, as JSON has it; see `report_of`.

        Raises:
            ValueError: what is given has not the shape of a report.

        """
        self.journal.sync()
        try:
            return report_of(self.journal.path, models=self.models, run=run, multipliers=self.multipliers, **document)
        finally:
            self.journal.relock()

    def close(self) -> None:
        """Sync and close the journal."""
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _all_figures(counts: PassCounts | None, figures: Mapping[str, float | None]) -> dict[str, float]:
    """Join counts and figures by name; pairs and adapter tokens that a pass does not have are left out."""
    given = {name: number for name, number in figures.items() if number is not None}
    for name, number in counts._asdict().items() if counts is not None else ():
        if name in given:
            message = f"{name} is given twice"
            raise ValueError(message)
        if number or name not in _WHERE_THERE_ARE:
            given[name] = number
    return {name: _checked(name, number) for name, number in given.items()}


def _checked(name: str, number: Any) -> float:
    """Give a figure as a plain number. Raises ValueError where it is none, or negative, or has no name."""
    if name not in COUNTED and name not in _FRACTIONS:
        message = f'"{name}" is nothing that a record counts: it counts {", ".join((*COUNTED, *BESIDE, SECONDS))}'
        raise ValueError(message)
    try:
        value: float = operator.index(number)
    except TypeError:
        if name not in _FRACTIONS:
            message = f"{name} is {number!r}, and a count is an int"
            raise ValueError(message) from None
        value = float(number)
    if isinstance(number, bool) or not 0 <= value < float("inf"):
        message = f"{name} is {number!r}, and a count is never negative, infinite or no number"
        raise ValueError(message)
    return value
