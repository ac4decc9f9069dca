"""A square of coefficients as a heat map with its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trasgo_lib.reporting.charts.canvas import GREY, INK, WIDE, axes_at, draw, escaped, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEFT, _RIGHT, _FOOT = 1.1, 0.3, 0.05
_LETTER = 0.055
"""Height that a letter of a slanting name takes, in inches."""

_ACROSS = 13
"""Letters of a name above its column."""
_DARK = 0.55
"""From this size on, white numbers are read better than dark ones."""

MOST_WITH_NUMBERS = 12
"""More columns than this would make the numbers too small to read; the table beside the chart holds them."""


def matrix_chart(key: str, names: Sequence[str], values: Sequence[Sequence[float | None]], reach: float = 1.0) -> str:
    """The chart as an SVG element.

    Args:
        key: put before every id.
        names: of rows and columns.
        values: symmetrical; None where there is no coefficient.
        reach: size of a value with the deepest colour.
    """
    cell = min((WIDE - _LEFT - _RIGHT) / max(len(names), 1), 0.62)
    words = 0.15 + _LETTER * min(_ACROSS, max(map(len, names), default=0))
    high = words + cell * len(names) + _FOOT
    return draw(key, high, lambda figure: _paint(figure, names, values, reach, cell))


def _paint(
    figure: Figure, names: Sequence[str], values: Sequence[Sequence[float | None]], reach: float, cell: float
) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("signed", ["#9c3b00", "#e9a06c", "#ffffff", "#6fb0da", "#004a78"])
    side = cell * len(names)
    panel = axes_at(figure, _LEFT, _FOOT, side, side)
    grid = [[float("nan") if value is None else value for value in row] for row in values]
    panel.pcolormesh(grid, cmap=colours, vmin=-reach, vmax=reach, edgecolor="white", linewidth=0.8)
    if len(names) <= MOST_WITH_NUMBERS:
        for row, line in enumerate(values):
            for column, value in enumerate(line):
                text = _short(value)
                colour = "white" if value is not None and abs(value) > _DARK * reach else INK
                size = 8 if len(names) <= 8 else 6.5
                panel.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=colour, fontsize=size)
    centres = [place + 0.5 for place in range(len(names))]
    size = 8 if cell > 0.16 else 5
    panel.set_yticks(centres, [escaped(shortened(name, 15)) for name in names], fontsize=size)
    panel.xaxis.tick_top()
    panel.set_xticks(
        centres, [escaped(shortened(name, _ACROSS)) for name in names], rotation=50, ha="left", rotation_mode="anchor",
        fontsize=size,
    )  # fmt: skip
    panel.tick_params(length=0)
    panel.set_ylim(len(names), 0)
    for spine in panel.spines.values():
        spine.set_edgecolor(GREY)


def _short(value: float | None) -> str:
    """A coefficient in three signs, and no minus before nothing."""
    if value is None:
        return "–"
    text = f"{value:.2f}".replace("0.", ".", 1)
    return ".00" if text == "-.00" else text
