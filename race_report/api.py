"""The Python interface: load and validate reports from files or from memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from race_report.document import Report
from race_report.finding import Finding, Severity
from race_report.validation import Result, validate_file, validate_value

if TYPE_CHECKING:
    from collections.abc import Mapping


class InvalidReport(ValueError):
    """A document that is no valid report; `findings` says why."""

    def __init__(self, path: str, findings: tuple[Finding, ...]) -> None:
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(f"{path}:{first.span.line}:{first.span.column}: {first.code} {first.message}{more}")
        self.findings = findings


def validate(source: str | os.PathLike[str] | Mapping[str, Any]) -> Result:
    """Validate a report: a path to a JSON or YAML file, or a document in memory.

    Raises:
        ValueError: the document is not made of dicts with text keys, lists, text, numbers, booleans and None.

    """
    if isinstance(source, str | os.PathLike):
        return validate_file(os.fspath(source))
    return validate_value(dict(source))


def load(path: str | os.PathLike[str]) -> Report:
    """Read a report from a JSON or YAML file.

    Raises:
        InvalidReport: the file cannot be read, or has errors.

    """
    name = os.fspath(path)
    result = validate_file(name)
    if result.errors:
        raise InvalidReport(name, result.findings)
    return Report.model_validate(result.document)
