"""A package that names another version of the library: its words cannot be said again, its figures are asked for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from altered import listed_anew
from typer.testing import CliRunner

import trasgo_lib
from flows.cli import app
from trasgo_lib.collection import ReportCounts, check_health, read_collection
from trasgo_lib.collection.concluding import VersionCounts, conclude
from trasgo_lib.collection.package import stage_collection
from trasgo_lib.collection.statement import CollectionFacts, show_rule, window_info
from trasgo_lib.collection.verify import verify_collection
from trasgo_lib.collection.verify_figures import Amounts, _is_one_of, _lines
from trasgo_lib.release import publish_package
from trasgo_lib.storage import open_store

FILE = """
format: 1
release: {dataset: heat, version: "1", title: Made-up devices}
area: {box: ["41.64", "-87.94", "42.02", "-87.52"]}
resolutions: [4, 5]
channel: {mechanism: memoised_unary_encoding, epsilon: "1", epsilon_permanent: "2"}
window: {first_day: "2026-01-05", days: 7, late_days: 3}
device: {daily_epsilon: "2", lifetime_epsilon: "52"}
publish: {store: store}
"""
REPORTS = 40_000


def facts_of(folder: Path) -> CollectionFacts:
    """A window whose counts are their expectations: half of the devices in the first cell of each resolution."""
    path = folder / "collection.yaml"
    path.write_text(FILE, encoding="utf-8")
    _, plan = read_collection(path)
    parts = []
    for version in plan.versions:
        p, q = float(version.channel.p), float(version.channel.q)
        share = np.full(version.channel.slots, 0.5 / (version.channel.slots - 2))
        share[0], share[-2] = 0.5, 0.0
        counts = np.round(REPORTS * (q + share * (p - q))).astype(np.int64)
        counted = ReportCounts(version.channel.kind, counts, REPORTS, {})
        parts.append(VersionCounts(version.level, version.alphabet, version.channel, counted))
    return CollectionFacts(
        plan=plan,
        window="2026-01-05",
        parts=parts,
        left_out=[],
        tables=conclude(parts, show_rule(plan)),
        health={part.tag: check_health(part.channel, part.counted, part.alphabet) for part in parts},
        created="2026-01-16T00:00:00+00:00",
        library_version=trasgo_lib.__version__,
        commit="unknown",
        info=window_info(plan, "2026-01-05"),
    )


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A package that this version made, and the same that names another version."""
    folder = tmp_path_factory.mktemp("versions")
    publish_package(stage_collection(facts_of(folder), folder / "w", None), open_store(folder / "p"), "heat/v")
    own, other = folder / "p" / "heat" / "v", folder / "other"
    shutil.copytree(own, other)
    for name in ("statement.json", "manifest.json"):
        document = json.loads((other / name).read_text(encoding="utf-8"))
        (other / name).write_text(json.dumps(document | {"library_version": "0.0.1"}), encoding="utf-8")
    return {"own": own, "other": listed_anew(other)}


def _text(told: str, instead: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert told in text
        return text.replace(told, instead)

    return change


def _document(change: Callable[[Any], Any]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        document = json.loads(text)
        change(document)
        return json.dumps(document)

    return changed


def _other_columns(document: Any) -> None:
    document["resources"][0]["schema"]["fields"][2]["name"] = "frequency"


def _last_day(document: Any) -> None:
    document["dct:temporal"]["dcat:endDate"]["@value"] = "2026-01-06"


def _other_conditions(document: Any) -> None:
    for entry in document["@graph"]:
        if "conditionsOfAccess" in entry:
            entry["conditionsOfAccess"] = entry["conditionsOfAccess"].replace("epsilon 52", "epsilon 2")


def _types(document: Any) -> None:
    document["tables"][0]["tableSchema"]["columns"][2]["datatype"] = "string"


def _title(document: Any) -> None:
    document["title"] = "Counted devices"


def _made(document: Any) -> None:
    document["dct:created"]["@value"] = "2026-01-01T00:00:00+00:00"


def _promise(document: Any) -> None:
    document["guarantee"] = "Whoever sees a report learns at most what epsilon 0.1 allows."


def _memory(document: Any) -> None:
    one = document["versions"][0]
    one["memoisation"] = one["memoisation"].replace("at most 8", "at most 3")


@pytest.mark.parametrize("made_by", ["own", "other"])
@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("report.md", _text("50.7 %", "90 %")),
        ("report.md", _text("epsilon 52", "epsilon 5")),
        ("report.md", _text("epsilon 1.000000 a", "epsilon 0.1 a")),
        ("report.md", _text("(40,000 reports)", "(90,000 reports)")),
        ("report.md", _text("5 of 5 cells", "3 of 5 cells")),
        ("map.html", _text("50.7 %", "90 %")),
        ("map.html", _text("<dd>80,000</dd>", "<dd>900,000</dd>")),
        ("map.html", _text("<dd>1</dd>", "<dd>0.5</dd>")),
        ("map-5.svg", _text("50.7 %", "90 %")),
        ("map-4.svg", _text("50.7 %", "90 %")),
        ("codebook.md", _text("epsilon 52", "epsilon 5")),
        ("codebook.md", _text("| 40000 |", "| 90000 |")),
        ("codebook.md", _text("to 2026-01-11", "to 2026-01-06")),
        ("csvw.json", _document(_types)),
        ("datapackage.json", _document(_title)),
        ("datapackage.json", _document(_other_columns)),
        ("dcat.jsonld", _document(_last_day)),
        ("dcat.jsonld", _document(_made)),
        ("dcat.jsonld", _text("epsilon 52", "epsilon 1")),
        ("ro-crate-metadata.json", _document(_other_conditions)),
        ("statement.json", _document(_promise)),
        ("statement.json", _document(_memory)),
    ],
)
def test_a_figure_that_is_changed_is_found_whatever_version_is_named(
    packages: dict[str, Path], tmp_path: Path, made_by: str, path: str, change: Callable[[str], str]
) -> None:
    """Half of the devices are in the first cell; the digests are made right again."""
    copy = tmp_path / "copy"
    shutil.copytree(packages[made_by], copy)
    text = (copy / path).read_text(encoding="utf-8")
    (copy / path).write_text(change(text), encoding="utf-8")
    failures = {(result.name, result.subject) for result in verify_collection(listed_anew(copy)).failures}
    assert ("figures in words", path) in failures
    assert "digest" not in {name for name, _ in failures}


def test_what_is_right_passes_whatever_version_is_named(packages: dict[str, Path]) -> None:
    own, other = (verify_collection(packages[name]) for name in ("own", "other"))
    assert own.passed and not own.notes, own.failures
    assert other.passed and len(other.notes) == 2, other.failures
    assert sum(result.name == "figures in words" for result in own.results) == 10


def test_a_publisher_may_name_any_figure(tmp_path: Path) -> None:
    words = "Beside 70 of 90 cells with 5,000,000 reports at epsilon 3, and 7 % in 85266453fffffff."
    facts = facts_of(tmp_path)
    info = facts.info.model_copy(update={"description": words})
    staged = stage_collection(replace(facts, info=info), tmp_path / "w", None)
    publish_package(staged, open_store(tmp_path / "p"), "heat/v")
    report = verify_collection(tmp_path / "p" / "heat" / "v")
    assert report.passed, report.failures


@pytest.mark.parametrize(
    ("text", "figure", "same"),
    [("50", 49.6, True), ("50", 50.6, False), ("9.21", 9.2149, True), ("9.21", 9.216, False),
     ("1.0e-05", 1.04e-5, True), ("0", 0.0, True), ("-0.5", -0.52, True), ("-0.5", 0.5, False)],
)  # fmt: skip
def test_a_figure_is_told_to_the_digits_it_is_written_with(text: str, figure: float, same: bool) -> None:
    assert _is_one_of(text, {figure, 1e9}) is same


def test_a_row_of_a_page_stays_together_and_rows_do_not() -> None:
    page = "<tr id='row-a'><th scope='row'>a</th><td>1 %</td></tr><tr><th>b</th><td>2&#32;%</td></tr>"
    assert _lines(page, is_marked_up=True) == ["a 1 %", "b 2 %"]
    assert _lines("<td>1\n2", is_marked_up=False) == ["<td>1", "2"]


def test_amounts_as_they_are_written() -> None:
    device = {"lifetime_epsilon": "52", "delta": "1e-9"}
    amounts = Amounts({"device": device, "title": "", "description": "at epsilon 7", "supersedes": None})
    assert amounts.others("epsilon 52.000000 at delta 1e-9; epsilon 0 and epsilon 7.") == []
    assert amounts.others("Epsilon of a report 2, 52. At delta 1e-8. epsilon is at most 3") == ["2", "1e-8", "3"]
    assert amounts.others("epsilon 1e99, " + "9" * 100_000)[:1] == ["1e99"], "and in no time"
    assert amounts.tells_lifetime("nothing") and amounts.tells_lifetime("epsilon 52, no more")
    assert not amounts.tells_lifetime("epsilon 7") and not amounts.tells_lifetime("epsilon 52, epsilon 8")


def test_a_reader_is_told_what_was_not_compared(packages: dict[str, Path]) -> None:
    said = {name: CliRunner().invoke(app, ["verify", str(place)]) for name, place in packages.items()}
    assert {name: one.exit_code for name, one in said.items()} == {"own": 0, "other": 0}
    assert "NOTE" not in said["own"].stdout
    told = " ".join(said["other"].stdout.split())
    assert "NOTE words: report and maps: made by version 0.0.1 of this library" in told
    assert "held by digests only" in told and told.count("NOTE") == 2
    machine = json.loads(CliRunner().invoke(app, ["verify", str(packages["other"]), "--json"]).stdout)
    assert machine["passed"] is True and sum(one.get("note", False) for one in machine["results"]) == 2
