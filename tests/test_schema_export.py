from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema

from race_report.document import PHASES
from race_report.document.ledger import Phase
from race_report.schema_export import SCHEMA_ID, schema_text

if TYPE_CHECKING:
    from pathlib import Path


def test_the_committed_schema_is_the_one_that_the_classes_give(root: Path) -> None:
    committed = (root / "schema" / "1.0" / "race-report.schema.json").read_text("utf-8")
    assert schema_text() == committed, "run: make docs"


def test_the_schema_is_a_schema_of_its_draft() -> None:
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == SCHEMA_ID == "urn:race:schema:race-report:1.0"


def test_every_phase_belongs_to_one_component() -> None:
    phases = [phase for of_component in PHASES.values() for phase in of_component]
    assert len(phases) == len(set(phases))
    assert set(phases) == set(Phase.__args__)  # type: ignore[attr-defined]
