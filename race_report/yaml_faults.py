"""What is wrong with a YAML text, where it begins, and how it is mended most often."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from race_report.parsed import Fault, lone_surrogate, nested_too_deeply

if TYPE_CHECKING:
    import yaml

    from race_report.parsed import Places, Span

_SURROGATE: Final = re.compile(r"\\u([dD][89a-fA-F][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})?")


def key_fault(key: str, pointer: str, here: Span) -> Fault:
    """Say that a key is no text; three digits are most often the rest of a number with separators."""
    hint = f'quote it: "{key}"'
    if re.fullmatch("[0-9]{3}", key):
        hint = "is it part of a number with separators? Write numbers without them: 1543714304"
    return Fault("unsupported-yaml", pointer, f"the key {key} is no text in YAML", hint, here)


def forbidden_character(character: str, places: Places, offset: int) -> Fault:
    """Say that a character may not stand in YAML."""
    code = f"U+{ord(character):04X}"
    if character in "\x85\u2028\u2029":
        message = f"the line separator {code} is read differently by YAML 1.1 and 1.2"
        hint = 'end lines with a plain new line; in text write it as an escape in double quotes: "\\u2028"'
    else:
        message = f"the control character {code} may not stand in YAML"
        hint = "delete it, or write it as an escape in double quotes"
    return Fault("invalid-syntax", "", message, hint, places.span(offset, offset + 1))


def surrogate_fault(pointer: str, offset: int, places: Places) -> Fault:
    """Say that YAML writes a character beyond U+FFFF as one escape, where JSON writes two."""
    match = _SURROGATE.search(places.text, offset)
    if match is None:
        return lone_surrogate("", pointer, places.span(offset, offset + 1))
    here = places.span(*match.span())
    if match[2] is None:
        return lone_surrogate(match[0], pointer, here)
    character = json.loads(f'"{match[0]}"')
    message = f"{match[0]} is how JSON writes a character; YAML has no surrogate pairs"
    return Fault("lone-surrogate", pointer, message, f"write {character} itself, or \\U{ord(character):08X}", here)


_BEGUN_BEFORE: Final = ("could not find expected ':'", "found unexpected end of stream")
"""Problems whose cause stands where the context began."""

_HIDDEN_SPACE: Final = re.compile("[\u00a0\u2000-\u200b\u202f\u3000\ufeff]")

_MENDS: Final = (
    ("cannot start any token", "quote the text that begins with this character"),
    (
        "mapping values are not allowed",
        "quote text that holds a colon and a space; on the line before, is a space missing behind a colon?",
    ),
    ("could not find expected ':'", "put a colon and a space behind this key, and check the indentation"),
    ("did not find expected key", "check the indentation, and that every quote and bracket is closed"),
    ("did not find expected ',' or", "put a comma between the items; close every bracket"),
    ("did not find expected '-' indicator", "indent the items of a list alike, each with a dash"),
    ("found unexpected end of stream", "close this quote"),
    ("did not find expected node content", "write the value that is missing, or quote the text"),
    ("unknown escape character", "in double quotes write a backslash as \\\\, or use single quotes"),
)


def syntax_fault(error: yaml.MarkedYAMLError, places: Places) -> Fault:
    """Say where the text stops being YAML, and how that is mended most often."""
    problem = error.problem or "this is not YAML"
    mark = error.problem_mark or error.context_mark
    if error.context_mark is not None and any(words in problem for words in _BEGUN_BEFORE):
        mark = error.context_mark
    text = places.text
    offset = min(mark.index, len(text)) if mark is not None else 0
    here = places.span(offset, min(offset + 1, len(text)))
    if "Unicode character escape" in problem:
        return surrogate_fault("", max(0, offset - 2), places)
    if "maximum nesting depth" in problem:
        return nested_too_deeply("", here)
    if text[offset : offset + 1] == "\t":
        return Fault("invalid-syntax", "", "a tab may not indent YAML", "indent with spaces", here)
    context = f" {error.context}" if error.context else ""
    hint = next((hint for words, hint in _MENDS if words in problem), "check indentation, quotes and brackets")
    line_before = max(0, text.rfind("\n", 0, max(0, text.rfind("\n", 0, offset))))
    line_end = text.find("\n", offset)
    hidden = _HIDDEN_SPACE.search(text, line_before, line_end if line_end >= 0 else len(text))
    if hidden is not None:
        line = places.span(*hidden.span()).line
        hint = f"replace the character U+{ord(hidden[0]):04X} on line {line}, which looks like a space, by one"
    return Fault("invalid-syntax", "", f"{problem}{context}", hint, here)
