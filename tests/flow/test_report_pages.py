"""Reports and Data Docs of real runs in a real browser: nothing is fetched, and they fit a phone, a desk and paper."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser import DESK, PHONE, Look, browser, look_at
from lxml import html
from office import Office

PAGES = ("public", "restricted", "docs")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of a release with a group, labels, a chained number and points."""
    office = Office(tmp_path_factory.mktemp("pages"))
    lines = (office.folder / "people.csv").read_text(encoding="utf-8").splitlines()
    moved = [
        f"{line},{41.82 + row % 60 / 1000:.4f},{-87.68 + row % 37 / 500:.4f}" for row, line in enumerate(lines[1:])
    ]
    (office.folder / "people.csv").write_text("\n".join([f"{lines[0]},lat,lon", *moved]) + "\n", encoding="utf-8")
    place = {
        "name": "home",
        "type": "point",
        "columns": {"latitude": "lat", "longitude": "lon"},
        "mechanism": "planar_laplace",
        "domain": {"box": ["41.8", "-87.7", "41.9", "-87.6"], "crs": "EPSG:3435", "step_m": "500"},
        "geo": {"epsilon": "1.386", "radius_m": "200"},
    }
    office.release["columns"].insert(3, place)
    for name in ("age", "sex"):
        for key in ("mechanism", "epsilon", "target"):
            office.column(name).pop(key, None)
    office.column("age")["noise_bins"] = 4
    person = {"name": "person", "columns": ["age", "sex"], "mechanism": "kary_randomized_response", "epsilon": "3"}
    office.release["groups"] = [person]
    office.release["privacy"] |= {"epsilon_total": "30", "geo_total": "14"}
    office.release["loop"] |= {"loss_from": "released", "composition": "chain", "on_unmet": "publish"}
    office.open(geo_per_km="100")
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    found = {
        "public": office.public / "report.html",
        "restricted": office.restricted / "report.html",
        "docs": office.restricted / "checks.html",
    }
    assert answer.text.count("report.html") == 2, answer.text
    return found


@pytest.fixture(scope="module")
def looks(pages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Look]:
    seen = tmp_path_factory.mktemp("seen")
    with browser() as opened:
        return {name: look_at(opened, path, seen / name) for name, path in pages.items()}


@pytest.mark.parametrize("name", PAGES)
def test_no_page_names_anything_outside_itself(name: str, pages: dict[str, Path]) -> None:
    text = pages[name].read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]+\.|@import|<script|<link|<img|<iframe", text)
    assert all(place.startswith("#") for place in re.findall(r'(?:href|src)="([^"]*)"', text))
    assert all(place.startswith("#") for place in re.findall(r"url\(([^)]*)\)", text))


@pytest.mark.parametrize("name", PAGES)
def test_ids_are_there_once_and_links_have_their_end(name: str, pages: dict[str, Path]) -> None:
    tree = html.fromstring(pages[name].read_text(encoding="utf-8"))
    ids = tree.xpath("//@id")
    assert len(set(ids)) == len(ids)
    text = pages[name].read_text(encoding="utf-8")
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', text)) <= set(ids)
    assert all(chart.get("aria-label") for chart in tree.xpath("//svg"))


@pytest.mark.parametrize("name", PAGES)
def test_a_browser_asks_for_nothing_and_has_nothing_to_say(name: str, looks: dict[str, Look]) -> None:
    assert looks[name].requests == [] and looks[name].faults == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_never_wider_than_its_window(name: str, looks: dict[str, Look]) -> None:
    assert looks[name].overflow == {PHONE: 0, DESK: 0}
    assert all(picture.stat().st_size > 10_000 for picture in looks[name].pictures)


@pytest.mark.parametrize("name", PAGES)
def test_headings_are_in_order(name: str, looks: dict[str, Look]) -> None:
    levels = looks[name].headings
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_a_browser_that_is_asked_to_fetch_is_caught(tmp_path: Path, looks: dict[str, Look]) -> None:
    """Negative control: the looker sees a request, a page that is too wide, and a heading out of order."""
    page = tmp_path / "bad.html"
    wide = '<div style="width:3000px">x</div><link rel="stylesheet" href="https://example.org/x.css">'
    page.write_text(f"<html><body><h1>a</h1><h3>b</h3>{wide}</body></html>", encoding="utf-8")
    with browser() as opened:
        look = look_at(opened, page, tmp_path / "seen")
    assert look.requests and min(look.overflow.values()) > 1000 and look.headings == [1, 3]


def test_the_restricted_page_shows_both_sides_and_the_public_one_does_not(pages: dict[str, Path]) -> None:
    restricted, public = (pages[name].read_text(encoding="utf-8") for name in ("restricted", "public"))
    tree: Any = html.fromstring(restricted)
    assert {"distributions", "correlations", "places", "exact", "input", "checks"} <= set(tree.xpath("//section/@id"))
    assert "Never publish it" in restricted and "before, raw" in restricted
    assert "Never publish" not in public and "before, raw" not in public and "exact loss" not in public.lower()
    assert (pages["restricted"].stat().st_mode & 0o777) == 0o600
