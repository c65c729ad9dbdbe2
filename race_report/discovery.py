"""Which files of a folder are reports."""

from __future__ import annotations

import os
from typing import Final

from race_report.parsed import Unparsable
from race_report.source import SUFFIXES, read_file
from race_report.validation import may_be_report

_OTHER_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
"""Folders of installed packages; hidden folders are left out too."""


def reports_below(folder: str, max_bytes: int) -> list[str]:
    """Give the JSON and YAML files below a folder that hold the mark of a report, in order of their paths.

    A file or folder that cannot be opened is given too, so that its reader hears of it; pipes are not opened.
    """
    found: list[str] = []

    def hear_of(error: OSError) -> None:
        found.append(str(error.filename))

    for here, folders, files in os.walk(folder, onerror=hear_of):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _OTHER_FOLDERS)
        for name in sorted(files):
            path = os.path.normpath(os.path.join(here, name))
            if name.lower().endswith(SUFFIXES) and os.path.isfile(path) and _may_be_report(path, max_bytes):
                found.append(path)
    return found


def _may_be_report(path: str, max_bytes: int) -> bool:
    try:
        return may_be_report(read_file(path, max_bytes), max_bytes)
    except Unparsable:
        return True
