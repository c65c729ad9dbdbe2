"""Text -> TeX: escaped once and fully, for pdflatex without packages."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",  # babel makes the bare character a command
    "`": r"{\char96}",
    "[": "{[}",  # behind the end of a row a bracket or a star would be an argument
    "]": "{]}",
    "*": "{*}",
}

_SYMBOLS: Final = {
    "\u00a0": "~",
    "\u00ad": r"\-",
    "\u2010": "-{}",
    "\u2011": "-{}",
    "\u2013": r"\textendash{}",
    "\u2014": r"\textemdash{}",
    "\u2018": r"\textquoteleft{}",
    "\u2019": r"\textquoteright{}",
    "\u201c": r"\textquotedblleft{}",
    "\u201d": r"\textquotedblright{}",
    "\u2022": r"\textbullet{}",
    "\u2026": r"\ldots{}",
    "\u2032": "$'$",
    "\u2122": r"\texttrademark{}",
    "\u2190": r"$\leftarrow$",
    "\u2192": r"$\rightarrow$",
    "\u2208": r"$\in$",
    "\u2211": r"$\sum$",
    "\u2212": "$-$",
    "\u221a": r"$\surd$",
    "\u221e": r"$\infty$",
    "\u2248": r"$\approx$",
    "\u2260": r"$\neq$",
    "\u2264": r"$\leq$",
    "\u2265": r"$\geq$",
    "\u00a3": r"\pounds{}",
    "\u00a7": r"\S{}",
    "\u00a9": r"\copyright{}",
    "\u00ae": r"\textregistered{}",
    "\u00b0": r"$^\circ$",
    "\u00b1": r"$\pm$",
    "\u00b2": "$^2$",
    "\u00b3": "$^3$",
    "\u00b9": "$^1$",
    "\u00b5": r"$\mu$",
    "\u00b6": r"\P{}",
    "\u00b7": r"$\cdot$",
    "\u00d7": r"$\times$",
    "\u00f7": r"$\div$",
    "\u00c6": r"\AE{}",
    "\u00e6": r"\ae{}",
    "\u0152": r"\OE{}",
    "\u0153": r"\oe{}",
    "\u00d8": r"\O{}",
    "\u00f8": r"\o{}",
    "\u0141": r"\L{}",
    "\u0142": r"\l{}",
    "\u00df": r"\ss{}",
    "\u0131": r"\i{}",
}

_GREEK: Final = {
    **{
        letter: rf"$\{name}$"
        for letter, name in zip(
            "αβγδεζηθικλμνξπρστυφχψωϕϵΓΔΘΛΞΠΣΥΦΨΩ",
            [
                "alpha",
                "beta",
                "gamma",
                "delta",
                "varepsilon",
                "zeta",
                "eta",
                "theta",
                "iota",
                "kappa",
                "lambda",
                "mu",
                "nu",
                "xi",
                "pi",
                "rho",
                "sigma",
                "tau",
                "upsilon",
                "varphi",
                "chi",
                "psi",
                "omega",
                "phi",
                "epsilon",
                "Gamma",
                "Delta",
                "Theta",
                "Lambda",
                "Xi",
                "Pi",
                "Sigma",
                "Upsilon",
                "Phi",
                "Psi",
                "Omega",
            ],
            strict=True,
        )
    },
    "ς": r"$\varsigma$",
    "ο": "$o$",
    **{letter: rf"$\mathrm{{{latin}}}$" for letter, latin in zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABEZHIKMNOPTX", strict=True)},
}

_JOINERS: Final = "\u200c\u200d"
"""Characters without a sign of their own that scripts and emoji need."""

_LIGATURE: Final = re.compile(r"([-',])(?=\1)")
"""Two of these in a row would be set as a dash or a quotation mark."""

_ACCENTS: Final = {
    "\u0300": r"\`",
    "\u0301": r"\'",
    "\u0302": r"\^",
    "\u0303": r"\~",
    "\u0304": r"\=",
    "\u0306": r"\u",
    "\u0307": r"\.",
    "\u0308": r"\"",
    "\u030a": r"\r",
    "\u030b": r"\H",
    "\u030c": r"\v",
    "\u0323": r"\d",
    "\u0327": r"\c",
    "\u0331": r"\b",
}


class UnprintableCharacter(ValueError):
    """A character that pdflatex cannot set; it is named and never dropped."""

    def __init__(self, character: str, text: str, *, unicode: bool) -> None:
        name = unicodedata.name(character, "a character without a name")
        mend = "delete it" if unicode else "change the text, or use --unicode with LuaLaTeX and a font that has it"
        tool = "TeX" if unicode else "pdflatex"
        super().__init__(f'{tool} cannot set U+{ord(character):04X} ({name}), which stands in "{text}": {mend}')


def escape(text: str, *, unicode: bool = False) -> str:
    """Escape a text for TeX, so that it is shown as it stands; line ends become spaces.

    Args:
        text: any text.
        unicode: whether the engine sets all of Unicode itself, as XeLaTeX and LuaLaTeX do.

    Raises:
        UnprintableCharacter: the engine has no sign for a character.

    """
    line = re.sub(r"\s+", lambda match: match[0] if match[0] == "\u00a0" else " ", text.strip())
    characters = unicodedata.normalize("NFC", line)
    escaped = "".join(_escape_character(character, text, unicode=unicode) for character in characters)
    return _LIGATURE.sub(r"\1{}", escaped)


def _escape_character(character: str, text: str, *, unicode: bool) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if " " <= character <= "~":
        return character
    known = _SYMBOLS.get(character) or _GREEK.get(character)
    if known is not None:
        return known
    category = unicodedata.category(character)
    if unicode and (category[0] != "C" or character in _JOINERS):
        return character
    if unicode or category[0] == "C":
        raise UnprintableCharacter(character, text, unicode=True)
    base, *accents = list(unicodedata.normalize("NFD", character))
    if not base.isascii() or not accents or any(accent not in _ACCENTS for accent in accents):
        raise UnprintableCharacter(character, text, unicode=False)
    result = {"i": r"\i", "j": r"\j"}.get(base, base)
    for accent in accents:
        result = f"{_ACCENTS[accent]}{{{result}}}"
    return result


def power_of_ten(value: float) -> str:
    r"""Set a number as $1.2\times10^{21}$: three significant digits, no trailing zeros; 0 is $0$."""
    if value == 0:
        return "$0$"
    mantissa, exponent = f"{value:.2e}".split("e")
    return rf"${mantissa.rstrip('0').rstrip('.')}\times10^{{{int(exponent)}}}$"
