"""Distributions before and after, several small charts in one figure; restricted, since one of them is of raw data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trasgo_lib.reporting.charts.canvas import BLUE, ORANGE, WIDE, axes_at, draw, escaped, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PER_ROW = 2
_PANEL, _HEAD, _TOP, _BETWEEN = 1.05, 0.3, 0.28, 0.3
_LEFT, _RIGHT, _GAP = 0.38, 0.34, 0.48  # half of the longest last tick stands to the right of its axes


@dataclass(frozen=True, slots=True)
class Overlay:
    """One column before and after.

    Args:
        name: the column.
        ticks: places on the axis, counted in bars from 0, and what stands there.
        before: share of the rows in each bar, in percent; private.
        after: the same of the released column.
    """

    name: str
    ticks: tuple[tuple[float, str], ...]
    before: tuple[float, ...] = field(repr=False)
    after: tuple[float, ...] = field(repr=False)


def step_histograms(key: str, overlays: Sequence[Overlay]) -> str:
    """The charts as one SVG element, two beside each other.

    Args:
        key: put before every id.
        overlays: from left to right and top to bottom; private.
    """
    rows = -(-len(overlays) // _PER_ROW)
    high = _HEAD + rows * (_TOP + _PANEL + _BETWEEN)
    return draw(key, high, lambda figure: _paint(figure, overlays, high))


def _paint(figure: Figure, overlays: Sequence[Overlay], high: float) -> None:
    width = (WIDE - _RIGHT - _PER_ROW * (_LEFT + _GAP) + _GAP) / _PER_ROW
    handles: list[Any] = []
    for place, overlay in enumerate(overlays):
        row, column = divmod(place, _PER_ROW)
        bottom = high - _HEAD - (row + 1) * (_TOP + _PANEL) - row * _BETWEEN
        panel = axes_at(figure, _LEFT + column * (width + _LEFT + _GAP), bottom, width, _PANEL)
        edges = list(range(len(overlay.before) + 1))
        before = panel.stairs(overlay.before, edges, fill=True, color="#f0c9ab", label="before, raw")
        panel.stairs(overlay.before, edges, color=ORANGE, linewidth=1.0, baseline=None)
        after = panel.stairs(overlay.after, edges, color=BLUE, linewidth=1.4, label="after, released")
        handles = [before, after]
        panel.set_title(escaped(shortened(overlay.name, 28)), loc="left", fontsize=9, fontweight="bold", pad=4)
        panel.set_xlim(0, len(overlay.before))
        panel.set_ylim(0, max([*overlay.before, *overlay.after, 1e-9]) * 1.08)
        panel.set_xticks([at for at, _ in overlay.ticks], [escaped(shortened(text, 11)) for _, text in overlay.ticks])
        panel.tick_params(axis="x", labelsize=7.5, length=2)
        panel.tick_params(axis="y", labelsize=7.5, length=2)
        panel.locator_params(axis="y", nbins=4)
        panel.grid(axis="y")
        panel.annotate(
            "%", (0, 1), (-6, 3), xycoords="axes fraction", textcoords="offset points", ha="right", fontsize=7
        )
    figure.legend(
        handles, ["before, raw", "after, released"], loc="upper left", bbox_to_anchor=(0.01, 1.0), ncols=2,
        frameon=False, fontsize=8.5, handlelength=1.2, handleheight=0.9, columnspacing=1.4, borderaxespad=0.3,
    )  # fmt: skip
