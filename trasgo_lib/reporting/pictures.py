"""Before and after in pictures, with their figures beside them: distributions, correlations, moved points; private."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trasgo_lib.data import Domain
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.reporting.charts import (
    Bar,
    Density,
    Overlay,
    density_maps,
    matrix_chart,
    stacked_bars,
    step_histograms,
)
from trasgo_lib.reporting.figures import figure_text
from trasgo_lib.reporting.markup import Html, Section, figure, note, paragraph, table, text
from trasgo_lib.reporting.restricted import RestrictedFacts

_A_FIGURE = 8
"""Columns in one figure, so that no figure is longer than a sheet of paper."""

MOST_IN_A_MATRIX = 24
"""Columns of a heat map; of more, those whose correlations changed most are drawn."""

MOST_PAIRS = 200
"""Pairs in the table; of more, those that changed most are listed."""

_MOST_TICKS = 5
_LONG = 6
"""Letters from which on only three values stand below a chart."""

_LETTERS = 28
"""Letters of labels that fit below a chart."""


def distributions(facts: RestrictedFacts) -> Iterator[Section]:
    """Every column before and after the noise."""
    columns = facts.comparison.get("columns", [])
    if not columns:
        return
    body: list[Html] = [
        paragraph(
            "Raw values before the noise and released values after it, as they stand in the data file. Numbers are cut"
            " into equal parts of their declared domain. Of many labels the most frequent ones have a bar of their own;"
            " all others together stand in the table."
        )
    ]
    for number in range(0, len(columns), _A_FIGURE):
        part = columns[number : number + _A_FIGURE]
        overlays = [_overlay(facts.plan, column) for column in part]
        words = f"Distributions before and after the noise of {', '.join(column['name'] for column in part)}."
        body.append(figure(step_histograms(f"d{number}", overlays), words))
    rows = [row for column in columns for row in _bar_rows(facts.plan, column)]
    body.append(table("bars", "Distributions in figures", ("column", "from", "before, %", "after, %"), rows))
    yield Section("distributions", "Distributions before and after", tuple(body))


def _overlay(plan: ReleasePlan, column: Mapping[str, Any]) -> Overlay:
    names = _names(plan, column)
    count = len(names)
    if column["kind"] == "number":
        ends = [*names, _last(plan, column)]
        most = _MOST_TICKS if max(map(len, ends)) <= _LONG else 3
        places = sorted({round(place * count / (most - 1)) for place in range(most)})
        ticks = tuple((float(place), ends[place]) for place in places)
    else:
        # what all rare labels hold together would be the highest bar and tell nothing
        count -= column["codes"][-1] is None
        every = -(-count * max(map(len, names[:count])) // _LETTERS)
        ticks = tuple((place + 0.5, names[place]) for place in range(0, count, every))
    before, after = _percent(column["before"]), _percent(column["after"])
    return Overlay(column["name"], ticks, before[:count], after[:count])


def _percent(counts: Sequence[int]) -> tuple[float, ...]:
    whole = sum(counts) or 1
    return tuple(100 * count / whole for count in counts)


def _bar_rows(plan: ReleasePlan, column: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    before, after = _percent(column["before"]), _percent(column["after"])
    for name, mine, other in zip(_names(plan, column), before, after, strict=True):
        yield column["name"], name, f"{mine:.2f}", f"{other:.2f}"
    if any(column["missing"]):
        shares = (100 * part / max(facts_rows(column), 1) for part in column["missing"])
        yield column["name"], "missing, of all rows", *(f"{share:.2f}" for share in shares)


def facts_rows(column: Mapping[str, Any]) -> int:
    """Rows behind a column's bars, missing ones included."""
    return int(sum(column["before"]) + column["missing"][0])


def _names(plan: ReleasePlan, column: Mapping[str, Any]) -> list[str]:
    """What each bar begins with, or the label that it is of."""
    domain = _domain(plan, column)
    codes = [code for code in column["codes"] if code is not None]
    decoded: Any = domain.decode(np.array(codes, dtype=np.int32))
    names = [_value(value) for value in (decoded.to_pylist() if hasattr(decoded, "to_pylist") else decoded.tolist())]
    return names + ["all others"] * (len(column["codes"]) - len(codes))


def _last(plan: ReleasePlan, column: Mapping[str, Any]) -> str:
    domain = _domain(plan, column)
    decoded: Any = domain.decode(np.array([domain.size - 1], dtype=np.int32))
    return _value(decoded.tolist()[0])


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _domain(plan: ReleasePlan, column: Mapping[str, Any]) -> Domain:
    unit = plan.unit(column["unit"])
    return unit.part(column["name"]).domain if unit.parts else unit.domain


def correlations(facts: RestrictedFacts) -> Iterator[Section]:
    """Coefficients before, after, and what the noise changed."""
    pairs = facts.comparison.get("pairs", [])
    if not pairs:
        return
    every = list(dict.fromkeys(name for pair in pairs for name in (pair["left"], pair["right"])))
    names = _most_changed(every, pairs)
    method = str(facts.comparison["method"]).capitalize()
    lead = (
        f"{method} correlations of the values as they stand, not debiased: noise moves them towards 0, and the toolkit"
        " undoes that. Labels count by their place in the declared order."
    )
    if len(names) < len(every):
        lead += f" The maps show the {len(names)} of {len(every)} columns whose correlations changed most."
    maps: list[Html] = []
    for key, title in (("before", "Before, raw"), ("after", "After, released"), ("difference", "Difference")):
        values = _matrix(names, pairs, key)
        largest = max((abs(value) for row in values for value in row if value is not None and value < 1), default=0.0)
        words = f"Heat map of correlations, {title.lower()}; largest off the diagonal {largest:.2f}."
        maps.append(f"<div><h3>{title}</h3>{figure(matrix_chart(f'm-{key}', names, values), words)}</div>")
    body: list[Html] = [paragraph(lead), f'<div class="maps">{"".join(maps)}</div>']
    changed = sorted(pairs, key=lambda pair: -abs(_change(pair) or 0.0))[:MOST_PAIRS]
    rows = [
        (f"{pair['left']} and {pair['right']}", *map(_coefficient, (pair["before"], pair["after"], _change(pair))))
        for pair in changed
    ]
    caption = "Correlations in figures, most changed first"
    if len(changed) < len(pairs):
        body.append(note(f"The table holds the {len(changed)} of {len(pairs)} pairs that changed most."))
    body.append(table("pairs", caption, ("pair", "before", "after", "difference"), rows))
    yield Section("correlations", "Correlations before and after", tuple(body))


def _change(pair: Mapping[str, Any]) -> float | None:
    if pair["before"] is None or pair["after"] is None:
        return None
    return float(pair["after"] - pair["before"])


def _coefficient(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _most_changed(names: list[str], pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    if len(names) <= MOST_IN_A_MATRIX:
        return names
    moved = dict.fromkeys(names, 0.0)
    for pair in pairs:
        for name in (pair["left"], pair["right"]):
            moved[name] = max(moved[name], abs(_change(pair) or 0.0))
    kept = sorted(names, key=lambda name: -moved[name])[:MOST_IN_A_MATRIX]
    return [name for name in names if name in kept]


def _matrix(names: Sequence[str], pairs: Sequence[Mapping[str, Any]], key: str) -> list[list[float | None]]:
    place = {name: number for number, name in enumerate(names)}
    values: list[list[float | None]] = [[None] * len(names) for _ in names]
    for number in range(len(names)):
        values[number][number] = 0.0 if key == "difference" else 1.0
    for pair in pairs:
        if pair["left"] in place and pair["right"] in place:
            row, column = place[pair["left"]], place[pair["right"]]
            value = _change(pair) if key == "difference" else pair[key]
            values[row][column] = values[column][row] = value
    return values


def places(facts: RestrictedFacts) -> Iterator[Section]:
    """Points before and after, and how far they moved."""
    found = facts.comparison.get("places", [])
    if not found:
        return
    body: list[Html] = []
    for number, place in enumerate(found):
        body += [f"<h3>{text(place['name'])}</h3>", *_place(number, place)]
    yield Section("places", "Points before and after", tuple(body))


def _place(number: int, place: Mapping[str, Any]) -> Iterator[Html]:
    maps = [Density("Before, raw", _lines(place, "before")), Density("After, released", _lines(place, "after"))]
    words = f"Maps of {place['name']} before and after on a grid of {place['grid_rows']} by {place['grid_columns']}."
    caption = "North is up. The deeper the colour, the more points; both maps share one scale."
    yield figure(density_maps(f"p{number}", maps, place["aspect"]), words, caption)
    shares = _percent(place["moved"])
    ends = [_distance(edge) for edge in place["edges_m"]]
    first = next((at for at, count in enumerate(place["moved"]) if at and count), len(ends))
    drawn = [at for at in range(len(ends)) if not at or at >= first]
    bars = [Bar(ends[at], (shares[at],), f"{shares[at]:.1f}") for at in drawn]
    if bars:
        words = "How far points moved: " + "; ".join(f"{bar.name} {bar.text} %" for bar in bars) + "."
        mean = place["mean_m"]
        caption = "Distance between raw and released cell." + ("" if mean is None else f" Mean {figure_text(mean)} m.")
        yield figure(stacked_bars(f"moved{number}", bars, "percent of the points"), words, caption)
    rows = [(ends[at], place["moved"][at], f"{shares[at]:.2f}") for at in drawn]
    head = ("distance", "points", "percent")
    yield table(f"moved-{number}", f"How far {place['name']} moved", head, rows)


def _distance(edge: float) -> str:
    if not edge:
        return "same cell"
    return f"to {edge / 1000:.3g} km" if edge >= 1000 else f"to {edge:.3g} m"


def _lines(place: Mapping[str, Any], key: str) -> tuple[tuple[float | None, ...], ...]:
    """Shares by line of the map and cell in it; the last count, of missing points, is left out."""
    counts = place[key][:-1]
    whole = sum(counts) or 1
    cells: list[float | None] = [None] * (place["grid_rows"] * place["grid_columns"])
    for at, count in zip(place["places"], counts, strict=True):
        cells[at] = 100 * count / whole
    width = place["grid_columns"]
    return tuple(tuple(cells[start : start + width]) for start in range(0, len(cells), width))
