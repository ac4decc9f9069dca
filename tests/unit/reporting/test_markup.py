"""Pages: text cannot break out of its element, tables and headings are what readers and screen readers expect."""

from __future__ import annotations

import pytest
from lxml import html

from trasgo_lib.reporting.figures import bound_text, count_text, figure_text, percent_text
from trasgo_lib.reporting.markup import Page, Section, bullets, code, figure, paragraph, stylesheet, table

HOSTILE = '<script>alert("x")</script> & <img src=x onerror=y>'


def page() -> str:
    body = (
        paragraph(HOSTILE),
        bullets([HOSTILE]),
        code(HOSTILE),
        table("small", HOSTILE, ("a", "b"), [(HOSTILE, 1)]),
        table("wide", "wide", ("a", "b", HOSTILE, "d"), [("x", 1, 2, HOSTILE)] * 14),
        figure('<svg viewBox="0 0 1 1"></svg>', HOSTILE, HOSTILE),
    )
    return Page(HOSTILE, HOSTILE, (paragraph("lead"),), (Section("one", HOSTILE, body),), HOSTILE).markup


def test_text_stays_text() -> None:
    whole = page()
    tree = html.fromstring(whole)
    assert "<script" not in whole and "<img" not in whole
    assert not tree.xpath("//script|//img|//link|//iframe|//@onerror")
    assert tree.xpath("//h1")[0].text_content() == HOSTILE
    assert tree.xpath("//svg/@aria-label")[0] == HOSTILE


def test_a_page_says_its_language_and_forbids_every_request() -> None:
    tree = html.fromstring(page())
    assert tree.get("lang") == "en"
    assert "default-src 'none'" in tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert "url(" not in stylesheet() and "@import" not in stylesheet() and "://" not in stylesheet()


def test_every_table_has_a_caption_and_scopes() -> None:
    for found in html.fromstring(page()).xpath("//table"):
        assert found.xpath("./caption")
        assert all(cell.get("scope") == "col" for cell in found.xpath("./thead//th"))
        assert all(row.xpath("./th[@scope='row']") for row in found.xpath("./tbody/tr"))


def test_long_tables_are_folded_and_wide_ones_become_cards() -> None:
    tree = html.fromstring(page())
    assert tree.xpath("//details//table/@id") == ["wide"] and "(14 rows)" in tree.xpath("//summary")[0].text_content()
    assert tree.xpath("//table[@class='cards']/@id") == ["wide"]
    (whole,) = tree.xpath("//table[@id='wide']")
    assert whole.get("role") == "table" and {cell.get("data-head") for cell in whole.xpath(".//td")} >= {"b", "d"}


def test_long_names_may_break_in_cells_and_words_may_not() -> None:
    name = "hours_usually_worked_in_all_jobs"
    made = table("t", "T", ("column", "unit"), [(name, "EUR squared"), ("a" * 60, f"in_set <{name}>")])
    assert "hours_<wbr>usually_<wbr>worked_<wbr>in_<wbr>all_<wbr>jobs</th>" in made
    assert "<td>EUR squared</td>" in made and "<td>in_set &lt;hours_<wbr>usually_" in made
    assert [cell.text_content() for cell in html.fromstring(made).iter("th")][2:] == [name, "a" * 60]
    assert f"{'a' * 24}<wbr>{'a' * 24}<wbr>{'a' * 12}</th>" in made


def test_a_row_has_as_many_cells_as_its_head() -> None:
    for head in (("a", "b"), ("a", "b", "c", "d")):
        with pytest.raises(ValueError, match="3 cells"):
            table("x", "x", head, [(1, 2, 3)])


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", ["#1a1a1a", "#5c5c5c", "#0b3c5d", "#8c2f00", "#00557a", "#0072b2", "#c44e00"])
@pytest.mark.parametrize("ground", ["#ffffff", "#f4f6f7", "#fbf3ee"])
def test_text_stands_out_from_its_ground(colour: str, ground: str) -> None:
    light, dark = sorted((_luminance(colour), _luminance(ground)), reverse=True)
    least = 4.5 if colour not in ("#0072b2", "#c44e00") else 3.0  # the last two are lines, not text
    assert (light + 0.05) / (dark + 0.05) >= least


def test_figures_are_short_and_bounds_are_rounded_up() -> None:
    assert [figure_text(value) for value in (0, 0.012345, 1.5, 123.4, 28155.3, 3.4e-5, 1.2e10)] == [
        "0", "0.0123", "1.5", "123", "28,155", "3.40e-05", "1.20e+10",
    ]  # fmt: skip
    assert [percent_text(share) for share in (1, 0.99999, 0.5, 0.00512)] == ["100 %", "over 99.9 %", "50 %", "0.512 %"]
    assert [bound_text(share) for share in (0.7671, 0.99837, 0.0217, 0.5, 0.999999)] == [
        "76.8 %", "99.837 %", "2.17 %", "50 %", "almost 100 %",
    ]  # fmt: skip
    assert [count_text(rows) for rows in (0.04, 9.96, 6339.4)] == ["0.0", "10.0", "6,339"]
    with pytest.raises(ValueError, match="finite"):
        figure_text(float("nan"))


def test_a_bound_is_never_below_its_share() -> None:
    for share in (number / 9973 for number in range(1, 9973)):
        shown = bound_text(share)
        assert shown == "almost 100 %" or float(shown.split()[0]) / 100 >= share - 1e-9
