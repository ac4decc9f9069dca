"""A map of cells as SVG: shaded where an estimate stands out from its noise, outlined where it does not.

No plotting library and no tile: polygons in degrees, drawn with the scale of their middle latitude.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trasgo_lib.reporting.markup import text

Ring = Sequence[tuple[float, float]]
"""Corners in latitude and longitude, degrees."""

SHADES = ("#dbe9f6", "#9ecae1", "#4f9fcb", "#1f6fa8", "#08306b")
"""From the least to the largest share, told apart in grey, too."""

_WIDE = 1000.0
_LEGEND = 54.0
_FIRST_SHADE, _SHADE_STEP = 205.0, 132.0
HIDDEN = "hidden by noise"
"""What an unshaded cell means; never that nobody was there."""

_KM_PER_DEGREE = 111.195
_FLAT, _TALL = 0.5, 1.3
"""Height of the map as a share of its width: flatter areas get a margin, taller ones as well."""


@dataclass(frozen=True, slots=True)
class MapCell:
    """One cell of a map.

    Args:
        name: its index.
        ring: its corners.
        share: estimated share of the reports, or None when noise hides it.
        words: what is known of it, for people.
    """

    name: str
    ring: Ring
    share: float | None
    words: str


@dataclass(frozen=True, slots=True)
class CellMap:
    """A drawn map.

    Args:
        svg: the svg element.
        breaks: lower ends of the shades, as shares.
    """

    svg: str
    breaks: tuple[float, ...]


def draw_cells(cells: Sequence[MapCell], caption: str, *, for_a_page: bool = False) -> CellMap:
    """Draw cells.

    Args:
        cells: at least one; not across the 180th meridian.
        caption: what the map shows, for those who do not see it.
        for_a_page: whether it stands in a page with a script and a legend of its own: each cell has an id then, and
            can be reached by keyboard.

    Raises:
        ValueError: no cell.
    """
    frame = _Frame.around(cells)
    breaks = shade_breaks([cell.share for cell in cells if cell.share is not None])
    paths = [_path(cell, frame, breaks, for_a_page) for cell in cells]
    legend, high = ("", frame.high) if for_a_page else (_legend(breaks, frame), frame.high + _LEGEND)
    return CellMap(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE:.0f} {high:.0f}" role="group" '
        f'aria-label="{text(caption)}"><g class="cells" stroke="#8a8a8a" stroke-width="0.6" '
        f'stroke-linejoin="round">{"".join(paths)}</g>{legend}</svg>',
        breaks,
    )


def shade_breaks(shares: Sequence[float]) -> tuple[float, ...]:
    """Lower ends of the shades: equal ratios from the least to the largest share, since places differ by factors."""
    positive = sorted(share for share in shares if share > 0)
    if not positive:
        return ()
    low, high = positive[0], positive[-1]
    if high / low < 1.2:  # shades would tell apart what is the same
        return (low,)
    ratio = (high / low) ** (1 / len(SHADES))
    return tuple(low * ratio**step for step in range(len(SHADES)))


@dataclass(frozen=True, slots=True)
class _Frame:
    south: float
    west: float
    scale: float
    shrink: float
    high: float
    left: float
    below: float

    @classmethod
    def around(cls, cells: Sequence[MapCell]) -> _Frame:
        points = [point for cell in cells for point in cell.ring]
        if not points:
            raise ValueError("a map has at least one cell")
        south, north = min(lat for lat, _ in points), max(lat for lat, _ in points)
        west, east = min(lon for _, lon in points), max(lon for _, lon in points)
        shrink = max(math.cos(math.radians((south + north) / 2)), 0.01)
        wide, tall = max((east - west) * shrink, 1e-9), max(north - south, 1e-9)
        high = _WIDE * min(max(tall / wide, _FLAT), _TALL)
        scale = 0.98 * min(_WIDE / wide, high / tall)
        return cls(south, west, scale, shrink, high, (_WIDE - wide * scale) / 2, (high - tall * scale) / 2)

    def place(self, latitude: float, longitude: float) -> tuple[float, float]:
        across = self.left + (longitude - self.west) * self.shrink * self.scale
        return across, self.high - self.below - (latitude - self.south) * self.scale


def _path(cell: MapCell, frame: _Frame, breaks: tuple[float, ...], focusable: bool) -> str:
    corners = [frame.place(latitude, longitude) for latitude, longitude in cell.ring]
    steps = "L".join(f"{across:.1f} {down:.1f}" for across, down in corners)
    fill = "#ffffff" if cell.share is None else SHADES[shade_of(cell.share, breaks)]
    known = "" if cell.share is not None else ' fill-opacity="0.4" stroke-opacity="0.45"'
    more = f' id="cell-{text(cell.name)}" tabindex="-1" role="img"' if focusable else ""
    return f'<path d="M{steps}Z" fill="{fill}"{known}{more}><title>{text(cell.words)}</title></path>'


def shade_of(share: float, breaks: tuple[float, ...]) -> int:
    """Which shade a share has."""
    found = sum(share >= low * (1 - 1e-12) for low in breaks)
    return max(0, min(found, len(SHADES)) - 1)


def _legend(breaks: tuple[float, ...], frame: _Frame) -> str:
    top = frame.high + 12
    parts = [
        f'<rect x="10" y="{top:.0f}" width="26" height="20" fill="#ffffff" fill-opacity="0.4" stroke="#8a8a8a" '
        f'stroke-opacity="0.6"/><text x="42" y="{top + 17:.0f}">{HIDDEN}</text>'
    ]
    left = _FIRST_SHADE
    for place, low in enumerate(breaks):
        parts.append(
            f'<rect x="{left:.0f}" y="{top:.0f}" width="26" height="20" fill="{SHADES[place]}" stroke="#8a8a8a"/>'
            f'<text x="{left + 32:.0f}" y="{top + 17:.0f}">{from_percent(low)}</text>'
        )
        left += _SHADE_STEP
    length, km = _scale_bar(frame)
    end = _WIDE - 14
    parts.append(
        f'<path d="M{end - length:.1f} {top:.0f}V{top + 10:.0f}H{end:.1f}V{top:.0f}" fill="none" '
        f'stroke="#1a1a1a"/><text x="{end - length / 2:.1f}" y="{top + 31:.0f}" text-anchor="middle">{km:g} km</text>'
    )
    return f'<g class="legend" font-family="sans-serif" font-size="17" fill="#1a1a1a">{"".join(parts)}</g>'


def from_percent(low: float) -> str:
    """The lower end of a shade, in words."""
    return f"{float(f'{100 * low:.2g}'):g} % +"


def _scale_bar(frame: _Frame) -> tuple[float, float]:
    """Length on the map, and kilometres: 1, 2 or 5 times a power of ten, about a tenth of the width."""
    per_km = frame.scale / _KM_PER_DEGREE
    wanted = _WIDE / 9 / per_km
    power = 10.0 ** math.floor(math.log10(wanted))
    km = max(step * power for step in (1, 2, 5) if step * power <= wanted)
    return km * per_km, km


def percent(share: float) -> str:
    """A share in per cent, with two digits that say something."""
    value = 100 * share
    return f"{value:.3g} %" if abs(value) >= 0.001 or value == 0 else f"{value:.1e} %"
