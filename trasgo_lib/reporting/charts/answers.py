"""Published counts, sums or means as points with their intervals, one row an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trasgo_lib.reporting.charts.canvas import BLUE, GREY, ORANGE, WIDE, axes_at, draw, escaped, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW, _HEAD, _FOOT, _LEFT, _RIGHT = 0.22, 0.34, 0.5, 1.75, 0.2
_LONG_NAME = 24
_COLUMNS_HIGH = 2.1


@dataclass(frozen=True, slots=True)
class AnswerMark:
    """One answer.

    Args:
        name: its cell.
        value: what is published.
        low: lower end of its interval.
        high: its upper end.
        noisy: the number before post-processing, where it was another one; else None.
    """

    name: str
    value: float
    low: float
    high: float
    noisy: float | None = None


def answer_rows(key: str, marks: Sequence[AnswerMark], axis: str) -> str:
    """The chart as an SVG element, with the cells from top to bottom.

    Args:
        key: put before every id.
        marks: the answers, in order.
        axis: what is measured, with its unit.
    """
    high = _HEAD + _ROW * len(marks) + _FOOT
    return draw(key, high, lambda figure: _paint_rows(figure, marks, axis))


def answer_columns(key: str, marks: Sequence[AnswerMark], axis: str, across: str) -> str:
    """The chart as an SVG element, with many ordered cells from left to right.

    Args:
        key: put before every id.
        marks: the answers, in order.
        axis: what is measured.
        across: what the cells are of.
    """
    high = _HEAD + _COLUMNS_HIGH + _FOOT + 0.1
    return draw(key, high, lambda figure: _paint_columns(figure, marks, axis, across))


def _paint_rows(figure: Figure, marks: Sequence[AnswerMark], axis: str) -> None:
    panel = axes_at(figure, _LEFT, _FOOT, WIDE - _LEFT - _RIGHT, _ROW * len(marks))
    places = list(range(len(marks)))
    panel.hlines(
        places, [m.low for m in marks], [m.high for m in marks], color=BLUE, linewidth=1.5, label="95 % interval"
    )
    panel.plot([m.value for m in marks], places, "o", color=BLUE, markersize=4.2, label="published")
    before = [(m.noisy, place) for place, m in enumerate(marks) if m.noisy is not None]
    if before:
        xs, ys = zip(*before, strict=True)
        panel.plot(xs, ys, "D", color=ORANGE, markersize=3.6, markerfacecolor="white", label="before post-processing")
    panel.set_yticks(places, [escaped(shortened(m.name, _LONG_NAME)) for m in marks])
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(marks) - 0.4, -0.6)
    panel.set_xlabel(escaped(axis))
    panel.grid(axis="x")
    panel.locator_params(axis="x", nbins=6)
    _legend(figure)


def _paint_columns(figure: Figure, marks: Sequence[AnswerMark], axis: str, across: str) -> None:
    panel = axes_at(figure, 0.7, _FOOT + 0.1, WIDE - 0.7 - _RIGHT, _COLUMNS_HIGH)
    places = list(range(len(marks)))
    values = [m.value for m in marks]
    panel.bar(places, values, 0.8, color="#c3dff0", edgecolor=BLUE, linewidth=0.4, label="published")
    panel.vlines(places, [m.low for m in marks], [m.high for m in marks], color=GREY, linewidth=0.9,
                 label="95 % interval")  # fmt: skip
    every = max(1, -(-len(marks) // 8))
    panel.set_xticks(places[::every], [escaped(shortened(m.name, 12)) for m in marks[::every]])
    panel.set_xlim(-0.8, len(marks) - 0.2)
    panel.set_xlabel(escaped(across))
    panel.set_ylabel(escaped(axis))
    panel.grid(axis="y")
    _legend(figure)


def _legend(figure: Figure) -> None:
    figure.legend(
        loc="upper left", bbox_to_anchor=(0.01, 1.0), ncols=3, frameon=False, fontsize=8, columnspacing=1.2,
        handletextpad=0.6, borderaxespad=0.3,
    )  # fmt: skip
