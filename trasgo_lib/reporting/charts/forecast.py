"""A forecast as one chart: for each column, the expected loss by epsilon and by number of rows, with its target.

Colours are those of Okabe and Ito (2008), told apart by everyone; lines differ in their dashes too.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trasgo_lib.loop.forecast import Curve, Forecast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DECLARED, _TARGET = "#000000", "#D55E00"
_OTHERS: Mapping[str, tuple[str, str, Any]] = {
    "laplace": ("laplace", "#0072B2", "dashed"),
    "gaussian": ("gaussian", "#009E73", "dashdot"),
    "staircase": ("staircase", "#CC79A7", "dotted"),
    "binned_randomized_response": ("other bins", "#E69F00", (0, (5, 1, 1, 1, 1, 1))),
    "randomized_response": ("binary response", "#56B4E9", "dashed"),
    "kary_randomized_response": ("k-ary response", "#56B4E9", "dashed"),
}
"""By mechanism: its name in the legend, colour and dashes."""

_LEVELS = (("#88BBDD", "^"), ("#0072B2", "o"), ("#003355", "s"))
"""Colour and mark of the levels beside each other in a chart by rows, light to dark."""

_INCHES_WIDE, _INCHES_A_ROW = 13.0, 2.35
_COLUMNS_A_ROW = 2
_SETTINGS: Any = {
    "svg.hashsalt": "trasgo",  # ids in the file are then the same every time
    "svg.fonttype": "path",  # looks the same everywhere
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def forecast_chart(found: Forecast) -> bytes:
    """The chart as SVG; the same forecast gives the same bytes.

    Args:
        found: public.
    """
    # imported late: only charts need matplotlib
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with matplotlib.rc_context(_SETTINGS):
        figure = _figure(found)
        written = io.BytesIO()
        FigureCanvasSVG(figure)
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": "trasgo forecast"})
    return written.getvalue()


def _figure(found: Forecast) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    names = list(dict.fromkeys(curve.column for curve in found.curves))
    rows = -(-len(names) // _COLUMNS_A_ROW)
    height = _INCHES_A_ROW * rows + 1.1
    engine = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - 0.85 / height))
    figure = Figure(figsize=(_INCHES_WIDE, height), layout=engine)
    panels = figure.subplots(rows, 2 * _COLUMNS_A_ROW, squeeze=False)
    handles: dict[str, Any] = {}
    for place in range(rows * _COLUMNS_A_ROW):
        pair = panels[place // _COLUMNS_A_ROW, 2 * (place % _COLUMNS_A_ROW) :][:2]
        if place >= len(names):
            for panel in pair:
                panel.set_axis_off()
            continue
        curves = [curve for curve in found.curves if curve.column == names[place]]
        handles |= _by_epsilon(pair[0], curves, found)
        _by_rows(pair[1], curves[0], found)
        top = max(0.01, *(panel.get_ylim()[1] for panel in pair))
        for panel in pair:
            panel.set_ylim(0, top)
    figure.suptitle(
        f"Expected losses of {found.plan.dataset}/{found.plan.version}, foreseen from public knowledge",
        x=0.01, y=1 - 0.12 / height, ha="left", va="top", fontsize=12, fontweight="bold",
    )  # fmt: skip
    figure.legend(
        handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=(0.005, 1 - 0.4 / height), frameon=False,
        ncols=len(handles), fontsize=9,
    )  # fmt: skip
    return figure


def _by_epsilon(panel: Axes, curves: Sequence[Curve], found: Forecast) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    declared = curves[0]
    for curve in reversed(curves):
        points = _points(curve, [(level, found.rows) for level in found.questions.epsilons])
        if not points:
            continue
        places = [float(found.questions.epsilons[at].decimal) for at, _, _, _ in points]
        values = [value for _, _, value, _ in points]
        if curve.option.is_declared:
            handles["declared mechanism, with 95 % interval"] = panel.plot(
                places, values, color=_DECLARED, linewidth=2, marker="o", markersize=3.5, zorder=5
            )[0]
            lows, highs = [low for _, low, _, _ in points], [high for _, _, _, high in points]
            panel.fill_between(places, lows, highs, color=_DECLARED, alpha=0.2, linewidth=0, zorder=4)
        else:
            name, colour, dashes = _OTHERS[curve.option.mechanism]
            handles[name] = panel.plot(places, values, color=colour, linestyle=dashes, linewidth=1.3)[0]
    handles |= _target(panel, declared)
    _axis(panel, "epsilon", [(float(level.decimal), level.text) for level in found.questions.epsilons])
    panel.set_title(f"{declared.column}: {_words(declared)}", loc="left", fontsize=9, fontweight="bold")
    panel.set_ylabel(_loss_name(declared))
    return dict(reversed(handles.items()))


def _by_rows(panel: Axes, curve: Curve, found: Forecast) -> None:
    counts = [entry.rows for entry in found.by_rows]
    for level, (colour, mark) in zip(_shown(curve, found), _LEVELS):
        points = _points(curve, [(level, rows) for rows in counts])
        places = [counts[at] for at, _, _, _ in points]
        panel.plot(
            places, [value for _, _, value, _ in points], color=colour, marker=mark, markersize=3.5, linewidth=1.3,
            label=f"epsilon {level.text}",
        )  # fmt: skip
        lows, highs = [low for _, low, _, _ in points], [high for _, _, _, high in points]
        panel.fill_between(places, lows, highs, color=colour, alpha=0.2, linewidth=0)
    _target(panel, curve)
    panel.axvline(found.rows, color="#999999", linewidth=0.8, linestyle=":")
    tens = [count for count in (10**power for power in range(1, 8)) if counts[0] <= count <= counts[-1]]
    _axis(panel, "rows (dotted: this release)", [(count, f"{count:,}") for count in tens])
    panel.legend(
        frameon=False, fontsize=7.5, loc="lower left", bbox_to_anchor=(-0.03, 0.97), ncols=3, borderpad=0.2,
        columnspacing=1.0, handletextpad=0.4, handlelength=1.6,
    )  # fmt: skip


def _shown(curve: Curve, found: Forecast) -> list[Any]:
    """Three levels around the lowest that is expected to meet the target."""
    levels = found.questions.epsilons
    met = [
        at
        for at, level in enumerate(levels)
        if curve.ceiling is not None
        and (loss := curve.at(level, found.rows)) is not None
        and loss.high is not None
        and loss.high <= float(curve.ceiling)
    ]
    middle = min(max(min(met, default=len(levels) // 2), 1), max(1, len(levels) - 2))
    return list(levels[middle - 1 : middle + 2])


def _points(curve: Curve, places: Sequence[tuple[Any, int]]) -> list[tuple[int, float, float, float]]:
    """Place, low, value, high of every loss that can be told."""
    found = []
    for at, (level, rows) in enumerate(places):
        loss = curve.at(level, rows)
        if loss is not None and loss.value is not None and loss.low is not None and loss.high is not None:
            found.append((at, loss.low, loss.value, loss.high))
    return found


def _target(panel: Axes, curve: Curve) -> dict[str, Any]:
    if curve.ceiling is None:
        return {}
    return {"target": panel.axhline(float(curve.ceiling), color=_TARGET, linewidth=1.2, linestyle=(0, (6, 2)))}


def _axis(panel: Axes, label: str, ticks: Sequence[tuple[float, str]]) -> None:
    panel.set_xscale("log")
    panel.set_xticks([place for place, _ in ticks], [text for _, text in ticks])
    panel.minorticks_off()
    panel.set_xlabel(label, labelpad=1)
    panel.grid(axis="y", color="#dddddd", linewidth=0.6)


def _words(curve: Curve) -> str:
    target = f", target {curve.ceiling}" if curve.ceiling is not None else ""
    return f"{curve.option.label}{target}"


def _loss_name(curve: Curve) -> str:
    return "correlation loss, %" if curve.loss == "correlation_loss" else curve.loss
