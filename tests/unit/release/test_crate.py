"""The research metadata: read by the rocrate package, complete, and free of clocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rocrate.rocrate import ROCrate

from trasgo_lib.release import CRATE, publish_package
from trasgo_lib.storage import open_store


@pytest.fixture(scope="module")
def folder(made: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("crate")
    publish_package(made.package, open_store(root), "demo/1")
    return root / "demo" / "1"


def test_the_rocrate_package_reads_it(folder: Path, made: Any) -> None:
    crate = ROCrate(folder)
    assert crate.name == "Demo of <every> kind"
    assert crate.root_dataset["datePublished"] == made.facts.created
    assert crate.root_dataset["license"]["name"] == "CC0-1.0"
    parts = {entity.id for entity in crate.root_dataset["hasPart"]}
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert parts == files - {CRATE}
    action = crate.get("#release")
    assert action.type == "CreateAction"
    assert {entity.id for entity in action["result"]} == {"data/demo.parquet", "data/demo.csv"}
    assert (action["instrument"]["softwareVersion"], action["instrument"]["identifier"]) == ("0.1.0", "0123abc")
    assert action["endTime"] == made.facts.created
    assert crate.root_dataset["subjectOf"][0].id == "statement.json"


def test_amounts_are_those_of_the_statement_under_the_same_names(folder: Path) -> None:
    statement = json.loads((folder / "statement.json").read_text())
    stated = {entry["name"]: entry["value"] for entry in ROCrate(folder).root_dataset["additionalProperty"]}
    assert stated and all(statement[name] == value for name, value in stated.items())
    assert all(name.endswith("_draws_only") for name in stated), "losses were measured on raw data here"


def test_digests_are_those_of_the_files(folder: Path, made: Any) -> None:
    graph = json.loads((folder / CRATE).read_text())["@graph"]
    described = {entity["@id"]: entity["sha256"] for entity in graph if "sha256" in entity}
    assert described == {
        file.key: file.sha256 for file in made.package.files if file.key not in (CRATE, "SHA256SUMS", "manifest.json")
    }


def test_a_release_without_a_licence_says_so(kit: Any, tmp_path: Path) -> None:
    made = kit.make(tmp_path, kit.release_file.replace(", licence: CC0-1.0", ""))
    graph = json.loads((made.work / CRATE).read_text())["@graph"]
    assert next(entity for entity in graph if entity["@id"] == "#licence")["name"] == "no licence is stated"
