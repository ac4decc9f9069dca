"""A window for people: the map as a picture and as a page, and the report in Markdown."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np

from trasgo_lib.collection.concluding import (
    SMALL_POPULATION,
    LevelTable,
    linkage,
    reports_per_cell,
)
from trasgo_lib.collection.sizing import REPORTS_PER_CELL
from trasgo_lib.collection.statement import (
    CAUTION,
    GUARANTEE,
    LEDGER,
    NOT_COVERED,
    POINT,
    CollectionFacts,
    device_words,
)
from trasgo_lib.data.cells import cell_rings
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


def map_svg(facts: CollectionFacts, table: LevelTable) -> str:
    """The static map of one resolution."""
    caption = f"{facts.plan.config.release.title}, {window_words(facts)}, H3 resolution {table.alphabet.resolution}"
    return draw_cells(map_cells(table), caption).svg + "\n"


def map_page(facts: CollectionFacts) -> str:
    """The interactive map of the finest resolution."""
    table = facts.tables[-1]
    order = _largest_first(table)
    names = table.alphabet.names()
    return MapPage(
        title=facts.plan.config.release.title,
        above=f"Heat map of noised reports, {window_words(facts)}",
        lead=(
            f"{facts.reports:,} devices reported one H3 cell each (resolution {table.alphabet.resolution}), noised "
            "before it left the device.",
            f"{len(order)} of {len(table.alphabet.cells)} cells stand out from the noise.",
        ),
        facts=_key_facts(facts, table),
        cells=map_cells(table),
        rows=[MapRow(names[slot], _share(table, slot), _interval(table, slot)) for slot in order],
        notes=reading_notes(facts, table),
        caution=CAUTION,
        below=f"{facts.plan.config.release.dataset} {facts.version}. Made with trasgo {facts.library_version}.",
    ).markup


def report_text(facts: CollectionFacts) -> str:
    """The report in Markdown."""
    info = facts.plan.config.release
    lines = [
        f"# {info.title}",
        "",
        f"{window_words(facts)[0].upper()}{window_words(facts)[1:]}. {info.description}".strip(),
        "",
    ]
    lines += [GUARANTEE, "", f"**{CAUTION}**", "", "## Estimates", ""]
    for table in facts.tables:
        order = _largest_first(table)
        names = table.alphabet.names()
        lines += [
            f"Resolution {table.alphabet.resolution}: {table.reports:,} reports, {len(order)} of "
            f"{len(table.alphabet.cells)} cells are shown.",
            "",
            "| cell | share | interval |",
            "|---|---|---|",
            *(f"| {names[slot]} | {_share(table, slot)} | {_interval(table, slot)} |" for slot in order[:_MOST_LISTED]),
            "",
        ]
    lines += ["## How to read it", "", *(f"- {note}" for note in reading_notes(facts, facts.tables[-1])), ""]
    lines += ["## What it cost", "", *(f"- {line}" for line in _costs(facts)), f"- {LEDGER}", ""]
    lines += ["## Not covered", "", *(f"- {line}" for line in NOT_COVERED)]
    return "\n".join(lines) + "\n"


def reading_notes(facts: CollectionFacts, table: LevelTable) -> list[str]:
    """What a reader of the map has to know."""
    show = facts.plan.config.show
    rule, tied, (steady, fine) = reports_per_cell(table), linkage(table), REPORTS_PER_CELL
    enough = (
        "meets both rules of thumb" if rule.is_fine else "meets the first only" if rule.is_steady else "meets neither"
    )
    rows = [
        f"A cell is shown when its estimate clears its error: with probability {1 - float(show.level):.3g} no cell in "
        "which nobody was is shown.",
        "Shades show shares that are all at least 0 and together 1 (norm-sub), which is best for a map and biased; the "
        "table holds unbiased shares with their intervals, so the two differ a little.",
        "Sums over cells are best made from the column share, in which negative estimates balance positive ones.",
        f"There are {rule.average:,.0f} reports for each cell: that {enough} ({steady:,} to show more than the largest "
        f"cells, {fine:,} to show most).",
    ]
    if tied.small:
        rows.append(
            f"{len(tied.small)} shown cells could hold fewer than {SMALL_POPULATION} devices: think of who lives there "
            "before you draw conclusions on them."
        )
    elif tied.shown:
        rows.append(
            f"No shown cell could be tied to fewer than {SMALL_POPULATION} reporting devices; the smallest has at "
            f"least {tied.least_devices:,}."
        )
    failed = dict.fromkeys(check.words for checks in facts.health.values() for check in checks if not check.is_passed)
    rows += [f"A check of the clients failed, and this was published all the same: {words}" for words in failed]
    if facts.left_out:
        rows.append(f"{len(facts.left_out)} client versions sent too few reports to be used, and are left out.")
    return rows


def window_words(facts: CollectionFacts) -> str:
    """The window, in words."""
    first = date.fromisoformat(facts.window)
    last = first + timedelta(days=facts.plan.windows.days - 1)
    return f"{first.isoformat()} to {last.isoformat()}"


def _key_facts(facts: CollectionFacts, table: LevelTable) -> list[tuple[str, object]]:
    claims = dict.fromkeys(part.channel.claim.epsilon.text for part in facts.parts)
    error = float(np.median(table.standard_error[: len(table.alphabet.cells)]))
    return [
        ("Epsilon of a report", ", ".join(claims)),
        ("Lifetime cap of a device", device_words(facts.plan)),
        ("Reports", f"{facts.reports:,}"),
        ("Usual standard error", percent(error)),
    ]


def _costs(facts: CollectionFacts) -> list[str]:
    rows = []
    for part in facts.parts:
        claim = part.channel.claim
        more = "" if claim.permanent is None else f", and of all reports of one cell at most {claim.permanent.text}"
        rows.append(
            f"{claim.mechanism} at resolution {part.alphabet.resolution}: epsilon {claim.certified:f} a report, and "
            f"one report a window{more} ({part.counted.reports:,} reports)."
        )
    rows.append(f"A device stops before its reports together pass epsilon {device_words(facts.plan)}.")
    if (point := facts.plan.point) is not None:
        rows.append(
            f"{POINT} Epsilon {point.epsilon.text} a point at {point.radius_m} m, at most {point.lifetime.text} ever."
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
