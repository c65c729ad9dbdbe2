from __future__ import annotations

from typing import Any

import pytest

from race_report.document import Report
from race_report.pointer import Pointed
from race_report.standard import view


@pytest.mark.parametrize(
    ("said_of", "place", "is_at", "is_covering"),
    [
        ("/runs/main/totals", "/runs/0/totals", True, True),
        ("/runs/0/totals", "/runs/0/totals", True, True),
        ("/runs/*/totals", "/runs/0/totals/search_flops", False, True),
        ("/models/*/name", "/models/1/name", True, True),
        ("/models/prm/coefficients", "/models/1/coefficients", True, True),
        ("/models/prm/coefficients", "/models/0/coefficients", False, False),
        ("/runs/main/hardware/node/gpu_hours", "/runs/0/hardware/0/gpu_hours", True, True),
        ("/runs/main/energy", "/runs/0/energy/kg_co2e", False, True),
        ("/runs/none/totals", "/runs/0/totals", False, False),
        ("/runs/0/totals/search_flops", "/runs/0/totals", False, False),
        ("/runs/01", "/runs/0", False, False),
        ("/runs/main/software/a~1b", "/runs/0/software/a~1b", True, True),
        ("/runs/main/software/*", "/runs/0/software/a~1b", False, False),
    ],
)
def test_ids_and_stars_stand_for_indices(
    example: dict[str, Any], said_of: str, place: str, *, is_at: bool, is_covering: bool
) -> None:
    example["runs"][0]["software"] = {"a/b": "1"}
    for report in (view()(example), Report.model_validate(example)):
        pointed = Pointed(report, [(said_of, "word")])
        assert (pointed.at(place) == ["word"]) is is_at
        assert (pointed.covering(place) == ["word"]) is is_covering


def test_what_is_said_of_the_outermost_comes_first(example: dict[str, Any]) -> None:
    pointed = Pointed(view()(example), [("/runs/main/totals", 2), ("/runs", 1), ("/runs/*", 1), ("/models", 0)])
    assert pointed.covering("/runs/0/totals/search_flops") == [1, 1, 2]
