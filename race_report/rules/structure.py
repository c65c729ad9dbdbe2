"""RACE02x to RACE04x: what a file is, and the shape of a report. `race_report.structure` finds these."""

from __future__ import annotations

from race_report.finding import Exit, Rule

NOT_A_REPORT = Rule(
    code="RACE020",
    name="not-a-report",
    explanation="The file has no `race_version`, which is what marks a report.",
)
UNSUPPORTED_VERSION = Rule(
    code="RACE021",
    name="unsupported-version",
    exit_code=Exit.UNSUPPORTED_VERSION,
    explanation="The report follows a version of the standard that this tool does not know.",
)
WRONG_TYPE = Rule(
    code="RACE030",
    name="wrong-type",
    explanation="A value is of another type than the standard says.",
)
NUMBER_AS_TEXT = Rule(
    code="RACE031",
    name="number-as-text",
    explanation="A number stands in quotes, with separators or with a unit. Text is not a number.",
)
TEXT_AS_NUMBER = Rule(
    code="RACE032",
    name="text-as-number",
    explanation="A text such as a version or a revision stands without quotes and reads as a number: 1.10 becomes 1.1.",
)
EMPTY_VALUE = Rule(
    code="RACE033",
    name="empty-value",
    explanation="A key has no value. A gap is named in `not_reported`; an empty value tells nobody why.",
)
FRACTIONAL_COUNT = Rule(
    code="RACE034",
    name="fractional-count",
    explanation="A count is no whole number.",
)
UNKNOWN_KEY = Rule(
    code="RACE035",
    name="unknown-key",
    explanation="The standard does not know this key here. Keys that begin with `x-` are free.",
)
MISSING_KEY = Rule(
    code="RACE036",
    name="missing-key",
    explanation="A key is missing that the standard, or another key, asks for.",
)
UNKNOWN_VALUE = Rule(
    code="RACE037",
    name="unknown-value",
    explanation="A word is none of those that the standard knows here.",
)
OUT_OF_RANGE = Rule(
    code="RACE038",
    name="out-of-range",
    explanation="A number is negative, or beyond what the standard allows here.",
)
MALFORMED_TEXT = Rule(
    code="RACE039",
    name="malformed-text",
    explanation="A text is empty, or not of the form that the standard asks for: an id, an instant, an address.",
)
EMPTY_LIST = Rule(
    code="RACE040",
    name="empty-list",
    explanation="A list that needs an element has none.",
)
NOT_YET_SUPPORTED = Rule(
    code="RACE041",
    name="not-yet-supported",
    explanation="The key belongs to the standard, but this tool cannot check it yet.",
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
