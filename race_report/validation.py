"""The order of validation: reading, version, structure, rules, level."""

from __future__ import annotations

import os
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from race_report.finding import Exit, Finding, Severity
from race_report.levels import Level, reached_level
from race_report.parsed import MAX_DEPTH, MAX_FAULTS, Fault, Unparsable
from race_report.rules import BY_CODE, BY_NAME, CHECKS
from race_report.slips import version_fault
from race_report.source import MAX_BYTES, STDIN, TOP, load_bytes, read_file, within
from race_report.standard import VERSION, view
from race_report.structure import structure_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from race_report.document import Report
    from race_report.parsed import Places
    from race_report.proof import Replay
    from race_report.source import Loaded

MARK: Final = "race_version"
"""The key that marks a report."""

_MARK_AS_KEY: Final = re.compile(rb"^[^#\r\n]*" + MARK.encode() + rb"[\"']?[ \t]*(?::|$)", re.MULTILINE)
_OTHER_MARKS: Final = tuple(
    b"".join(before + bytes((letter,)) + behind for letter in MARK.encode())
    for before, behind in ((b"", b"\0"), (b"\0", b""), (b"", b"\0\0\0"), (b"\0\0\0", b""))
)
"""The mark in UTF-16 and UTF-32, made by hand: four codecs cost a command more than all its bytes."""

_FEW: Final = 3
"""Lacks that a message names where a list of all stands below it."""

_KEY_RULES: Final = frozenset({"unknown-key", "duplicate-key", "not-yet-supported"})
"""Rules whose findings are about a key and stand there."""

_VALUE_LOST: Final = frozenset({"not-finite", "number-overflow", "lone-surrogate", "unsupported-yaml"})
"""Rules of reading after which nothing can be said of the value."""


class Result(NamedTuple):
    """What validation of one file or document gave."""

    path: str
    findings: tuple[Finding, ...] = ()
    level: Level | None = None
    """None where the document has no valid structure."""
    skipped: str = ""
    """Why the file was not validated; empty where it was."""
    document: Any = None
    """The document as JSON has it, where it could be read."""
    ignored: Mapping[str, int] = MappingProxyType({})
    """How many findings were ignored, by code."""
    replays: Mapping[int, Replay] = MappingProxyType({})
    """What the traces beside the report prove, by the position of their runs."""
    view: Report | None = None
    """A view of the document, where its structure is valid: the attributes of a report, for rules and renderings."""

    @property
    def errors(self) -> int:
        """How many errors were found."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many warnings were found."""
        return sum(finding.severity is Severity.WARNING for finding in self.findings)

    def exit_code(self, *, werror: bool = False) -> Exit:
        """Give the exit code of this file alone."""
        codes = [BY_CODE[finding.code].exit_code for finding in self.findings if finding.severity is Severity.ERROR]
        return gravest([*codes, Exit.FINDINGS] if werror and self.warnings else codes)


def gravest(codes: list[Exit]) -> Exit:
    """Give the exit code that counts: 3 before 4 before 1 before 0."""
    order = (Exit.UNREADABLE, Exit.UNSUPPORTED_VERSION, Exit.FINDINGS)
    return next((code for code in order if code in codes), Exit.CLEAN)


def validate_file(
    path: str,
    *,
    max_bytes: int = MAX_BYTES,
    skip_others: bool = False,
    require_level: int = 0,
    engine: str | None = None,
) -> Result:
    """Validate a file, or standard input for `-`.

    Args:
        path: where it is.
        max_bytes: the largest size that is read.
        skip_others: whether a file that is no report is skipped with a word; else it is an error.
        require_level: the level below which there is an error.
        engine: what checks the schema, see `schema_engines`.

    """
    name = "<stdin>" if path == STDIN else path
    data = b""
    try:
        data = read_file(path, max_bytes)
        if skip_others and not may_be_report(data, max_bytes):
            return Result(path=name, skipped=f"no report: it has no {MARK}")
        loaded = load_bytes(within(data, max_bytes), path)
    except Unparsable as unparsable:
        if skip_others and data and not _has_mark_as_key(data):
            return Result(path=name, skipped=f"no report: it cannot be read, and has no {MARK}")
        return Result(path=name, findings=(_finding(unparsable.fault, None),))
    if skip_others and not _is_marked(loaded.value):
        return Result(path=name, skipped=f"no report: it has no {MARK} of its own")
    folder = None if path == STDIN else os.path.dirname(path)
    return _validate_loaded(name, loaded, require_level, engine, folder)


def validate_bytes(data: bytes, path: str, folder: str | None = None) -> Result:
    """Validate the content of a file; the path's suffix tells its language, else its first character."""
    try:
        return _validate_loaded(path, load_bytes(data, path), folder=folder)
    except Unparsable as unparsable:
        return Result(path=path, findings=(_finding(unparsable.fault, None),))


def validate_value(value: Any, folder: str | None = None) -> Result:
    """Validate a document that is in memory, made of what `json.loads` gives.

    Args:
        value: the document.
        folder: where it would be saved, from which the paths of its traces lead; without it none is looked for.

    Raises:
        ValueError: it is made of something else.

    """
    import json

    _refuse_other_than_json(value, "", 0)
    return validate_bytes(json.dumps(value, indent=2).encode("ascii"), "<value>.json", folder)


def _refuse_other_than_json(value: Any, pointer: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        message = f"the document nests deeper than {MAX_DEPTH}"
        raise ValueError(message)
    if isinstance(value, dict):
        for key, child in value.items():
            if not isinstance(key, str):
                message = f"the key {key!r} of {pointer or 'the document'} is no text"
                raise ValueError(message)
            _refuse_other_than_json(child, f"{pointer}/{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            _refuse_other_than_json(child, f"{pointer}/{index}", depth + 1)
    elif not isinstance(value, str | int | float | None):
        message = f"{pointer or 'the document'} is a {type(value).__name__}, which JSON does not have"
        raise ValueError(message)


def may_be_report(data: bytes, max_bytes: int) -> bool:
    """Tell whether bytes may be a report, without parsing them: whether the mark is there, or an escape may hide it."""
    if MARK.encode() in data or any(mark in data for mark in _OTHER_MARKS):
        return True
    return b"\\u" in data and len(data) <= max_bytes


def _has_mark_as_key(data: bytes) -> bool:
    """Tell whether bytes that cannot be read hold the mark where a key stands, or in another encoding at all."""
    return _MARK_AS_KEY.search(data) is not None or any(mark in data for mark in _OTHER_MARKS)


def _is_marked(value: Any) -> bool:
    return isinstance(value, dict) and MARK in value


def _validate_loaded(
    path: str, loaded: Loaded, require_level: int = 0, engine: str | None = None, folder: str | None = None
) -> Result:
    """Validate what was read; only beside a file, whose folder is given, can its traces be found."""

    def places() -> Places:
        return loaded.places

    value = loaded.value
    faults = list(loaded.faults)
    if len(faults) >= MAX_FAULTS:
        message = f"at most {MAX_FAULTS:,} findings of reading are looked for at a time"
        faults.append(Fault("too-many-findings", "", message, "mend these, and check again", TOP))
    view_of_it = None
    level = None
    replayed: dict[int, Replay] = {}
    if not _is_marked(value):
        faults.append(_not_a_report(value))
    elif (wrong_version := version_fault(value, places)) is not None:
        faults.append(wrong_version)
    elif structural := structure_faults(value, places, engine):
        lost = {fault.pointer for fault in faults if fault.rule in _VALUE_LOST}
        faults += [fault for fault in structural if fault.pointer not in lost or fault.rule in _KEY_RULES]
    else:
        view_of_it = view()(value)
        is_well_formed = not any(_severity(fault) is Severity.ERROR for fault in faults)
        faults += check_rules(view_of_it)
        if folder is not None and any(run.trace for run in view_of_it.runs):
            from race_report.replay import replays

            replayed = replays(view_of_it, folder)
            faults += [fault for replay in replayed.values() for fault in replay.faults]
        if is_well_formed:
            errors = [BY_NAME[fault.rule].code for fault in faults if _severity(fault) is Severity.ERROR]
            proofs = {at: replay.why_not for at, replay in replayed.items()}
            level = reached_level(view_of_it, errors, proofs)
    if require_level and (level is None or level.number < require_level):
        faults.append(_level_fault(level, require_level))
    findings = _findings(faults, places)
    return Result(path=path, findings=findings, level=level, document=value, replays=replayed, view=view_of_it)


def _severity(fault: Fault) -> Severity:
    return BY_NAME[fault.rule].severity


def _not_a_report(value: Any) -> Fault:
    alike = [key for key in value if _letters(key) == _letters(MARK)] if isinstance(value, dict) else []
    hint = f'a report begins with {MARK}: "{VERSION}"; race init writes one to start from'
    if alike:
        hint = f'did you mean {MARK}, for "{alike[0]}"?'
    return Fault("not-a-report", "", f"this is no RACE report: it has no {MARK}", hint, TOP)


def _letters(key: str) -> str:
    return "".join(filter(str.isalpha, key)).lower()


def _level_fault(level: Level | None, required: int) -> Fault:
    if level is None:
        reached, hint = "none is", "mend the other errors first"
    else:
        more = " ..." if len(level.lacking) > _FEW else ""
        reached = f"level {level.number} is"
        hint = f"level {level.number + 1} lacks: {'; '.join(level.lacking[:_FEW])}{more}"
    return Fault("level-not-reached", "", f"level {required} was required, and {reached} reached", hint, TOP)


def check_rules(report: Report) -> list[Fault]:
    """Run every rule on a structurally valid report."""
    return [
        Fault(rule.name, pointer, message, hint) for rule, check in CHECKS for pointer, message, hint in check(report)
    ]


def _findings(faults: list[Fault], places: Callable[[], Places]) -> tuple[Finding, ...]:
    """Give findings in the order of the text."""
    found = [_finding(fault, places) for fault in faults]
    return tuple(sorted(found, key=lambda finding: (finding.path, finding.span, finding.code, finding.pointer)))


def _finding(fault: Fault, places: Callable[[], Places] | None) -> Finding:
    rule = BY_NAME[fault.rule]
    span = fault.span
    if span is None:
        assert places is not None
        find = places().of_key if fault.rule in _KEY_RULES else places().of_value
        span = find(fault.pointer)
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        pointer=fault.pointer,
        message=fault.message,
        hint=fault.hint,
        span=span,
        path=fault.path,
    )
