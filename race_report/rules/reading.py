"""RACE00x and RACE01x: reading a file. The loader finds these."""

from __future__ import annotations

from race_report.finding import Exit, Rule, Severity

UNREADABLE_FILE = Rule(
    code="RACE001",
    name="unreadable-file",
    exit_code=Exit.UNREADABLE,
    explanation=r"""A file cannot be opened or read.

    What it checks: that the path leads to a file and that it may be read; the other files are checked all the
    same.

    Why it matters: a check that passes over a file says nothing about it.

    How to fix: correct the path or the permission; name the reports in a folder, or the folder itself to `race
    validate`.

    Before:

        race validate reprot.yaml

    After:

        race validate report.yaml
    """,
)

FILE_TOO_LARGE = Rule(
    code="RACE002",
    name="file-too-large",
    exit_code=Exit.UNREADABLE,
    explanation=r"""A file is larger than 16 MiB.

    What it checks: the size, before anything is parsed.

    Why it matters: a report is a few thousand bytes; a file of this size is most often a log or a trace.

    How to fix: name the report; if it really is that large, allow more with `--max-bytes`.

    Before:

        race validate trace.json

    After:

        race validate --max-bytes 50000000 large.json
    """,
)

WRONG_ENCODING = Rule(
    code="RACE003",
    name="wrong-encoding",
    exit_code=Exit.UNREADABLE,
    explanation=r"""A file is not UTF-8.

    What it checks: that every byte belongs to UTF-8; UTF-16 and UTF-32 are named, and the first byte of an
    older code page is shown.

    Why it matters: a reader that guesses the encoding reads other names than were written, or none.

    How to fix: save the file as UTF-8.

    Before:

        title: Mod\xE8le   # one byte of an old code page

    After:

        title: Modèle     # iconv -f LATIN1 -t UTF-8 report.yaml > report-utf8.yaml
    """,
)

EMPTY_FILE = Rule(
    code="RACE004",
    name="empty-file",
    exit_code=Exit.UNREADABLE,
    explanation=r"""A file holds no value.

    What it checks: that there is something besides white space and comments.

    Why it matters: an empty file is most often one that was cut off while it was written.

    How to fix: write the report; `race init -o report.yaml` gives one to fill in.

    Before:

        # only a comment

    After:

        race_version: "1.0"
        models: [{id: policy, role: policy}]
        runs: [{id: main}]
    """,
)

INVALID_SYNTAX = Rule(
    code="RACE005",
    name="invalid-syntax",
    exit_code=Exit.UNREADABLE,
    explanation=r"""A file is neither JSON nor YAML 1.2.

    What it checks: the syntax of RFC 8259 in files named .json, of YAML 1.2 in files named .yaml or .yml; other
    files are JSON if they begin with a bracket.

    Why it matters: nothing behind the fault can be read, so nothing else of the file is checked.

    How to fix: mend the place that is shown; the hint names the slip that is most frequent there.

    Before:

        {"race_version": "1.0",}

    After:

        {"race_version": "1.0"}
    """,
)

UNSUPPORTED_YAML = Rule(
    code="RACE006",
    name="unsupported-yaml",
    exit_code=Exit.UNREADABLE,
    explanation=r"""A file uses a part of YAML that JSON lacks.

    What it checks: tags, keys that are no text, a second document, aliases without an anchor, a declaration of
    YAML 1.1.

    Why it matters: the YAML and the JSON form of a report have to give the same value.

    How to fix: delete the tag, quote the key, put each report into a file of its own.

    Before:

        software: {2.1: torch}

    After:

        software: {"torch": "2.1"}
    """,
)

NESTED_TOO_DEEPLY = Rule(
    code="RACE007",
    name="nested-too-deeply",
    exit_code=Exit.UNREADABLE,
    explanation=r"""Objects and arrays nest deeper than 100.

    What it checks: the depth, aliases included.

    Why it matters: a report is about ten deep; readers in other languages fail on deep nesting, some of them
    badly.

    How to fix: look for a bracket that is not closed.

    Before:

        x-log: [ [ [ [ ... and more than a hundred ... ] ] ] ]

    After:

        x-log: [1, 2, 3]
    """,
)

TOO_MANY_ALIASES = Rule(
    code="RACE008",
    name="too-many-aliases",
    exit_code=Exit.UNREADABLE,
    explanation=r"""The aliases of a YAML file stand for more than 100,000 values.

    What it checks: the number of values that aliases stand for, before they are made.

    Why it matters: a file of a few lines can stand for more values than any memory holds.

    How to fix: write the values out, or leave them out.

    Before:

        a: &a [x, x]
        b: &b [*a, *a]   # and so on, twenty times

    After:

        a: [x, x]
    """,
)

BYTE_ORDER_MARK = Rule(
    code="RACE009",
    name="byte-order-mark",
    severity=Severity.NOTE,
    explanation=r"""A file begins with a byte order mark.

    What it checks: the first three bytes.

    Why it matters: the file is read all the same, but other readers stumble over the mark.

    How to fix: save it as UTF-8 without BOM.

    Before:

        \ufeffrace_version: "1.0"

    After:

        race_version: "1.0"
    """,
)

DUPLICATE_KEY = Rule(
    code="RACE010",
    name="duplicate-key",
    explanation=r"""An object has a key twice.

    What it checks: every object of the file, those below `x-` keys included.

    Why it matters: readers disagree about which value counts, and most say nothing.

    How to fix: keep one of the two.

    Before:

        {"gpu_hours": 12, "gpu_hours": 96}

    After:

        {"gpu_hours": 96}
    """,
)

NOT_FINITE = Rule(
    code="RACE011",
    name="not-finite",
    explanation=r"""NaN or an infinity stands where a number should.

    What it checks: every number of the file.

    Why it matters: NaN passes every comparison and makes every sum NaN; JSON does not have it, and strict
    readers refuse the file.

    How to fix: leave the key out and name the gap in `not_reported`, with the reason.

    Before:

        runs: [{id: main, gpu_hours: .nan}]

    After:

        runs: [{id: main}]
        not_reported: [{pointer: /runs/main/gpu_hours, reason: not_measured}]
    """,
)

NUMBER_OVERFLOW = Rule(
    code="RACE012",
    name="number-overflow",
    explanation=r"""A number is beyond what a double can hold.

    What it checks: every number of the file.

    Why it matters: other readers make infinity of it. In YAML a revision such as 695e0514 reads as such a
    number.

    How to fix: correct the exponent; quote text that looks like a number.

    Before:

        revision: 695e0514

    After:

        revision: "695e0514"
    """,
)

LONE_SURROGATE = Rule(
    code="RACE013",
    name="lone-surrogate",
    explanation=r"""A text holds half of a surrogate pair.

    What it checks: the escapes of every text and key.

    Why it matters: half a pair is no character, and no UTF-8 file can store it. YAML writes a character beyond
    U+FFFF as one escape, where JSON writes two.

    How to fix: write the character itself.

    Before:

        {"title": "\ud83d"}

    After:

        {"title": "\ud83d\ude00"}
    """,
)

TOO_MANY_FINDINGS = Rule(
    code="RACE014",
    name="too-many-findings",
    severity=Severity.NOTE,
    explanation=r"""A file has so many faults that no more are looked for.

    What it checks: the number of findings of reading and of structure; after a thousand of either the rest is
    left out.

    Why it matters: such a file is most often no report at all, and nobody reads so many lines.

    How to fix: mend the first ones, and check again.

    Before:

        not_reported: [1, 2, 3]   # and thousands more

    After:

        not_reported: [{pointer: /runs/main/energy, reason: not_measured}]
    """,
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
