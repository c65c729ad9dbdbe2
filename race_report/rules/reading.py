"""RACE00x and RACE01x: reading a file. The loader finds these."""

from __future__ import annotations

from race_report.finding import Exit, Rule, Severity

UNREADABLE_FILE = Rule(
    code="RACE001",
    name="unreadable-file",
    exit_code=Exit.UNREADABLE,
    explanation="The file is missing, is no file, or may not be read.",
)
FILE_TOO_LARGE = Rule(
    code="RACE002",
    name="file-too-large",
    exit_code=Exit.UNREADABLE,
    explanation="The file is larger than 16 MiB, or than --max-bytes says.",
)
WRONG_ENCODING = Rule(
    code="RACE003",
    name="wrong-encoding",
    exit_code=Exit.UNREADABLE,
    explanation="The file is not UTF-8: it is UTF-16, an older code page, or no text at all.",
)
EMPTY_FILE = Rule(
    code="RACE004",
    name="empty-file",
    exit_code=Exit.UNREADABLE,
    explanation="The file holds no value.",
)
INVALID_SYNTAX = Rule(
    code="RACE005",
    name="invalid-syntax",
    exit_code=Exit.UNREADABLE,
    explanation="The file is neither JSON (RFC 8259) nor YAML 1.2.",
)
UNSUPPORTED_YAML = Rule(
    code="RACE006",
    name="unsupported-yaml",
    exit_code=Exit.UNREADABLE,
    explanation="The file uses a part of YAML that JSON lacks: tags, keys that are no text, several documents.",
)
NESTED_TOO_DEEPLY = Rule(
    code="RACE007",
    name="nested-too-deeply",
    exit_code=Exit.UNREADABLE,
    explanation="Objects and arrays nest deeper than 100.",
)
TOO_MANY_ALIASES = Rule(
    code="RACE008",
    name="too-many-aliases",
    exit_code=Exit.UNREADABLE,
    explanation="The aliases of a YAML file stand for more than 100,000 values.",
)
BYTE_ORDER_MARK = Rule(
    code="RACE009",
    name="byte-order-mark",
    severity=Severity.NOTE,
    explanation="The file begins with a UTF-8 byte order mark. It is read all the same; other readers stumble over it.",
)
DUPLICATE_KEY = Rule(
    code="RACE010",
    name="duplicate-key",
    explanation="An object has a key twice. Readers disagree about which value counts.",
)
NOT_FINITE = Rule(
    code="RACE011",
    name="not-finite",
    explanation="NaN and infinities are no numbers of a report.",
)
NUMBER_OVERFLOW = Rule(
    code="RACE012",
    name="number-overflow",
    explanation="A number is larger than a double can hold; other readers make infinity of it.",
)
LONE_SURROGATE = Rule(
    code="RACE013",
    name="lone-surrogate",
    explanation="A text holds half of a surrogate pair, which no UTF-8 file can store.",
)

TOO_MANY_FINDINGS = Rule(
    code="RACE014",
    name="too-many-findings",
    severity=Severity.NOTE,
    explanation="A file has so many faults that no more are looked for; mend the first ones.",
)

READING = (
    UNREADABLE_FILE,
    FILE_TOO_LARGE,
    WRONG_ENCODING,
    EMPTY_FILE,
    INVALID_SYNTAX,
    UNSUPPORTED_YAML,
    NESTED_TOO_DEEPLY,
    TOO_MANY_ALIASES,
    BYTE_ORDER_MARK,
    DUPLICATE_KEY,
    NOT_FINITE,
    NUMBER_OVERFLOW,
    LONE_SURROGATE,
    TOO_MANY_FINDINGS,
)
