"""The rules of the standard, in the order of their codes: its table of contents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from race_report.rules.disclosure import DISCLOSURE
from race_report.rules.flops import counts_incomplete, flops_inexact, flops_mismatch, total_inexact, total_mismatch
from race_report.rules.reading import READING
from race_report.rules.structure import STRUCTURE

if TYPE_CHECKING:
    from race_report.finding import Rule

RULES: Final[tuple[Rule, ...]] = (
    *READING,
    *STRUCTURE,
    flops_mismatch,
    flops_inexact,
    total_mismatch,
    total_inexact,
    counts_incomplete,
    *DISCLOSURE,
)

BY_NAME: Final[dict[str, Rule]] = {rule.name: rule for rule in RULES}
BY_CODE: Final[dict[str, Rule]] = {rule.code: rule for rule in RULES}
