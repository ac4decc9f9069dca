"""Points before and after on the coarse grid on which their losses are measured; restricted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trasgo_lib.reporting.charts.canvas import GREY, INK, WIDE, axes_at, draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEFT, _GAP, _TOP, _FOOT = 0.1, 0.2, 0.3, 0.12


@dataclass(frozen=True, slots=True)
class Density:
    """Shares of the rows over a grid.

    Args:
        title: before or after.
        shares: by row of the grid from south to north, by column from west to east; None outside the declared cells.
    """

    title: str
    shares: tuple[tuple[float | None, ...], ...] = field(repr=False)


def density_maps(key: str, maps: Sequence[Density], aspect: float) -> str:
    """The maps beside each other as one SVG element, north up, one scale of colours for all.

    Args:
        key: put before every id.
        maps: private.
        aspect: height of the ground by its width.
    """
    width = (WIDE - 2 * _LEFT - _GAP * (len(maps) - 1)) / len(maps)
    height = min(width * aspect, 3.2)
    return draw(key, _TOP + height + _FOOT, lambda figure: _paint(figure, maps, height, height / aspect))


def _paint(figure: Figure, maps: Sequence[Density], height: float, width: float) -> None:
    most = max((share for one in maps for line in one.shares for share in line if share is not None), default=1.0)
    for place, one in enumerate(maps):
        panel = axes_at(figure, _LEFT + place * (width + _GAP), _FOOT, width, height)
        grid = [[float("nan") if share is None else share for share in line] for line in one.shares]
        panel.pcolormesh(grid, cmap="YlGnBu", vmin=0, vmax=most, edgecolor="white", linewidth=0.2)
        panel.set_title(one.title, loc="left", fontsize=9, fontweight="bold", color=INK, pad=4)
        panel.set_xticks([])
        panel.set_yticks([])
        for spine in panel.spines.values():
            spine.set_visible(True)
            spine.set_edgecolor(GREY)
