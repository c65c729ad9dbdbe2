"""The shape of a report: one frozen pydantic class an object, a docstring under every field.

The classes are the source of the JSON Schema (`race_report.schema_export`). Validating a JSON file does not import
them: the schema and the view (`race_report.view`) do that work.
"""

from race_report.document.base import DocumentObject
from race_report.document.ledger import PHASES, Conventions, LedgerEntry, Multipliers, Totals
from race_report.document.model import Adapter, Architecture, Coefficients, Model, Parameters
from race_report.document.report import NotReported, OtherCompute, Qualification, Report, Study, Subject
from race_report.document.run import Energy, HardwarePool, Result, Rollouts, Run, Stage

__all__ = [
    "PHASES",
    "Adapter",
    "Architecture",
    "Coefficients",
    "Conventions",
    "DocumentObject",
    "Energy",
    "HardwarePool",
    "LedgerEntry",
    "Model",
    "Multipliers",
    "NotReported",
    "OtherCompute",
    "Parameters",
    "Qualification",
    "Report",
    "Result",
    "Rollouts",
    "Run",
    "Stage",
    "Study",
    "Subject",
    "Totals",
]
