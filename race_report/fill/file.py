"""File -> filled text: read, validate, fill, write into the text, validate again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from race_report.edit import Uneditable, with_additions
from race_report.fill.derive import fill
from race_report.fill.page import json_text, text_lines
from race_report.finding import Exit
from race_report.parsed import Unparsable
from race_report.rules import BY_NAME
from race_report.source import MAX_BYTES, STDIN, load_bytes, read_file, within
from race_report.validation import validate_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from race_report.fill.draft import Filling
    from race_report.levels import Level
    from race_report.validation import Result

_BOM = "\ufeff"


class NotFilled(Exception):
    """A file that was not filled: why, the exit code, and what validation found where that is why."""

    def __init__(self, code: Exit, why: str, result: Result | None = None) -> None:
        super().__init__(why)
        self.code = code
        self.result = result


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The filled text of a file, and what was done."""

    path: str
    text: str
    is_changed: bool
    filling: Filling
    before: Level
    after: Level

    def text_lines(self) -> Iterator[str]:
        """Yield what was done, for people."""
        return text_lines(self.path, self.filling, self.before, self.after)

    def json_text(self) -> str:
        """Give what was done, for programs."""
        return json_text(self.path, self.filling, self.before, self.after)


def fill_file(path: str) -> Filled:
    """Fill a file, or standard input for `-`.

    Raises:
        NotFilled: it cannot be read, has errors, or leaves no room for an addition.

    """
    name = "<stdin>" if path == STDIN else path
    try:
        data = within(read_file(path), MAX_BYTES)
    except Unparsable as error:
        raise NotFilled(BY_NAME[error.fault.rule].exit_code, f"{name}: {error.fault.message}") from error
    return fill_bytes(data, path)


def fill_bytes(data: bytes, path: str) -> Filled:
    """Fill the content of a file; its path tells its language, and the folder of the files that it names.

    Raises:
        NotFilled: it cannot be read, has errors, or leaves no room for an addition.

    """
    name = "<stdin>" if path == STDIN else path
    result = validate_bytes(data, path)
    if result.errors or result.level is None:
        why = "nothing was filled: mend the errors first"
        raise NotFilled(result.exit_code(), why, result._replace(path=name))
    loaded = load_bytes(data, path)
    folder = "." if path == STDIN else os.path.dirname(path) or "."
    filling = fill(loaded.value, folder)
    try:
        text = with_additions(loaded, filling.value)
    except Uneditable as error:
        raise NotFilled(Exit.FINDINGS, f"{name}: nothing was filled: {error}") from error
    after = validate_bytes(text.encode("utf-8"), path)
    assert not after.errors, after.findings
    assert after.level is not None
    mark = _BOM * (len(data.decode("utf-8")) - len(loaded.text))
    return Filled(
        path=name,
        text=mark + text,
        is_changed=text != loaded.text,
        filling=filling,
        before=result.level,
        after=after.level,
    )
