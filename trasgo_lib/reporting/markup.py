"""HTML that stands alone: elements whose text cannot break out of them, and a page without script, font or address.

Every table has a caption and scopes, and becomes one card a row on a narrow screen; every chart has its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

Html = str
"""Markup; text from elsewhere goes through :func:`text` first."""

Cells = Sequence[object]
"""One row; the first cell is its heading."""

FOLDED_FROM = 13
"""Rows from which a table is folded away; its caption says how many there are, and paper shows them all."""

_WIDE_FROM = 4
"""Columns from which a table becomes cards on a narrow screen."""


def text(value: object) -> Html:
    """Text as markup, on one line."""
    return escape(" ".join(str(value).split()))


_LONGEST_WORD = 16
"""Letters up to which a word stands in a cell as one."""

_PIECE = re.compile(r"[^_]{1,24}_*|_+")
"""What a longer one may be broken into: after low lines, and where there are none."""


def _cell(value: object) -> Html:
    """Text of a cell, in which long names may break, so that they do not take the room of the other columns."""
    return " ".join(
        "<wbr>".join(map(escape, _PIECE.findall(word) if len(word) > _LONGEST_WORD else (word,)))
        for word in str(value).split()
    )


def paragraph(*sentences: object) -> Html:
    """A paragraph."""
    return f"<p>{text(' '.join(str(sentence) for sentence in sentences))}</p>"


def note(*sentences: object) -> Html:
    """A paragraph in smaller letters, beside a chart or a table."""
    return f'<p class="note">{text(" ".join(str(sentence) for sentence in sentences))}</p>'


def warning(*sentences: object) -> Html:
    """A paragraph that nobody may miss."""
    return f'<p class="warning">{text(" ".join(str(sentence) for sentence in sentences))}</p>'


def bullets(entries: Iterable[object]) -> Html:
    """A list."""
    return "<ul>" + "".join(f"<li>{text(entry)}</li>" for entry in entries) + "</ul>"


def code(block: str) -> Html:
    """Lines to be typed as they stand."""
    return f"<pre><code>{escape(block)}</code></pre>"


def key_facts(entries: Iterable[tuple[str, object]]) -> Html:
    """What a reader looks for first: a few figures with their names."""
    pairs = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in entries)
    return f'<dl class="facts">{pairs}</dl>'


def figure(svg: Html, words: str, caption: str = "") -> Html:
    """A chart.

    Args:
        svg: an svg element.
        words: what it shows, for those who do not see it.
        caption: what stands below it.
    """
    named = svg.replace("<svg", f'<svg role="img" aria-label="{text(words)}"', 1)
    below = f"<figcaption>{text(caption)}</figcaption>" if caption else ""
    return f"<figure>{named}{below}</figure>"


def table(
    name: str, caption: str, head: Sequence[str], rows: Iterable[Cells], *, folded_from: int = FOLDED_FROM
) -> Html:
    """A table; long ones are folded.

    Args:
        name: its id in the page.
        caption: what it holds.
        head: headings of its columns.
        rows: as many cells as headings each.
        folded_from: rows from which it is folded away.

    Raises:
        ValueError: a row of another length.
    """
    is_cards = len(head) >= _WIDE_FROM
    lines = [_card(head, row) if is_cards else _row(head, row) for row in rows]
    # cards are no table for a browser any more, so roles say what they are
    table_role, row_role, head_role = (
        (' role="table" class="cards"', ' role="row"', ' role="columnheader"') if is_cards else ("", "", "")
    )
    top = "".join(f'<th scope="col"{head_role}>{text(title)}</th>' for title in head)
    whole = (
        f'<div class="wide"><table id="{name}"{table_role}><caption>{text(caption)}</caption>'
        f"<thead><tr{row_role}>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )
    if len(lines) < folded_from:
        return whole
    return f"<details><summary>{text(caption)} ({len(lines)} rows)</summary>{whole}</details>"


def _row(head: Sequence[str], row: Cells) -> Html:
    _require_length(head, row)
    rest = "".join(f"<td{_CLASSES[_is_figure(value)]}>{_cell(value)}</td>" for value in row[1:])
    return f'<tr><th scope="row">{_cell(row[0])}</th>{rest}</tr>'


def _card(head: Sequence[str], row: Cells) -> Html:
    _require_length(head, row)
    rest = "".join(
        f'<td role="cell" data-head="{text(title)}"{_CLASSES[_is_figure(value)]}>{_cell(value)}</td>'
        for title, value in zip(head[1:], row[1:], strict=True)
    )
    return f'<tr role="row"><th scope="row" role="rowheader">{_cell(row[0])}</th>{rest}</tr>'


def _require_length(head: Sequence[str], row: Cells) -> None:
    if len(row) != len(head):
        raise ValueError(f"a row of {len(row)} cells in a table of {len(head)} columns")


_CLASSES = {True: ' class="figure"', False: ""}
_FIGURE = re.compile(r"[-+±]?[\d.,]+(e[-+]?\d+)?( ?(%|times))?")


def _is_figure(value: object) -> bool:
    """Whether a cell is a bare figure, which stands to the right."""
    return bool(_FIGURE.fullmatch(str(value)))


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a page.

    Args:
        name: its id.
        title: its heading.
        body: its markup, in order.
    """

    name: str
    title: str
    body: tuple[Html, ...]

    @property
    def markup(self) -> Html:
        """The section as markup."""
        return f'<section id="{self.name}"><h2>{text(self.title)}</h2>{"".join(self.body)}</section>'


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page.

    Args:
        title: its title and first heading.
        above: what stands above the heading, such as which report this is.
        lead: markup below the heading.
        sections: in order; the list of contents follows them.
        below: the last line.
        is_restricted: whether it must say on every sheet that it may not be passed on.
    """

    title: str
    above: str
    lead: tuple[Html, ...]
    sections: tuple[Section, ...]
    below: str
    is_restricted: bool = False

    @property
    def markup(self) -> str:
        """The page as one document."""
        contents = "".join(f'<li><a href="#{part.name}">{text(part.title)}</a></li>' for part in self.sections)
        kind = ' class="restricted"' if self.is_restricted else ""
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light">\n'
            f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            f"<title>{text(self.title)}: {text(self.above)}</title>\n<style>\n{stylesheet()}</style>\n</head>\n"
            f'<body{kind}>\n<header><p class="above">{text(self.above)}</p><h1>{text(self.title)}</h1>'
            f'{"".join(self.lead)}</header>\n<nav aria-label="Contents"><ol>{contents}</ol></nav>\n<main>\n'
            + "\n".join(part.markup for part in self.sections)
            + f"\n</main>\n<footer><p>{text(self.below)}</p></footer>\n</body>\n</html>\n"
        )


def stylesheet() -> str:
    """The style of all pages."""
    return files("trasgo_lib.reporting").joinpath("page.css").read_text(encoding="utf-8")
