"""Numbers as readers of pages see them: typographic signs, bounds marked, never 0 for what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from race_report.accounting import Figure

UNKNOWN: Final = "\N{EN DASH}"
"""What stands where nothing is known."""

_SIGNS: Final = {"": "", "at least": "≥ ", "at most": "≤ ", "about": "≈ "}
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LARGEST_NAMED: Final = 999.5e12
_SMALLEST_PLAIN: Final = 1e-4
_LARGEST_PLAIN: Final = 1e4
_WHOLE_FROM: Final = 100
_SIZES: Final = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))


def bound(figure: Figure) -> str:
    """Say in which direction a figure is only a bound; nothing where it is exact or unknown."""
    if figure.at_least and figure.at_most:
        return "about"
    return "at least" if figure.at_least else "at most" if figure.at_most else ""


def bounded(figure: Figure, show: Callable[[float], str]) -> str:
    """Show a figure with the sign of its bound; in both directions it is about right."""
    if figure.value is None:
        return UNKNOWN
    return _SIGNS[bound(figure)] + show(figure.value)


def power_of_ten(value: float) -> str:
    """Show a number with three significant digits as a power of ten: 2.04 × 10¹⁸."""
    if value == 0:
        return "0"
    digits, _, exponent = f"{value:.2e}".partition("e")
    return f"{digits} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def parameters(count: float) -> str:
    """Show a number of parameters with three significant digits: 18.5M, 7.62B."""
    if count >= _LARGEST_NAMED:
        return power_of_ten(count)
    for size, unit in _SIZES:
        if count >= size * 0.9995:
            return f"{count / size:.3g}{unit}"
    return f"{count:g}"


def amount(value: float) -> str:
    """Show a count or an amount: whole numbers with separators, others with three significant digits."""
    if value == int(value) or round(value) >= _WHOLE_FROM:
        return f"{value:,.0f}" if value < _LARGEST_NAMED else power_of_ten(value)
    return f"{value:.3g}" if value >= _SMALLEST_PLAIN else power_of_ten(value)


def percent(share: float) -> str:
    """Show a fraction as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def score(value: float) -> str:
    """Show the value of a result with four significant digits."""
    size = abs(value)
    is_plain = size == 0 or _SMALLEST_PLAIN <= size < _LARGEST_PLAIN
    return ("−" if value < 0 else "") + (f"{size:.4g}" if is_plain else power_of_ten(size))
