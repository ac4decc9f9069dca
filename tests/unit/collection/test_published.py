"""What is published of a window: tables, GeoJSON, maps, statement; and a verification that recomputes all of it."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from altered import changed, listed_anew

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.collection import ReportCounts, build_report_channel, check_health, read_collection
from trasgo_lib.collection.caps import DeviceCaps, fits_lifetime
from trasgo_lib.collection.concluding import CSV_HEADER, VersionCounts, conclude, linkage, reports_per_cell
from trasgo_lib.collection.geojson import counter_clockwise, fault_of, geojson_bytes
from trasgo_lib.collection.package import csv_bytes, csv_rows, parquet_table, stage_collection
from trasgo_lib.collection.pages import Told, map_page, reading_notes, report_text
from trasgo_lib.collection.statement import CollectionFacts, show_rule, statement_document, window_info
from trasgo_lib.collection.verify import verify_collection
from trasgo_lib.collection.verify_data import _difference
from trasgo_lib.data.cells import cell_rings
from trasgo_lib.keys import SigningKey
from trasgo_lib.release import Anchors, Signing, publish_package, release_prefix, verify_release
from trasgo_lib.reporting.cell_map import MapCell, draw_cells, percent, shade_breaks, shade_of
from trasgo_lib.storage import open_store

FILE = """
format: 1
release: {dataset: heat, version: "1", title: "Made-up <devices>"}
area: {box: ["41.64", "-87.94", "42.02", "-87.52"]}
resolutions: RESOLUTIONS
channel: CHANNEL
accepted: [{mechanism: kary_randomized_response, epsilon: "1"}]
window: {first_day: "2026-01-05", days: 7, late_days: 3}
device: {daily_epsilon: "2", lifetime_epsilon: "52"}
publish: {store: store}
"""


def facts_of(
    folder: Path,
    resolutions: str = "[5]",
    reports: int = 40_000,
    device: str = "",
    more: str = "",
    channel: str = '{mechanism: optimised_unary_encoding, epsilon: "2"}',
) -> CollectionFacts:
    """A window whose counts are their expectations: half of the devices in the first cell of each resolution."""
    path = folder / "collection.yaml"
    text = FILE.replace("RESOLUTIONS", resolutions).replace('lifetime_epsilon: "52"', f'lifetime_epsilon: "52"{device}')
    path.write_text(text.replace("CHANNEL", channel) + more, encoding="utf-8")
    _, plan = read_collection(path)
    parts = []
    for version in plan.versions:
        channel = version.channel
        p, q = float(channel.p), float(channel.q)
        share = np.full(channel.slots, 0.5 / (channel.slots - 2))
        share[0], share[-2] = 0.5, 0.0
        counts = np.round(reports * (q + share * (p - q))).astype(np.int64)
        if channel.kind == "slot":
            counts[-1] += reports - counts.sum()
        parts.append(
            VersionCounts(version.level, version.alphabet, channel, ReportCounts(channel.kind, counts, reports, {}))
        )
    return CollectionFacts(
        plan=plan,
        window="2026-01-05",
        parts=parts,
        left_out=[],
        tables=conclude(parts, show_rule(plan)),
        health={part.tag: check_health(part.channel, part.counted, part.alphabet) for part in parts},
        created="2026-01-16T00:00:00+00:00",
        library_version="0.1.0",
        commit="unknown",
        info=window_info(plan, "2026-01-05"),
    )


def told_of(facts: CollectionFacts) -> Told:
    return Told(statement_document(facts), facts.parts, facts.tables, facts.health)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> CollectionFacts:
    return facts_of(tmp_path_factory.mktemp("facts"))


@pytest.fixture(scope="module")
def package(facts: CollectionFacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    staged = stage_collection(facts, folder / "work", None)
    publish_package(staged, open_store(folder / "public"), release_prefix("heat", facts.version))
    return folder / "public" / "heat" / facts.version


def test_estimates_undo_the_noise_and_weights_are_stated(facts: CollectionFacts) -> None:
    (table,) = facts.tables
    assert table.reports == 80_000 and sum(table.weights.values()) == pytest.approx(1)
    assert table.share[0] == pytest.approx(0.5, abs=1e-3) and table.shown[0]
    assert not table.shown[-2:].any(), "neither other nor nobody is a place"
    assert table.share_on_map.min() >= 0 and table.share_on_map.sum() == pytest.approx(1)
    assert reports_per_cell(table).is_steady is (80_000 / table.alphabet.slots >= 10_000)
    assert linkage(table).least_devices > 20 and linkage(table).small == ()  # type: ignore[operator]


def test_of_several_resolutions_children_stand_under_shown_parents(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, "[4, 5]")
    coarse, fine = facts.tables
    parents = fine.alphabet.slots_in(coarse.alphabet)
    assert all(coarse.shown[parents[slot]] for slot in np.flatnonzero(fine.shown))
    sums = np.bincount(parents, fine.share, minlength=coarse.alphabet.slots)
    assert np.allclose(sums, coarse.share, atol=1e-9)
    publish_package(stage_collection(facts, tmp_path / "w", None), open_store(tmp_path / "p"), "heat/v")
    assert verify_collection(tmp_path / "p" / "heat" / "v").passed


@pytest.mark.parametrize(
    ("told", "instead"),
    [('days: 7', 'days: 1'), ('version: "1"', 'version: "1", language: es, description: "De día | de noche *"'),
     ("[5]", "[4, 5]")],
)  # fmt: skip
def test_windows_of_other_shapes_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, instead: str
) -> None:
    """A day, another language, marks of Markdown: what is written is what is asked for."""
    monkeypatch.setitem(globals(), "FILE", FILE.replace("RESOLUTIONS", "[5]").replace(told, instead))
    publish_package(stage_collection(facts_of(tmp_path), tmp_path / "w", None), open_store(tmp_path / "p"), "heat/v")
    report = verify_collection(tmp_path / "p" / "heat" / "v")
    assert report.passed, report.failures


def test_the_level_is_split_over_resolutions(tmp_path: Path) -> None:
    """Else two maps at 5 % each would show an empty cell up to one time in ten."""
    facts = facts_of(tmp_path, "[4, 5]")
    coarse, fine = facts.tables
    parents = fine.alphabet.slots_in(coarse.alphabet)
    for table, above in ((coarse, None), (fine, coarse.shown[parents])):
        score = table.share / table.standard_error
        clears = score > NormalDist().inv_cdf(1 - 0.05 / 2 / table.alphabet.slots)
        cells = slice(len(table.alphabet.cells))
        assert (table.shown[cells] == (clears if above is None else clears & above)[cells]).all()


def test_points_and_concentrated_accounting_are_in_the_statement(tmp_path: Path) -> None:
    point = """
point:
  {box: ["41.4", "-88.2", "42.2", "-87.3"], resolution: 5, crs: "EPSG:3435", step_m: "500",
   geo: {epsilon: "1.386", radius_m: "200"}, daily_epsilon: "1.386", lifetime_epsilon: "13.86"}
"""
    facts = facts_of(tmp_path, device=', accounting: zcdp, delta: "1e-9"', more=point)
    told = statement_document(facts)["point"]
    assert (told["epsilon"], told["radius_m"], told["lifetime_epsilon"]) == ("1.386", "200", "13.86")
    words = report_text(told_of(facts))
    assert "pass epsilon 52 at delta 1e-9." in words, "an epsilon that needs a delta is not told without it"
    assert told["estimates"] is None and "Fewer points came than are published" in words
    assert "Epsilon 1.386000 a point for lattice cells 200 m apart" in words and "at most 13.86 for such cells" in words
    publish_package(stage_collection(facts, tmp_path / "w", None), open_store(tmp_path / "p"), "heat/v")
    assert verify_collection(tmp_path / "p" / "heat" / "v").passed


def test_a_memory_stated_smaller_than_it_costs_is_found(tmp_path: Path) -> None:
    memoised = '{mechanism: memoised_unary_encoding, epsilon: "1", epsilon_permanent: "2"}'
    facts = facts_of(tmp_path, channel=memoised)
    publish_package(stage_collection(facts, tmp_path / "w", None), open_store(tmp_path / "p"), "heat/v")
    package = tmp_path / "p" / "heat" / "v"
    assert verify_collection(package).passed

    def smaller(document: Any) -> None:
        document["device"]["lifetime_epsilon"] = "15"

    report = verify_collection(changed(package, tmp_path, "statement.json", smaller))
    found = {result.name for result in report.failures}
    assert found == {"within the lifetime cap", "amounts", "figures in words", "words", "made again"}, (
        "eight responses of 2 cost 16"
    )


def test_a_window_published_although_a_check_failed_says_so(facts: CollectionFacts) -> None:
    assert not any("check of the clients failed" in note for note in reading_notes(told_of(facts), facts.tables[0]))
    tag, checks = next(iter(facts.health.items()))
    failed = replace(checks[0], is_passed=False, words="The reports hold another number of set bits.")
    ill = replace(facts, health=dict(facts.health) | {tag: (failed,)})
    for text in (report_text(told_of(ill)), map_page(told_of(ill), facts.tables[-1])):
        assert "A check of the clients failed, and this was published all the same: The reports hold another" in text


def test_a_memory_beyond_the_stated_cap_does_not_verify(facts: CollectionFacts) -> None:
    channel = build_report_channel("memoised_unary_encoding", 50, Epsilon.parse("1"), Epsilon.parse("2"))
    caps = DeviceCaps(Epsilon.parse("1"), Epsilon.parse("15"), "basic", Delta.parse("0", zero=True), 8)
    assert not fits_lifetime(channel.claim, caps), "eight responses of 2"
    assert fits_lifetime(channel.claim, replace(caps, lifetime=Epsilon.parse("16")))
    assert fits_lifetime(channel.claim, replace(caps, memoised_cells=7))
    # zcdp: rho = 8 * 2**2 / 2 = 16 gives 16 + 2 sqrt(16 ln(1e9)) = 52.4 by the usual conversion: of no help here
    assert not fits_lifetime(channel.claim, replace(caps, accounting="zcdp", delta=Delta.parse("1e-9")))


def test_figures_that_are_none_are_no_estimates(facts: CollectionFacts) -> None:
    rows = csv_rows(tuple(facts.tables))
    assert _difference(rows, tuple(facts.tables)) is None
    rows[1] = (*rows[1][:2], "nan", *rows[1][3:])
    assert _difference(rows, tuple(facts.tables)) == "another figure"


def test_every_form_of_the_data_says_the_same(facts: CollectionFacts, package: Path) -> None:
    rows = csv_rows(tuple(facts.tables))
    assert [tuple(row) for row in csv.reader(io.StringIO(csv_bytes(rows).decode(), newline=""))] == rows
    assert rows[0] == CSV_HEADER and parquet_table(rows).num_rows == len(rows) - 1
    (table,) = facts.tables
    document = json.loads((package / "data" / "heat-5.geojson").read_bytes())
    rings = cell_rings(table.alphabet.cells)
    assert fault_of(document, table.rows(), rings) is None
    for feature in document["features"]:
        (ring,) = feature["geometry"]["coordinates"]
        assert ring[0] == ring[-1] and len(ring) >= 6
        area = sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(ring))
        assert area > 0, "an outer ring runs counter-clockwise"
        assert -88 < ring[0][0] < -87 and 41 < ring[0][1] < 43, "longitude comes first"
        assert ("share" in feature["properties"]) is feature["properties"]["shown"]


def test_a_geojson_of_other_figures_cells_or_winding_is_told(facts: CollectionFacts) -> None:
    (table,) = facts.tables
    rings = cell_rings(table.alphabet.cells)

    def fault(change: Callable[[Any], Any]) -> str | None:
        document = json.loads(geojson_bytes(table))
        changed = change(document)
        return fault_of(document if changed is None else changed, table.rows(), rings)

    def turn(document: Any) -> None:
        document["features"][1]["geometry"]["coordinates"][0].reverse()

    assert fault(lambda document: None) is None
    assert fault(turn) == "other corners than the cell's, or another winding"
    assert fault(lambda document: document["features"][0]["properties"].update(share=0.4)) is not None
    assert fault(lambda document: document["features"].pop() and None) == "other cells"
    assert fault(lambda document: []) == "no FeatureCollection"
    square = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)]
    assert counter_clockwise(square) == square and counter_clockwise(square[::-1]) == square


def _one_more(document: Any) -> None:
    document["versions"][0]["counts"][3] += 1


def _more_reports(document: Any) -> None:
    document["versions"][0]["reports"] += 1000


def _other_epsilon(document: Any) -> None:
    document["versions"][0]["epsilon_per_report"] = "1.000000"


def _other_claim(document: Any) -> None:
    document["versions"][0]["channel"]["epsilon"] = "1"


def _other_weight(document: Any) -> None:
    document["versions"][0]["weight"] = 0.5


def _shuffled(document: Any) -> None:
    document["shuffled"][0]["epsilon"] = "0.0001"


def _no_cap(document: Any) -> None:
    document["device"]["lifetime_epsilon"] = "0.5"


def _nothing_shuffled(document: Any) -> None:
    """Once the versions were judged as far as this list went."""
    document["shuffled"] = []
    document["versions"][0]["epsilon_per_report"] = "0.100000"


def _one_more_version(document: Any) -> None:
    document["versions"].append(document["versions"][0] | {"epsilon_per_report": "0.100000"})


def _no_day(document: Any) -> None:
    document["device"]["daily_epsilon"] = "0.5"


def _concentrated(document: Any) -> None:
    document["device"]["accounting"] = "zcdp"


def _ill(document: Any) -> None:
    document["versions"][0]["health"][0]["score"] = 0.5


def _other_window(document: Any) -> None:
    document["window"]["first_day"] = "2026-01-12"


def _more_each(document: Any) -> None:
    document["reports_per_cell"][0]["fine"] = not document["reports_per_cell"][0]["fine"]


def _least(document: Any) -> None:
    document["linkage"]["levels"][0]["least"] += 1


def _memory(document: Any) -> None:
    document["versions"][0]["memoisation"] = "all reports of one slot together cost at most 2"


def _twice(document: Any) -> None:
    document["versions"] = [document["versions"][0]] * 2


def _no_small(document: Any) -> None:
    document["linkage"]["levels"][0]["shown"] += 1


def _promise(document: Any) -> None:
    document["guarantee"] = "Nothing of a place can be learned from any number of reports."


def _forget_limits(document: Any) -> None:
    document["not_covered"].pop()


def _fewer_assumptions(document: Any) -> None:
    document["shuffled"][0]["assumptions"].pop()


def _longer(document: Any) -> None:
    document["window"]["days"] = 14


def _for_ever(document: Any) -> None:
    document["window"]["days"] = 10**12


def _no_day_at_all(document: Any) -> None:
    document["window"]["first_day"] = "soon"


def _other_cell(document: Any) -> None:
    document["cells"][0] = document["cells"][1]


@pytest.mark.parametrize(
    ("path", "change", "check"),
    [
        ("data/counts.json", _one_more, "estimates"),
        ("data/counts.json", _more_reports, "sum of the reports"),
        ("statement.json", _other_epsilon, "losses of a device"),
        ("channels.json", _other_claim, "certificates"),
        ("statement.json", _other_weight, "weight"),
        ("statement.json", _shuffled, "shuffled bound"),
        ("statement.json", _no_cap, "within the lifetime cap"),
        ("data/counts.json", _twice, "certificates"),
        ("statement.json", _memory, "words on memory"),
        ("statement.json", _no_small, "linkage test"),
        ("statement.json", _least, "linkage test"),
        ("statement.json", _nothing_shuffled, "losses of a device"),
        ("statement.json", _nothing_shuffled, "shuffled bound"),
        ("statement.json", _one_more_version, "same versions"),
        ("statement.json", _no_day, "within the daily cap"),
        ("statement.json", _concentrated, "caps of a device"),
        ("statement.json", _ill, "health"),
        ("statement.json", _other_window, "same window"),
        ("statement.json", _promise, "words"),
        ("statement.json", _forget_limits, "words"),
        ("statement.json", _fewer_assumptions, "words"),
        ("statement.json", _longer, "words"),
        ("statement.json", _for_ever, "days of the window"),
        ("statement.json", _no_day_at_all, "days of the window"),
        ("statement.json", _more_each, "reports for each cell"),
        ("data/heat-5.geojson", lambda document: document["features"].reverse(), "made again"),
    ],
)
def test_a_lie_in_any_document_is_found_although_its_digests_fit(
    package: Path, tmp_path: Path, path: str, change: Callable[[Any], Any], check: str
) -> None:
    report = verify_collection(changed(package, tmp_path, path, change))
    assert check in {result.name for result in report.failures}
    assert "digest" not in {result.name for result in report.failures}


@pytest.mark.parametrize("path", ["map-5.svg", "map.html", "report.md"])
def test_a_page_of_other_figures_is_found_although_its_digests_fit(package: Path, tmp_path: Path, path: str) -> None:
    """Half of the devices are in the first cell; a page that says nine in ten is drawn again, and is another one."""
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    text = (copy / path).read_text(encoding="utf-8")
    assert "50 %" in text
    (copy / path).write_text(text.replace("50 %", "90 %"), encoding="utf-8")
    failures = {(result.name, result.subject) for result in verify_collection(listed_anew(copy)).failures}
    assert failures == {("made again", path), ("figures in words", path)}


def test_a_page_of_another_version_of_the_library_is_held_by_its_digest(package: Path, tmp_path: Path) -> None:
    """Words and shades change between versions; figures are asked of every version."""

    def older(document: Any) -> None:
        document["library_version"] = "0.0.1"

    copy = changed(package, tmp_path, "statement.json", older)
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    (copy / "manifest.json").write_text(json.dumps(manifest | {"library_version": "0.0.1"}), encoding="utf-8")
    (copy / "map-5.svg").write_text("<svg/>", encoding="utf-8")
    report = verify_collection(listed_anew(copy))
    assert report.passed and len(report.checks) == len(report.results) - 2
    assert [(note.name, note.subject) for note in report.notes] == [
        ("words", "report and maps"), ("words", "statement.json and metadata")
    ]  # fmt: skip
    assert all("version 0.0.1 of this library" in note.came for note in report.notes)
    assert [one["subject"] for one in report.to_json()["results"] if one.get("note")] == [
        note.subject for note in report.notes
    ]
    assert not verify_collection(package).notes


def _other_caps(document: Any) -> None:
    for entry in document["@graph"]:
        if entry.get("name") == "lifetime_epsilon":
            entry["value"] = "1"


def _other_conditions(document: Any) -> None:
    for entry in document["@graph"]:
        if "conditionsOfAccess" in entry:
            entry["conditionsOfAccess"] = entry["conditionsOfAccess"].replace("epsilon 52", "epsilon 2")


def _last_day(document: Any) -> None:
    document["dct:temporal"]["dcat:endDate"]["@value"] = "2026-01-06"


def _told_biased(document: Any) -> None:
    document["tables"][0]["tableSchema"]["columns"][6]["dc:description"] = "The share; unbiased"


def _counted_twice(document: Any) -> None:
    document["resources"][-1]["title"] = "Counts of places"


def _other_columns(document: Any) -> None:
    document["resources"][0]["schema"]["fields"][2]["name"] = "frequency"


@pytest.mark.parametrize(
    ("path", "change", "check"),
    [
        ("ro-crate-metadata.json", _other_caps, "amounts"),
        ("csvw.json", lambda document: document.update({"dc:identifier": "heat/2"}), "same release"),
        ("dcat.jsonld", lambda document: document["dcat:distribution"].pop(), "described files"),
        ("ro-crate-metadata.json", _other_conditions, "words"),
        ("dcat.jsonld", _last_day, "words"),
        ("csvw.json", _told_biased, "words"),
        ("datapackage.json", _counted_twice, "words"),
    ],
)
def test_metadata_that_say_otherwise_are_found(
    package: Path, tmp_path: Path, path: str, change: Callable[[Any], Any], check: str
) -> None:
    report = verify_collection(changed(package, tmp_path, path, change))
    assert {result.name for result in report.failures} - {"figures in words"} == {check}


def test_metadata_of_another_column_are_found(package: Path, tmp_path: Path) -> None:
    report = verify_collection(changed(package, tmp_path, "datapackage.json", _other_columns))
    assert {result.name for result in report.failures} == {"columns", "figures in words", "words"}


@pytest.mark.parametrize(
    ("told", "instead"),
    [("epsilon 52", "epsilon 2"), ("| 2.000000 |", "| 1.000000 |"), ("| reports | 80000 |", "| reports | 90000 |"),
     ("to 2026-01-11", "to 2026-01-06")],
)  # fmt: skip
def test_a_codebook_of_other_figures_is_found(package: Path, tmp_path: Path, told: str, instead: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    text = (copy / "codebook.md").read_text(encoding="utf-8")
    assert told in text
    (copy / "codebook.md").write_text(text.replace(told, instead), encoding="utf-8")
    failures = {(result.name, result.subject) for result in verify_collection(listed_anew(copy)).failures}
    assert failures == {("figures in words", "codebook.md"), ("words", "codebook.md")}


def test_the_statement_names_no_cell(facts: CollectionFacts) -> None:
    """It stays when the estimates are taken back, perhaps because a cell of few people was shown."""
    (table,) = facts.tables
    few = replace(table, low=np.zeros_like(table.low))
    assert linkage(few).small, "every shown cell could hold few"
    document = statement_document(replace(facts, tables=[few]))
    assert document["linkage"]["levels"][0]["small"] == len(linkage(few).small)
    assert not [name for name in table.alphabet.names()[:-2] if name in json.dumps(document)]


def test_metadata_describe_the_window(package: Path) -> None:
    record = json.loads((package / "dcat.jsonld").read_text(encoding="utf-8"))
    assert record["dct:temporal"]["dcat:startDate"]["@value"] == "2026-01-05"
    assert record["dct:temporal"]["dcat:endDate"]["@value"] == "2026-01-11"
    pages = {entry["@id"] for entry in record["foaf:page"]}
    assert pages == {"codebook.md", "report.md", "map.html"} and all((package / page).is_file() for page in pages)
    codebook = (package / "codebook.md").read_text(encoding="utf-8")
    assert "| reports | 80000 |" in codebook and r"| share\_on\_map | number |" in codebook
    crate = json.loads((package / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    named = {entry["@id"]: entry["name"] for entry in crate["@graph"] if entry["@type"] == "File"}
    assert named["data/heat.csv"] == "estimated shares of cells, CSV" and named["map-5.svg"].startswith("map")


def test_only_a_collection_may_be_signed_without_an_account(facts: CollectionFacts, tmp_path: Path) -> None:
    """And a collection with one would claim a charge that nobody made."""
    for account, holds in ((None, True), ("heat", False)):
        anchors = Anchors("0" * 64, account, 1, "1" * 64)
        staged = stage_collection(facts, tmp_path / f"w{holds}", Signing(SigningKey(bytes(range(32))), anchors))
        publish_package(staged, open_store(tmp_path / f"p{holds}"), "heat/v")
        failures = {result.name for result in verify_collection(tmp_path / f"p{holds}" / "heat" / "v").failures}
        assert failures == (set() if holds else {"signed account"})


def test_an_alphabet_of_other_cells_is_found(package: Path, tmp_path: Path) -> None:
    (name,) = [path.relative_to(package).as_posix() for path in (package / "alphabets").iterdir()]
    assert not verify_collection(changed(package, tmp_path, name, _other_cell)).passed


def test_what_is_right_passes_and_only_where_it_is_judged(package: Path, tmp_path: Path) -> None:
    assert verify_collection(changed(package, tmp_path, "statement.json", lambda document: None)).passed
    unjudged = verify_release(package)
    assert [result.name for result in unjudged.failures] == ["counts"]


def test_the_statement_says_what_a_device_paid(facts: CollectionFacts) -> None:
    document = statement_document(facts)
    assert [one["epsilon_per_window"] for one in document["versions"]] == ["2.000000", "1.000000"]
    assert all(one["memoisation"].startswith("none") for one in document["versions"])
    assert document["device"]["lifetime_epsilon"] == "52" and "No account is charged" in document["ledger"]
    assert all(one["assumptions"] and one["epsilon"] for one in document["shuffled"])
    words = report_text(told_of(facts))
    assert "do not say that nobody was there" in words and "epsilon 2.000000 a report" in words


def test_a_map_shades_what_stands_out_and_escapes_what_people_wrote(facts: CollectionFacts, package: Path) -> None:
    svg = (package / "map-5.svg").read_text(encoding="utf-8")
    (table,) = facts.tables
    assert svg.count("<path d=") == len(table.alphabet.cells) + 1, "every cell, and the scale"
    assert svg.count('fill-opacity="0.4" stroke-opacity="0.45"') == int((~table.shown[:-2]).sum())
    assert "hidden by noise" in svg and " km</text>" in svg and "href" not in svg
    page = (package / "map.html").read_text(encoding="utf-8")
    assert "Made-up &lt;devices&gt;" in page and "<devices>" not in page
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", page) and "http" not in page.replace(
        "http-equiv", ""
    ).replace("http://www.w3.org/2000/svg", "")


def test_shades_have_equal_ratios_and_few_values_one_shade() -> None:
    breaks = shade_breaks([0.0, 0.001, 0.1, -1.0])
    assert len(breaks) == 5 and breaks[1] / breaks[0] == pytest.approx(100 ** (1 / 5))
    assert [shade_of(share, breaks) for share in (0.001, 0.1, 0.0001)] == [0, 4, 0]
    assert shade_breaks([0.2, 0.21]) == (0.2,) and shade_breaks([0.0]) == ()
    assert [percent(value) for value in (0.366, 0.0, 1e-7)] == ["36.6 %", "0 %", "1.0e-05 %"]
    with pytest.raises(ValueError, match="at least one cell"):
        draw_cells([], "nothing")
    lonely = draw_cells([MapCell("a", [(0, 0), (0, 1), (1, 1)], None, "hidden")], "one")
    assert lonely.breaks == () and lonely.svg.startswith("<svg")
