"""Numbers as people read them in messages."""

from __future__ import annotations

_DIGITS = 21


def show_number(value: float) -> str:
    """Show a number of a report: integers in full, anything else as briefly as it stays the same number.

    The view holds integers where a report's author wrote them, the pydantic classes may hold floats: 5.0 is shown as 5.
    """
    if isinstance(value, int) or (value == int(value) and abs(value) < 10**_DIGITS):
        return str(int(value))
    return repr(value).replace("e+", "e")
