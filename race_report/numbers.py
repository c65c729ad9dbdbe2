"""Numbers as people read them in messages and tables."""

from __future__ import annotations

_EXACT_DIGITS = 21


def show_number(value: float) -> str:
    """Show a number of a report: integers in full, anything else as briefly as it stays the same number.

    The view holds integers where a report's author wrote them, the pydantic classes may hold floats: 5.0 is shown as 5.
    """
    if value == int(value) and abs(value) < 10**_EXACT_DIGITS:
        return str(int(value))
    return repr(float(value)).replace("e+", "e")
