"""Whole reports, with parts taken out at random, written in every style: what stands stays, and nothing turns wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from race_report.fill.file import Filled, NotFilled, fill_bytes
from race_report.source import load_bytes
from race_report.validation import validate_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS = Path(__file__).parent / "conformance" / "1.0" / "documents"
NAMES = sorted(path.name for path in DOCUMENTS.glob("*.json"))
CONSTRUCTED = [name for name in NAMES if name.startswith(("constructed", "worked"))]
PIECES = [*"{}[],:&*!|>'\"%@`#-? \n\t\r", "&a ", "*a", "!!str ", "|+\n", "\n---\n", "\n...\n"]
COUNTS = ("attention_pairs", "bounded_attention_pairs", "logit_rows", "adapter_tokens")


def removable(value: Any) -> Iterator[tuple[Any, str]]:
    """Yield the containers and keys of what may follow from the rest, and of what it may follow from."""
    for model in value["models"]:
        yield from ((model, key) for key in ("parameters", "coefficients", "adapter", "trained") if key in model)
    for run in value["runs"]:
        yield from ((run, key) for key in ("ledger", "totals", "rollouts", "feedback") if key in run)
        yield from ((run.get("totals", {}), key) for key in list(run.get("totals", {})))
        yield from ((pool, "gpu_hours") for pool in run.get("hardware", []) if "gpu_hours" in pool)
        for entry in run.get("ledger", []):
            yield from ((entry, key) for key in ("flops", "basis", "id", *COUNTS) if key in entry)
    yield from ((value, key) for key in ("qualifications", "not_reported") if key in value)


@st.composite
def cut_documents(draw: st.DrawFn, names: list[str]) -> Any:
    value = json.loads((DOCUMENTS / draw(st.sampled_from(names))).read_text("utf-8"))
    parts = list(removable(value))
    for at in draw(st.sets(st.integers(0, max(0, len(parts) - 1)), max_size=8)):
        if at < len(parts):
            container, key = parts[at]
            container.pop(key, None)
            if key == "flops":
                container.pop("method", None)
    if draw(st.booleans()):
        for run in value["runs"]:
            kept = draw(st.sampled_from(["search", "learning", "feedback", "none"]))
            run["ledger"] = [entry for entry in run.get("ledger", []) if entry["component"] == kept]
            run.pop("totals", None)
    return value


@st.composite
def texts(draw: st.DrawFn, value: Any) -> tuple[str, str]:
    """Write a report in one of many styles; comments stand wherever lines end."""
    style = draw(st.sampled_from(["json", "block", "mixed", "flow"]))
    if style == "json":
        name, text = "a.json", json.dumps(value, indent=draw(st.sampled_from([None, 1, 2, 4])))
    else:
        flow = {"block": False, "mixed": None, "flow": True}[style]
        dumped = yaml.safe_dump(value, sort_keys=False, default_flow_style=flow, width=10**9, allow_unicode=True)
        name, text = "a.yaml", "# first\n" + dumped
        if style != "flow":
            lines = text.splitlines(keepends=True)
            for at in draw(st.sets(st.integers(0, len(lines) - 1), max_size=10)):
                lines[at] += " " * draw(st.integers(0, 8)) + f"# comment {at}\n"
            text = "".join(lines)
    return name, text.replace("\n", "\r\n") if draw(st.booleans()) else text


def has_all_of(old: Any, new: Any) -> bool:
    """Tell whether a value has all of another: keys and values, the elements of an array at its beginning."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [key for key in new if key in old] == list(old) and all(has_all_of(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(new) >= len(old) and all(map(has_all_of, old, new))
    return type(old) is type(new) and bool(old == new)


def filled(text: str, name: str) -> Filled:
    return fill_bytes(text.encode("utf-8"), name)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_filling_changes_nothing_that_stands_and_brings_no_error(data: st.DataObject) -> None:
    value = data.draw(cut_documents(CONSTRUCTED if data.draw(st.booleans()) else NAMES))
    name, text = data.draw(texts(value))
    before = validate_bytes(text.encode("utf-8"), name)
    if before.errors:
        with pytest.raises(NotFilled, match="mend the errors first"):
            filled(text, name)
        return
    result = filled(text, name)
    new = load_bytes(result.text.encode("utf-8"), name).value
    assert has_all_of(value, new)
    rest = iter(result.text)
    assert all(character in rest for character in text)
    comments = [[line for line in each.splitlines() if line.lstrip().startswith("#")] for each in (text, result.text)]
    assert comments[0] == comments[1]
    assert validate_bytes(result.text.encode("utf-8"), name).errors == 0
    assert result.after.number >= result.before.number
    again = filled(result.text, name)
    assert again.text == result.text
    assert (again.filling.additions, again.filling.assumptions) == ((), ())
    assert result.is_changed == bool(result.filling.additions)


@settings(max_examples=100)
@given(st.data())
def test_every_addition_is_either_derived_data_or_says_where_it_comes_from(data: st.DataObject) -> None:
    value = data.draw(cut_documents(CONSTRUCTED))
    text = json.dumps(value)
    if validate_bytes(text.encode(), "a.json").errors:
        return
    result = filled(text, "a.json")
    qualified = {said["pointer"] for said in result.filling.assumptions}
    for addition in result.filling.additions:
        _, kind, *rest = addition.pointer.split("/")
        is_marked = (
            addition.pointer in qualified
            or "totals" in rest  # has a basis of its own
            or ("ledger" in rest and ("basis" in str(addition.value) or rest[-1] in ("flops", "method", "basis", "id")))
            or rest[-1] == "adapter_tokens"  # of an update, where adapters are not merged
        )
        assert is_marked, (kind, addition)


@settings(max_examples=300)
@given(st.sampled_from([None, "block", "json"]), st.data())
def test_a_damaged_file_is_filled_or_refused_and_never_breaks_the_command(
    style: str | None, data: st.DataObject
) -> None:
    text = (Path(__file__).parent / "fill" / "minimal.yaml").read_text("utf-8")
    if style is not None:
        value = load_bytes(text.encode(), "a.yaml").value
        text = json.dumps(value, indent=1) if style == "json" else yaml.safe_dump(value, sort_keys=False)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from([*"{}[],:&*!|>'\"%@`#-? \n\t\r", "&a ", "*a", "!!str ", "|+\n", "\n---\n", "\n...\n"])
        )
        text = text[:at] + piece + text[at + data.draw(st.integers(0, 3)) :]
    name = "a.json" if style == "json" else "a.yaml"
    try:
        result = filled(text, name)
    except NotFilled as refused:
        assert refused.code in (1, 3, 4)  # noqa: PT017 - most are refused, and that is right
        return
    rest = iter(result.text)
    assert all(character in rest for character in text)
    assert filled(result.text, name).text == result.text


@pytest.mark.parametrize("name", NAMES)
def test_every_disclosure_goes_through_whole(name: str) -> None:
    data = (DOCUMENTS / name).read_bytes()
    result = fill_bytes(data, name)
    assert result.after.number >= result.before.number
    assert validate_bytes(result.text.encode("utf-8"), name).errors == 0
    if not result.filling.additions:
        assert result.text.encode("utf-8") == data
