from __future__ import annotations

from typing import Any

import pytest

from race_report.pointer import is_covered, resolve
from race_report.standard import view


@pytest.mark.parametrize(
    ("pointer", "plain"),
    [
        ("", [""]),
        ("/runs/main/totals", ["/runs/0/totals"]),
        ("/runs/0/totals", ["/runs/0/totals"]),
        ("/models/*/name", ["/models/0/name", "/models/1/name"]),
        ("/runs/main/hardware/node/gpu_hours", ["/runs/0/hardware/0/gpu_hours"]),
        ("/runs/main/energy/kg_co2e", ["/runs/0/energy/kg_co2e"]),
        ("/models/prm/coefficients", ["/models/1/coefficients"]),
        ("/runs/none/totals", []),
        ("/runs/7/totals", []),
        ("/runs/main/software/a~1b", ["/runs/0/software/a~1b"]),
    ],
)
def test_ids_and_stars_stand_for_indices(example: dict[str, Any], pointer: str, plain: list[str]) -> None:
    example["runs"][0]["software"] = {"a/b": "1"}
    assert resolve(view()(example), pointer) == plain


def test_a_pointer_covers_itself_and_all_below_it() -> None:
    assert is_covered("/runs/0/totals", ["/runs/0/totals"])
    assert is_covered("/runs/0/totals/search_flops", ["/runs/0/totals"])
    assert not is_covered("/runs/0/totals", ["/runs/0/totals/search_flops"])
    assert not is_covered("/runs/01", ["/runs/0"])
