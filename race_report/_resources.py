"""Where the schema and the templates are: in the wheel beside the package, in a checkout above it."""

from __future__ import annotations

import os
from typing import Final

_PACKAGE: Final = os.path.dirname(os.path.abspath(__file__))


def resource(*parts: str) -> str:
    """Give the path of a file below `schema/` or `templates/`."""
    for root in (os.path.join(_PACKAGE, "_data"), os.path.dirname(_PACKAGE)):
        path = os.path.join(root, *parts)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(os.path.join(*parts))


def read_text(*parts: str) -> str:
    """Read such a file."""
    with open(resource(*parts), encoding="utf-8") as file:
        return file.read()
