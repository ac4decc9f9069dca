"""A figure on a canvas of fixed size, and its SVG, fit to stand in a page with others.

The same figure gives the same bytes, here and on another machine with the same lock: places are set and not fitted to
the width of words, text stays text in the reader's own font, and no date, no path of a font, no random name is written.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 5.0
"""Inches a chart is wide: 360 points, so that on a phone, where a page is 360 to 390 wide, its text keeps its size."""

INK, GREY, PALE = "#1a1a1a", "#5c5c5c", "#d9d9d9"
BLUE, ORANGE = "#0072b2", "#c44e00"
"""Told apart by everyone (Okabe and Ito 2008, the orange darkened until it stands out from white by 4.5 to 1)."""

_NAME = 17
"""Letters of a name that fit left of a chart; tables hold it whole."""

_SETTINGS: Any = {
    "svg.hashsalt": "trasgo",  # names of clip paths are then the same every time
    "svg.fonttype": "none",  # text stays text: small, found by a search, and no font is written
    "font.family": "sans-serif",
    "font.size": 8.5,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "axes.formatter.useoffset": False,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
    "path.simplify": False,
}


def draw(key: str, high: float, paint: Callable[[Figure], None], wide: float = WIDE) -> str:
    """The SVG element of a figure.

    Args:
        key: put before every id, so that ids are unique in a page of several charts.
        high: inches.
        paint: puts axes on the empty figure; every axes has its place, nothing is laid out.
        wide: inches.
    """
    # imported late: only charts need the plotting library
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(wide, high))
        FigureCanvasSVG(figure)
        paint(figure)
        written = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with warnings.catch_warnings():
            # text is set by the reader's fonts; what the measuring font lacks concerns nobody
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(written, format="svg", transparent=True, metadata=nothing)
    return _for_a_page(written.getvalue(), key)


def axes_at(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches from the lower left corner."""
    wide, high = figure.get_size_inches()
    return figure.add_axes((left / wide, bottom / high, width / wide, height / high))


def shortened(name: str, most: int = _NAME) -> str:
    """A name that fits beside a chart."""
    return name if len(name) <= most else name[: most - 1] + "…"


def escaped(text: str) -> str:
    """Text as the plotting library shall show it: a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def _for_a_page(svg: str, key: str) -> str:
    """The svg element alone: no document type, no metadata, no width, ids of its own, fonts left to the page."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r' (?:xmlns(?::xlink)?|version)="[^"]*"', "", svg)
    svg = svg.replace("xlink:href", "href")
    wanted = set(re.findall(r'(?:url\(|href=")#([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda found: f' id="{key}-{found[1]}"' if found[1] in wanted else "", svg)
    svg = re.sub(r'(url\(|href=")#', rf"\1#{key}-", svg)
    svg = re.sub(r"font: (?:bold |700 )([0-9.]+px)[^;\"]*", r"font-size: \1; font-weight: 700", svg)
    svg = re.sub(r"font: ([0-9.]+px)[^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r" ?font-family: [^;\"]*;?", "", svg)
    svg = re.sub(r'<style type="text/css">[^<]*</style>\s*', "", svg)
    svg = re.sub(r"<defs>\s*</defs>\s*", "", svg)
    return re.sub(r">\s+<", "><", svg)
