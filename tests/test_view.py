"""The view is the document: the same attributes as the classes, and none that they lack."""

from __future__ import annotations

from typing import Any

import pytest

from race_report.document import DocumentObject, Report
from race_report.rules import RULES
from race_report.standard import view


def assert_same(viewed: Any, validated: Any) -> None:
    if isinstance(validated, DocumentObject):
        for name in type(validated).model_fields:
            assert_same(getattr(viewed, name), getattr(validated, name))
    elif isinstance(validated, tuple):
        assert isinstance(viewed, tuple)
        assert len(viewed) == len(validated)
        for one, other in zip(viewed, validated, strict=True):
            assert_same(one, other)
    else:
        assert viewed == validated
        assert type(viewed) is type(validated) or {type(viewed), type(validated)} == {int, float}


def test_view_and_classes_give_the_same_values(example: dict[str, Any]) -> None:
    assert_same(view()(example), Report.model_validate(example))


def test_a_misspelt_name_raises(example: dict[str, Any]) -> None:
    entry = view()(example).runs[0].ledger[0]
    with pytest.raises(AttributeError):
        entry.flop  # type: ignore[attr-defined]  # noqa: B018


def test_what_is_absent_is_none_or_the_empty_tuple(example: dict[str, Any]) -> None:
    run = view()(example).runs[0]
    assert run.energy is None
    assert run.stages == ()


def test_a_whole_number_in_any_notation_is_an_integer_in_both(example: dict[str, Any]) -> None:
    example["runs"][0]["rollouts"]["prompt_tokens"] = 1.0039163e07
    example["runs"][0]["ledger"][0]["flops"] = 69319282340659200
    for report in (view()(example), Report.model_validate(example)):
        rollouts = report.runs[0].rollouts
        assert rollouts is not None
        assert (rollouts.prompt_tokens, type(rollouts.prompt_tokens)) == (10039163, int)
        assert type(report.runs[0].ledger[0].flops) is int


def spoil(example: dict[str, Any]) -> dict[str, Any]:
    """Make a report on which every rule that has a check finds something."""
    run = example["runs"][0]
    run["ledger"][0]["flops"] *= 1.5
    run["ledger"][1]["flops"] *= 1.001
    run["ledger"][2]["method"] = "counts"
    del run["ledger"][2]["logit_rows"]
    run["totals"]["learning_flops"] *= 2.0
    run["totals"]["feedback_flops"] = 1.084e18
    return example


def test_every_rule_gives_the_same_findings_on_view_and_classes(example: dict[str, Any]) -> None:
    spoilt = spoil(example)
    for rule in RULES:
        if rule.check is not None:
            on_view = list(rule.check(view()(spoilt)))
            assert on_view, f"{rule.code} finds nothing to compare"
            assert on_view == list(rule.check(Report.model_validate(spoilt)))
