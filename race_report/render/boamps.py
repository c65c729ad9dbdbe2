"""A report -> a BoAmps energy report (Boavizta, https://github.com/Boavizta/BoAmps).

Energy is in kWh, in a field called powerConsumption; durations are in seconds, parameters in billions.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from race_report.render.carbon import NotExportable, billions, seconds
from race_report.render.facts import Reading

if TYPE_CHECKING:
    from race_report.document import Report, Run

_STATUS = {"draft": "draft", "final": "final", "corrected": "corrective"}


def energy_report(report: Report) -> str:
    """Make the energy report of the runs whose energy was measured, a measure a run.

    Raises:
        NotExportable: no run has `energy.energy_kwh`, or none of them hardware with a count, which the format demands.

    """
    runs = [run for run in report.runs if run.energy is not None and run.energy.energy_kwh is not None]
    if not runs:
        why = Reading(report).why_missing("/runs/0/energy/energy_kwh")
        message = f"no run has energy.energy_kwh ({why}), and an energy report is about nothing else"
        raise NotExportable(message)
    devices = [device for run in runs for device in _devices(run)]
    if not devices:
        message = "no run with energy has hardware with a count, and BoAmps demands a component: state hardware"
        raise NotExportable(message)
    data = {
        **_header(report),
        "task": {
            "taskStage": "finetuning",
            "taskFamily": "reinforcement learning post-training",
            "algorithms": [_algorithm(report, run) for run in runs],
            "dataset": [_data(runs, "input", "prompt_tokens"), _data(runs, "output", "completion_tokens")],
            "taskDescription": f"runs of a RACE report: {', '.join(run.id for run in runs)}",
        },
        "measures": [_measure(run) for run in runs],
        "infrastructure": {"infraType": "other", "components": devices},
    }
    return json.dumps(data, indent=2, ensure_ascii=True) + "\n"


def _header(report: Report) -> dict[str, Any]:
    info = report.report
    if info is None or info.created is None:
        return {}
    found = re.match(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)", info.created)
    assert found is not None
    status = {"reportStatus": _STATUS[info.status]} if info.status is not None else {}
    name = {"reportId": info.id} if info.id is not None else {}
    return {"header": {**name, "reportDatetime": f"{found[1]} {found[2]}", **status}}


def _algorithm(report: Report, run: Run) -> dict[str, Any]:
    model = next((model for model in report.models if model.id == run.policy), None)
    settings = run.algorithm
    size = model.parameters.total if model is not None and model.parameters is not None else None
    values = {
        "algorithmName": settings.name if settings is not None else None,
        "foundationModelName": model.name if model is not None else None,
        "foundationModelUri": model.url if model is not None else None,
        "parametersNumber": billions(size) if size is not None else None,
        "quantization": model.precision.compute if model is not None and model.precision is not None else None,
    }
    known = {name: value for name, value in values.items() if value is not None}
    return {"trainingType": "reinforcementLearning", "algorithmType": "llm", **known}


def _data(runs: list[Run], usage: str, count: str) -> dict[str, Any]:
    counts: list[int] = [
        value for run in runs if run.rollouts is not None and (value := getattr(run.rollouts, count)) is not None
    ]
    known = {"dataQuantity": sum(counts)} if len(counts) == len(runs) else {}
    return {"dataUsage": usage, "dataType": "token", **known}


def _measure(run: Run) -> dict[str, Any]:
    energy = run.energy
    assert energy is not None
    duration = energy.duration_hours
    return {
        "measurementMethod": energy.tracker or "not reported",
        "powerConsumption": energy.energy_kwh,
        **({"measurementDuration": seconds(duration)} if duration is not None else {}),
    }


def _devices(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "componentType": "gpu",
            "nbComponent": pool.count,
            **({"componentName": pool.accelerator} if pool.accelerator else {}),
        }
        for pool in run.hardware
        if pool.count is not None
    ]
