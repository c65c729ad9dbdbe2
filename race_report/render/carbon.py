"""Energy and emissions in the units of other formats, and the metadata of a model card."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import yaml

from race_report.numbers import listed
from race_report.render.facts import Reading, text

if TYPE_CHECKING:
    from race_report.document import Report, Run

MADE_BY: Final = "# Made by race render"
"""How the metadata begin."""


class NotExportable(ValueError):
    """A report without the figure that a format is about."""


def grams(kilograms: float) -> float:
    """Convert by decimal digits: 0.1 kg are 100 g and not 100.00000000000001."""
    return _times(kilograms, 1000)


def tonnes(kilograms: float) -> float:
    """Convert kilograms to tonnes, by decimal digits."""
    return _times(kilograms, Decimal("0.001"))


def seconds(hours: float) -> float:
    """Convert hours to seconds, by decimal digits."""
    return _times(hours, 3600)


def billions(count: float) -> float:
    """Give a count in billions, by decimal digits."""
    return _times(count, Decimal("1e-9"))


def _times(number: float, factor: int | Decimal) -> float:
    return float(Decimal(repr(number)) * factor)


def hub_metadata(report: Report) -> dict[str, Any]:
    """Give `co2_eq_emissions` of a model card: grams of CO2 equivalent, over all runs.

    Raises:
        NotExportable: no run has `energy.kg_co2e`.

    """
    known = {
        run.id: run.energy.kg_co2e for run in report.runs if run.energy is not None and run.energy.kg_co2e is not None
    }
    if not known:
        why = Reading(report).why_missing("/runs/0/energy/kg_co2e")
        message = f"no run has energy.kg_co2e ({why}): emissions that are not known are left out of a card, never 0"
        raise NotExportable(message)
    lacking = [text(run.id) for run in report.runs if run.id not in known]
    trackers = dict.fromkeys(text(run.energy.tracker) for run in report.runs if run.energy and run.energy.tracker)
    source = listed(list(trackers)) or "stated in the RACE report"
    if lacking:
        source += f"; at least: the emissions of {listed(lacking)} are not reported"
    devices = dict.fromkeys(device for run in report.runs for device in _devices(run))
    return {
        "co2_eq_emissions": {
            "emissions": float(sum(Decimal(repr(value)) for value in known.values()) * 1000),
            "source": source,
            "training_type": "fine-tuning",
            **({"hardware_used": ", ".join(devices)} if devices else {}),
        }
    }


def _devices(run: Run) -> list[str]:
    return [
        f"{pool.count} x {text(pool.accelerator)}" if pool.count is not None else text(pool.accelerator)
        for pool in run.hardware
        if pool.accelerator is not None
    ]


def hub_yaml(report: Report) -> str:
    """Write the metadata for the front matter of a model card.

    Raises:
        NotExportable: no run has `energy.kg_co2e`.

    """
    data = yaml.safe_dump(hub_metadata(report), sort_keys=False, allow_unicode=True, width=1000)
    return f"{MADE_BY}; emissions in grams of CO2 equivalent\n{data}"
