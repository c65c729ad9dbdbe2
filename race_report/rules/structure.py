"""RACE02x to RACE04x: what a file is, and the shape of a report. `race_report.structure` finds these."""

from __future__ import annotations

from race_report.finding import Exit, Rule

NOT_A_REPORT = Rule(
    code="RACE020",
    name="not-a-report",
    explanation=r"""A file has no `race_version`, which is what marks a report.

    What it checks: the keys at the top of the file. A hook, and the search of a folder, pass over such files
    with a word.

    Why it matters: a file that was named as a report and is none was checked by nobody.

    How to fix: add the version, or name another file.

    Before:

        models: [{id: policy, role: policy}]

    After:

        race_version: "1.0"
        models: [{id: policy, role: policy}]
    """,
)

UNSUPPORTED_VERSION = Rule(
    code="RACE021",
    name="unsupported-version",
    exit_code=Exit.UNSUPPORTED_VERSION,
    explanation=r"""A report follows a version of the standard that this tool does not know.

    What it checks: `race_version`, before anything else of the report.

    Why it matters: rules of another version may mean something else; to apply ours would be a guess.

    How to fix: install the version of race-compute that knows it.

    Before:

        race_version: "2.0"

    After:

        race_version: "1.0"
    """,
)

WRONG_TYPE = Rule(
    code="RACE030",
    name="wrong-type",
    explanation=r"""A value is of another type than the standard says.

    What it checks: every value against the schema.

    Why it matters: a reader that expects a number or a list stops here, or reads something else.

    How to fix: write what the message asks for; `race schema` shows it.

    Before:

        target_modules: all-linear

    After:

        target_modules: [all-linear]
    """,
)

NUMBER_AS_TEXT = Rule(
    code="RACE031",
    name="number-as-text",
    explanation=r"""A number stands in quotes, with separators, or with a unit.

    What it checks: text where a number should stand, if a number can be read in it.

    Why it matters: "1.2e21" is text: it cannot be added or compared, and compares wrongly as text.

    How to fix: write the bare number; the key names the unit.

    Before:

        gpu_hours: "1,070 h"

    After:

        gpu_hours: 1070
    """,
)

TEXT_AS_NUMBER = Rule(
    code="RACE032",
    name="text-as-number",
    explanation=r"""A text such as a version or a revision stands without quotes and reads as a number.

    What it checks: numbers where text should stand.

    Why it matters: 1.10 becomes 1.1 and 007 becomes 7 before anybody sees it.

    How to fix: quote it, as it was meant to be read.

    Before:

        software: {trl: 1.10}

    After:

        software: {trl: "1.10"}
    """,
)

EMPTY_VALUE = Rule(
    code="RACE033",
    name="empty-value",
    explanation=r"""A key has no value.

    What it checks: null where the standard asks for something; it allows null nowhere but below `x-` keys and
    in `architecture`.

    Why it matters: an empty value does not say whether the figure is zero, unknown or forgotten.

    How to fix: write the value, or delete the key and name the gap in `not_reported`.

    Before:

        gpu_hours:

    After:

        gpu_hours: 96
    """,
)

FRACTIONAL_COUNT = Rule(
    code="RACE034",
    name="fractional-count",
    explanation=r"""A count is no whole number.

    What it checks: numbers where a count should stand; 5.0 is a whole number.

    Why it matters: half a token is a mean, or a figure in thousands or millions.

    How to fix: write the count over the whole run.

    Before:

        completion_tokens: 4.1   # in millions

    After:

        completion_tokens: 4100000
    """,
)

UNKNOWN_KEY = Rule(
    code="RACE035",
    name="unknown-key",
    explanation=r"""A key is none that the standard has at this place.

    What it checks: every key of every object but those that begin with `x-`, and those of `architecture`.

    Why it matters: a figure under a misspelt key is a figure that no reader finds.

    How to fix: correct it; if it is your own, begin it with `x-`.

    Before:

        models: [{id: policy, role: policy, paramaters: {total: 7}}]

    After:

        models: [{id: policy, role: policy, parameters: {total: 7}}]
    """,
)

MISSING_KEY = Rule(
    code="RACE036",
    name="missing-key",
    explanation=r"""A key is missing that the standard, or another key, asks for.

    What it checks: required keys, and keys that bring others with them: counts of an entry need `model` and
    `operation`.

    Why it matters: without it the rest of the object cannot be understood.

    How to fix: add the key that the message names.

    Before:

        ledger: [{component: search, tokens: 100}]

    After:

        ledger: [{component: search, model: policy, operation: forward, tokens: 100}]
    """,
)

UNKNOWN_VALUE = Rule(
    code="RACE037",
    name="unknown-value",
    explanation=r"""A word is none of those that the standard has here.

    What it checks: words of a fixed vocabulary, and that a phase belongs to its component.

    Why it matters: totals and tables are made by these words; a line under another word is in none of them.

    How to fix: take the word that the message proposes.

    Before:

        role: actor

    After:

        role: policy
    """,
)

OUT_OF_RANGE = Rule(
    code="RACE038",
    name="out-of-range",
    explanation=r"""A number is smaller or larger than it can be.

    What it checks: counts and amounts against 0, fractions against 1, counts against 2^53, amounts against
    1e40.

    Why it matters: a negative amount is most often an overflow, a fraction above 1 a percentage, an amount
    beyond 1e40 a unit slip.

    How to fix: check sign, exponent and unit.

    Before:

        utilization: 38

    After:

        utilization: 0.38
    """,
)

MALFORMED_TEXT = Rule(
    code="RACE039",
    name="malformed-text",
    explanation=r"""A text is blank, or not of the form that the standard asks for.

    What it checks: ids, instants, addresses, pointers, relative paths, digests, arXiv and DOI identifiers.

    Why it matters: other parts of the report, and other tools, look things up by them.

    How to fix: write the form that the message shows.

    Before:

        created: "2026-12-01"

    After:

        created: "2026-12-01T12:00:00Z"
    """,
)

EMPTY_LIST = Rule(
    code="RACE040",
    name="empty-list",
    explanation=r"""A list that needs an element has none.

    What it checks: `models` and `runs`.

    Why it matters: a report without a model or a run reports nothing.

    How to fix: add a model or a run, with its id.

    Before:

        runs: []

    After:

        runs: [{id: main}]
    """,
)

NOT_YET_SUPPORTED = Rule(
    code="RACE041",
    name="not-yet-supported",
    explanation=r"""A key belongs to the standard, but this tool cannot check it yet.

    What it checks: `allocation_study`, whose rules come with a later version.

    Why it matters: what cannot be checked should not look as if it had been.

    How to fix: leave it out for now, or keep it under an `x-` key.

    Before:

        allocation_study: {}

    After:

        x-allocation_study: {}
    """,
)

STRUCTURE = (
    NOT_A_REPORT,
    UNSUPPORTED_VERSION,
    WRONG_TYPE,
    NUMBER_AS_TEXT,
    TEXT_AS_NUMBER,
    EMPTY_VALUE,
    FRACTIONAL_COUNT,
    UNKNOWN_KEY,
    MISSING_KEY,
    UNKNOWN_VALUE,
    OUT_OF_RANGE,
    MALFORMED_TEXT,
    EMPTY_LIST,
    NOT_YET_SUPPORTED,
)
