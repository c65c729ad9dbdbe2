"""The pydantic classes -> the text of the JSON Schema that is committed and published."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

from race_report.document import Report
from race_report.document.trace import TraceRecord

if TYPE_CHECKING:
    from race_report.document import DocumentObject

SCHEMA_ID = "urn:race:schema:race-report:1.0"
TRACE_SCHEMA_ID = "urn:race:schema:race-trace-record:1.0"


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
    """Give the JSON Schema of a report as it is committed: ASCII, two spaces, a final line end."""
    return _text(Report, SCHEMA_ID, "RACE report 1.0")


def trace_schema_text() -> str:
    """Give the JSON Schema of a record of a trace, in the same form."""
    return _text(TraceRecord, TRACE_SCHEMA_ID, "A record of a RACE trace 1.0")


def _text(cls: type[DocumentObject], identifier: str, title: str) -> str:
    schema = cls.model_json_schema(schema_generator=_Generator)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": identifier, "title": title}
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


def main(paths: list[str]) -> None:
    """Write the schemas: each path gets the one that its name says; `--trace` prints that of a record."""
    for path in paths or [""]:
        text = trace_schema_text() if "trace" in path else schema_text()
        with open("/dev/stdout" if path in ("", "--trace") else path, "w", encoding="ascii", newline="\n") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
