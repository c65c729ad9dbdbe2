from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from race_report import yaml_text
from race_report.parsed import Unparsable

if TYPE_CHECKING:
    from pathlib import Path

PLAIN_TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\x85\u2028\u2029\ufeff\ufffe\uffff"), max_size=12
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | PLAIN_TEXT,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(PLAIN_TEXT, children, max_size=4),
    max_leaves=15,
)


@given(VALUES)
@settings(max_examples=400)
def test_reads_json_as_the_json_parser_does(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    try:
        assert yaml_text.parse(text).value == value
    except Unparsable as unparsable:
        # YAML forbids a few characters that JSON allows, and limits the length of a key of a flow mapping.
        if value is None:
            assert unparsable.fault.rule == "empty-file"  # noqa: PT017
        else:
            assert unparsable.fault.rule == "invalid-syntax"  # noqa: PT017
            assert any(not character.isprintable() for character in text)


def test_both_forms_of_a_report_give_the_same_value(documents: Path) -> None:
    pairs = [(path, path.with_suffix(".json")) for path in documents.glob("*.yaml")]
    assert pairs
    for yaml_path, json_path in pairs:
        value = yaml_text.parse(yaml_path.read_text("utf-8")).value
        assert value == json.loads(json_path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("1e21", 1e21),
        ("3.2e+21", 3.2e21),
        ("5.0e20", 5.0e20),
        ("1e-05", 1e-05),
        ("1.10", 1.1),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 17),
        ("+12", 12),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-12-01", "2026-12-01"),
        ("2026-12-01T12:00:00Z", "2026-12-01T12:00:00Z"),
        ("yes", "yes"),
        ("Off", "Off"),
        ("TRUE", True),
        ("~", None),
        ("", None),
        ("null", None),
        ('"1e21"', "1e21"),
        ("'1'", "1"),
        ("!!str 12", "12"),
        ("!!float 12", 12),
        ("! 12", "12"),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e", "1e"),
    ],
)
def test_plain_scalars_follow_the_core_schema(scalar: str, value: object) -> None:
    parsed = yaml_text.parse(f"key: {scalar}\n")
    assert parsed.faults == []
    assert parsed.value == {"key": value}
    assert type(parsed.value["key"]) is type(value)


@pytest.mark.parametrize(
    ("text", "rule", "pointer"),
    [
        ("a: 1\nb: 2\na: 3", "duplicate-key", "/a"),
        ("a: .nan", "not-finite", "/a"),
        ("a: -.inf", "not-finite", "/a"),
        ("a: 1e400", "number-overflow", "/a"),
        ("revision: 695e0514", "number-overflow", "/revision"),
        (f"a: {'9' * 400}", "number-overflow", "/a"),
        ("a: {b: 1, 1: 2}", "unsupported-yaml", "/a/1"),
        ("a: {total: 1,543,714}", "unsupported-yaml", "/a/543"),
        ("a: !!int x", "unsupported-yaml", "/a"),
    ],
)
def test_faults_leave_the_rest_readable(text: str, rule: str, pointer: str) -> None:
    parsed = yaml_text.parse(f"{text}\nlast: [1, 2]\n")
    assert (parsed.faults[0].rule, parsed.faults[0].pointer) == (rule, pointer)
    assert {fault.rule for fault in parsed.faults} == {rule}
    assert parsed.value["last"] == [1, 2]


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        ("", "empty-file", "race init"),
        ("# only a comment\n", "empty-file", "race init"),
        ("a: 1\n---\nb: 2\n", "unsupported-yaml", "one report"),
        ("%YAML 1.1\n---\na: 1\n", "unsupported-yaml", "%YAML"),
        ("a: *nothing\n", "unsupported-yaml", "&nothing"),
        ("a: &a [*a]\n", "unsupported-yaml", "&a"),
        ("a: !python/object:os.system {}\n", "unsupported-yaml", "delete the tag"),
        ("? [1, 2]\n: 3\n", "unsupported-yaml", "alias, a list or a mapping"),
        ("a: [1, 2\n", "invalid-syntax", "bracket"),
        ("a: b: c\n", "invalid-syntax", "colon"),
        ("a:\n\tb: 1\n", "invalid-syntax", "spaces"),
        ("a: 'b\n", "invalid-syntax", "close this quote"),
        ("a: @b\n", "invalid-syntax", "quote"),
        ("a: \x07\n", "invalid-syntax", "escape"),
        ("a: b\u2028c\n", "invalid-syntax", "new line"),
        ("a: b\x85c\n", "invalid-syntax", "new line"),
        ('a: "\\ud800"\n', "lone-surrogate", "character itself"),
        ("a: " + "[" * 200, "nested-too-deeply", "bracket"),
    ],
)
def test_refuses_what_json_has_no_counterpart_for(text: str, rule: str, words: str) -> None:
    with pytest.raises(Unparsable) as caught:
        yaml_text.parse(text)
    assert caught.value.fault.rule == rule
    assert words in caught.value.fault.hint
    assert caught.value.fault.span is not None


def test_an_alias_bomb_is_refused_before_it_bursts() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(Unparsable) as caught:
        yaml_text.parse("\n".join(lines))
    assert caught.value.fault.rule == "too-many-aliases"


def test_aliases_within_the_budget_are_values_like_any_other() -> None:
    parsed = yaml_text.parse("a: &x {b: 1}\nc: *x\nd: [*x, *x]\n")
    assert parsed.value == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}
    assert parsed.places.of_value("/c") == (2, 4, 2, 6)
    assert parsed.places.of_value("/c/b") == (1, 11, 1, 12)


def test_aliases_do_not_pass_the_limit_of_depth() -> None:
    lines = ["a0: &a0 " + "[" * 40 + "]" * 40]
    lines += [f"a{n}: &a{n} [[[[[[[[[[[[[[[[[[[[*a{n - 1}]]]]]]]]]]]]]]]]]]]]" for n in range(1, 6)]
    with pytest.raises(Unparsable) as caught:
        yaml_text.parse("\n".join(lines))
    assert caught.value.fault.rule == "nested-too-deeply"
    assert yaml_text.parse("\n".join(lines[:2])).faults == []
    with pytest.raises(Unparsable) as caught:
        yaml_text.parse("[" * 20_000)
    assert caught.value.fault.rule == "nested-too-deeply"


@pytest.mark.parametrize("parser", ["CSafeLoader", "SafeLoader"])
def test_json_s_way_to_write_an_emoji_is_told_from_half_of_a_pair(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "_PARSER", getattr(yaml, parser))
    with pytest.raises(Unparsable) as caught:
        yaml_text.parse('a: 1\nb: "x\\ud83d\\ude00"\n')
    assert caught.value.fault.rule == "lone-surrogate"
    assert "\U0001f600" in caught.value.fault.hint
    assert "\\U0001F600" in caught.value.fault.hint
    assert caught.value.fault.span == (2, 6, 2, 18)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nmodels\nb: 2\n", 2, "behind this key"),
        ("a: 1\nb: 'open\nc: 3\nd: 4\n", 2, "close this quote"),
        ("a: 1\nb:\u00a0c\nd: 2\n", 2, "U+00A0 on line 2"),
    ],
)
def test_a_syntax_error_is_shown_where_it_begins(text: str, line: int, words: str) -> None:
    with pytest.raises(Unparsable) as caught:
        yaml_text.parse(text)
    fault = caught.value.fault
    assert fault.span is not None
    assert (fault.span.line, words in fault.hint) == (line, True), fault


TEXT = """\
# ñ comment\r
é: "ü"   # ñ
list:
- {b: 1, c: [x, y]}
- |
  two
  lines
last:
  deep: ' q '
"""


@pytest.mark.parametrize("parser", ["CSafeLoader", "SafeLoader"])
def test_knows_where_every_value_stands_with_either_parser(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "_PARSER", getattr(yaml, parser))
    places = yaml_text.parse(TEXT).places

    def text_at(pointer: str) -> str:
        return places.literal(pointer) or ""

    assert text_at("/é") == '"ü"'
    assert text_at("/list/0") == "{b: 1, c: [x, y]}"
    assert text_at("/list/0/c/1") == "y"
    assert text_at("/list/1") == "|\n  two\n  lines"
    assert text_at("/last/deep") == "' q '"
    assert text_at("/last") == "deep: ' q '"
    assert places.of_value("/list/0/c/1") == (4, 17, 4, 18)
    assert places.of_key("/last") == (8, 1, 8, 5)


@given(VALUES)
@settings(max_examples=200)
def test_reads_back_what_a_yaml_writer_wrote(value: Any) -> None:
    """Text that a YAML 1.1 writer leaves plain must not become something else under 1.2, nor the reverse."""
    text = yaml.safe_dump({"value": value}, allow_unicode=True)
    assert yaml_text.parse(text).value == {"value": value}
