"""Names of accelerators: read by whole words, each alias its own device, and no guess about the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from race_report.accelerators import accelerators, candidates

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def table(root: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((root / "schema" / "accelerators.json").read_text("utf-8"))
    return value


def names_of(name: str) -> list[str]:
    return [entry.name for entry in candidates(name)]


PRINTED = {
    # as nvidia-smi, torch, rocm-smi, jax and clouds print them
    "NVIDIA A100-SXM4-80GB": ["NVIDIA A100 SXM"],
    "NVIDIA A100-SXM4-40GB": ["NVIDIA A100 SXM"],
    "NVIDIA A100 80GB PCIe": ["NVIDIA A100 PCIe"],
    "NVIDIA A100-PCIE-40GB": ["NVIDIA A100 PCIe"],
    "NVIDIA A800-SXM4-80GB": ["NVIDIA A800 SXM"],
    "NVIDIA H100 80GB HBM3": ["NVIDIA H100 SXM"],
    "NVIDIA H100 PCIe": ["NVIDIA H100 PCIe"],
    "NVIDIA H100 NVL": ["NVIDIA H100 NVL"],
    "H100 SXM5 80GB HBM3": ["NVIDIA H100 SXM"],
    "NVIDIA H200 NVL": ["NVIDIA H200 NVL"],
    "NVIDIA GH200 480GB": ["NVIDIA GH200"],
    "NVIDIA GB200": ["NVIDIA GB200"],
    "NVIDIA H20": ["NVIDIA H20"],
    "NVIDIA L40S": ["NVIDIA L40S"],
    "NVIDIA L40": ["NVIDIA L40"],
    "NVIDIA L4": ["NVIDIA L4"],
    "NVIDIA A10G": ["NVIDIA A10G"],
    "NVIDIA A10": ["NVIDIA A10"],
    "NVIDIA A40": ["NVIDIA A40"],
    "NVIDIA RTX A6000": ["NVIDIA RTX A6000"],
    "NVIDIA RTX 6000 Ada Generation": ["NVIDIA RTX 6000 Ada"],
    "NVIDIA GeForce RTX 4090": ["NVIDIA GeForce RTX 4090"],
    "Tesla V100-SXM2-32GB": ["NVIDIA V100 SXM"],
    "Tesla T4": ["NVIDIA T4"],
    "AMD Instinct MI300X OAM": ["AMD Instinct MI300X"],
    "AMD Instinct MI250X/MI250": ["AMD Instinct MI250", "AMD Instinct MI250X"],
    "TPU v5 lite": ["Google TPU v5e"],
    "TPU v5e": ["Google TPU v5e"],
    "TPU v5p": ["Google TPU v5p"],
    "TPU v6 lite": ["Google TPU v6e"],
    # as people write them
    "A100 GPU": ["NVIDIA A100 SXM", "NVIDIA A100 PCIe"],
    "A100-80G": ["NVIDIA A100 SXM", "NVIDIA A100 PCIe"],
    "8xA100": ["NVIDIA A100 SXM", "NVIDIA A100 PCIe"],
    "8\u00d7 A100 (80 GB)": ["NVIDIA A100 SXM", "NVIDIA A100 PCIe"],
    "A100x8": ["NVIDIA A100 SXM", "NVIDIA A100 PCIe"],
    "64 NVIDIA H100s": ["NVIDIA H100 SXM", "NVIDIA H100 PCIe", "NVIDIA H100 NVL"],
    "H100 94GB": ["NVIDIA H100 NVL"],
    "DGX H100": ["NVIDIA H100 SXM"],
    "H800 or H20": ["NVIDIA H800 SXM", "NVIDIA H800 PCIe", "NVIDIA H20"],
    "MI300X x 8": ["AMD Instinct MI300X"],
    "A800": ["NVIDIA A800 SXM", "NVIDIA A800 PCIe"],
    "V100s": ["NVIDIA V100 SXM", "NVIDIA V100 PCIe", "NVIDIA V100S PCIe"],
}

UNKNOWN = [
    *("RTX A4000", "RTX A5000", "A4000", "A1000", "H21", "Quadro RTX 6000", "RTX 6000", "L400", "B2000", "TPU", "v5"),
    *("NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D", "NVIDIA A40-48Q", "GRID A100-10C"),
    *("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100 3g.20gb", "NVIDIA A100-SXM-64GB", "H100 (3B), A100 (7B)", "A100X"),
    *("Ascend 910B", "Apple M2", "AMD Radeon Graphics", "gpu", "8x", "NVIDIA", "", " ", "H\u0661\u0660\u0660"),
]


@pytest.mark.parametrize(("name", "expected"), PRINTED.items())
def test_a_printed_name_is_its_device(name: str, expected: list[str]) -> None:
    assert names_of(name) == names_of(name.upper()) == names_of(name.lower()) == expected


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_understood_is_unknown(name: str) -> None:
    assert candidates(name) == ()


def test_every_name_is_one_device_and_every_family_several(table: dict[str, Any]) -> None:
    families: dict[str, list[str]] = {}
    for item in table["accelerators"]:
        for name in (item["name"], *item["names"]):
            assert names_of(name) == [item["name"]], name
        for family in item["families"]:
            families.setdefault(family, []).append(item["name"])
    for family, members in families.items():
        assert len(members) > 1
        assert names_of(family) == members


def test_every_figure_has_a_source_and_every_source_is_used(table: dict[str, Any]) -> None:
    used = {item["source"] for item in table["accelerators"] if item["dense"]}
    assert used == set(table["sources"])
    for source in table["sources"].values():
        assert source["url"].startswith("https://")
        assert source["basis"] in ("published", "secondary", "recalled")
        assert source["basis"] == "recalled" or source["date"]
    assert all(item["unit"] in ("device", "die") for item in table["accelerators"])


def test_the_keys_of_the_table_are_explained(table: dict[str, Any]) -> None:
    plain = {"name", "vendor", "source"}
    keys = {key for item in table["accelerators"] for key in item}
    assert keys - plain == set(table["reading"])


def test_rates_are_of_a_likely_size_and_rise_as_formats_shrink() -> None:
    """A slip of a prefix or a sparse figure among dense ones would break the order."""
    order = ("fp32", "tf32", "bf16", "fp8", "fp4")
    for entry in accelerators():
        own = [peak for name in order if (peak := entry.dense.get(name)) is not None]
        assert own == sorted(own), entry.name
        assert all(5e12 < peak < 5e16 for _, peak in entry.by_format()), entry.name


DENSE_BF16 = {
    "A100-SXM4-80GB": 312e12,
    "H100 SXM": 989.4e12,
    "H100 PCIe": 756e12,
    "H20": 148e12,
    "L40S": 362.05e12,
    "MI300X": 1307.4e12,
    "MI250X": 191.5e12,
    "TPU v5e": 197e12,
}


@pytest.mark.parametrize(("name", "peak"), DENSE_BF16.items())
def test_the_peak_is_the_dense_one_of_a_unit(name: str, peak: float) -> None:
    (entry,) = candidates(name)
    assert entry.peaks("bf16")[0] == peak


def test_a_format_is_lacking_only_where_the_table_says_so() -> None:
    (v100,) = candidates("V100 SXM2")
    (mi350,) = candidates("MI350X")
    assert v100.lacks("bf16")
    assert v100.peaks("bf16") == ()
    assert not v100.lacks("fp4")
    assert not mi350.lacks("fp32")
    assert mi350.peaks("mxfp4") == mi350.peaks("fp4") != ()


@given(st.text())
def test_any_text_is_read_without_raising(text: str) -> None:
    assert isinstance(candidates(text), tuple)


@given(
    st.sampled_from([entry.name for entry in accelerators()]),
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=3),
)
def test_a_longer_word_is_never_the_device_in_it(name: str, tail: str) -> None:
    """Whole words: whatever grows a word of a name makes another name, or another device of the table."""
    found = names_of(name + tail)
    known = {word.casefold() for entry in accelerators() for word in entry.name.split()}
    last = (name + tail).split()[-1].casefold()
    is_plural_or_count = tail.casefold() == "s" or tail.casefold().startswith("x")
    assert name not in found or last in known or is_plural_or_count
