"""Amounts as lying bars, each stacked from what was spent in one round after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from trasgo_lib.reporting.charts.canvas import GREY, INK, WIDE, axes_at, draw, escaped, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROUNDS = ("#0b3c5d", "#2f7fb5", "#7db8dc", "#c3dff0")
"""Spans of rounds from dark to light; more rounds than colours share them as evenly as they can."""

_BAR, _HEAD, _FOOT = 0.24, 0.42, 0.5
_LEFT, _RIGHT = 1.35, 0.62


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Args:
        name: what it is of.
        parts: by round, what was added in it; 0 where nothing was.
        text: what stands at its end.
    """

    name: str
    parts: tuple[float, ...]
    text: str


def stacked_bars(key: str, bars: Sequence[Bar], axis: str) -> str:
    """The chart as an SVG element.

    Args:
        key: put before every id.
        bars: from top to bottom.
        axis: what is measured, with its unit.
    """
    high = _HEAD + _BAR * len(bars) + _FOOT
    return draw(key, high, lambda figure: _paint(figure, bars, axis))


def _paint(figure: Figure, bars: Sequence[Bar], axis: str) -> None:
    panel = axes_at(figure, _LEFT, _FOOT, WIDE - _LEFT - _RIGHT, _BAR * len(bars))
    places = range(len(bars))
    spans = round_spans(max((len(bar.parts) for bar in bars), default=0))
    ends = [0.0] * len(bars)
    for colour, (first, last) in zip(_ROUNDS, spans):
        widths = [sum(bar.parts[first - 1 : last]) for bar in bars]
        label = f"round {first}" if first == last else f"rounds {first} to {last}"
        panel.barh(places, widths, 0.66, ends, color=colour, edgecolor=GREY, linewidth=0.4, label=label)
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    for place, (bar, end) in enumerate(zip(bars, ends, strict=True)):
        panel.annotate(escaped(bar.text), (end, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
    panel.set_yticks(places, [escaped(shortened(bar.name)) for bar in bars])
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(bars) - 0.5, -0.5)
    panel.set_xlim(0, max([*ends, 1e-9]) * 1.02)
    panel.set_xlabel(axis)
    panel.grid(axis="x")
    panel.locator_params(axis="x", nbins=6)
    if len(spans) > 1:
        figure.legend(
            loc="upper left", bbox_to_anchor=(0.01, 1.0), ncols=len(spans), frameon=False, fontsize=8, labelcolor=INK,
            handlelength=1.0, handleheight=0.9, columnspacing=1.0, handletextpad=0.4, borderaxespad=0.3,
        )  # fmt: skip


def round_spans(rounds: int) -> tuple[tuple[int, int], ...]:
    """First and last round of each colour; the first round, which draws every column, has one of its own.

    Args:
        rounds: number of rounds.
    """
    if rounds <= len(_ROUNDS):
        return tuple((number, number) for number in range(1, rounds + 1))
    colours, later = len(_ROUNDS) - 1, rounds - 1
    cuts = [1 + round(later * place / colours) for place in range(colours + 1)]
    return ((1, 1), *((before + 1, cut) for before, cut in pairwise(cuts)))
