"""Numbers as people read them in messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIGITS = 21

_TERA = 1e12
_TERA_FROM, _TERA_TO = 1e9, 1e18


def show_number(value: float) -> str:
    """Show a number of a report: integers in full, anything else as briefly as it stays the same number.

    The view holds integers where a report's author wrote them, the pydantic classes may hold floats: 5.0 is shown as 5.
    """
    if isinstance(value, int) or (value == int(value) and abs(value) < 10**_DIGITS):
        return str(int(value))
    return repr(value).replace("e+", "e")


def show_rate(rate: float) -> str:
    """Show a rate in FLOP/s as vendors print it and a report may hold it: 989.4e12."""
    return f"{float(f'{rate / _TERA:.4g}'):.10g}e12" if _TERA_FROM <= rate < _TERA_TO else f"{rate:.4g}"


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does: search, learning and feedback."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
