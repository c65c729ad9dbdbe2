"""The pydantic classes -> the text of the JSON Schema that is committed and published."""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from race_report.document import Report

SCHEMA_ID = "urn:race:schema:race-report:1.0"


class _Generator(GenerateJsonSchema):
    """Writes the schema of draft 2020-12 without what describes Python rather than the document."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the signature is pydantic's
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """Leave defaults out: absent is absent, and no reader should fill a value in."""
        return self.generate_inner(schema["schema"])

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        """Close a map whose keys have a form."""
        result = super().dict_schema(schema)
        if "patternProperties" in result:
            result["additionalProperties"] = False
        return result

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """Close every object but for `x-` keys, and write which keys need each other."""
        result = super().model_schema(schema)
        result.pop("title", None)
        cls = schema["cls"]
        result.pop("additionalProperties", None)
        if cls.closed:
            result["patternProperties"] = {"^x-": True}
            result["additionalProperties"] = False
        if cls.needs:
            result["dependentRequired"] = {key: list(companions) for key, companions in cls.needs.items()}
        return result


def schema_text() -> str:
    """Give the JSON Schema as it is committed: ASCII, two spaces, a final line end."""
    schema = Report.model_json_schema(schema_generator=_Generator)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "RACE report 1.0",
    }
    return json.dumps(_on_one_line(head | schema), indent=2) + "\n"


def _on_one_line(node: Any) -> Any:
    """Join the lines of descriptions, which are broken where the docstrings are."""
    if isinstance(node, list):
        return [_on_one_line(child) for child in node]
    if not isinstance(node, dict):
        return node
    return {
        key: " ".join(value.split()) if key == "description" and isinstance(value, str) else _on_one_line(value)
        for key, value in node.items()
    }


if __name__ == "__main__":
    for path in sys.argv[1:] or ["/dev/stdout"]:
        with open(path, "w", encoding="ascii", newline="\n") as file:
            file.write(schema_text())
