"""What several test modules share: the documents of the conformance suite and the command."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
DOCUMENTS = ROOT / "tests" / "conformance" / "1.0" / "documents"

settings.register_profile("default", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("default")


@pytest.fixture
def documents() -> Path:
    return DOCUMENTS


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def example() -> dict[str, Any]:
    """The worked example: level 2, exact to the digit."""
    value: dict[str, Any] = json.loads((DOCUMENTS / "worked-example.json").read_text("utf-8"))
    return copy.deepcopy(value)


@pytest.fixture
def race(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command as a user does, in an empty folder."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **options.pop("env", {})}
        return subprocess.run(
            [sys.executable, "-m", "race_report", *arguments],
            **{"cwd": tmp_path, "capture_output": True, "text": True, "encoding": "utf-8", "check": False, **options},
            env=environment,
        )

    return run
