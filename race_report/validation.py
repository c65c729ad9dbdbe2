"""The order of validation: reading, version, structure, rules, level."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from race_report.finding import Exit, Finding, Severity
from race_report.levels import Level, reached_level
from race_report.parsed import Fault, Unparsable
from race_report.rules import BY_CODE, BY_NAME, RULES
from race_report.source import MAX_BYTES, STDIN, TOP, load_bytes, read_file
from race_report.structure import VERSION, structure_faults, version_fault, view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from race_report.document import Report
    from race_report.parsed import Places
    from race_report.source import Loaded

MARK: Final = "race_version"
"""The key that marks a report."""

_MARKS: Final = tuple(MARK.encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
_KEY_RULES: Final = frozenset({"unknown-key", "duplicate-key", "not-yet-supported"})
"""Rules whose findings are about a key and stand there."""

_SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What validation of one file or document gave."""

    path: str
    findings: tuple[Finding, ...] = ()
    level: Level | None = None
    """None where the document has no valid structure."""
    skipped: str = ""
    """Why the file was not validated; empty where it was."""
    report: Report | None = None
    """A read-only view of the document, where its structure is valid."""

    @property
    def errors(self) -> int:
        """How many errors were found."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many warnings were found."""
        return sum(finding.severity is Severity.WARNING for finding in self.findings)

    def exit_code(self, *, werror: bool = False, require_level: int | None = None) -> int:
        """Give the exit code of this file alone."""
        codes = [BY_CODE[finding.code].exit_code for finding in self.findings if finding.severity is Severity.ERROR]
        if werror and self.warnings:
            codes.append(Exit.FINDINGS)
        if require_level is not None and not self.skipped and (self.level is None or self.level.number < require_level):
            codes.append(Exit.FINDINGS)
        return gravest(codes)


def gravest(codes: list[int]) -> int:
    """Give the exit code that counts: 3 before 4 before 1 before 0."""
    order = (Exit.UNREADABLE, Exit.UNSUPPORTED_VERSION, Exit.FINDINGS)
    return next((code for code in order if code in codes), Exit.CLEAN)


def validate_file(path: str, *, max_bytes: int = MAX_BYTES, skip_others: bool = False) -> Result:
    """Validate a file, or standard input for `-`.

    Args:
        path: where it is.
        max_bytes: the largest size that is read.
        skip_others: whether a file that is no report is skipped with a word; else it is an error.

    """
    try:
        data = read_file(path, max_bytes)
        path = "<stdin>" if path == STDIN else path
        if skip_others and not any(mark in data for mark in _MARKS):
            return Result(path=path, skipped=f"no report: it has no {MARK}")
        loaded = load_bytes(data, path)
    except Unparsable as unparsable:
        return Result(path=path, findings=(_finding(unparsable.fault, None),))
    if skip_others and not (isinstance(loaded.value, dict) and MARK in loaded.value):
        return Result(path=path, skipped=f"no report: it has no {MARK} of its own")
    return _validate_loaded(path, loaded)


def validate_value(value: Any, path: str = "<value>") -> Result:
    """Validate a document that is already in memory, made of what `json.loads` gives."""
    import json

    try:
        loaded = load_bytes(json.dumps(value, indent=2, ensure_ascii=True).encode("ascii"))
    except Unparsable as unparsable:
        return Result(path=path, findings=(_finding(unparsable.fault, None),))
    return _validate_loaded(path, loaded)


def _validate_loaded(path: str, loaded: Loaded) -> Result:
    def places() -> Places:
        return loaded.places

    value = loaded.value
    faults = list(loaded.faults)
    if not isinstance(value, dict) or MARK not in value:
        hint = f'a report begins with {MARK}: "{VERSION}"; race init writes one to start from'
        faults.append(Fault("not-a-report", "", f"this is no RACE report: it has no {MARK}", hint, TOP))
        return Result(path=path, findings=_findings(faults, places))
    wrong_version = version_fault(value, lambda: _literal(places(), f"/{MARK}"))
    if wrong_version is not None:
        return Result(path=path, findings=_findings([*faults, wrong_version], places))
    structural = structure_faults(value, places)
    if structural:
        explained = {fault.pointer for fault in faults}
        faults += [fault for fault in structural if fault.pointer not in explained]
        return Result(path=path, findings=_findings(faults, places))
    report = view()(value)
    faults += check_rules(report)
    findings = _findings(faults, places)
    has_errors = any(finding.severity is Severity.ERROR for finding in findings)
    return Result(path=path, findings=findings, level=reached_level(report, has_errors=has_errors), report=report)


def check_rules(report: Report) -> Iterator[Fault]:
    """Run every rule on a structurally valid report."""
    for rule in RULES:
        if rule.check is not None:
            for pointer, message, hint in rule.check(report):
                yield Fault(rule.name, pointer, message, hint)


def _literal(places: Places, pointer: str) -> str:
    start, end = places.values[pointer]
    return places.text[start:end]


def _findings(faults: list[Fault], places: Callable[[], Places]) -> tuple[Finding, ...]:
    """Give findings in the order of the text."""
    found = [_finding(fault, places) for fault in faults]
    return tuple(sorted(found, key=lambda finding: (finding.span, finding.code, finding.pointer)))


def _finding(fault: Fault, places: Callable[[], Places] | None) -> Finding:
    rule = BY_NAME[fault.rule]
    span = fault.span
    if span is None:
        assert places is not None
        key = places().of_key(fault.pointer) if fault.rule in _KEY_RULES else None
        span = key if key is not None else places().nearest(fault.pointer)
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        pointer=fault.pointer,
        message=fault.message,
        hint=fault.hint,
        span=span,
    )


def reports_below(folder: str) -> list[str]:
    """Give the JSON and YAML files below a folder that hold the mark of a report, in order of their paths.

    Hidden folders and those of installed packages are left out; a file that cannot be opened is given, so that the
    reader hears of it.
    """
    found = []
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        for name in sorted(files):
            if name.lower().endswith((".json", ".yaml", ".yml")):
                path = os.path.join(here, name)
                if _has_mark(path):
                    found.append(path)
    return found


def _has_mark(path: str) -> bool:
    """Tell whether a file holds the mark of a report within the largest size, without parsing it."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        return True
    return any(mark in data for mark in _MARKS)
