"""Results of validation -> text for people, JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from race_report.one_line import on_one_line
from race_report.rules import BY_CODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from race_report.finding import Finding
    from race_report.validation import Result


GAP: Final = "gap-not-named"
"""The rule whose findings say what the next level lacks."""

_LONGEST_POINTER: Final = 200
_LONGEST_MESSAGE: Final = 1000


def text_lines(results: Sequence[Result], reasons: Mapping[str, str] | None = None) -> Iterator[str]:
    """Give what a person reads: findings, then a word on each file, then a sum.

    Whatever stands in a file or its name, a finding stays one line and a terminal shows it as it is.

    Args:
        results: of the files, in their order.
        reasons: why rules are ignored, by code.

    """
    yield from map(on_one_line, _text_lines(results, reasons or {}))


def _text_lines(results: Sequence[Result], reasons: Mapping[str, str]) -> Iterator[str]:
    for result in results:
        for finding in result.findings:
            yield from _finding_lines(finding.path or result.path, finding)
        yield from _verdict_lines(result)
    for code, reason in reasons.items():
        number = sum(result.ignored.get(code, 0) for result in results)
        yield f"ignored {code} {BY_CODE[code].name}: {reason} ({_plural(number, 'finding')})"
    yield summary_line(results)


def _finding_lines(path: str, finding: Finding) -> Iterator[str]:
    place = f"{path}:{finding.span.line}:{finding.span.column}"
    pointer = f" ({finding.pointer[:_LONGEST_POINTER]})" if finding.pointer else ""
    message = finding.message
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]} ..."
    yield f"{place}: {finding.severity} {finding.code} {finding.name}: {message}{pointer}"
    if finding.hint:
        yield f"    mend: {finding.hint}"


def _verdict_lines(result: Result) -> Iterator[str]:
    if result.skipped:
        yield f"{result.path}: skipped, {result.skipped}"
    elif result.level is not None:
        level = result.level
        bound = ", lower bound" if level.is_lower_bound else ""
        yield f"{result.path}: level {level.number}{bound} ({level.name})"
        shown = [finding.message for finding in result.findings if finding.name == GAP]
        rest = [what for what in level.lacking if not any(message.endswith(what) for message in shown)]
        if level.lacking:
            known = " the gaps that the warnings name" if shown else ""
            more = ", and" if shown and rest else ""
            yield f"    level {level.number + 1} lacks{known}{more}{':' if rest else ''}"
            yield from (f"    - {what}" for what in rest)


def summary_line(results: Sequence[Result]) -> str:
    """Give the sum over all files."""
    checked = [result for result in results if not result.skipped]
    skipped = len(results) - len(checked)
    parts = [
        _plural(len(checked), "file") + " checked",
        _plural(sum(result.errors for result in checked), "error"),
        _plural(sum(result.warnings for result in checked), "warning"),
    ]
    if skipped:
        parts.append(f"{skipped} skipped")
    return ", ".join(parts)


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def json_text(results: Sequence[Result], exit_code: int, reasons: Mapping[str, str]) -> str:
    """Give what a program reads. The keys are always the same; what is not there is null or empty."""
    data = {
        "exit_code": exit_code,
        "summary": {
            "files": len(results),
            "checked": sum(not result.skipped for result in results),
            "skipped": sum(bool(result.skipped) for result in results),
            "errors": sum(result.errors for result in results),
            "warnings": sum(result.warnings for result in results),
        },
        "ignored": [
            {
                "code": code,
                "name": BY_CODE[code].name,
                "reason": reason,
                "findings": sum(result.ignored.get(code, 0) for result in results),
            }
            for code, reason in reasons.items()
        ],
        "files": [_file(result) for result in results],
    }
    return json.dumps(data, indent=2, ensure_ascii=True)


def _file(result: Result) -> dict[str, Any]:
    level = result.level
    return {
        "path": _as_text(result.path),
        "skipped": result.skipped or None,
        "level": None if level is None else level.number,
        "lower_bound": None if level is None else level.is_lower_bound,
        "next_level_lacks": [] if level is None else list(level.lacking),
        "findings": [
            {
                "code": finding.code,
                "name": finding.name,
                "severity": str(finding.severity),
                "pointer": finding.pointer,
                "path": _as_text(finding.path or result.path),
                "line": finding.span.line,
                "column": finding.span.column,
                "end_line": finding.span.end_line,
                "end_column": finding.span.end_column,
                "message": finding.message,
                "hint": finding.hint,
            }
            for finding in result.findings
        ],
    }


def _as_text(path: str) -> str:
    """Give a path that JSON can hold: a name may be no text."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")
