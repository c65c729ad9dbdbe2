"""Series -> figures, drawn by matplotlib."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from race_report.plot.style import COMPONENTS, LINES, SERIES, WIDTHS, styled
from race_report.render import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from race_report.plot.series import Bar, Course, Point

_ROW: Final = 0.24
"""Inches of a bar with the space about it."""

_LONGEST: Final = 30
_ROOM: Final = 7
"""Percent of a bar in which its number has room."""
_DARK: Final = frozenset({"#004b87", "#000000", "#009e73"})


def draw_splits(bars: Sequence[Bar], columns: int) -> Figure:
    """Draw bars of percentages that add to a hundred, one below the other."""
    names = list(dict.fromkeys(name for bar in bars for name in bar.parts))
    own = [COMPONENTS[name] for name in COMPONENTS if name in names]
    looks = dict(zip([n for n in COMPONENTS if n in names], own, strict=True))
    if not looks:
        looks = {name: SERIES[at % len(SERIES)] for at, name in enumerate(names)}
    in_rows = max(map(len, looks)) * len(looks) > 30 * columns
    lines = len(looks) if in_rows else 1
    with styled():
        figure, axes = _rows(len(bars), columns, 0.45 + 0.15 * lines)
        for row, bar in enumerate(bars):
            _draw_bar(axes, row, bar, looks, columns)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of FLOPs (%)")
        _label_rows(axes, [bar.label for bar in bars])
        patches = [
            Patch(facecolor=fill, hatch=hatch, edgecolor="black", label=name) for name, (fill, hatch) in looks.items()
        ]
        figure.legend(handles=patches, loc="outside upper center", ncols=1 if in_rows else len(looks), columnspacing=1)
        return _laid_out(figure)


def _draw_bar(axes: Axes, row: int, bar: Bar, looks: dict[str, tuple[str, str]], columns: int) -> None:
    start = 0.0
    for name, (fill, hatch) in looks.items():
        width = bar.parts.get(name)
        if width is None:
            continue
        axes.barh(row, width, left=start, height=0.7, color=fill, hatch=hatch, edgecolor="black", linewidth=0.5)
        if width > _ROOM * 2 / columns:
            colour = "white" if fill in _DARK else "black"
            box = None if fill in _DARK or not hatch else {"facecolor": "white", "edgecolor": "none", "pad": 1}
            words = bar.words[name].removesuffix(" %")
            axes.text(start + width / 2, row, words, ha="center", va="center", color=colour, fontsize=6, bbox=box)
        start += width
    if not bar.parts:
        axes.text(1, row, bar.note, ha="left", va="center", style="italic", color="#555555")
    elif bar.note:
        axes.text(101, row, bar.note.replace(" not", "\nnot"), va="center", fontsize=5, color="#555555")


def draw_points(points: Sequence[Point], columns: int, title: str) -> Figure:
    """Draw a fraction a row as a bar; a bound has an arrow in its direction, and what is not known says so."""
    with styled():
        figure, axes = _rows(len(points), columns, 0.45)
        for row, (_, value) in enumerate(points):
            if value.value is None:
                axes.text(0.01, row, "not known", va="center", style="italic", color="#555555")
                continue
            bounded = value.at_least or value.at_most
            axes.barh(
                row, value.value, height=0.6, color="#ffffff" if bounded else "#004b87", edgecolor="black",
                hatch="////" if bounded else "", linewidth=0.5,
            )  # fmt: skip
            words = shown.bounded(value, lambda share: f"{share:.3f}")
            axes.text(value.value + 0.015, row, words, va="center", fontsize=6)
        axes.set_xlim(0, 1.12)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
        axes.set_xlabel(title)
        _label_rows(axes, [point.label for point in points])
        return _laid_out(figure)


def draw_course(course: Course, columns: int) -> Figure:
    """Draw cumulative FLOPs by phase over steps, and above them the results that have a step."""
    with styled():
        height = 1.9 + (1.1 if course.results else 0)
        figure = Figure(figsize=(WIDTHS[columns], height), layout="constrained")
        rows = 2 if course.results else 1
        panels = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=[1, 1.7] if rows == 2 else [1])  # noqa: PLR2004
        if course.results:
            _draw_results(panels[0, 0], course)
        axes = panels[-1, 0]
        power = math.floor(math.log10(max(sum(at_step) for at_step in zip(*course.cumulative.values(), strict=True))))
        colours = [SERIES[at % len(SERIES)] for at in range(len(course.cumulative))]
        layers = axes.stackplot(
            course.steps,
            *([flops / 10**power for flops in series] for series in course.cumulative.values()),
            labels=list(course.cumulative),
            colors=[fill for fill, _ in colours],
            edgecolor="black",
            linewidth=0.4,
        )
        for layer, (_, hatch) in zip(layers, colours, strict=True):
            layer.set_hatch(hatch)
        axes.set_xlabel("step")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel(f"cumulative FLOPs ({_unit(power)})")
        axes.set_ylim(bottom=0)
        axes.margins(x=0)
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="upper left", fontsize=6)
        if course.missing:
            figure.supxlabel(f"not in it, FLOPs not known: {', '.join(course.missing)}", fontsize=6)
        return _laid_out(figure)


def _unit(power: int) -> str:
    return shown.power_of_ten(10.0**power).removeprefix("1.00 × ")


def _draw_results(axes: Axes, course: Course) -> None:
    for at, (name, points) in enumerate(course.results.items()):
        steps, values = zip(*points, strict=True)
        look: Any = {"color": SERIES[at * 2 % 5][0], "linestyle": LINES[at % 4], "marker": "o", "markersize": 2.5}
        axes.plot(steps, values, label=name, clip_on=False, **look)  # the last point lies on the frame
    axes.set_ylabel("result")
    axes.legend(loc="best", fontsize=6)


def _rows(number: int, columns: int, beside: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTHS[columns], beside + _ROW * number), layout="constrained")
    return figure, figure.subplots()


def _label_rows(axes: Axes, labels: list[str]) -> None:
    shortened = [label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…" for label in labels]
    axes.set_yticks(range(len(labels)), shortened)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _laid_out(figure: Figure) -> Figure:
    """Settle the layout while the style holds."""
    figure.draw_without_rendering()
    return figure
