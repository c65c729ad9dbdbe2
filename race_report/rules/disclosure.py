"""RACE8xx: how much a report discloses."""

from __future__ import annotations

from race_report.finding import Rule

LEVEL_NOT_REACHED = Rule(
    code="RACE801",
    name="level-not-reached",
    explanation="A level was required (--require-level) that the report does not reach.",
)

DISCLOSURE = (LEVEL_NOT_REACHED,)
