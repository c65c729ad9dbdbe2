from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from race_report.parsed import MAX_DEPTH, Unparsable
from race_report.source import MAX_BYTES, Loaded, load_bytes, read_file, within

if TYPE_CHECKING:
    from pathlib import Path


def rules(loaded: Loaded) -> list[str]:
    return [fault.rule for fault in loaded.faults]


def refusal(data: bytes, name: str = "a.json") -> Any:
    with pytest.raises(Unparsable) as caught:
        load_bytes(data, name)
    return caught.value.fault


def test_a_byte_order_mark_is_read_over_with_a_note() -> None:
    for name, data in (("a.json", b'{"a": 1}'), ("a.yaml", b"a: 1")):
        loaded = load_bytes(b"\xef\xbb\xbf" + data, name)
        assert loaded.value == {"a": 1}
        assert rules(loaded) == ["byte-order-mark"]
        assert load_bytes(data, name).faults == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_unicode_encodings_are_named(encoding: str) -> None:
    fault = refusal('{"race_version": "1.0"}'.encode(encoding))
    assert fault.rule == "wrong-encoding"
    assert "UTF-" in fault.message


def test_a_byte_of_an_old_code_page_is_shown_with_its_place() -> None:
    fault = refusal('{"a": "ü",\n "b": "é'.encode() + b"\xe9" + b'"}')
    assert fault.rule == "wrong-encoding"
    assert "0xE9" in fault.message
    assert fault.span[:2] == (2, 9)


def test_the_suffix_tells_the_language_and_else_the_first_character() -> None:
    assert load_bytes(b'{"a": 1}', "report").value == {"a": 1}
    assert load_bytes(b"a: 1", "report.rlcompute").value == {"a": 1}
    assert load_bytes(b"a: 1", "REPORT.YML").value == {"a": 1}
    assert load_bytes(b'{"a": 1, "b": .5}', "report.yaml").value == {"a": 1, "b": 0.5}
    assert refusal(b"a: 1", "report.json").rule == "invalid-syntax"
    assert "name the file .yaml" in refusal(b'# comment\n{"a": 1}', "report.json").hint


@given(st.recursive(st.integers() | st.floats(allow_nan=False, allow_infinity=False), st.lists, max_leaves=30))
def test_the_quick_way_and_the_one_that_explains_give_the_same_value(value: Any) -> None:
    loaded = load_bytes(json.dumps(value).encode(), "a.json")
    assert loaded.value == value
    assert loaded.faults == []
    loaded.places.of_value("")
    assert loaded.value == value


def test_a_surrogate_pair_is_a_character_and_half_of_one_is_not() -> None:
    assert load_bytes(b'{"a": "\\ud83d\\ude00"}', "a.json").value == {"a": "\U0001f600"}
    assert rules(load_bytes(b'{"a": "\\ud83d"}', "a.json")) == ["lone-surrogate"]


def test_depth_is_bounded_in_both_languages() -> None:
    for name in ("a.json", "a.yaml"):
        right = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
        assert load_bytes(right, name).faults == []
        assert refusal(b"[" + right + b"]", name).rule == "nested-too-deeply"
    assert refusal(b'{"a":' * 100_000, "a.json").rule == "nested-too-deeply"


def test_a_file_over_the_limit_is_one_fault_and_the_limit_can_be_lifted(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(b'"' + b"x" * MAX_BYTES + b'"')
    with pytest.raises(Unparsable) as caught:
        within(read_file(str(path)), MAX_BYTES)
    assert caught.value.fault.rule == "file-too-large"
    assert "16 MiB" in caught.value.fault.message
    assert len(within(read_file(str(path), MAX_BYTES + 2), MAX_BYTES + 2)) == MAX_BYTES + 2


def test_what_is_no_readable_file_is_said(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json", tmp_path / "a\0b"):
        with pytest.raises(Unparsable) as caught:
            read_file(str(path))
        assert caught.value.fault.rule == "unreadable-file"


@pytest.mark.parametrize("count", [b"1.0039163e+07", b"10039163", b"10039163.0"])
def test_a_count_in_scientific_notation_is_a_number(count: bytes) -> None:
    """Case J04 of the field."""
    assert load_bytes(b'{"num_tokens": ' + count + b"}", "a.json").value == {"num_tokens": 10039163}
