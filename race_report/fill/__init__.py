"""Report -> what follows from it: parameters, coefficients, counts, FLOPs, totals, GPU-hours.

STANDARD: an author types little. `fill` adds what follows and overwrites nothing; each assumption becomes an entry of
`qualifications`, and what does not follow is said, with what to add. The steps run in the order of `STEPS`, each on a
report that has what the steps before it added.
"""

from race_report.fill.derive import STEPS, fill
from race_report.fill.draft import Addition, Filling, Gap

__all__ = ["STEPS", "Addition", "Filling", "Gap", "fill"]
