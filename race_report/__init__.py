"""RACE: a reporting standard for the compute of RL post-training, and its validator.

The public interface is what `__all__` names. It is imported on first use, so that the command starts fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from race_report.accounting import totals
    from race_report.api import InvalidReport, load, validate
    from race_report.document import Report
    from race_report.finding import Finding

__version__ = "0.1.0"

__all__ = ["Finding", "InvalidReport", "Report", "__version__", "load", "totals", "validate"]

_HOMES = {
    "Finding": "race_report.finding",
    "InvalidReport": "race_report.api",
    "Report": "race_report.document",
    "load": "race_report.api",
    "totals": "race_report.accounting",
    "validate": "race_report.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
