"""A window for people: the map as a picture and as a page, and the report in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from trasgo_lib.collection.concluding import (
    SMALL_POPULATION,
    LevelTable,
    VersionCounts,
    linkage,
    reports_per_cell,
)
from trasgo_lib.collection.health import HealthCheck
from trasgo_lib.collection.point_estimates import PointMap
from trasgo_lib.collection.reports import Tag
from trasgo_lib.collection.sizing import REPORTS_PER_CELL
from trasgo_lib.collection.words import CAUTION, LEDGER
from trasgo_lib.data.cells import cell_rings
from trasgo_lib.release.collection_file import MAP_PAGE, POINT_MAP_PAGE
from trasgo_lib.reporting.cell_map import MapCell, draw_cells, percent
from trasgo_lib.reporting.map_page import MapPage, MapRow

_MOST_LISTED = 25


def map_cells(table: LevelTable) -> list[MapCell]:
    """The cells of a map: those that noise hides carry no share."""
    names, rings = table.alphabet.names(), cell_rings(table.alphabet.cells)
    found = []
    for slot, ring in enumerate(rings):
        if table.shown[slot]:
            words = f"{names[slot]}: {_share(table, slot)}, {_interval(table, slot)}"
            found.append(MapCell(names[slot], ring, float(table.share_on_map[slot]), words))
        else:
            found.append(MapCell(names[slot], ring, None, f"{names[slot]}: hidden by noise; this does not mean nobody"))
    return found


@dataclass(frozen=True, slots=True)
class Told:
    """What the pages are drawn from: public files only, so that whoever verifies can draw them again.

    Args:
        statement: the content of ``statement.json``.
        parts: channels and counts of each version.
        tables: the published figures, coarse to fine.
        health: the checks of each version.
        points: the published figures of noised points, or None.
    """

    statement: Mapping[str, Any]
    parts: Sequence[VersionCounts]
    tables: Sequence[LevelTable]
    health: Mapping[Tag, Sequence[HealthCheck]]
    points: PointMap | None = None

    @property
    def window(self) -> str:
        """The window, in words."""
        first = date.fromisoformat(self.statement["window"]["first_day"])
        last = first + timedelta(days=self.statement["window"]["days"] - 1)
        return f"{first.isoformat()} to {last.isoformat()}"

    @property
    def interval(self) -> str:
        """What an interval is called."""
        return f"{100 * float(self.statement['show']['confidence']):g} % interval"


def map_svg(told: Told, table: LevelTable) -> str:
    """The static map of one resolution, or that of points."""
    of_points = ", noised points" if _is_of_points(told, table) else ""
    caption = f"{told.statement['title']}, {told.window}, H3 resolution {table.alphabet.resolution}{of_points}"
    return draw_cells(map_cells(table), caption).svg + "\n"


def map_page(told: Told, table: LevelTable) -> str:
    """An interactive map: of the finest resolution, or of points."""
    statement, resolution = told.statement, table.alphabet.resolution
    order = _largest_first(table)
    names = table.alphabet.names()
    of_points = _is_of_points(told, table)
    lead = (
        f"{table.reports:,} devices sent a place each, noised before it left the device. The noise is undone on "
        f"average, and what is left of it is told for each H3 cell (resolution {resolution})."
        if of_points
        else f"{statement['reports']:,} devices reported one H3 cell each (resolution {resolution}), "
        "noised before it left the device."
    )
    return MapPage(
        title=statement["title"],
        above=f"Heat map of noised {'points' if of_points else 'reports'}, {told.window}",
        lead=(lead, f"{len(order)} of {len(table.alphabet.cells)} cells stand out from the noise."),
        facts=_facts_of_points(told, table) if of_points else _key_facts(told, table),
        cells=map_cells(table),
        rows=[MapRow(names[slot], _share(table, slot), _interval(table, slot)) for slot in order],
        interval=told.interval,
        notes=reading_notes(told, table),
        caution=CAUTION,
        below=f"{statement['dataset']} {statement['version']}. Made with trasgo {statement['library_version']}.",
    ).markup


def report_text(told: Told) -> str:
    """The report in Markdown."""
    statement = told.statement
    window = f"{told.window[0].upper()}{told.window[1:]}"
    lines = [f"# {statement['title']}", "", f"{window}. {statement['description']}".strip(), ""]
    if (earlier := statement["supersedes"]) is not None:
        lines += [f"Takes the place of version {earlier['version']} ({earlier['reason']}): {earlier['note']}", ""]
    lines += [statement["guarantee"], "", f"**{CAUTION}**", "", "## Estimates", ""]
    tables = [*told.tables, *([] if told.points is None else [told.points.table])]
    for table in tables:
        lines += _listed(told, table)
    notes = dict.fromkeys(note for table in _read_tables(told) for note in reading_notes(told, table))
    lines += ["## How to read it", "", *(f"- {note}" for note in notes), ""]
    lines += ["## What it cost", "", *(f"- {line}" for line in _costs(told)), f"- {LEDGER}", ""]
    lines += ["## Not covered", "", *(f"- {line}" for line in statement["not_covered"])]
    return "\n".join(lines) + "\n"


def _read_tables(told: Told) -> list[LevelTable]:
    """The tables that have an interactive map."""
    return [*told.tables[-1:], *([] if told.points is None else [told.points.table])]


def _listed(told: Told, table: LevelTable) -> list[str]:
    order, names = _largest_first(table), table.alphabet.names()
    what = "points" if _is_of_points(told, table) else "reports"
    lines = [
        f"Resolution {table.alphabet.resolution}: {table.reports:,} {what}, {len(order)} of "
        f"{len(table.alphabet.cells)} cells are shown.",
        "",
        f"| cell | share | {told.interval} |",
        "|---|---|---|",
        *(f"| {names[slot]} | {_share(table, slot)} | {_interval(table, slot)} |" for slot in order[:_MOST_LISTED]),
        "",
    ]
    if len(order) > _MOST_LISTED:
        lines += [f"These are the {_MOST_LISTED} largest; the table holds all.", ""]
    return lines


def _is_of_points(told: Told, table: LevelTable) -> bool:
    return told.points is not None and table is told.points.table


def reading_notes(told: Told, table: LevelTable) -> list[str]:
    """What a reader of the map has to know."""
    level, left_out = float(told.statement["show"]["level"]), len(told.statement["left_out"])
    of_points = _is_of_points(told, table)
    rows = [
        f"A cell is shown when its estimate clears its error: with probability {1 - level:.3g} no cell in "
        "which nobody was is shown.",
        "Shades show shares that are all at least 0 and together 1 (norm-sub), which is best for a map and biased; the "
        "table holds unbiased shares with their intervals, so the two differ a little.",
        "Sums over cells are best made from the column share, in which negative estimates balance positive ones.",
        _ABOUT_POINTS if of_points else _enough(table),
        *_tied(table, "cells of the map of points" if of_points else "cells"),
        *_other_map(told, of_points=of_points),
    ]
    health = [*told.health.values(), *([] if told.points is None else [[told.points.health]])]
    failed = dict.fromkeys(check.words for checks in health for check in checks if not check.is_passed)
    rows += [f"A check of the clients failed, and this was published all the same: {words}" for words in failed]
    if left_out and not of_points:
        rows.append(f"{left_out} client versions sent too few reports to be used, and are left out.")
    return rows


_ABOUT_POINTS = (
    "A cell of the map of points is the lattice cells whose centres it holds, so a place near a border can count next "
    "door. Whoever was outside the box of the lattice, or in a cell that does not lie whole within it, counts as other."
)


def _other_map(told: Told, *, of_points: bool) -> list[str]:
    """Where a window has two, each names the other."""
    if told.points is None or not told.tables:
        return []
    page = MAP_PAGE if of_points else POINT_MAP_PAGE
    return [f"What devices told of {'their cells' if of_points else 'their places, with noise,'} is in {page}."]


def _enough(table: LevelTable) -> str:
    rule, (steady, fine) = reports_per_cell(table), REPORTS_PER_CELL
    enough = (
        "meets both rules of thumb" if rule.is_fine else "meets the first only" if rule.is_steady else "meets neither"
    )
    return (
        f"There are {rule.average:,.0f} reports for each cell: that {enough} ({steady:,} to show more than the largest "
        f"cells, {fine:,} to show most)."
    )


def _tied(table: LevelTable, cells: str) -> list[str]:
    tied = linkage(table)
    if tied.small:
        return [
            f"{len(tied.small)} shown {cells} could hold fewer than {SMALL_POPULATION} devices: think of who lives "
            "there before you draw conclusions on them."
        ]
    if not tied.shown:
        return []
    one = cells.replace("cells", "cell", 1)
    return [
        f"No shown {one} could be tied to fewer than {SMALL_POPULATION} reporting devices; the smallest has at "
        f"least {tied.least_devices:,}."
    ]


def _facts_of_points(told: Told, table: LevelTable) -> list[tuple[str, object]]:
    point = told.statement["point"]
    error = float(np.median(table.standard_error[: len(table.alphabet.cells)]))
    return [
        (f"Epsilon of a point, lattice cells {point['radius_m']} m apart", point["epsilon"]),
        ("Of places that far apart", point["epsilon_of_raw_places"]),
        ("Lifetime cap of a device, such cells", point["lifetime_epsilon"]),
        ("Of such places", point["lifetime_epsilon_of_raw_places"]),
        ("Points", f"{table.reports:,}"),
        ("Usual standard error", percent(error)),
    ]


def _key_facts(told: Told, table: LevelTable) -> list[tuple[str, object]]:
    claims = dict.fromkeys(part.channel.claim.epsilon.text for part in told.parts)
    error = float(np.median(table.standard_error[: len(table.alphabet.cells)]))
    return [
        ("Epsilon of a report", ", ".join(claims)),
        ("Lifetime cap of a device", _lifetime(told)),
        ("Reports", f"{told.statement['reports']:,}"),
        ("Usual standard error", percent(error)),
    ]


def _lifetime(told: Told) -> str:
    """What a device spends at most, in words: with concentrated accounting the epsilon has a delta."""
    device = told.statement["device"]
    at = f" at delta {device['delta']}" if device["accounting"] == "zcdp" else ""
    return f"{device['lifetime_epsilon']}{at}"


def _costs(told: Told) -> list[str]:
    rows = []
    for part in told.parts:
        claim = part.channel.claim
        more = "" if claim.permanent is None else f", and of all reports of one cell at most {claim.permanent.text}"
        rows.append(
            f"{claim.mechanism} at resolution {part.alphabet.resolution}: epsilon {claim.certified:f} a report, and "
            f"one report a window{more} ({part.counted.reports:,} reports)."
        )
    if told.statement["device"] is not None:
        rows.append(f"A device stops before its reports together pass epsilon {_lifetime(told)}.")
    if (point := told.statement.get("point")) is not None:
        rows.append(
            f"{point['words']} Epsilon {point['certified_epsilon']} a point for lattice cells {point['radius_m']} m "
            f"apart (for places of the box that far apart, before they are put into cells: "
            f"{point['epsilon_of_raw_places']}), one point a window; all points of a device at most "
            f"{point['lifetime_epsilon']} for such cells, "
            f"and {point['lifetime_epsilon_of_raw_places']} for such places."
        )
    return rows


def _largest_first(table: LevelTable) -> list[int]:
    shown = np.flatnonzero(table.shown)
    order: list[int] = shown[np.lexsort((shown, -table.share[shown]))].tolist()
    return order


def _share(table: LevelTable, slot: int) -> str:
    return percent(float(table.share[slot]))


def _interval(table: LevelTable, slot: int) -> str:
    return f"{percent(max(0.0, float(table.low[slot])))} to {percent(float(table.high[slot]))}"
