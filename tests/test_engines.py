"""The schema and the classes are one standard: same verdict, same pointers, on valid and invalid documents."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from race_report.render.latex import UnprintableCharacter, summary
from race_report.standard import schema
from race_report.validation import validate_value

sys.path.insert(0, str(Path(__file__).parent))
from engines import class_verdict, schema_verdict

SOAK = int(os.environ.get("RACE_SOAK", "1"))
"""How many times as many documents as usual: `make soak`."""

DOCUMENTS = Path(__file__).parent / "conformance" / "1.0" / "documents"
BASES = [json.loads(path.read_text("utf-8")) for path in sorted(DOCUMENTS.glob("*.json"))]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([2**53, 2**53 + 1, 10**25, -(2**53) - 1, 5.0, 1e21, 1e300, -0.0, 0.5, -0.5, 1.0000001]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(
        ["search", "update", "decode", "policy", "1.0", "5", "1e21", "1,000", "a\n", "x.y-z_1", "/a/~2", "/runs/*/a"]
    ),
    st.sampled_from(
        ["2026-02-29T00:00:00Z", "2024-02-29T23:59:59.5+01:00", "2026-12-01T23:59:60Z", "0000-01-01T00:00:00Z"]
    ),
    st.sampled_from(["https://a.b", "http:// c", "10.1000/x", "2607.13389v2", "f" * 64, "F" * 64, "f" * 64 + "\n"]),
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from(["id", "x-a", "b", ""]), SCALARS)
KEYS = st.sampled_from(
    [
        "x-free",
        "xx",
        "",
        "id",
        "flops",
        "model",
        "operation",
        "tokens",
        "phase",
        "component",
        "allocation_study",
        "note",
    ]
)


def containers(value: Any) -> list[Any]:
    found = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict | list):
            found.append(item)
            stack += item.values() if isinstance(item, dict) else item
    return found


@st.composite
def mutated_documents(draw: st.DrawFn) -> Any:
    """Draw a report of the suite with up to five keys or elements deleted, replaced or added, anywhere."""
    document = copy.deepcopy(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(0, 5))):
        container = draw(st.sampled_from(containers(document)))
        keys = list(container) if isinstance(container, dict) else list(range(len(container)))
        action = draw(st.sampled_from(["delete", "replace", "add"]))
        if action == "add" or not keys:
            value = draw(VALUES)
            if isinstance(container, dict):
                container[draw(KEYS)] = value
            else:
                container.append(value)
        elif action == "delete":
            del container[draw(st.sampled_from(keys))]
        else:
            container[draw(st.sampled_from(keys))] = draw(VALUES)
    return document


def from_schema(node: dict[str, Any], *, faithful: bool) -> st.SearchStrategy[Any]:
    """Draw values that a part of the schema describes; unfaithfully, now and then something else."""
    strategy = _faithful(node, faithful=faithful)
    return strategy if faithful else st.integers(0, 40).flatmap(lambda dice: VALUES if dice == 0 else strategy)


def _faithful(node: dict[str, Any], *, faithful: bool) -> st.SearchStrategy[Any]:  # noqa: PLR0911
    if "$ref" in node:
        return from_schema(schema()["$defs"][node["$ref"].rpartition("/")[2]], faithful=faithful)
    if "const" in node:
        return st.just(node["const"])
    if "enum" in node:
        return st.sampled_from(node["enum"])
    kind = node.get("type")
    if kind == "array":
        items = from_schema(node["items"], faithful=faithful)
        return st.lists(items, min_size=node.get("minItems", 0), max_size=2)
    if kind == "object":
        properties = {key: from_schema(value, faithful=faithful) for key, value in node.get("properties", {}).items()}
        required = set(node.get("required", ()))
        return st.fixed_dictionaries(
            {key: value for key, value in properties.items() if key in required},
            optional={key: value for key, value in properties.items() if key not in required},
        )
    if kind == "integer":
        return st.integers(node.get("minimum", -5), node.get("maximum", 2**53)) | st.just(1.0)
    if kind == "number":
        low = node.get("exclusiveMinimum", node.get("minimum", -1e9))
        return st.floats(low, node.get("maximum", 1e30), exclude_min="exclusiveMinimum" in node)
    if kind == "boolean":
        return st.booleans()
    if "pattern" in node:
        matching = st.from_regex(node["pattern"].replace("(?!\n)", ""), fullmatch=True).map(str.strip)
        return st.just("2026-12-01T12:00:00Z") if "format" in node else matching
    return st.text(min_size=1, max_size=5)


def assert_one_verdict(document: Any) -> None:
    """Three engines that share no code: in Rust, in Python, and the classes that the schema is made from."""
    by_schema = schema_verdict(document)
    assert by_schema == class_verdict(document)
    assert by_schema == schema_verdict(document, "jsonschema")


@given(mutated_documents())
@settings(max_examples=2800 * SOAK)
def test_mutated_reports_get_one_verdict(document: Any) -> None:
    assert_one_verdict(document)


@given(from_schema(schema(), faithful=True))
@settings(max_examples=400 * SOAK)
def test_generated_reports_get_one_verdict(document: Any) -> None:
    assert_one_verdict(document)


@given(from_schema(schema(), faithful=False))
@settings(max_examples=900 * SOAK)
def test_generated_and_spoilt_reports_get_one_verdict(document: Any) -> None:
    assert_one_verdict(document)


@pytest.mark.parametrize("base", BASES)
def test_the_reports_of_the_suite_are_valid_to_both(base: Any) -> None:
    assert schema_verdict(base) == class_verdict(base) == set()


@given(mutated_documents())
@settings(max_examples=300 * SOAK)
def test_a_third_party_validator_agrees_on_validity(document: Any) -> None:
    """`jsonschema` as anyone would use it, with the formats it checks by itself."""
    checker = jsonschema.Draft202012Validator(schema(), format_checker=jsonschema.FormatChecker())
    assert checker.is_valid(document) == (not schema_verdict(document))


@given(from_schema(schema(), faithful=True) | mutated_documents())
@settings(max_examples=500 * SOAK)
def test_no_valid_document_stops_the_rules_or_the_renderer(document: Any) -> None:
    result = validate_value(document)
    assert all(finding.message for finding in result.findings)
    if result.view is not None:
        assert result.level is not None
        with contextlib.suppress(UnprintableCharacter):
            assert summary([result.view]).startswith("%")
