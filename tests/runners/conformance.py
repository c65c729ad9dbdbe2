"""Runs the conformance suite on race_report: `python conformance.py`. The contract is README.md of the suite."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jsonpatch

from race_report.accounting import account
from race_report.finding import Severity
from race_report.standard import view
from race_report.validation import Result, validate_bytes, validate_value

VERSION = Path(__file__).parent.parent / "conformance" / "1.0"
FAMILIES = {"structure": "RACE0[234]", "rules": "RACE", "reading": "RACE0[01]"}
"""The codes that count, by folder."""


def load(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def findings(result: Result, family: str, notes: str) -> Counter[tuple[str, str]]:
    """Count the errors and warnings whose codes belong to a family, and the notes that are asked for."""
    counted = [found for found in result.findings if re.match(family, found.code)]
    return Counter(
        (found.code, found.pointer)
        for found in counted
        if found.severity is not Severity.NOTE or re.match(notes, found.code)
    )


def flops(vector: dict[str, Any]) -> int | None:
    """Give the FLOPs of a vector by way of a report that holds nothing else."""
    counts = {key: int(count) if isinstance(count, str) else count for key, count in vector["counts"].items()}
    model: dict[str, Any] = {key: vector[key] for key in ("coefficients", "trained") if key in vector}
    stated: dict[str, Any] = {key: vector[key] for key in ("operation", "multipliers") if key in vector}
    models = [{"id": "policy", "role": "policy", **model}]
    ledger = [{"component": "search", "model": "policy", **stated, **counts}]
    report = view()({"race_version": "1.0", "models": models, "runs": [{"id": "main", "ledger": ledger}]})
    return account(report).recomputed[0][0].flops


def outcome(path: Path, case: dict[str, Any]) -> tuple[Any, Any]:
    """Give what a case of a file gave, and what it expects; equal where the validator is right."""
    folder = path.parent.name
    if folder == "flops" and "passes" in case:
        sums = Counter[str]()
        for vector in case["passes"]:
            sums[vector["component"]] += flops(vector) or 0
        share, expected = sums["learning"] / sums.total(), case["learning_share"]
        return expected if abs(share / expected - 1) <= case["tolerance"] else share, expected
    if folder == "flops":
        computed, expected = flops(case), None if case["flops"] is None else int(case["flops"])
        is_near = None not in (computed, expected) and abs(computed - expected) <= case["tolerance"] * expected  # type: ignore[operator]
        return expected if is_near else computed, expected
    wanted = Counter((found["code"], found.get("pointer", "")) for found in case["findings"])
    if folder != "reading":
        result = validate_value(jsonpatch.apply_patch(load(VERSION / case["base"]), case["patch"]))
        return findings(result, FAMILIES[folder], path.stem[:7]), wanted
    result = validate_bytes((path.parent / case["file"]).read_bytes(), case["file"])
    seen = findings(result, FAMILIES[folder], "RACE")
    if case["exit_code"] == 3:  # the file has no value to point into
        seen = Counter((code, "") for code, _ in seen.elements())
    return (seen, int(result.exit_code())), (wanted, case["exit_code"])


if __name__ == "__main__":
    failures = 0
    for folder in ("reading", "structure", "rules", "flops"):
        cases = [
            (path, {**load(path), **case})
            for path in sorted((VERSION / folder).glob("index.json" if folder == "reading" else "*.json"))
            for case in load(path).get("cases") or load(path)["files"]
        ]
        for path, case in cases:
            seen, expected = outcome(path, case)
            if seen != expected:
                failures += 1
                print(f"1.0/{folder}/{path.name}: {case['description']}\n  - {expected}\n  + {seen}")
        print(f"1.0/{folder}: {len(cases)} cases")
    sys.exit(bool(failures))
