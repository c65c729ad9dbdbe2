"""Reports -> one HTML file that loads nothing: for a phone, for print, and readable without its script."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any, Final

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from race_report._resources import read_text, resource
from race_report.render.facts import facts, text
from race_report.render.statement import other_compute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from race_report.validation import Result

MADE_BY: Final = "<!doctype html>\n<!-- Made by race render"
"""How every page of the template begins."""


def page(results: Sequence[Result], *, templates: str | None = None) -> str:
    """Make the page of valid reports: what ran, the split as a picture, the ledger, findings and the level.

    Args:
        results: of the validation of each report.
        templates: a folder with a `report.html` of one's own.

    """
    folder = templates or resource("templates", "html")
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = read_text("templates", "html", "report.css"), read_text("templates", "html", "report.js")
    reports = [_report(result, alone=len(results) == 1) for result in results if result.view is not None]
    return environment.get_template("report.html").render(
        title=reports[0]["title"] if len(reports) == 1 else f"Compute of {len(reports)} reports",
        style=style,
        script=script,
        style_digest=_digest(style),
        script_digest=_digest(script),
        reports=reports,
    )


def _digest(content: str) -> str:
    """Give the source expression by which a browser runs this text and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode('ascii')}"


def _report(result: Result, *, alone: bool) -> dict[str, Any]:
    report, level = result.view, result.level
    assert report is not None
    assert level is not None
    subject, study = report.subject, report.study
    return {
        "title": text(
            (subject and subject.title) or (report.report and report.report.id) or f"Compute of {report.runs[0].id}"
        ),
        "authors": [text(author) for author in subject.authors] if subject is not None else [],
        "links": [
            (name, url)
            for name, url in (("work", subject and subject.url), ("code", subject and subject.code_url))
            if url is not None
        ],
        "status": report.report.status if report.report is not None else None,
        "level": level,
        "lacking": [text(what) for what in level.lacking],
        "runs": facts(report, alone=alone),
        "findings": [(finding, text(finding.message), text(finding.hint)) for finding in result.findings],
        "gaps": [(text(gap.pointer), text(gap.reason.replace("_", " "))) for gap in report.not_reported],
        "other": [other_compute(entry) for entry in study.other_compute] if study is not None else [],
        "complete": study.complete if study is not None else None,
    }
