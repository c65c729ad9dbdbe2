"""Tables under a real pdflatex, their text read back from the PDF."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from race_report.render.latex import summary
from race_report.render.tex import (
    _ACCENTS,
    _GREEK,
    _SPECIAL,
    _SYMBOLS,
    UnprintableCharacter,
    escape,
    power_of_ten,
)
from race_report.standard import view

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Race = Callable[..., subprocess.CompletedProcess[str]]
    Typeset = Callable[..., str]

PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F))


WIDE = r"\usepackage[T1]{fontenc}\usepackage{lmodern}\usepackage[margin=0.2in]{geometry}"
"""Fonts in which every character is one that can be copied, and room for long names."""


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_table_of_the_worked_example(example: dict[str, Any], typeset: Typeset) -> None:
    table = summary([view()(example)])
    assert r"$2.04\times10^{18}$" in table
    text = words(typeset(table))
    assert "Model Trained FLOPs Search Learning Feedback GPU-hours Result" in text
    assert "Share of FLOPs (%)" in text
    assert re.search(r"Qwen2.5-1.5B-Instruct 18.5M 2.04 × 1018 11.5 35.3 53.1 12 0.561 ?a", text)
    assert "a pass@1 on MATH-500." in text


def test_several_reports_make_one_table(race: Race, documents: Path, typeset: Typeset, tmp_path: Path) -> None:
    reports = [str(documents / f"{name}.json") for name in ("deepseek-r1-zero", "tina", "verl-fully-async")]
    done = race("render", *reports, "--to", "latex", "-o", "table.tex")
    assert (done.returncode, done.stderr) == (0, "")
    assert race("render", *reports, "--to", "latex").stdout == (tmp_path / "table.tex").read_text("utf-8")
    text = words(typeset(r"\begin{table}\centering\small\caption{Compute.}\input{table}\end{table}", WIDE))
    assert re.search(r"deepseek-r1-zero DeepSeek-V3-Base 671B –a –a –a –a 101,376 –b", text)
    assert re.search(r"tina DeepSeek-R1-Distill-Qwen-1.5B –a –a –a –a –c –d –e", text)
    assert "verl-dapo: sync Qwen2.5-Math-7B 7.6B" in text
    assert "a not published; b the accuracies are curves" in text
    assert "d only dollars are published" in text


def test_a_bound_is_set_as_a_bound(example: dict[str, Any], typeset: Typeset) -> None:
    example["models"].append({"id": "judge", "role": "judge", "trained": "none"})
    unknown = {"component": "feedback", "model": "judge", "operation": "forward", "calls": 5}
    example["runs"][0]["ledger"].append(unknown)
    example["runs"][0]["gpu_hours"] = 13
    example["qualifications"] = [{"pointer": "/runs/main/gpu_hours", "basis": "upper_bound"}]
    text = words(typeset(summary([view()(example)])))
    assert "≥ 2.04 × 1018 ≤ 11.5 ≤ 35.3 ≥ 53.1 ≤ 13 0.561" in text


def test_names_that_are_hostile_to_tex_are_shown_as_they_stand(example: dict[str, Any], typeset: Typeset) -> None:
    """Cases L01, L03, L06 and L13 of the field, and cells that a row's end would take for an argument."""
    hostile = [
        r"a&b #1 $x$ 50% _u_ {peak} ^ ~",
        r"\input{/etc/passwd} \\ \end{tabular}",
        "[2pt] *starred* --dashes-- ''quotes'' ,, ``",
        "two\r\nlines\tand a tab",
        'straight " quotes <a> | b',
    ]
    example["runs"] = [{**example["runs"][0], "id": f"r{index}"} for index in range(len(hostile))]
    example["models"] = [
        {**example["models"][0], "id": f"m{index}", "name": name} for index, name in enumerate(hostile)
    ] + example["models"]
    for index, run in enumerate(example["runs"]):
        run["policy"] = f"m{index}"
        run["results"] = [{"metric": hostile[0], "target": hostile[1], "value": 1}]
    example["not_reported"] = [{"pointer": "/models/*/parameters/trainable", "reason": hostile[2]}]
    del example["models"][0]["parameters"]
    text = words(typeset(r"\tiny\noindent " + summary([view()(example)]), WIDE))
    assert r"a&b #1 $x$ 50% _u_ {peak} ^ ~" in text.replace("ˆ", "^").replace("˜", "~").replace("∼", "~")
    assert r"\input{/etc/passwd} \\ \end{tabular}" in text
    assert "[2pt] *starred* --dashes-- ’’quotes’’ ,, ‘‘" in text.replace("∗", "*")
    assert "two lines and a tab" in text
    assert 'straight " quotes <a> | b' in text


@pytest.mark.parametrize("preamble", ["", r"\usepackage[T1]{fontenc}"])
def test_every_character_that_we_map_is_known_to_pdflatex(typeset: Typeset, preamble: str) -> None:
    accented = [base + accent for accent in _ACCENTS for base in "aeiouncszgAEIOUNCSZG"]
    mapped = [*_SPECIAL, *_SYMBOLS, *_GREEK, *accented, *PRINTABLE]
    lines = []
    for character in mapped:
        try:
            lines.append(escape(f"x{character}x"))
        except UnprintableCharacter:
            assert character in accented  # a pair that Unicode has no letter for
    assert len(lines) > 300
    typeset("\n\n".join(lines), preamble)


@given(st.text(PRINTABLE + "äöüßéçøłŁβµ−×≤“”–\u00a0\n\t"))
def test_escaped_text_has_no_bare_special_character(text: str) -> None:
    escaped = escape(text)
    assert escaped.isascii()
    assert "\n" not in escaped
    bare = re.sub(r"\\[a-zA-Z]+|\\[^a-zA-Z]|\$[^$]*\$", "", escaped)
    bare = bare.replace("{*}", "").replace("{[}", "").replace("{]}", "")
    assert not set(bare) & set('\\#$%&^_"`*<>|')  # ~ is the no-break space
    opened = bare.count("{") - bare.count("}")
    assert opened == 0


@pytest.mark.parametrize(
    ("character", "name"), [("清", "U+6E05"), ("😀", "U+1F600"), ("\u200b", "U+200B"), ("\x07", "U+0007")]
)
def test_a_character_without_a_sign_is_named_and_never_dropped(
    race: Race, example: dict[str, Any], tmp_path: Path, character: str, name: str
) -> None:
    """Case L11 of the field."""
    import json

    example["models"][0]["name"] = f"a {character} b"
    (tmp_path / "a.json").write_text(json.dumps(example), "utf-8")
    done = race("render", "a.json", "--to", "latex", "-o", "table.tex")
    assert done.returncode == 1
    assert name in done.stderr
    assert not (tmp_path / "table.tex").exists()
    done = race("render", "a.json", "--to", "latex", "--unicode")
    if character in "清😀":
        assert f"a {character} b" in done.stdout
    else:
        assert (done.returncode, name in done.stderr) == (1, True)


def test_an_invalid_report_is_not_rendered(race: Race, example: dict[str, Any], tmp_path: Path) -> None:
    import json

    example["runs"][0]["ledger"][0]["flops"] = "many"
    (tmp_path / "a.json").write_text(json.dumps(example), "utf-8")
    done = race("render", "a.json", "--to", "latex", "-o", "table.tex")
    assert (done.returncode, done.stdout) == (1, "")
    assert "RACE030" in done.stderr
    assert "nothing was rendered" in done.stderr
    assert not (tmp_path / "table.tex").exists()
    assert race("render", "none.json", "--to", "latex").returncode == 3


@pytest.mark.parametrize(
    ("value", "tex"),
    [
        (1.2e21, r"$1.2\times10^{21}$"),
        (2041007335224115200, r"$2.04\times10^{18}$"),
        (9.999e20, r"$1\times10^{21}$"),
        (1e16, r"$1\times10^{16}$"),
        (0, "$0$"),
    ],
)
def test_flops_are_powers_of_ten(value: float, tex: str) -> None:
    assert power_of_ten(value) == tex
