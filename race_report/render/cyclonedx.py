"""A report -> a machine-learning bill of materials: CycloneDX 1.6, JSON.

Energy is in kWh and emissions are in tonnes there. FLOPs have no field: they stand in properties named `race:...`.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Final

from race_report.accounting import COMPONENTS, Figure, run_gpu_hours, totals
from race_report.numbers import show_number
from race_report.render import shown
from race_report.render.carbon import tonnes
from race_report.render.facts import Reading, as_estimated, run_flops

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.document import Model, Report, Result, Run

_SPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:race-report")


def bill_of_materials(report: Report, document: Any) -> str:
    """Make the bill of materials of a valid report; the same report gives the same bytes.

    Args:
        report: a view of it.
        document: the document as JSON has it, from which the serial number follows.

    """
    content = json.dumps(document, sort_keys=True, separators=(",", ":"))
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, content)}",
        "version": 1,
        "metadata": _metadata(report),
        "components": [_component(report, model) for model in report.models],
    }
    return json.dumps(bill, indent=2, ensure_ascii=True) + "\n"


def _metadata(report: Report) -> dict[str, Any]:
    created = report.report.created if report.report is not None else None
    title = report.subject.title if report.subject is not None else None
    return {
        **({"timestamp": created} if created is not None else {}),
        "tools": {"components": [{"type": "application", "name": "race-compute"}]},
        **({"component": {"type": "application", "name": title, "bom-ref": "subject"}} if title else {}),
    }


def _component(report: Report, model: Model) -> dict[str, Any]:
    runs = [(at, run) for at, run in enumerate(report.runs) if run.policy == model.id]
    properties = [_property("role", model.role)]
    if model.parameters is not None and model.parameters.total is not None:
        properties.append(_property("parameters", show_number(model.parameters.total)))
    for at, run in runs:
        properties += _run_properties(report, at, run)
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model:{model.id}",
        "name": model.name or model.id,
        **({"version": model.revision} if model.revision is not None else {}),
        "modelCard": _card(model, [run for _, run in runs]),
        "properties": properties,
    }


def _property(name: str, value: str) -> dict[str, str]:
    return {"name": f"race:{name}", "value": value}


def _run_properties(report: Report, at: int, run: Run) -> Iterator[dict[str, str]]:
    reading, here = Reading(report), f"/runs/{at}"
    figures: dict[str, tuple[Figure, str]] = {
        "total_flops": (as_estimated(report, at, run_flops(report, at)), f"{here}/totals/total_flops"),
        "gpu_hours": (run_gpu_hours(run), f"{here}/gpu_hours"),
    }
    for name in COMPONENTS:
        figures[f"{name}_flops"] = (
            as_estimated(report, at, getattr(totals(report)[at], name), name),
            f"{here}/totals/{name}_flops",
        )
    for name, (figure, pointer) in figures.items():
        known = reading.qualified(figure, pointer)
        if known.value is None:
            yield _property(f"run:{run.id}:{name}:unknown", reading.why_missing(pointer))
            continue
        yield _property(f"run:{run.id}:{name}", show_number(known.value))
        if shown.bound(known):
            yield _property(f"run:{run.id}:{name}:bound", shown.bound(known))


def _card(model: Model, runs: list[Run]) -> dict[str, Any]:
    learning = {"approach": {"type": "reinforcement-learning"}} if runs else {}
    family = {"architectureFamily": model.architecture.model_type} if model.architecture is not None else {}
    metrics = [_metric(result) for run in runs for result in run.results]
    energy = [_energy(run) for run in runs if run.energy is not None and run.energy.energy_kwh is not None]
    return {
        "modelParameters": {**learning, **family},
        **({"quantitativeAnalysis": {"performanceMetrics": metrics}} if metrics else {}),
        **({"considerations": {"environmentalConsiderations": {"energyConsumptions": energy}}} if energy else {}),
    }


def _metric(result: Result) -> dict[str, Any]:
    ends = {
        name: show_number(end)
        for name, end in (("lowerBound", result.low), ("upperBound", result.high))
        if end is not None
    }
    return {
        "type": result.metric,
        "value": show_number(result.value),
        **({"slice": result.target} if result.target is not None else {}),
        **({"confidenceInterval": ends} if ends else {}),
    }


def _energy(run: Run) -> dict[str, Any]:
    energy = run.energy
    assert energy is not None
    carbon = energy.kg_co2e
    return {
        "activity": "fine-tuning",
        "energyProviders": [],
        "activityEnergyCost": {"value": energy.energy_kwh, "unit": "kWh"},
        **({"co2CostEquivalent": {"value": tonnes(carbon), "unit": "tCO2eq"}} if carbon is not None else {}),
        "properties": [_property("run", run.id)],
    }
