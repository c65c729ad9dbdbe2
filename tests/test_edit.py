"""Additions to the text of a file: what stands stays, and readers that we did not write see the additions."""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from race_report.edit import Uneditable, with_additions
from race_report.source import load_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = st.text("abcdefg", min_size=1, max_size=6).map(lambda word: f"k{word}")
SCALARS = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(1e-3, 1e30),
    st.booleans(),
    st.text("abc :,#{}[]&*!|>'\"%@`\\-?é\u4e2d\U0001f600\n\t", max_size=12),
    st.sampled_from(["true", "null", "~", "1.0", "0x1f", "", " a", "a ", "- a", "a: b", "a #b", "yes", "off"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(WORDS, VALUES, min_size=1, max_size=4)


def grow(data: st.DataObject, value: Any) -> Any:
    """Add to a value: keys at the end of objects, elements at the end of arrays, anywhere."""
    if isinstance(value, dict):
        grown = {key: grow(data, child) for key, child in value.items()}
        more = data.draw(st.dictionaries(WORDS, VALUES, max_size=2))
        return grown | {key: child for key, child in more.items() if key not in grown}
    if isinstance(value, list):
        return [grow(data, child) for child in value] + data.draw(st.lists(VALUES, max_size=2))
    return value


def is_subsequence(text: str, whole: str) -> bool:
    rest = iter(whole)
    return all(character in rest for character in text)


def edited(text: str, new: Any, name: str) -> str:
    return with_additions(load_bytes(text.encode("utf-8"), name), new)


@given(OBJECTS, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans(), st.booleans(), st.data())
def test_json_says_the_additions_and_keeps_every_character(
    value: dict[str, Any], indent: int | str | None, is_compact: bool, has_crlf: bool, data: st.DataObject
) -> None:
    text = json.dumps(value, indent=indent, separators=(",", ":") if is_compact else None)
    text = text.replace("\n", "\r\n") if has_crlf else text
    new = grow(data, value)
    result = edited(text, new, "a.json")
    assert json.dumps(json.loads(result)) == json.dumps(new)
    assert is_subsequence(text, result)
    assert not has_crlf or re.search(r"(?<!\r)\n", result) is None


@given(OBJECTS, st.sampled_from([False, None, True]), st.booleans(), st.booleans(), st.data())
def test_yaml_says_the_additions_and_keeps_every_line(
    value: dict[str, Any], flow: bool | None, has_crlf: bool, has_comments: bool, data: st.DataObject
) -> None:
    value = json.loads(json.dumps(value).replace("\\n", " "))  # a text over several lines takes no comments within
    text = yaml.safe_dump(value, sort_keys=False, default_flow_style=flow, width=10**9, allow_unicode=True)
    comments: list[str] = []
    if has_comments and flow is not True:
        lines = []
        for line in text.splitlines(keepends=True):
            lines.append(line)
            if data.draw(st.booleans()):
                comments.append(f"{' ' * data.draw(st.integers(0, 8))}# comment {len(comments)}, {{a: 1}}\n")
                lines.append(comments[-1])
        text = "".join(lines)
    text = text.replace("\n", "\r\n") if has_crlf else text
    new = grow(data, value)
    result = edited(text, new, "a.yaml")
    assert yaml.safe_load(result) == new
    assert is_subsequence(text, result)
    assert [line.strip() for line in result.splitlines() if line.lstrip().startswith("# comment")] == [
        comment.strip() for comment in comments
    ]
    if flow is False and not re.search(r"[\[{]", text):  # in block style nothing but whole lines is added
        kept = iter(result.splitlines(keepends=True))
        assert all(line in kept for line in text.splitlines(keepends=True))


CASES = {
    "the end of a block": ("a: 1\n", {"a": 1, "k": {"b": 2}}, "a: 1\nk: {b: 2}\n"),
    "a text block that keeps its blank lines": (
        "a:\n  b: |+\n    x\n\n\n  c: 1\n",
        {"a": {"b": "x\n\n\n", "c": 1}, "k": 2},
        "a:\n  b: |+\n    x\n\n\n  c: 1\nk: 2\n",
    ),
    "a text block at the end": ("a: |+\n  x\n\n\n# c\n", {"a": "x\n\n\n", "k": 2}, "a: |+\n  x\n\n\n# c\nk: 2\n"),
    "an explicit key": ("? a\n: b\n", {"a": "b", "k": 2}, "? a\n: b\nk: 2\n"),
    "comments behind a block": (
        "a:\n    b: 1 # c\n    # d\n  # e\n# f\ng: 1",
        {"a": {"b": 1, "k": 2}, "g": 1},
        "a:\n    b: 1 # c\n    # d\n    k: 2\n  # e\n# f\ng: 1",
    ),
    "brackets over lines with comments": (
        "{\n  a: 1, # c\n  b: 2 # d\n}\n",
        {"a": 1, "b": 2, "k": 3},
        "{\n  a: 1, # c\n  b: 2, # d\n  k: 3\n}\n",
    ),
    "a comma at the end": ("{\n  a: 1, # c\n}\n", {"a": 1, "k": 3}, "{\n  a: 1, # c\n  k: 3\n}\n"),
    "empty brackets": ("a: {}\nb: []\n", {"a": {"k": 1}, "b": [2]}, "a: {k: 1}\nb: [2]\n"),
    "a document with marks": ("--- \na: 1\n...\n", {"a": 1, "k": 2}, "--- \na: 1\nk: 2\n...\n"),
    "an anchor": (
        "a: &x\n  b: 1\nc: *x # d\n",
        {"a": {"b": 1, "k": 2}, "c": {"b": 1, "k": 2}},
        "a: &x\n  b: 1\n  k: 2\nc: *x # d\n",
    ),
    "an anchor before brackets": (
        "a: &x # e\n  {b: 1}\nc: *x\n",
        {"a": {"b": 1, "k": 2}, "c": {"b": 1, "k": 2}},
        "a: &x # e\n  {b: 1, k: 2}\nc: *x\n",
    ),
    "a tag": ("a: !!map {}\n", {"a": {"k": 1}}, "a: !!map {k: 1}\n"),
    "a value that is missing": ("x-a:\nx-b:   # c\n", {"x-a": None, "x-b": None, "k": 2}, "x-a:\nx-b:   # c\nk: 2\n"),
    "dashes within dashes": (
        "a:\n- - b: 1\n",
        {"a": [[{"b": 1, "k": 2}, 3], 4]},
        "a:\n- - b: 1\n    k: 2\n  - 3\n- 4\n",
    ),
    "carriage returns": ("a: 1\rb: 2\r", {"a": 1, "b": 2, "k": 3}, "a: 1\rb: 2\rk: 3\r"),
    "no line end at the end": ("a: 1", {"a": 1, "k": 2}, "a: 1\nk: 2"),
    "JSON by another name": (
        '{"a": 1,\n "b": {}}',
        {"a": 1, "b": {"k": "c"}},
        '{"a": 1,\n "b": {\n   "k": "c"\n }}',
    ),
    "a text that only looks plain": ("a: 1\n", {"a": 1, "k": "true"}, 'a: 1\nk: "true"\n'),
    "a line separator": ("a: 1\n", {"a": 1, "k": "b\u2028c\x85"}, 'a: 1\nk: "b\\u2028c\\u0085"\n'),
}


@pytest.mark.parametrize("case", CASES)
def test_additions_stand_where_a_person_would_write_them(case: str) -> None:
    text, new, expected = CASES[case]
    assert edited(text, new, "a.yaml") == expected


REFUSED: dict[str, tuple[str, Callable[[Any], None], str]] = {
    "a change": ("a: 1\n", lambda value: value.update(a=2), "/a would change"),
    "a removal": ("a: 1\nb: 2\n", lambda value: value.pop("b"), "would change"),
    "a removed null": ("a: 1\nb:\n", lambda value: value.pop("b"), "does not say the same"),
    "an insertion before others": ("a: [1, 2]\n", lambda value: value["a"].insert(0, 0), "would change"),
    "an alias that goes another way": ("a: &x {b: 1}\nc: *x\n", lambda value: value.update(c={"b": 1, "k": 2}), "same"),
    "a text block without end": ("a: |\n  x", lambda value: value.update(k=1), "does not say the same"),
    "a number for a word": ("a: 1\n", lambda value: value.update(a=True), "/a would change"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_added_is_refused(case: str) -> None:
    text, change, message = REFUSED[case]
    loaded = load_bytes(text.encode(), "a.yaml")
    new = copy.deepcopy(loaded.value)
    change(new)
    with pytest.raises(Uneditable, match=message):
        with_additions(loaded, new)
