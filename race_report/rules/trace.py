"""RACE9xx: the trace from which a ledger is replayed; `race_report.replay` finds them."""

from __future__ import annotations

from race_report.finding import Rule, Severity

TRACE_MISSING = Rule(
    code="RACE901",
    name="trace-missing",
    severity=Severity.WARNING,
    explanation="""The file that `trace` names cannot be read.

    What it checks: that `trace.path`, taken from the folder of the report, leads to a regular file.

    Why it matters: without its trace a report can be recomputed, and not replayed: level 2 at most.

    How to fix: put the trace beside the report, or correct the path; or leave `trace` out.

    Before:

        trace: {path: ../scratch/trace.jsonl, sha256: 3f9a...}   # a folder that was not published

    After:

        trace: {path: trace.jsonl, sha256: 3f9a...}
    """,
)

TRACE_CHANGED = Rule(
    code="RACE902",
    name="trace-changed",
    explanation="""The trace is not the file whose digest the report holds.

    What it checks: the SHA-256 of the file's bytes, its size and the number of its records, against `trace`.

    Why it matters: the digest ties the report to its evidence; another file proves another run.

    How to fix: take the trace from which the report was made, or make the report again from this one.

    Before:

        trace: {path: trace.jsonl, sha256: 3f9a..., records: 4000}   # the file was cut to 3,000 records

    After:

        trace: {path: trace.jsonl, sha256: b1c0..., records: 3000}   # and the ledger made from it
    """,
)

RECORD_MALFORMED = Rule(
    code="RACE903",
    name="record-malformed",
    explanation="""A line of the trace is no record, or was changed after it was written.

    What it checks: that every line is one JSON object by the schema of records, of at most 65,536 bytes, and that its
    `crc32`, where it has one, is that of the bytes before it.

    Why it matters: a sum over records that cannot be read is a guess.

    How to fix: take the trace as it was written. A process that was killed leaves a last line without its end, which
    is no fault; nothing that the meter does leaves any other.

    Before:

        {"worker":"rank-0","sequence_number":0,"attempt":0,"component":"search","tokens":"12"}

    After:

        {"worker":"rank-0","sequence_number":0,"attempt":0,"component":"search","model":"policy","operation":"forward","tokens":12}
    """,
)

RECORD_OUT_OF_SEQUENCE = Rule(
    code="RACE904",
    name="record-out-of-sequence",
    explanation="""A record of the trace is missing, stands twice, or stands before one that it follows.

    What it checks: that the sequence numbers of every worker are 0, 1, 2 and so on in the order of the file, and that
    its attempts never go back.

    Why it matters: a record that is missing is compute that was spent and is not in the sum; one that stands twice
    is counted twice.

    How to fix: merge the journals of all workers with `race merge`, each whole.

    Before:

        {"worker":"rank-0","sequence_number":0, ...}
        {"worker":"rank-0","sequence_number":2, ...}

    After:

        {"worker":"rank-0","sequence_number":0, ...}
        {"worker":"rank-0","sequence_number":1, ...}
        {"worker":"rank-0","sequence_number":2, ...}
    """,
)

RECORD_TORN = Rule(
    code="RACE905",
    name="record-torn",
    severity=Severity.WARNING,
    explanation="""The last line of the trace has no end, and is left out.

    What it checks: that the file ends with a line end.

    Why it matters: the line was being written when its process was killed; what it says may be half of a number.

    How to fix: resume the run with the same journal, or write a trace without the line with `race merge`; then make
    the report from it.

    Before:

        {"worker":"rank-0","sequence_number":1,"attempt":0,"compo

    After:

        {"worker":"rank-0","sequence_number":1,"attempt":0,"component":"search", ...}
    """,
)

LEDGER_BESIDE_TRACE = Rule(
    code="RACE906",
    name="ledger-beside-trace",
    explanation="""A figure of the ledger is not the sum of the trace's records.

    What it checks: every count, `executed_flops` and `calls` of every entry against the records of the same component,
    phase, model, operation, stage and part, to the integer; and that neither ledger nor trace has what the other lacks.
    What was recorded of a step that a later attempt did again is in the entry with `part: redone`.

    Why it matters: the trace is the evidence; a ledger that it does not give is a claim.

    How to fix: make the ledger from the trace, by the meter; where it was changed by hand, `race replay` shows both
    figures of every entry.

    Before:

        - {component: search, model: policy, operation: forward, tokens: 1000}   # the records add up to 2000

    After:

        - {component: search, model: policy, operation: forward, tokens: 2000}
    """,
)

COUNTER_NOT_RESET = Rule(
    code="RACE907",
    name="counter-not-reset",
    severity=Severity.WARNING,
    explanation="""Executed FLOPs climb evenly from record to record while every count stays the same.

    What it checks: three records in a row of one worker and one entry, with the same counts, whose `executed_flops`
    grow by one and the same difference.

    Why it matters: a profiler's counter that is not reset gives 1, 2, 3 times what a step cost, and their sum is many
    times what was run.

    How to fix: reset the counter for every record, or write differences of its readings.

    Before:

        {..., "tokens":1000, ..., "executed_flops":1000000}
        {..., "tokens":1000, ..., "executed_flops":2000000}
        {..., "tokens":1000, ..., "executed_flops":3000000}

    After:

        {..., "tokens":1000, ..., "executed_flops":1000000}
        {..., "tokens":1000, ..., "executed_flops":1000000}
        {..., "tokens":1000, ..., "executed_flops":1000000}
    """,
)

TRACE = (
    TRACE_MISSING,
    TRACE_CHANGED,
    RECORD_MALFORMED,
    RECORD_OUT_OF_SEQUENCE,
    RECORD_TORN,
    LEDGER_BESIDE_TRACE,
    COUNTER_NOT_RESET,
)
