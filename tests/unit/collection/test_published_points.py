"""What is published of noised points, beside cells and alone, and a verification that recomputes all of it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import csvw
import frictionless
import numpy as np
import pyarrow.parquet as pq
import pytest
from altered import changed, listed_anew
from keyed import dirichlet
from pointed import devices_at, drawn, lattice_of, pointed, truth_of

from trasgo_lib.collection import CollectionPlan, ReportCounts, check_health
from trasgo_lib.collection.concluding import CSV_HEADER, VersionCounts, conclude, split_over_maps
from trasgo_lib.collection.package import stage_collection
from trasgo_lib.collection.pages import Told, report_text
from trasgo_lib.collection.point_estimates import conclude_points
from trasgo_lib.collection.statement import CollectionFacts, show_rule, statement_document, window_info
from trasgo_lib.collection.verify import verify_collection
from trasgo_lib.collection.verify_statement import verify_statement
from trasgo_lib.release import publish_package
from trasgo_lib.release.answers_file import withdrawable
from trasgo_lib.storage import open_store

REPORTS = 40_000
ALONE: dict[str, Any] = {"channel": None, "device": None}


def facts_of(plan: CollectionPlan) -> CollectionFacts:
    """A window with points that were drawn, and reports whose counts are their expectations."""
    lattice = lattice_of(plan)
    codes = devices_at(lattice, dirichlet(lattice.alphabet.slots, "published"), REPORTS, "published")
    of_cells, of_points = split_over_maps(show_rule(plan), len(plan.current), has_points=True)
    parts = []
    for version in plan.versions:
        p, q = float(version.channel.p), float(version.channel.q)
        share = np.r_[np.full(len(version.alphabet.cells), 1 / len(version.alphabet.cells)), 0.0, 0.0]
        counts = np.round(REPORTS * (q + share * (p - q))).astype(np.int64)
        counted = ReportCounts(version.channel.kind, counts, REPORTS, {})
        parts.append(VersionCounts(version.level, version.alphabet, version.channel, counted))
    return CollectionFacts(
        plan=plan,
        window="2026-01-05",
        parts=parts,
        left_out=[],
        tables=conclude(parts, of_cells),
        health={part.tag: check_health(part.channel, part.counted, part.alphabet) for part in parts},
        created="2026-01-16T00:00:00+00:00",
        library_version="0.1.0",
        commit="unknown",
        info=window_info(plan, "2026-01-05"),
        points=conclude_points(drawn(lattice, codes, "published"), of_points),
    )


@pytest.fixture(scope="module", params=["beside cells", "alone"])
def facts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CollectionFacts:
    return facts_of(pointed(tmp_path_factory.mktemp("facts"), **(ALONE if request.param == "alone" else {})))


@pytest.fixture(scope="module")
def package(facts: CollectionFacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    publish_package(stage_collection(facts, folder / "work", None), open_store(folder / "public"), "city/v")
    return folder / "public" / "city" / "v"


def is_alone(package: Path) -> bool:
    return not (package / "map.html").exists()


def test_what_was_published_verifies(package: Path) -> None:
    report = verify_collection(package)
    assert report.passed, report.failures


def test_every_form_of_the_data_says_the_same(facts: CollectionFacts, package: Path) -> None:
    with (package / "data" / "city-points.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == CSV_HEADER
    lattice = lattice_of(facts.plan)
    codes = devices_at(lattice, dirichlet(lattice.alphabet.slots, "published"), REPORTS, "published")
    errors = np.array([float(row["share"]) for row in rows]) - truth_of(lattice, codes)
    scores = errors / np.array([float(row["standard_error"]) for row in rows])
    assert np.abs(scores).max() < 4.5 and np.abs(scores).mean() > 0.3
    table = pq.read_table(package / "data" / "city-points.parquet").to_pylist()
    assert [row["cell"] for row in table] == [row["cell"] for row in rows]
    document = json.loads((package / "data" / "city-points-6.geojson").read_bytes())
    shown = {feature["id"] for feature in document["features"] if feature["properties"]["shown"]}
    assert shown == {row["cell"] for row in rows if row["shown"] == "true"} and len(shown) > 10
    assert rows[-1]["cell"] == "other" and rows[-1]["shown"] == "false"


def test_files_are_listed_described_and_withdrawn(package: Path) -> None:
    manifest = json.loads((package / "manifest.json").read_bytes())
    own = {"map-points.html", "map-points-6.svg", *(f"data/city-points{end}" for end in (".csv", ".parquet"))}
    assert own <= {entry["path"] for entry in manifest["files"]}
    assert own <= set(withdrawable(manifest)) and "report.md" in withdrawable(manifest)
    assert ("data/city.csv" in withdrawable(manifest)) is not is_alone(package)
    assert manifest["rows"] == REPORTS * (1 if is_alone(package) else 2)
    described = json.loads((package / "datapackage.json").read_bytes())["resources"]
    titles = [one["title"] for one in described if "-points" in one["path"]]
    assert len(titles) == 3 and all("noised points" in title for title in titles)
    pages = [one["@id"] for one in json.loads((package / "dcat.jsonld").read_bytes())["foaf:page"]]
    assert "map-points.html" in pages and ("map.html" in pages) is not is_alone(package)


def test_the_statement_tells_what_a_point_cost(facts: CollectionFacts, package: Path) -> None:
    statement = json.loads((package / "statement.json").read_bytes())
    point = statement["point"]
    assert point["epsilon"] == "1.386" and float(point["certified_epsilon"]) <= 1.386
    assert float(point["epsilon_of_raw_places"]) > 2 * 1.386, "encoding moves places by up to half a cell's diagonal"
    assert point["estimates"]["reports"] == REPORTS and point["points_per_window"] == 1
    assert point["points_ever"] == 10, "the cap of a device is over lattice cells: places pay more, in all, too"
    ever = point["lifetime_epsilon_of_raw_places"]
    assert float(ever) == pytest.approx(10 * float(point["epsilon_of_raw_places"])) and float(ever) > 2 * 13.86
    for path in ("report.md", "codebook.md", "dcat.jsonld", "ro-crate-metadata.json", "map-points.html"):
        assert ever in (package / path).read_text(encoding="utf-8"), path
    assert any("outside the box" in words for words in statement["not_covered"])
    assert "against any other cell at the stated distance" in statement["guarantee"]
    assert ("against any other place. " in statement["guarantee"]) is not is_alone(package)
    assert ("A device that sends both" in statement["guarantee"]) is not is_alone(package)
    assert (statement["device"] is None) is is_alone(package)
    text = (package / "report.md").read_text(encoding="utf-8")
    assert statement["guarantee"] in text and "points, " in text and "not among all places" in text
    assert "how far any place" not in text and f"{point['epsilon_of_raw_places']}" in text
    crate = (package / "ro-crate-metadata.json").read_text(encoding="utf-8")
    assert "point_lifetime_epsilon" in crate and ('"daily_epsilon"' in crate) is not is_alone(package)


def test_the_tools_of_each_standard_read_the_tables_back(package: Path) -> None:
    found = csvw.CSVW(str(package / "csvw.json"))
    assert found.is_valid
    told = {table.url.string: len(list(table)) for table in found.tables}
    described = frictionless.Package(str(package / "datapackage.json"))
    for name in [one.name for one in described.resources if one.format == "parquet"]:
        described.remove_resource(name)  # it needs a reader of its own; verify compares its rows
    assert described.validate().valid
    read = {one.path: len(one.read_rows()) for one in described.resources if one.format == "csv"}
    files = (package / "data").glob("*.csv")
    rows = {f"data/{file.name}": len(file.read_text(encoding="utf-8").splitlines()) - 1 for file in files}
    assert told == read == rows and "data/city-points.csv" in rows


def test_the_pages_tell_points_from_reports(package: Path) -> None:
    page = (package / "map-points.html").read_text(encoding="utf-8")
    assert "Heat map of noised points" in page and "sent a place each" in page
    assert "noised points" in (package / "map-points-6.svg").read_text(encoding="utf-8")
    assert ("map.html" in page) is not is_alone(package)
    if not is_alone(package):
        assert "noised points" not in (package / "map-6.svg").read_text(encoding="utf-8")
        assert "map-points.html" in (package / "map.html").read_text(encoding="utf-8")


def test_too_few_points_leave_the_cells_and_say_so(tmp_path: Path) -> None:
    from dataclasses import replace

    facts = replace(facts_of(pointed(tmp_path)), points=None)
    statement = statement_document(facts)
    assert statement["point"]["estimates"] is None
    told = report_text(Told(statement, facts.parts, facts.tables, facts.health))
    assert "Fewer points came than are published" in told
    publish_package(stage_collection(facts, tmp_path / "w", None), open_store(tmp_path / "p"), "city/v")
    folder = tmp_path / "p" / "city" / "v"
    assert not (folder / "map-points.html").exists()
    report = verify_collection(folder)
    assert report.passed, report.failures
    for lie in ("less epsilon", "less certified", "less for raw places", "a cap below one point", "no points"):
        copy = changed(folder, tmp_path / lie, *LIES[lie])
        assert not verify_collection(copy).passed, f"what a point cost is certified, although none is published: {lie}"


@pytest.mark.parametrize("level", ["NaN", "1.5", "0", "often"])
def test_a_rule_that_is_none_is_found_where_nothing_is_shown(package: Path, level: str) -> None:
    """With nothing shown, nothing that is drawn depends on it."""
    statement = json.loads((package / "statement.json").read_bytes())
    changed_rule = {**statement, "show": {**statement["show"], "level": level}}
    told = {one.name: one.passed for one in verify_statement(changed_rule, [], [])}
    assert not told["rule of what is shown"]


def _point(**fields: Any) -> Callable[[Any], None]:
    return lambda document: document["point"].update(fields)


def _estimates(**fields: Any) -> Callable[[Any], None]:
    return lambda document: document["point"]["estimates"].update(fields)


def _one_more(document: Any) -> None:
    document["points"]["counts"][3] += 1


def _moved(document: Any) -> None:
    place = int(np.argmax(document["points"]["counts"]))
    document["points"]["counts"][place] -= 300
    document["points"]["counts"][0] += 300


def _wrapped(document: Any) -> None:
    counts = document["points"]["counts"]
    for place in range(4):
        counts[place] += 2**62


def _parameter(name: str, value: Any) -> Callable[[Any], None]:
    return lambda document: document["points"]["channel"]["parameters"].update({name: value})


STATED = "statement.json"
LIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "less epsilon": (STATED, _point(epsilon="1")),
    "less certified": (STATED, _point(certified_epsilon="1.000000")),
    "a wider radius": (STATED, _point(radius_m="800")),
    "less for raw places": (STATED, _point(epsilon_of_raw_places="1.386000")),
    "less of all points for raw places": (STATED, _point(lifetime_epsilon_of_raw_places="13.860000")),
    "fewer points ever": (STATED, _point(points_ever=1)),
    "a lifetime of less": (STATED, _point(lifetime_epsilon="2.772")),
    "another version": (STATED, _point(version="0" * 32)),
    "another lattice": (STATED, _point(lattice="0" * 32)),
    "a cap below one point": (STATED, _point(daily_epsilon="1")),
    "a lifetime below one point": (STATED, _point(lifetime_epsilon="1")),
    "other words": (STATED, _point(words="Places are not protected.")),
    "no estimates": (STATED, _point(estimates=None)),
    "no points": (STATED, lambda document: document.pop("point")),
    "more points": (STATED, _estimates(reports=REPORTS + 1)),
    "fewer cells": (STATED, _estimates(cells=2)),
    "an unhealthy check": (STATED, lambda document: document["point"]["estimates"]["health"][0].update(passed=False)),
    "fewer shown": (STATED, lambda document: document["point"]["estimates"]["linkage"].update(shown=1)),
    "none small": (STATED, lambda document: document["point"]["estimates"]["linkage"].update(small=77)),
    "a guarantee of cells": (STATED, lambda document: document.update(guarantee="Nothing is learned.")),
    "another level": (STATED, lambda document: document["show"].update(level="0.2")),
    "no level": (STATED, lambda document: document["show"].update(level="NaN")),
    "a confidence of none": (STATED, lambda document: document["show"].update(confidence="-1")),
    "one point more": ("data/counts.json", _one_more),
    "points moved": ("data/counts.json", _moved),
    "no counts": ("data/counts.json", lambda document: document.pop("points")),
    "a fresh lattice": ("data/counts.json", lambda document: document["points"].update(lattice="0" * 32)),
    "a weaker claim": ("channels.json", _parameter("epsilon", "1")),
    "less decay": ("channels.json", _parameter("decay_per_cell", "0.5")),
    "another box": ("channels.json", lambda document: document["points"]["domain"].update(crs="EPSG:3435")),
    "counts that add up as 64 bits only": ("data/counts.json", _wrapped),
    "a count beyond 64 bits": ("data/counts.json", lambda document: document["points"]["counts"].__setitem__(0, 2**70)),
    "noise that takes hours": ("channels.json", _parameter("decay_per_cell", "0.01")),
    "noise of no size": ("channels.json", _parameter("decay_per_cell", "1e-999999999")),
    "noise that is no number": ("channels.json", _parameter("decay_per_cell", "much")),
    "noise of none": ("channels.json", _parameter("decay_per_cell", None)),
    "a window of all": ("channels.json", _parameter("window_cells", 577)),
    "a lattice of millions": ("channels.json", lambda document: document["points"]["domain"].update(step_m="9")),
    "a box of no size": (
        "channels.json",
        lambda document: document["points"]["domain"].update(box=["1e-999999999", "0", "1", "1"]),
    ),
    "a projection that is a path": (
        "channels.json",
        lambda document: document["points"]["domain"].update(crs="/etc/passwd"),
    ),
    "no channel": ("channels.json", lambda document: document.pop("points")),
    "another resolution": ("channels.json", lambda document: document["points"].update(resolution=5)),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_in_any_document_is_found_although_its_digests_fit(package: Path, tmp_path: Path, lie: str) -> None:
    path, change = LIES[lie]
    assert not verify_collection(changed(package, tmp_path, path, change)).passed


@pytest.mark.parametrize("path", ["data/city-points.csv", "map-points.html", "map-points-6.svg", "report.md"])
def test_a_file_of_other_figures_is_found_although_its_digests_fit(package: Path, tmp_path: Path, path: str) -> None:
    copy = changed(package, tmp_path, STATED, lambda document: None)
    content = (copy / path).read_bytes()
    place = content.index(b"0.0" if path.endswith("csv") else b"%") - (0 if path.endswith("csv") else 2)
    (copy / path).write_bytes(content[:place] + b"7" + content[place + 1 :])
    assert not verify_collection(listed_anew(copy)).passed


def test_the_same_counts_give_the_same_bytes(facts: CollectionFacts, tmp_path: Path) -> None:
    one, two = (stage_collection(facts, tmp_path / name, None) for name in ("one", "two"))
    assert [(file.key, file.sha256) for file in one.files] == [(file.key, file.sha256) for file in two.files]
