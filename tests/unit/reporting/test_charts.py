"""Charts: the same bytes every time and everywhere, ids of their own, nothing from outside, their words in them."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from trasgo_lib.reporting.charts import (
    Bar,
    Density,
    Overlay,
    Whisker,
    density_maps,
    interval_chart,
    matrix_chart,
    stacked_bars,
    step_histograms,
)
from trasgo_lib.reporting.charts.bars import round_spans

BARS = [Bar("wage & <tax>", (0.25, 0.5), "0.75"), Bar("a_very_long_name_of_a_column$", (0.25, 0, 0, 0, 1.5), "1.75")]
CHARTS = {
    "bars": lambda key: stacked_bars(key, BARS, "epsilon"),
    "intervals": lambda key: interval_chart(
        key,
        [
            Whisker("wage", (0.5, 0.4, 0.6), (0.6, 0.3, 9.0), 0.55),
            Whisker("region", None, None, 1.2),
        ],
    ),
    "histograms": lambda key: step_histograms(
        key, [Overlay(name, ((0.0, "0"), (2.0, "9")), (40.0, 60.0), (55.0, 45.0)) for name in ("wage", "age", "sex")]
    ),
    "matrix": lambda key: matrix_chart(key, ["a", "b"], [[1.0, -0.62], [-0.62, None]]),
    "maps": lambda key: density_maps(key, [Density("Before", ((1.0, None), (0.0, 3.0)))] * 2, 1.4),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_one_element_that_needs_nothing_from_outside(name: str) -> None:
    svg = CHARTS[name]("x")
    assert svg.startswith("<svg ") and svg.endswith("</svg>")
    ElementTree.fromstring(svg)
    assert "://" not in svg and "<style" not in svg and "<script" not in svg and "metadata" not in svg
    assert "font-family" not in svg and "DejaVu" not in svg
    assert not re.search(r"<svg[^>]* (width|height)=", svg) and "viewBox" in svg


def test_dates_below_a_histogram_stand_apart_and_inside_the_picture() -> None:
    days = ((0.0, "2026-01-01"), (5.0, "2026-07-03"), (10.0, "2026-12-31"))
    svg = step_histograms("x", [Overlay("seen", days, (10.0,) * 10, (10.0,) * 10)] * 2)
    wide = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])  # type: ignore[index]
    middles = [float(x) for x in re.findall(r'text-anchor: middle[^>]* x="([\d.]+)"[^>]*>2026-', svg)]
    half = 10 * 0.6 * 7.5 / 2  # ten letters of at most 0.6 of their height
    assert len(middles) == 6 and middles[-1] + half <= wide
    assert all(right - left > 2 * half for left, right in itertools.pairwise(middles))


@pytest.mark.filterwarnings("error")
def test_names_in_any_script_are_drawn_without_a_warning() -> None:
    assert "名前" in stacked_bars("x", [Bar("名前", (0.25,), "0.25")], "epsilon")


@pytest.mark.parametrize("name", CHARTS)
def test_two_charts_in_a_page_share_no_id(name: str) -> None:
    first, second = (re.findall(r' id="([^"]+)"', CHARTS[name](key)) for key in ("one", "two"))
    assert len(set(first)) == len(first) and not set(first) & set(second)
    svg = CHARTS[name]("one")
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', svg)) == set(first)


def test_another_process_with_another_hash_seed_draws_the_same_bytes() -> None:
    code = (
        "from trasgo_lib.reporting.charts import *\n"
        "print(matrix_chart('x', ['a', 'b'], [[1.0, -0.62], [-0.62, None]]))\n"
        "print(stacked_bars('x', [Bar('wage', (0.25, 0.5), '0.75')], 'epsilon'), end='')\n"
    )
    drawn = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    here = CHARTS["matrix"]("x") + "\n" + stacked_bars("x", [Bar("wage", (0.25, 0.5), "0.75")], "epsilon")
    assert drawn == {here}


def test_names_are_shown_as_they_are_and_cut_where_they_are_long() -> None:
    words = [text.text for text in ElementTree.fromstring(CHARTS["bars"]("x")).iter("text")]
    assert "wage & <tax>" in words and "a_very_long_name…" in words
    dollar = stacked_bars("x", [Bar("$a$", (1.0,), "$1")], "x")
    assert [text.text for text in ElementTree.fromstring(dollar).iter("text")][-2:].count("$1") == 1 or "$a$" in dollar


def test_numbers_of_a_matrix_are_written_in_their_cells() -> None:
    words = [text.text for text in ElementTree.fromstring(CHARTS["matrix"]("x")).iter("text")]
    assert words.count("-.62") == 2 and "1.00" in words and "–" in words
    assert ".00" in matrix_chart("x", ["a"], [[-0.001]]) and "-.00" not in matrix_chart("x", ["a"], [[-0.001]])
    many = [f"c{number}" for number in range(13)]
    assert "1.00" not in matrix_chart("x", many, [[1.0] * 13] * 13)


def test_what_lies_beyond_the_axis_ends_at_it() -> None:
    """A prediction of nine times the target does not push the others into a corner."""
    words = {text.text for text in ElementTree.fromstring(CHARTS["intervals"]("x")).iter("text")}
    assert "2.5" in words and "8" not in words


@pytest.mark.parametrize("rounds", [0, 1, 4, 5, 12, 40])
def test_every_round_has_one_colour(rounds: int) -> None:
    spans = round_spans(rounds)
    assert len(spans) <= 4
    assert [number for first, last in spans for number in range(first, last + 1)] == list(range(1, rounds + 1))
