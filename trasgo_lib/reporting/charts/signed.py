"""Numbers of either sign as bars from a common zero, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trasgo_lib.reporting.charts.canvas import BLUE, GREY, ORANGE, WIDE, axes_at, draw, escaped, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BAR, _HEAD, _FOOT, _LEFT, _RIGHT = 0.22, 0.1, 0.5, 1.9, 0.3
_LONG_NAME = 26
_ROOM = 1.18
"""Room beside the longest bar for its figure."""


def signed_bars(key: str, values: Sequence[tuple[str, float]], axis: str) -> str:
    """The chart as an SVG element; bars above zero are blue, those below orange.

    Args:
        key: put before every id.
        values: name and number, from top to bottom.
        axis: what is measured, with its unit.
    """
    high = _HEAD + _BAR * len(values) + _FOOT
    return draw(key, high, lambda figure: _paint(figure, values, axis))


def _paint(figure: Figure, values: Sequence[tuple[str, float]], axis: str) -> None:
    panel = axes_at(figure, _LEFT, _FOOT, WIDE - _LEFT - _RIGHT, _BAR * len(values))
    places = list(range(len(values)))
    widths = [value for _, value in values]
    panel.barh(places, widths, 0.66, color=[BLUE if value > 0 else ORANGE for value in widths])
    panel.axvline(0, color=GREY, linewidth=0.8)
    for place, value in zip(places, widths, strict=True):
        offset, side = ((4, 0), "left") if value >= 0 else ((-4, 0), "right")
        panel.annotate(f"{value:+.2f}", (value, place), offset, textcoords="offset points", va="center", ha=side,
                       fontsize=8)  # fmt: skip
    most = max(abs(value) for value in widths) or 1.0
    panel.set_xlim(-most * _ROOM, most * _ROOM)
    panel.set_yticks(places, [escaped(shortened(name, _LONG_NAME)) for name, _ in values])
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(values) - 0.4, -0.6)
    panel.set_xlabel(escaped(axis))
    panel.grid(axis="x")
    panel.locator_params(axis="x", nbins=6)
