"""Where the schema and the templates are: in the wheel beside the package, in a checkout above it."""

from __future__ import annotations

import os
from typing import Final

_PACKAGE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs start-up time


def resource(*parts: str) -> str:
    """Give the path of a file below `schema/` or `templates/`."""
    for root in (os.path.join(_PACKAGE, "_data"), os.path.dirname(_PACKAGE)):  # noqa: PTH118, PTH120
        path = os.path.join(root, *parts)  # noqa: PTH118
        if os.path.exists(path):  # noqa: PTH110
            return path
    raise FileNotFoundError(os.path.join(*parts))  # noqa: PTH118


def read_text(*parts: str) -> str:
    """Read such a file."""
    with open(resource(*parts), encoding="utf-8") as file:  # noqa: PTH123
        return file.read()
