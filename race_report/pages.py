"""The page of each rule: its docstring, for `race explain` and RULES.md."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from race_report.rules import BY_CODE, BY_NAME, RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.finding import Rule

_HEADINGS: Final = ("What it checks", "Why it matters", "How to fix")

FAMILIES: Final = {
    "0": "Reading and structure",
    "1": "Names and references",
    "2": "Rollouts, tokens and steps",
    "3": "FLOPs",
    "4": "Hardware",
    "5": "Feedback",
    "6": "Energy and carbon",
    "7": "Comparison",
    "8": "Disclosure",
    "9": "Trace",
}
"""What the first digit of a code means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What is said of a rule."""

    rule: Rule
    summary: str
    sections: dict[str, str]
    before: str
    after: str


def find_rule(name: str) -> Rule | None:
    """Find a rule by its code or its name, in any case."""
    return BY_CODE.get(name.upper()) or BY_NAME.get(name.lower().replace("_", "-"))


def page_of(rule: Rule) -> Page:
    """Take a rule's docstring apart.

    Raises:
        ValueError: a heading is missing.

    """
    text = inspect.cleandoc(rule.explanation)
    head, before, after = (part.strip("\n") for part in re.split(r"^(?:Before|After):$", text, flags=re.MULTILINE))
    summary, *paragraphs = head.split("\n\n")
    sections = {}
    for heading, paragraph in zip(_HEADINGS, paragraphs, strict=True):
        prefix = f"{heading}: "
        if not paragraph.startswith(prefix):
            message = f"{rule.code}: {heading} should begin the paragraph {paragraph!r}"
            raise ValueError(message)
        words = " ".join(paragraph.removeprefix(prefix).split())
        is_name = "_" in words.partition(" ")[0]
        sections[heading] = words if is_name else words[0].upper() + words[1:]
    return Page(
        rule=rule,
        summary=" ".join(summary.split()),
        sections=sections,
        before=inspect.cleandoc(before),
        after=inspect.cleandoc(after),
    )


def rules_document() -> Iterator[str]:
    """Give the lines of RULES.md below its title: a table of contents, then a page a rule."""
    pages = [page_of(rule) for rule in RULES]
    yield "| code | name | severity | finds |"
    yield "|---|---|---|---|"
    for page in pages:
        rule = page.rule
        yield f"| [{rule.code}](#{rule.code.lower()}-{rule.name}) | {rule.name} | {rule.severity} | {page.summary} |"
    family = ""
    for page in pages:
        if FAMILIES[page.rule.code[4]] != family:
            family = FAMILIES[page.rule.code[4]]
            yield from ("", f"## {family}")
        yield from ("", f"### {page.rule.code} {page.rule.name}", "", page.summary)
        for heading, text in page.sections.items():
            yield from ("", f"**{heading}.** {text}")
        yield from ("", "Before:", "", "```text", page.before, "```", "", "After:", "", "```text", page.after, "```")
