"""A plan's explanation as plain text, for a terminal or a mail to the people who decide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from trasgo_lib.plan.explain import PlanExplanation, RungExplanation, UnitExplanation

_WIDTH = 100


def render(explanation: PlanExplanation) -> str:
    """The explanation as text; sentences are at most 100 characters wide, tables may be a little wider.

    Args:
        explanation: from ``explain``.
    """
    lines: list[str] = []
    lines += _head(explanation)
    for unit in explanation.units:
        lines += ["", *_unit(unit)]
    lines += ["", *_totals(explanation)]
    lines += ["", "How to read the tables", *_bullets(_legend(explanation))]
    if explanation.warnings:
        lines += ["", "Look at these", *_bullets(explanation.warnings)]
    lines += ["", "Not covered by any epsilon", *_bullets(explanation.not_covered)]
    return "\n".join(lines) + "\n"


def _head(explanation: PlanExplanation) -> Iterator[str]:
    yield f"Plan of {explanation.dataset} version {explanation.version}, paid by account {explanation.account}"
    yield "No data was opened. The file's holder sees the raw rows; what leaves is noised row by row."
    yield from _field("protected", explanation.privacy_unit)
    yield from _field("row order", explanation.row_order)
    yield from _field("public", ", ".join(explanation.public) or "no column")
    yield from _field("not published", ", ".join(explanation.dropped) or "no column")


def _unit(unit: UnitExplanation) -> Iterator[str]:
    columns = f" of {', '.join(unit.columns)}" if unit.type == "group" else ""
    yield f"{unit.name}: {unit.type}{columns}, {unit.mechanism}"
    if unit.selection:
        yield from _field("chosen by", unit.selection)
    yield from _field("values", unit.values)
    yield from _field("sensitivity", unit.sensitivity)
    yield from _field("missing", unit.missing)
    yield from _field("outside", unit.outside)
    if unit.delta:
        yield from _field("delta", unit.delta)
    if unit.target:
        yield from _field("target", f"{unit.target}; {_ladder(unit)}")
    else:
        yield from _field("target", "none: drawn once")
    yield from table(_rows_of(unit))


def _ladder(unit: UnitExplanation) -> str:
    if len(unit.levels) == 1:
        return "one level, drawn once"
    draws = f"{unit.draws_at_most} draw{'s' if unit.draws_at_most > 1 else ''}"
    return f"{len(unit.levels)} levels from {unit.levels[0]} to {unit.levels[-1]}, at most {draws} within the total"


def _rows_of(unit: UnitExplanation) -> list[dict[str, str]]:
    return [_cells(rung, unit) for rung in unit.rungs]


def _cells(rung: RungExplanation, unit: UnitExplanation) -> dict[str, str]:
    """One line of a column's table: heading to text."""
    cells = {"epsilon": rung.level}
    if rung.charged != rung.level:
        cells["charged" if rung.displacement_m is None else "charged per km"] = rung.charged
    cells |= {"protection": rung.strength, "odds x": rung.odds_factor, "guess to": rung.even_guess}
    if rung.displacement_m is not None:
        mean, median, most = (f"{figure(metres)} m" for metres in rung.displacement_m)
        cells |= {"mean move": mean, "half over": median, "1 in 20 over": most}
    if rung.noise_sd is not None and rung.noise_of_range is not None and rung.mean_error is not None:
        cells |= {"noise sd": figure(rung.noise_sd), "of range": f"{figure(100 * rung.noise_of_range)} %"}
        cells |= {"mean of 10,000": f"+/- {figure(rung.mean_error)}"}
    if rung.share_at_bounds is not None:
        cells["at the ends"] = f"{100 * rung.share_at_bounds:.0f} %"
    if rung.keep_probability is not None and unit.type in ("category", "group"):
        cells["kept"] = f"{100 * rung.keep_probability:.1f} %"
    if rung.share_error is not None:
        cells["share of 10,000"] = f"+/- {figure(100 * rung.share_error)} points"
    if rung.share_released_missing:
        cells["turned missing"] = f"{100 * rung.share_released_missing:.1f} %"
    return cells


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Rows under their headings, aligned.

    Args:
        rows: the same headings in each.
    """
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    for cells in ({name: name for name in widths}, *rows):
        yield ("    " + "  ".join(cells[name].ljust(width) for name, width in widths.items())).rstrip()


def _legend(explanation: PlanExplanation) -> tuple[str, ...]:
    types = {unit.type for unit in explanation.units}
    odds = (
        "odds x: an attacker who compares any two values of one record can change the odds by at most this factor,"
        " e^epsilon; guess to: what an even guess (50 %) between them can become"
    )
    numbers = (
        "noise sd: standard deviation of one released value after the published decoder, in the column's unit;"
        " mean of 10,000: 95 % error from the noise alone of a mean over so many rows, smaller with their square root;"
        " at the ends: share of the released values on the two ends of the range when the true ones are spread evenly"
    )
    labels = (
        "kept: share of the values released as they are; share of 10,000: 95 % error from the noise alone of an"
        " estimated share over so many rows"
    )
    points = (
        "epsilon of a point holds for two places at the declared distance and grows with it; mean move: how far"
        " places are moved on average, before they snap to a cell; half of them and one in twenty move further than the"
        " figures after it"
    )
    return (
        odds,
        *((numbers,) if types & {"number", "date"} else ()),
        *((labels,) if types & {"category", "group"} else ()),
        *((points,) if "point" in types else ()),
    )


def _totals(explanation: PlanExplanation) -> Iterator[str]:
    yield "Cost per protected unit"
    yield from _field("epsilon total", f"{explanation.epsilon_total}, never passed; {explanation.total_strength}")
    worst = explanation.worst_case
    each = ", ".join(
        f"{unit.name} {unit.rungs[0].charged}" for unit in explanation.units if unit.rungs[0].displacement_m is None
    )
    yield from _field("first draws", f"{explanation.first_round}" + (f" = sum of {each}" if each else ""))
    yield from _field("worst case", f"epsilon {worst['epsilon']}, delta {worst['delta']}, geo {worst['geo']} per km")
    yield from _field("adding up", explanation.composition)
    yield from _field("delta total", explanation.delta_total)
    if explanation.geo_total != "0":
        yield from _field("geo total", f"{explanation.geo_total} per km, apart from epsilon: the two never add")
    yield from _field("plan digest", explanation.digest)


def figure(value: float) -> str:
    """A derived figure with three significant digits, thousands separated."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 if abs(value) < 10 else 1
    return f"{value:.{digits}f}" if abs(value) >= 0.1 else f"{value:.3g}"


def _field(name: str, text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent=f"  {name:<15} ", subsequent_indent=" " * 18, break_on_hyphens=False
    )


def _bullets(entries: tuple[str, ...]) -> Iterator[str]:
    for entry in entries:
        yield from textwrap.wrap(entry, _WIDTH, initial_indent="  - ", subsequent_indent="    ")
