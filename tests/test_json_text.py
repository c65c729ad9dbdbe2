from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from race_report import json_text
from race_report.parsed import MAX_DEPTH, Unparsable

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=4),
    max_leaves=20,
)


@given(value=JSON_VALUES, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 1]))
@settings(max_examples=500)
def test_reads_what_the_standard_library_writes(*, value: Any, ensure_ascii: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)
    parsed = json_text.parse(text)
    assert parsed.value == value
    assert parsed.faults == []
    assert type(parsed.value) is type(value)


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


@given(JSON_VALUES, st.data())
@settings(max_examples=1000)
def test_refuses_what_the_standard_library_refuses_and_nothing_else(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 2))
    text = text[:at] + data.draw(st.text('{}[]",:01.eE+-tfn\\u \n\t\x00/x', max_size=2)) + text[at + length :]
    try:
        expected = strict(text)
    except ValueError:
        with_faults = None
        try:
            with_faults = json_text.parse(text)
        except Unparsable as unparsable:
            assert unparsable.fault.message  # noqa: PT017 - both ways of refusing are right
        assert with_faults is None or with_faults.faults
        return
    parsed = json_text.parse(text)
    if not parsed.faults:
        assert parsed.value == expected
    assert {fault.rule for fault in parsed.faults} <= {"duplicate-key", "lone-surrogate", "number-overflow"}


def test_knows_where_every_value_and_key_stands() -> None:
    text = '{\r\n  "é": [1, {"b": "ü"}],\n\t"c/d": null\n}'
    places = json_text.parse(text).places

    def text_at(pointer: str) -> str:
        return places.literal(pointer) or ""

    assert text_at("/é/0") == "1"
    assert text_at("/é/1/b") == '"ü"'
    assert text_at("/é/1") == '{"b": "ü"}'
    assert text_at("/c~1d") == "null"
    assert text_at("") == text
    assert places.of_value("/é/1/b") == (2, 18, 2, 21)
    assert places.of_key("/c~1d") == (3, 2, 3, 7)
    assert places.of_value("/é/1/none") == (2, 12, 2, 13)


def test_goes_on_after_a_fault_and_finds_them_all() -> None:
    text = '{"a": NaN, "b": 1e999, "c": -Infinity, "a": "\\ud800", "d": [1, 2]}'
    parsed = json_text.parse(text)
    assert [(fault.rule, fault.pointer) for fault in parsed.faults] == [
        ("not-finite", "/a"),
        ("number-overflow", "/b"),
        ("not-finite", "/c"),
        ("duplicate-key", "/a"),
        ("lone-surrogate", "/a"),
    ]
    assert parsed.value["d"] == [1, 2]


def test_a_long_integer_overflows_and_a_large_one_stays_exact() -> None:
    parsed = json_text.parse(f"[{'9' * 400}, {10**25}, -{'1' * 308}]")
    assert [fault.pointer for fault in parsed.faults] == ["/0"]
    assert parsed.value[1] == 10**25


def test_nesting_is_refused_beyond_the_limit_only() -> None:
    assert json_text.parse("[" * MAX_DEPTH + "]" * MAX_DEPTH).faults == []
    with pytest.raises(Unparsable) as caught:
        json_text.parse("[" * 100_000)
    assert caught.value.fault.rule == "nested-too-deeply"


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('{"a": 1,}', 1, 9, "delete the comma"),
        ('{"a": 1\n "b": 2}', 2, 2, "put a comma before it"),
        ("{a: 1}", 1, 2, "double quotes"),
        ('{"a": 01}', 1, 7, "no leading zero"),
        ('{"a": .5}', 1, 7, "no bare point"),
        ('{"a": 1_000}', 1, 7, "no separators"),
        ('{"a": True}', 1, 7, "write true"),
        ('{"a": None}', 1, 7, "leave the key out"),
        ("{'a': 1}", 1, 2, "double quotes"),
        ('{\n// no\n"a": 1}', 2, 1, "JSON has no comments"),
        ('{"a": "b\n"}', 1, 9, "closing"),
        ('{"a": "\\q"}', 1, 8, "backslash"),
        ('{"a": "\t"}', 1, 8, "\\t"),
        ('{"a" 1}', 1, 6, "colon"),
        ("[1,,2]", 1, 4, "delete one of the commas"),
        ('{"a": [1, 2', 1, 12, "line 1, column 7"),
        ('{"a": 1} {"b": 2}', 1, 10, "one JSON value"),
        ("", 1, 1, "race init"),
    ],
)
def test_says_where_and_how_to_mend_bad_syntax(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(Unparsable) as caught:
        json_text.parse(text)
    fault = caught.value.fault
    assert fault.span is not None
    assert (fault.span.line, fault.span.column) == (line, column)
    assert words in fault.hint


def test_infinity_never_becomes_a_value() -> None:
    parsed = json_text.parse("[1e400, -1e400, Infinity, 1E308]")
    assert [value for value in parsed.value if value is not None] == [1e308]
    assert not any(isinstance(value, float) and math.isinf(value) for value in parsed.value)
