"""The interactive map: one HTML file with its script inside, which the page allows by its digest and nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from trasgo_lib.reporting.cell_map import HIDDEN, SHADES, MapCell, draw_cells, from_percent
from trasgo_lib.reporting.markup import Html, bullets, key_facts, paragraph, stylesheet, table, text, warning

_STYLE = """
#beside { display: grid; grid-template-columns: minmax(0, 3fr) minmax(15rem, 2fr); gap: 1rem 1.6rem }
#map svg { width: 100%; max-width: none; height: auto; max-height: 85vh; border: 1px solid var(--line) }
#map path[id] { cursor: pointer }
#map path[id]:focus { outline: none }
#map path.chosen { stroke: #c44e00; stroke-width: 3 }
#tools button { font: inherit; min-width: 2.75rem; min-height: 2.75rem; margin-right: .4rem }
#legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; list-style: none; padding: 0; margin: .4rem 0 }
#legend span { display: inline-block; width: 1.5rem; height: 1rem; border: 1px solid #8a8a8a; margin-right: .4rem }
#told { min-height: 3.2rem; font-weight: 600 }
#shown { max-height: 70vh; overflow-y: auto }
#shown tr[tabindex] { cursor: pointer }
#shown tr.chosen { background: #fbf3ee }
@media (max-width: 44rem) { #beside { display: block } #shown { max-height: none } }
@media print { #tools, #told { display: none } #beside { display: block } #shown { max-height: none } }
"""


@dataclass(frozen=True, slots=True)
class MapRow:
    """A cell that is shown, as the table tells it.

    Args:
        name: its index.
        share: estimated share, in words.
        interval: its interval, in words.
    """

    name: str
    share: str
    interval: str


@dataclass(frozen=True, slots=True)
class MapPage:
    """What the page says.

    Args:
        title: of the collection.
        above: which window this is.
        lead: sentences on what is mapped and how sure it is.
        facts: a few figures with their names.
        cells: every cell of the map.
        rows: the shown ones, the largest share first.
        interval: what their intervals are called.
        notes: what a reader has to know.
        caution: what nobody may miss.
        below: the last line.
    """

    title: str
    above: str
    lead: Sequence[str]
    facts: Sequence[tuple[str, object]]
    cells: Sequence[MapCell]
    rows: Sequence[MapRow]
    interval: str
    notes: Sequence[str]
    caution: str
    below: str

    @property
    def markup(self) -> str:
        """The page as one document."""
        script = files("trasgo_lib.reporting").joinpath("map.js").read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        drawn = draw_cells(self.cells, f"{self.title}, {self.above}", for_a_page=True)
        shown = _table(self.rows, self.interval)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            f"<title>{text(self.title)}: {text(self.above)}</title>\n<style>\n{stylesheet()}{_STYLE}</style>\n</head>\n"
            f'<body>\n<header><p class="above">{text(self.above)}</p><h1>{text(self.title)}</h1>'
            f"{paragraph(*self.lead)}{key_facts(self.facts)}</header>\n<main>\n"
            f'{warning(self.caution)}<div id="beside"><section aria-label="Map"><div id="tools" hidden>'
            '<button id="nearer" type="button" aria-label="Nearer">+</button>'
            '<button id="farther" type="button" aria-label="Farther">−</button>'
            "<span>Choose a cell, move with the arrow keys.</span></div>"
            f'<figure id="map">{drawn.svg}{_legend(drawn.breaks)}</figure>'
            '<p id="told" aria-live="polite"></p></section>\n'
            f'<section id="shown" aria-label="Cells that stand out">{shown}</section></div>\n'
            f'<section id="read"><h2>How to read it</h2>{bullets(self.notes)}</section>\n</main>\n'
            f"<footer><p>{text(self.below)}</p></footer>\n<script>{script}</script>\n</body>\n</html>\n"
        )


def _legend(breaks: Sequence[float]) -> Html:
    """The shades with their lower ends, in letters that a phone can show."""
    entries = [("#ffffff", HIDDEN), *((shade, from_percent(low)) for shade, low in zip(SHADES, breaks))]
    return (
        '<figcaption><ul id="legend">'
        + "".join(f'<li><span style="background:{shade}"></span>{text(words)}</li>' for shade, words in entries)
        + "</ul></figcaption>"
    )


def _table(rows: Sequence[MapRow], interval: str) -> Html:
    if not rows:
        return paragraph("No cell stands out from the noise.")
    caption = f"{len(rows)} cells that stand out, the largest first"
    told = [(row.name, row.share, row.interval) for row in rows]
    made = table("cells", caption, ("Cell", "Share", interval), told, folded_from=10**9)
    return _with_names(made, (row.name for row in rows))


def _with_names(made: Html, names: Iterable[str]) -> Html:
    """Each row with the id by which the script finds it."""
    for name in names:
        made = made.replace(
            f'<tr><th scope="row">{text(name)}<', f'<tr id="row-{text(name)}"><th scope="row">{text(name)}<'
        )
    return made
