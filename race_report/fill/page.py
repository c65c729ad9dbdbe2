"""What `race fill` says of what it did: text for people, JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

RECOMPUTABLE: Final = 2
"""The level that filling aims at."""

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.fill.draft import Filling
    from race_report.levels import Level


def text_lines(path: str, filling: Filling, before: Level, after: Level) -> Iterator[str]:
    """Yield what was added, what was assumed, what does not follow and why, and the levels before and after."""
    if not filling.additions:
        yield f"{path}: nothing was added"
    else:
        yield f"{path}: added"
        yield from (f"    {addition.pointer}: {addition.why}" for addition in filling.additions)
    if filling.assumptions:
        yield "qualified:"
        for said in filling.assumptions:
            ends = [f"{end} {said[end]}" for end in ("low", "high") if end in said]
            kind = ", ".join([said["basis"], *ends])
            yield f"    {said['pointer']}: {kind}: {said['reason']}"
    if filling.gaps:
        yield "not derived:"
        for gap in filling.gaps:
            yield f"    {gap.pointer}: {gap.why}"
            yield f"        mend: {gap.mend}"
    yield f"level {_words(before)} before, level {_words(after)} after"
    if after.number < RECOMPUTABLE:
        yield f"    level {after.number + 1} lacks:"
        yield from (f"    - {what}" for what in after.lacking)


def _words(level: Level) -> str:
    return f"{level.number}{', lower bound' if level.is_lower_bound else ''} ({level.name})"


def json_text(path: str, filling: Filling, before: Level, after: Level) -> str:
    """Give the same for programs; all keys are always there."""
    data = {
        "path": path,
        "added": [addition._asdict() for addition in filling.additions],
        "qualified": [_qualification(said) for said in filling.assumptions],
        "not_derived": [gap._asdict() for gap in filling.gaps],
        "before": _level(before),
        "after": _level(after),
    }
    return json.dumps(data, indent=2)


def _qualification(said: dict[str, Any]) -> dict[str, Any]:
    return {key: said.get(key) for key in ("pointer", "basis", "low", "high", "source", "reason")}


def _level(level: Level) -> dict[str, Any]:
    return {"level": level.number, "lower_bound": level.is_lower_bound, "next_level_lacks": list(level.lacking)}
