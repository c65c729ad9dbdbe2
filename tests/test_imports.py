"""What the command must not wait for, and the direction of imports."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
import types
from typing import TYPE_CHECKING

import pytest

import race_report

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    *("torch", "transformers", "trl", "peft", "numpy"),
    *("pydantic", "jinja2", "yaml", "jsonschema", "importlib.metadata", "importlib.resources"),
}


def modules_after(code: str, *arguments: str, cwd: Path) -> set[str]:
    code = f"import sys, json\ntry:\n    {code}\nfinally:\n    print(json.dumps(list(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    modules: list[str] = json.loads(done.stderr.splitlines()[-1])
    return set(modules)


def test_importing_the_command_loads_nothing_heavy(root: Path) -> None:
    modules = modules_after("import race_report.cli", cwd=root)
    assert not modules & HEAVY
    assert "jsonschema_rs" not in modules


def test_validating_json_loads_nothing_heavy(documents: Path) -> None:
    modules = modules_after(
        "from race_report.__main__ import main; main()", "validate", "worked-example.json", cwd=documents
    )
    assert "race_report.levels" in modules
    assert not modules & HEAVY
    assert "race_report.json_text" not in modules


@pytest.mark.parametrize("module", ["race_report.accelerators", "race_report.architecture"])
def test_tables_of_devices_and_architectures_are_read_for_reports_that_name_one(
    tmp_path: Path, documents: Path, module: str
) -> None:
    report = '{"race_version": "1.0", "models": [{"id": "a", "role": "policy"}], "runs": [{"id": "main"}]}'
    (tmp_path / "without.json").write_text(report, "utf-8")
    for path, is_read in ((tmp_path / "without.json", False), (documents / "worked-example.json", True)):
        modules = modules_after("from race_report.__main__ import main; main()", "validate", str(path), cwd=tmp_path)
        assert (module in modules) == is_read


def test_findings_in_json_load_nothing_heavy_either(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"race_version": "1.0", "modles": NaN}', "utf-8")
    modules = modules_after("from race_report.__main__ import main; main()", "validate", "a.json", cwd=tmp_path)
    assert "race_report.json_text" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize("name", race_report.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(race_report, name) is not None
    assert name in dir(race_report)


def test_no_module_shadows_a_public_name() -> None:
    for module in pkgutil.walk_packages(race_report.__path__, "race_report."):
        if module.name != "race_report.__main__":
            importlib.import_module(module.name)
    for name in race_report.__all__:
        assert not isinstance(getattr(race_report, name), types.ModuleType)


def test_a_name_that_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        race_report.nothing  # noqa: B018
