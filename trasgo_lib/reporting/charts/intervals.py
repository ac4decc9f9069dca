"""Losses with their intervals against their targets, all on one axis: as shares of the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trasgo_lib.reporting.charts.canvas import BLUE, GREY, INK, ORANGE, WIDE, axes_at, draw, escaped, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Reach = tuple[float, float, float]
"""Value, low, high; each as a share of the target."""

_ROW, _HEAD, _FOOT, _LEFT, _RIGHT = 0.32, 0.62, 0.5, 1.35, 0.15
_LONGEST = 2.5
"""Where the axis ends at the latest; what lies beyond is drawn at its end with an arrow, and is in the table."""


@dataclass(frozen=True, slots=True)
class Whisker:
    """One target.

    Args:
        name: whose.
        estimate: the loss, as shares of its ceiling; None where there is none.
        predicted: what was foreseen, likewise.
        exact: the loss computed from raw data, likewise; for restricted charts only.
    """

    name: str
    estimate: Reach | None
    predicted: Reach | None = None
    exact: float | None = None


def interval_chart(key: str, whiskers: Sequence[Whisker]) -> str:
    """The chart as an SVG element.

    Args:
        key: put before every id.
        whiskers: from top to bottom.
    """
    high = _HEAD + _ROW * len(whiskers) + _FOOT
    return draw(key, high, lambda figure: _paint(figure, whiskers))


def _paint(figure: Figure, whiskers: Sequence[Whisker]) -> None:
    panel = axes_at(figure, _LEFT, _FOOT, WIDE - _LEFT - _RIGHT, _ROW * len(whiskers))
    reaches = [reach for one in whiskers for reach in (one.estimate, one.predicted) if reach is not None]
    ends = [high for _, _, high in reaches] + [one.exact for one in whiskers if one.exact is not None]
    end = min(max([1.15, *ends]) * 1.03, _LONGEST)
    handles: dict[str, Any] = {}
    handles["target"] = panel.axvline(1.0, color=ORANGE, linewidth=1.3, linestyle=(0, (5, 2)), zorder=1)
    for place, one in enumerate(whiskers):
        if one.predicted is not None:
            handles["predicted"] = _whisker(panel, place + 0.17, one.predicted, end, GREY, "D", "white")
        if one.estimate is not None:
            handles["estimated"] = _whisker(panel, place - 0.12, one.estimate, end, BLUE, "o", BLUE)
        if one.exact is not None:
            at = min(one.exact, end)
            handles["exact"] = panel.plot([at], [place - 0.12], "x", color=INK, markersize=5, markeredgewidth=1.3)[0]
    panel.set_yticks(range(len(whiskers)), [escaped(shortened(one.name)) for one in whiskers])
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(whiskers) - 0.5, -0.5)
    panel.set_xlim(0, end)
    panel.set_xlabel("loss as a share of its target (1 = the target; lower is better)")
    panel.grid(axis="x")
    named = {"estimated": "estimated, 95 % interval", "predicted": "predicted, 95 % interval", "exact": "exact"}
    order = [name for name in ("estimated", "predicted", "exact", "target") if name in handles]
    figure.legend(
        [handles[name] for name in order], [named.get(name, name) for name in order], loc="upper left",
        bbox_to_anchor=(0.01, 1.0), ncols=2, frameon=False, fontsize=8, columnspacing=1.2, handletextpad=0.6,
        borderaxespad=0.3, labelspacing=0.3,
    )  # fmt: skip


def _whisker(panel: Any, place: float, reach: Reach, end: float, colour: str, mark: str, face: str) -> Any:
    value, low, high = reach
    panel.plot([min(low, end), min(high, end)], [place, place], color=colour, linewidth=1.5, solid_capstyle="butt")
    if high > end:
        panel.plot([end * 0.995], [place], ">", color=colour, markersize=4, clip_on=False)
    at = [min(value, end)]
    return panel.plot(at, [place], mark, color=colour, markersize=4.5, markerfacecolor=face, linestyle="")[0]
