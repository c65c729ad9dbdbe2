"""Hardware: no honest run is called wrong, whatever its pools; what is wrong is found, and said with its cause."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from race_report.accelerators import accelerators
from race_report.pages import page_of
from race_report.rules import RULES
from race_report.standard import view
from race_report.validation import validate_value

HARDWARE = [rule for rule in RULES if rule.code.startswith("RACE4")]
COMPONENTS = ("search", "learning", "feedback")


def report(run: dict[str, Any], **more: Any) -> dict[str, Any]:
    models = [{"id": "policy", "role": "policy", "name": "a"}]
    return {"race_version": "1.0", "models": models, "runs": [{"id": "main", "policy": "policy", **run}], **more}


def served(**said: Any) -> dict[str, Any]:
    return {"id": "node", "components": list(COMPONENTS), **said}


def spent(flops: float, component: str = "learning", **said: Any) -> dict[str, Any]:
    return {"component": component, "flops": flops, "method": "stated", "basis": "estimated", **said}


def found(document: dict[str, Any], family: str = "RACE4") -> list[str]:
    """Give the codes of findings, the pools' own where nothing else is asked for."""
    return [finding.code for finding in validate_value(document).findings if finding.code.startswith(family)]


def said(document: dict[str, Any], code: str) -> str:
    (finding,) = [finding for finding in validate_value(document).findings if finding.code == code]
    return f"{finding.message} | {finding.hint}"


# The examples of the pages.


@pytest.mark.parametrize("rule", HARDWARE, ids=lambda rule: rule.code)
def test_the_example_before_is_wrong_and_the_one_after_is_right(rule: Any) -> None:
    page = page_of(rule)
    before, after = (report(yaml.safe_load(text)) for text in (page.before, page.after))
    assert rule.code in found(before)
    assert found(after) == []
    for document in (before, after):
        assert found(document, "RACE0") == []


# No honest run is wrong.


@st.composite
def honest_runs(draw: st.DrawFn) -> dict[str, Any]:
    """Make a run from what its pools did: some of each component served, never more than they could."""
    done: dict[str, Fraction] = {}
    pools, hours = [], Fraction(0)
    for at in range(draw(st.integers(1, 4))):
        entry = draw(st.sampled_from([entry for entry in accelerators() if entry.peaks("bf16")]))
        components = draw(st.lists(st.sampled_from(COMPONENTS), unique=True, max_size=3))
        count, clock = draw(st.integers(1, 600)), draw(st.integers(1, 40000))
        capacity = Fraction(entry.peaks("bf16")[0]) * count * clock * 36
        shares = [draw(st.integers(0, 100)) for _ in components]
        for component, share in zip(components, shares, strict=True):
            part = capacity * share / max(sum(shares), 1) * draw(st.integers(0, 65)) / 100
            done[component] = done.get(component, Fraction(0)) + part
        pool = {"id": f"p{at}", "components": components, "count": count, "wall_clock_hours": clock / 100}
        if draw(st.booleans()):
            pool["gpu_hours"] = count * clock / 100
        if draw(st.booleans()):
            pool["precision"] = "bf16"
        if draw(st.booleans()):
            pool |= {"peak_flops_per_second": entry.peaks("bf16")[0], "peak_kind": "dense"}
        hours += Fraction(count * clock, 100)
        pools.append(pool | {"accelerator": entry.name})
    ledger = [spent(int(flops), component) for component, flops in done.items()]
    run: dict[str, Any] = {"hardware": pools, "ledger": ledger}
    if draw(st.booleans()):
        run["gpu_hours"] = float(hours)
    return run


@given(honest_runs())
def test_a_run_made_of_what_its_pools_did_has_no_finding(run: dict[str, Any]) -> None:
    assert found(report(run)) == []


@given(honest_runs(), st.integers(0, 3), st.sampled_from(["lower_bound", "upper_bound"]))
def test_a_part_that_is_not_told_or_a_bound_makes_no_error(run: dict[str, Any], at: int, basis: str) -> None:
    for entry in run["ledger"][at:]:
        entry["basis"] = basis
        entry["flops"] = entry["flops"] // 2 if basis == "lower_bound" else entry["flops"] * 1000
    assert found(report(run)) == []


amounts = st.one_of(st.integers(0, 10**6), st.floats(0, 1e40), st.sampled_from([0, 1, 0.5, 1e-30, 1e40]))
names = st.sampled_from(["H100", "NVIDIA A100-SXM4-80GB", "V100", "Ascend 910B", "CPU", "TPU v5e", "A100 or MI250X"])
components = st.lists(st.sampled_from([*COMPONENTS, "evaluation", "preparation"]), max_size=5)
precisions = st.sampled_from(["bf16", "fp8", "mixed", "int4", "fp64", "mxfp4", "tf32", "int8"])
bases = st.sampled_from(["measured", "derived", "estimated", "upper_bound", "lower_bound"])
pools = st.fixed_dictionaries(
    {"id": st.just("p"), "components": components},
    optional={
        "accelerator": names,
        "count": st.integers(1, 2**53),
        "wall_clock_hours": amounts,
        "gpu_hours": amounts,
        "utilization": st.floats(0, 1),
        "peak_flops_per_second": amounts.filter(bool),
        "peak_kind": st.sampled_from(["dense", "sparse"]),
        "precision": precisions,
        "time_basis": st.sampled_from(["step", "train", "wall_clock"]),
        "stages": st.lists(st.just("late"), max_size=2),
    },
)
entries = st.fixed_dictionaries(
    {"component": st.sampled_from([*COMPONENTS, "evaluation", "preparation"])},
    optional={
        "flops": amounts,
        "model": st.just("policy"),
        "gpu_hours": amounts,
        "cost_usd": amounts,
        "basis": bases,
        "method": st.sampled_from(["hardware", "stated", "profiler"]),
        "precision": precisions,
        "stage": st.just("late"),
        "calls": st.integers(0, 9),
        "conventions": st.just({"attention": "full"}),
    },
)
totals = st.fixed_dictionaries(
    {},
    optional={"total_flops": amounts, "search_flops": amounts, "learning_flops": amounts, "basis": bases},
)
fields = ["count", "wall_clock_hours", "gpu_hours", "utilization", "peak_flops_per_second"]
pointers = st.sampled_from(
    ["/runs/main/gpu_hours", "/runs/0/ledger/0/flops", *(f"/runs/main/hardware/*/{key}" for key in fields)]
)
qualifications = st.fixed_dictionaries(
    {"pointer": pointers, "basis": bases}, optional={"low": st.floats(-1e40, 1e40), "high": st.floats(-1e40, 1e40)}
)
runs = st.fixed_dictionaries(
    {"hardware": st.lists(pools, max_size=4), "ledger": st.lists(entries, max_size=5)},
    optional={"gpu_hours": amounts, "totals": totals},
)


@given(runs, st.lists(qualifications, max_size=4))
def test_no_report_makes_a_rule_raise(run: dict[str, Any], qualified: list[dict[str, Any]]) -> None:
    viewed = view()(report(run, qualifications=qualified))
    for rule in HARDWARE:
        assert rule.check is not None
        for pointer, message, hint in rule.check(viewed):
            assert pointer.startswith("/runs/0/")
            assert "nan" not in message
            assert message
            assert hint


# What is wrong is found: the same by fractions.

hours = st.integers(1, 10**6).map(lambda minutes: minutes / 64)
"""Hours whose product with a count is exact."""


@given(st.integers(1, 4096), hours, st.integers(1, 10**9))
def test_gpu_hours_agree_within_two_percent_of_the_product(count: int, clock: float, stated: int) -> None:
    pool = served(count=count, wall_clock_hours=clock, gpu_hours=stated / 64)
    expected, exact = Fraction(clock) * count, Fraction(stated, 64)
    codes = found(report({"hardware": [pool]}))
    assert bool(codes) == (abs(exact - expected) > expected / 50)
    if exact > expected * Fraction(51, 50):
        assert codes == ["RACE401"]


@given(st.integers(1, 4096), hours, st.floats(1e9, 1e30))
def test_flops_over_what_a_pool_could_do_are_an_error(count: int, clock: float, flops: float) -> None:
    pool = served(count=count, wall_clock_hours=clock, peak_flops_per_second=3.2e14)
    most = Fraction(clock) * count * 3600 * Fraction(3.2e14)
    mfu = Fraction(flops) / most
    codes = found(report({"hardware": [pool], "ledger": [spent(flops)]}))
    if abs(mfu - 1) > 1e-9 and abs(mfu - Fraction(65, 100)) > 1e-9:
        assert codes == (["RACE421"] if mfu > 1 else ["RACE422"] if mfu > Fraction(65, 100) else [])


# The cause is named.


@pytest.mark.parametrize(
    ("pool", "cause"),
    [
        ({"wall_clock_hours": 12, "gpu_hours": 12}, "wall-clock hours"),
        ({"wall_clock_hours": 720, "gpu_hours": 96}, "in minutes"),
        ({"wall_clock_hours": 43200, "gpu_hours": 96}, "in seconds"),
        ({"wall_clock_hours": 0.5, "gpu_hours": 96}, "in days"),
        ({"wall_clock_hours": 12, "gpu_hours": 768}, "count of 8"),
        ({"wall_clock_hours": 12, "gpu_hours": 384}, "nodes of 4"),
    ],
)
def test_a_factor_between_hours_has_its_cause(pool: dict[str, Any], cause: str) -> None:
    assert cause in said(report({"hardware": [served(count=8, **pool)]}), "RACE401")


H100 = {"accelerator": "H100 SXM"}
SPARSE_A40 = {"accelerator": "A40", "precision": "bf16", "peak_kind": "sparse"}


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ({**H100, "precision": "bf16", "peak_flops_per_second": 1979e12}, "sparse figure; bf16 dense"),
        ({**H100, "peak_flops_per_second": 1979e12}, "of NVIDIA H100 SXM is 989.4e12"),
        ({**SPARSE_A40, "peak_flops_per_second": 150e12}, "dense figure"),
        ({"accelerator": "L4", "precision": "fp16", "peak_flops_per_second": 60e12}, "tf32 figure"),
        ({**H100, "peak_flops_per_second": 989.4}, "in TFLOP/s"),
        ({**H100, "peak_flops_per_second": 989.4e15}, "times 1000"),
        ({**H100, "count": 64, "peak_flops_per_second": 7915.2e12}, "node of 8"),
        ({**H100, "count": 64, "peak_flops_per_second": 63321.6e12}, "all 64"),
        ({"accelerator": "A100", "peak_flops_per_second": 989.4e12}, "of NVIDIA H100 SXM or"),
        ({"accelerator": "A100", "peak_flops_per_second": 417.0e12}, "ratio 1.34"),
        ({"accelerator": "H21", "peak_flops_per_second": 1e19}, "of a cluster"),
    ],
)
def test_a_wrong_peak_is_recognised(pool: dict[str, Any], words: str) -> None:
    assert words in said(report({"hardware": [served(**pool)]}), "RACE412")


def test_a_wrong_peak_is_shown_with_the_utilization_of_both() -> None:
    pool = served(accelerator="A100-SXM4-80GB", peak_flops_per_second=989.5e12, count=8, wall_clock_hours=1)
    text = said(report({"hardware": [pool], "ledger": [spent(2.9e18)]}), "RACE412")
    assert "implied MFU is 0.1 with it and 0.32 with 312e12" in text


@pytest.mark.parametrize(
    ("pool", "flops", "algorithm", "words"),
    [
        ({"count": 1, "wall_clock_hours": 0.25}, 2.04e18, {}, "divided by 8 it is 0.29: is a node of 8"),
        ({"count": 1, "wall_clock_hours": 1}, 1.35e20, {}, "cluster"),
        ({"count": 64, "wall_clock_hours": 0.01}, 4.6e20, {"optimizer_steps": 1000}, "one of 1000 steps"),
        ({"count": 8, "wall_clock_hours": 0.1}, 5.1e19, {}, "60, minutes for seconds"),
        ({"count": 8, "wall_clock_hours": 0.001, "utilization": 0.25}, 2.57e19, {}, "divided by 3600 it is 0.25"),
        ({"count": 8, "wall_clock_hours": 1, "peak_flops_per_second": 989.4}, 1.4e19, {}, "1e12"),
    ],
)
def test_too_high_a_utilization_has_its_inputs_and_a_likely_cause(
    pool: dict[str, Any], flops: float, algorithm: dict[str, Any], words: str
) -> None:
    pool = served(**{"accelerator": "H100 SXM", "precision": "bf16", **pool})
    text = said(report({"hardware": [pool], "ledger": [spent(flops)], "algorithm": algorithm}), "RACE421")
    assert words in text
    for figure in (f"{flops:.4g} FLOPs", f"{pool['count']} for {pool['wall_clock_hours']} hours", "989.4"):
        assert figure in text
