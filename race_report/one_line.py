"""Text that stays one line, whatever stands in a file or its name."""

from __future__ import annotations

import re
from typing import Final

_UNSHOWN: Final = "[\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]"
"""Characters that end a line, drive a terminal or turn its text around."""


def on_one_line(text: str) -> str:
    """Escape the characters that would break a line, drive a terminal or turn its text around."""
    if text.isascii() and text.isprintable():  # as most lines are
        return text
    return re.sub(_UNSHOWN, lambda match: f"\\u{ord(match[0]):04x}", text)
