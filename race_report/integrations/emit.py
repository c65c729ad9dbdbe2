"""From a run to its report: what is known at its beginning and end, its journals, and nothing else.

The facts lie as files beside the journals, so that a run that was killed can be reported too:

    python -m race_report.integrations.emit output_dir/race
"""

from __future__ import annotations

import contextlib
import datetime as dt
import glob
import importlib.metadata
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from race_report.accelerators import candidates
from race_report.architecture import Underivable, adapter_of, transformer_of, with_adapter
from race_report.integrations.transformers import architecture_of, parts_of
from race_report.reporting import report_of
from race_report.trace import merge, read_trace, write_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGES: Final = ("torch", "transformers", "trl", "peft", "accelerate", "datasets", "vllm", "deepspeed")
_FACTS: Final = "begin.json"
_END: Final = "end.json"


class Subject(NamedTuple):
    """A neural network of a run."""

    id: str
    role: str
    trained: str
    module: Any
    """None where the weights are those of another subject, which then serves as this one."""
    like: Any
    """The module that has its architecture."""


def subjects_of(trainer: Any) -> list[Subject]:
    """Give the networks of a GRPOTrainer: policy, reference, reward models."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    is_adapted = hasattr(model, "peft_config")
    subjects = [Subject("policy", "policy", "adapter" if is_adapted else "full", model, model)]
    if trainer.ref_model is not None:
        other = trainer.accelerator.unwrap_model(trainer.ref_model)
        subjects.append(Subject("reference", "reference", "none", other, other))
    elif trainer.beta:
        subjects.append(Subject("reference", "reference", "none", None, model))
    for at, one in enumerate(trainer.reward_funcs):
        if isinstance(one, torch.nn.Module):
            inner = trainer.accelerator.unwrap_model(one)
            subjects.append(Subject(f"reward-{at}", "reward_model", "none", inner, inner))
    return subjects


def described(model: Any, name: str, *, role: str = "policy") -> dict[str, Any]:
    """Give a model for `Meter`, by the keys of the standard: architecture, coefficients, adapter, what is trained.

    Args:
        model: a decoder of transformers, or one that peft has wrapped.
        name: its id in the report.
        role: what it is for; nothing but a policy is trained here.

    """
    trained = "none" if role != "policy" else "adapter" if hasattr(model, "peft_config") else "full"
    return model_of(Subject(name, role, trained, model, model))


def model_of(subject: Subject) -> dict[str, Any]:
    """Give a network by the keys of the standard."""
    inner = parts_of(subject.like)[0]
    config = _plain(architecture_of(inner))
    adapter = _adapter_of(subject.like) if subject.trained == "adapter" else None
    name = str(getattr(inner.config, "_name_or_path", "") or "")
    model: dict[str, Any] = {"id": subject.id, "role": subject.role, "trained": subject.trained}
    if name and not os.path.isabs(name):
        model["name"] = name
    model["architecture"] = config
    dtype = _FORMATS.get(next(inner.parameters()).dtype)
    if dtype:
        model["precision"] = {"weights": dtype}
    try:
        table = transformer_of(config)
        saved = None if adapter is None else adapter_of(adapter, table)
        parameters, coefficients = with_adapter(table, saved)
    except Underivable:
        return model
    model["parameters"] = parameters._asdict()
    if subject.trained == "none":
        model["parameters"]["trainable"] = 0
    model["coefficients"] = {key: value for key, value in coefficients._asdict().items() if value is not None}
    if adapter is not None:
        model["adapter"] = _reported(adapter)
    return model


_FORMATS: Final = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


def _adapter_of(model: Any) -> dict[str, Any]:
    config = model.peft_config[model.active_adapters[0] if hasattr(model, "active_adapters") else "default"]
    found: dict[str, Any] = _plain(config.to_dict())
    return found


def _reported(adapter: Mapping[str, Any]) -> dict[str, Any]:
    """Give adapter_config.json in the words of a report."""
    targets = adapter["target_modules"]
    pattern = isinstance(targets, str) and targets != "all-linear"
    found = {
        "method": "dora" if adapter.get("use_dora") else "lora",
        "rank": adapter["r"],
        "alpha": adapter["lora_alpha"],
        "target_modules": None if pattern else [targets] if isinstance(targets, str) else sorted(targets),
        "target_modules_pattern": targets if pattern else None,
        "rank_pattern": adapter.get("rank_pattern") or None,
        "modules_to_save": adapter.get("modules_to_save") or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def facts_of(trainer: Any, models: list[dict[str, Any]]) -> dict[str, Any]:
    """Give what is known of a run before its first step: document keys under `document`, the run's under `run`."""
    args = trainer.args
    accumulation = args.gradient_accumulation_steps
    batches = args.steps_per_generation / accumulation
    rollouts_a_step = args.per_device_train_batch_size * args.steps_per_generation * trainer.accelerator.num_processes
    algorithm = {
        "name": "grpo",
        "group_size": trainer.num_generations,
        "prompts_per_step": rollouts_a_step // trainer.num_generations,
        "updates_per_batch": trainer.num_iterations,
        "minibatches_per_batch": int(batches) if batches.is_integer() and batches else None,
        "kl_coefficient": trainer.beta,
        "learning_rate": args.learning_rate,
        "clip_low": args.epsilon,
        "clip_high": args.epsilon_high,
        "loss_type": args.loss_type,
        "max_completion_tokens": args.max_completion_length,
        "temperature": args.temperature,
        "top_p": args.top_p,
    }
    feedback = []
    for at, one in enumerate(trainer.reward_funcs):
        if isinstance(one, torch.nn.Module):
            feedback.append({"id": f"reward-{at}", "kind": "outcome_reward_model", "model": f"reward-{at}"})
        else:
            feedback.append({"id": f"reward-{at}", "kind": "rule", "note": getattr(one, "__name__", "a callable")})
    run = {
        "algorithm": {key: value for key, value in algorithm.items() if value is not None},
        "feedback": feedback,
        "hardware": [_hardware(trainer)],
        "seed": args.seed,
        "software": _software(),
    }
    return {"models": models, "run": run}


def _hardware(trainer: Any) -> dict[str, Any]:
    """Give name and number from torch, and the peak where the table has one for the name."""
    device = trainer.accelerator.device
    pool: dict[str, Any] = {"id": "main", "components": ["search", "learning", "feedback"]}
    if device.type != "cuda":
        return pool | {"accelerator": "CPU", "count": trainer.accelerator.num_processes}
    name = torch.cuda.get_device_name(device)
    pool |= {"accelerator": name, "count": trainer.accelerator.num_processes}
    found, precision = candidates(name), {"bf16": "bf16", "fp16": "fp16"}.get(trainer.accelerator.mixed_precision)
    if len(found) == 1 and precision and (peaks := found[0].peaks(precision)):
        source = "race-compute: accelerators.json"
        pool |= {"precision": precision, "peak_flops_per_second": peaks[0], "peak_kind": "dense", "peak_source": source}
    return pool


def _software() -> dict[str, str]:
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def energy_tracker() -> Any:
    """Give codecarbon's tracker that needs no network, where it is installed and a country is named; else None."""
    country = os.environ.get("RACE_COUNTRY")
    if country is None:
        return None
    try:
        from codecarbon import OfflineEmissionsTracker
    except ImportError:
        return None
    return OfflineEmissionsTracker(country_iso_code=country, save_to_file=False, log_level="error")


def facts_at_end(trainer: Any, tracker: Any, seconds: float) -> dict[str, Any]:
    """Give what is known of a run at its end: hours, energy, the last rewards."""
    found: dict[str, Any] = {
        "seconds": seconds,
        "step": trainer.state.global_step,
        "max_steps": trainer.state.max_steps,
    }
    data = getattr(tracker, "final_emissions_data", None)
    if data is not None:
        found["energy"] = {
            "energy_kwh": data.energy_consumed,
            "gpu_energy_kwh": data.gpu_energy,
            "cpu_energy_kwh": data.cpu_energy,
            "ram_energy_kwh": data.ram_energy,
            "kg_co2e": data.emissions,
            "duration_hours": data.duration / 3600,
            "tracker": f"codecarbon {data.codecarbon_version}",
        }
    rewards = [(entry["step"], entry["reward"]) for entry in trainer.state.log_history if "reward" in entry]
    if rewards:
        step, value = rewards[-1]
        found["results"] = [{"metric": "mean reward", "target_kind": "training_reward", "value": value, "step": step}]
    return found


def save_facts(folder: str, facts: Mapping[str, Any], name: str = _FACTS) -> None:
    """Write facts beside the journals, whole or not at all; with those of a beginning, an earlier end is over."""
    if name == _FACTS:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, _END))
    write_lines([json.dumps(facts, indent=1).encode() + b"\n"], os.path.join(folder, name))


def write_report(folder: str) -> str:
    """Merge the journals of a run and write `report.json` beside them; give its path.

    Raises:
        ValueError: there are no facts or journals, or they do not fit together.

    """
    try:
        with open(os.path.join(folder, _FACTS), encoding="utf-8") as file:
            facts = json.load(file)
    except OSError as error:
        message = f"{folder}: no run of a metered trainer began here ({error.strerror})"
        raise ValueError(message) from error
    end: dict[str, Any] = {}
    if os.path.exists(os.path.join(folder, _END)):
        with open(os.path.join(folder, _END), encoding="utf-8") as file:
            end = json.load(file)
    merged = merge(sorted(glob.glob(os.path.join(folder, "journal-*.jsonl"))))
    if not merged.is_whole:
        fault = next(fault for fault in merged.faults if fault.rule != "record-torn")
        message = f"{fault.path}: {fault.message}"
        raise ValueError(message)
    trace = os.path.join(folder, "trace.jsonl")
    write_lines(merged.lines, trace)
    path = os.path.join(folder, "report.json")
    report = _report(trace, facts, end)
    write_lines([json.dumps(report, indent=2).encode() + b"\n"], path)
    return path


def _report(trace: str, facts: Mapping[str, Any], end: Mapping[str, Any]) -> dict[str, Any]:
    run = dict(facts["run"])
    pool = dict(run["hardware"][0])
    gaps = []
    restarts = max(read_trace(trace).attempts.values(), default=0)
    is_whole = bool(end.get("finished"))
    if is_whole and not restarts:
        hours = end["seconds"] / 3600
        pool |= {"wall_clock_hours": hours, "gpu_hours": hours * pool["count"], "time_basis": "train"}
    else:
        gaps.append({"pointer": "/runs/main/hardware/main/wall_clock_hours", "reason": "not_measured"})
    if "peak_flops_per_second" not in pool:
        gaps.append({"pointer": "/runs/main/hardware/main/peak_flops_per_second", "reason": _NO_PEAK})
    run["hardware"] = [pool]
    run["coverage"] = {"complete": is_whole, "step_unit": "optimizer_step"}
    if not is_whole and end.get("max_steps"):
        run["coverage"]["planned_last_step"] = end["max_steps"] - 1
    for key in ("energy", "results"):
        if key in end:
            run[key] = end[key]
        else:
            gaps.append({"pointer": f"/runs/main/{key}", "reason": "not_measured"})
    created = dt.datetime.now(dt.UTC).replace(microsecond=0).isoformat()
    from race_report import __version__

    info = {"created": created, "generator": f"race-compute {__version__}"}
    return report_of(trace, models=facts["models"], run=run, report=info, not_reported=gaps)


_NO_PEAK: Final = "the table of accelerators has no peak for this device and number format"


def _plain(value: Any) -> Any:
    """Give what JSON can hold; sets in order."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bool | int | float | str):
        return value.value if hasattr(value, "value") else value
    return str(value)


if __name__ == "__main__":
    print(write_report(sys.argv[1]))  # noqa: T201
