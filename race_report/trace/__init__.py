"""The trace: a journal of what every worker did, from which the ledger of a run can be replayed.

Writing: `Journal`. Reading: `read_trace`, `merge`, `sums`. Comparing with a report: `race_report.replay`.
"""

from race_report.trace.journal import Journal
from race_report.trace.merging import Merged, merge, write_lines
from race_report.trace.reading import Key, Record, Trace, read_trace
from race_report.trace.sums import Sum, sums

__all__ = ["Journal", "Key", "Merged", "Record", "Sum", "Trace", "merge", "read_trace", "sums", "write_lines"]
