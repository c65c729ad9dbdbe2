"""How figures look: sizes of columns, colours that differ in grey too, and files that are the same bytes each time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

WIDTHS: Final = {1: 3.25, 2: 6.75}
"""Inches of a figure in one column, and across two: those of ICML, which fit NeurIPS, ICLR and ACL as well."""

COMPONENTS: Final = {
    "search": ("#004b87", ""),
    "learning": ("#d55e00", "////"),
    "feedback": ("#f0c94a", ""),
    "not divided": ("#ffffff", "...."),
}
"""Fill and hatch of each component: luminance 0.07, 0.22 and 0.62, so that they differ in grey and to any eye."""

SERIES: Final = (
    *(("#004b87", ""), ("#f0c94a", ""), ("#d55e00", "////"), ("#56b4e9", "...."), ("#000000", "")),
    *(("#cc79a7", "xxxx"), ("#009e73", "\\\\\\\\"), ("#ffffff", "||||")),
)
"""Fill and hatch of parts that have no colour of their own: those of Okabe and Ito, neighbours apart in luminance."""

LINES: Final = ("solid", "dashed", "dotted", "dashdot")

_SETTINGS: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same everywhere
    "font.size": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "lines.linewidth": 1.2,
    "patch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "race",
    "text.parse_math": False,  # a name with dollar signs is a name
    "text.usetex": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
}

_METADATA: Final[dict[str, dict[str, str | None]]] = {
    "pdf": {"CreationDate": None, "Creator": "race plot", "Producer": None},
    "svg": {"Date": None, "Creator": "race plot"},
    "png": {"Software": None},
}

SUFFIXES: Final = tuple(_METADATA)


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of these figures, whatever the user's own settings are."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def data_of(figure: Figure, suffix: str) -> bytes:
    """Give the file of a figure; the same figure gives the same bytes."""
    import io

    out = io.BytesIO()
    with styled():
        figure.savefig(out, format=suffix, dpi=300, metadata=_METADATA[suffix])
    return out.getvalue()
