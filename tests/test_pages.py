"""Every code has a page: what, why, how, and an example before and after."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import pytest

from race_report import rules as package
from race_report.finding import Rule, Severity
from race_report.pages import FAMILIES, find_rule, page_of
from race_report.rules import (
    RULES,
    disclosure,
    flops,
    hardware,
    identity,
    methods,
    passes,
    peaks,
    reading,
    rollouts,
    sizes,
    steps,
    structure,
    trace,
    utilization,
)
from race_report.source import load_bytes
from race_report.standard import subschema
from race_report.validation import validate_value

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_page_of_a_rule_is_whole(rule: Rule) -> None:
    page = page_of(rule)
    assert page.summary.endswith(".")
    assert list(page.sections) == ["What it checks", "Why it matters", "How to fix"]
    assert all(len(text) > 15 and text.endswith(".") for text in page.sections.values())
    assert page.before
    assert page.after
    assert page.before != page.after
    assert rule.code[4] in FAMILIES


def test_codes_and_names_are_unique_and_of_one_form() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"RACE[0-9]{3}", rule.code)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)


def test_every_rule_that_is_written_is_in_the_table() -> None:
    modules = (
        *(disclosure, flops, hardware, identity, methods, passes, peaks),
        *(reading, rollouts, sizes, steps, structure, trace, utilization),
    )
    written = {value.code for module in modules for value in vars(module).values() if isinstance(value, Rule)}
    assert written == {rule.code for rule in package.RULES}


def test_a_rule_is_found_by_code_and_name_in_any_case() -> None:
    assert find_rule("race301") is find_rule("flops-mismatch") is find_rule("Flops_Mismatch")
    assert find_rule("RACE999") is None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_explain_shows_the_page(race: Race, rule: Rule) -> None:
    done = race("explain", rule.code)
    page = page_of(rule)
    assert done.returncode == 0
    for text in (rule.name, page.summary, *page.sections, *page.sections.values(), page.before, page.after):
        assert " ".join(text.split()) in " ".join(done.stdout.split())


def test_an_unknown_code_is_wrong_usage_with_a_proposal(race: Race) -> None:
    done = race("explain", "flops-mismatsh")
    assert (done.returncode, "did you mean flops-mismatch?" in done.stderr) == (2, True)


def test_all_rules_are_listed(race: Race) -> None:
    done = race("rules")
    assert [line.split()[0] for line in done.stdout.splitlines()[::2]] == [rule.code for rule in RULES]
    assert race("rules", "--format", "json").stdout.count('"code"') == len(RULES)


def test_every_code_has_a_place_in_the_standard(root: Path) -> None:
    text = (root / "schema" / "1.0" / "SPEC.md").read_text("utf-8")
    named = set(re.findall(r"RACE[0-9]{3}", text))
    assert named == {rule.code for rule in RULES}


def sentences(root: Path) -> list[str]:
    """Give the sentences of the standard, without its tables."""
    text = (root / "schema" / "1.0" / "SPEC.md").read_text("utf-8")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    return [part for line in prose for part in re.split(r"(?<=[.]) ", line)]


def test_every_demand_of_the_standard_has_a_code(root: Path) -> None:
    """MUST and SHOULD stand only in sentences that name what checks them."""
    demands = [part for part in sentences(root) if re.search(r"\b(MUST|SHOULD)\b", part)]
    assert len(demands) > 30
    (definition,) = [part for part in demands if not re.search(r"\[RACE[0-9]{3}\]", part)]
    assert definition.startswith("In this document MUST is what an error is about")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_an_error_is_a_must_a_warning_a_should_and_a_note_neither(root: Path, rule: Rule) -> None:
    (sentence,) = [part for part in sentences(root) if f"[{rule.code}]" in part]
    before = sentence[: sentence.index(f"[{rule.code}]")]
    words = re.findall(r"\b(MUST|SHOULD|note)\b", before)
    assert words[-1] == {"error": "MUST", "warning": "SHOULD", "note": "note"}[rule.severity], sentence


def home_of(key: str) -> list[str | int]:
    """Find the shortest way from the top of a report to a key, by the schema; 0 is the first element of a list."""
    ways: list[list[str | int]] = [[]]
    for way in ways:
        properties = subschema(way).get("properties", {})
        if key in properties:
            return way
        ways += [[*way, name, *([0] if "items" in subschema([*way, name]) else [])] for name in properties]
    raise KeyError(key)


def in_a_report(base: dict[str, Any], fragment: str) -> dict[str, Any]:
    """Put the fragment of a page where it belongs; a list is a ledger."""
    value = load_bytes(fragment.encode(), "page.yaml").value
    document = copy.deepcopy(base)
    for key, part in {"ledger": value}.items() if isinstance(value, list) else value.items():
        place: Any = document
        for step in home_of(key):
            place = place[step] if isinstance(step, int) else place.setdefault(step, {})
        first = (document["runs"] or [{}])[0]
        place[key] = [{**first, **part[0]}, *part[1:]] if key == "runs" and part else part
    return document


SHOWN_IN_A_REPORT = [
    rule for rule in RULES if "RACE030" <= rule.code < "RACE9" and rule.code not in ("RACE801", "RACE041")
]


@pytest.mark.parametrize("rule", SHOWN_IN_A_REPORT, ids=lambda rule: rule.code)
def test_before_is_a_violation_and_after_is_none(example: dict[str, Any], rule: Rule) -> None:
    models = example["models"]
    models[0]["adapter"] = {"method": "lora"}
    run: dict[str, Any] = {"id": "main", "policy": "policy"}
    if "utilization" in page_of(rule).before:
        run["hardware"] = [{"id": "node"}]
    base = {"race_version": "1.0", "models": models, "runs": [run]}
    page = page_of(rule)
    before = in_a_report(base, page.before)
    after = in_a_report(before, page.after)
    assert rule.code in {finding.code for finding in validate_value(before).findings}
    assert not [
        finding.message
        for finding in validate_value(after).findings
        if finding.code == rule.code or finding.severity is Severity.ERROR
    ]
