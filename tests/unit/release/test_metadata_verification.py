"""Metadata that tell something else than the rest of the package are named by verification."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trasgo_lib.release.verify_metadata import Published, verify_metadata
from trasgo_lib.storage import ObjectStore, open_store


def _published(package: Any) -> Published:
    found = (json.loads((package.work / f"{name}.json").read_bytes()) for name in ("manifest", "channel", "statement"))
    return Published(*found)


def _store(package: Any, changed: dict[str, bytes]) -> ObjectStore:
    store = open_store("memory://", private=False)
    for name in ("datapackage.json", "csvw.json", "dcat.jsonld", "ddi.xml", "dp_statement.json"):
        store.put_once(f"awkward/2.0/{name}", changed.get(name, (package.work / name).read_bytes()))
    return store


def _failures(package: Any, changed: dict[str, bytes]) -> set[tuple[str, str]]:
    results = list(verify_metadata(_store(package, changed), "awkward/2.0", _published(package)))
    assert len(results) >= 5
    return {(result.name, result.subject) for result in results if not result.passed}


def test_sound_metadata_pass(awkward: Any) -> None:
    assert _failures(awkward, {}) == set()


@pytest.mark.parametrize(
    ("path", "old", "new", "finding"),
    [
        ("datapackage.json", '"name": "note"', '"name": "other"', "columns"),
        ("datapackage.json", '"version": "2.0"', '"version": "1.0"', "same release"),
        ("datapackage.json", '"enum": [\n                "north"', '"enum": [\n                "east"', "codes"),
        ("datapackage.json", "DATA-SHA", "0" * 64, "described files"),
        ("datapackage.json", '"bytes": ', '"bytes": 1', "described files"),
        ("datapackage.json", '"resources"', '"things"', "schema"),
        ("csvw.json", '"titles": "note"', '"titles": "other"', "columns"),
        ("csvw.json", "DATA-SHA", "0" * 64, "described files"),
        ("csvw.json", '"dc:identifier": "awkward/2.0"', '"dc:identifier": "awkward/1.0"', "same release"),
        ("dcat.jsonld", "DATA-SHA", "0" * 64, "described files"),
        ("dcat.jsonld", '"dcat:version": "2.0"', '"dcat:version": "3"', "same release"),
        ("dcat.jsonld", '"dcat:byteSize"', '"dcat:size"', "schema"),
        ("ddi.xml", 'name="note"', 'name="other"', "columns"),
        ("ddi.xml", "<catValu>north", "<catValu>east", "codes"),
        ("ddi.xml", "DATA-SHA", "0" * 64, "described files"),
        ("ddi.xml", "<caseQnty>500", "<caseQnty>501", "rows"),
        ("ddi.xml", "<IDNo>awkward/2.0", "<IDNo>awkward/1.0", "same release"),
        ("ddi.xml", "</codeBook>", "", "schema"),
        ("ddi.xml", "<codeBook", '<!DOCTYPE c [<!ENTITY a "b">]><codeBook', "schema"),
        ("dp_statement.json", '"epsilon": 90.0', '"epsilon": 0.1', "amounts"),
        ("dp_statement.json", '"version": "2.0"', '"version": "1.0"', "same release"),
        ("dp_statement.json", '"dp_variant"', '"dp_flavor"', "schema"),
    ],
)
def test_metadata_that_say_something_else_are_named(awkward: Any, path: str, old: str, new: str, finding: str) -> None:
    text = (awkward.work / path).read_text(encoding="utf-8")
    sought = old.replace("DATA-SHA", awkward.package.file("data/awkward.csv").sha256)
    assert sought in text
    assert (finding, path) in _failures(awkward, {path: text.replace(sought, new, 1).encode()})


def test_where_only_draws_are_covered_no_amount_is_claimed(made: Any) -> None:
    published = _published(made)
    document = json.loads((made.work / "dp_statement.json").read_bytes())
    document["registry"]["deployment"]["privacy_loss"]["privacy_parameters"] = {"epsilon": 40.0}
    for content, passes in (
        ((made.work / "dp_statement.json").read_bytes(), True),
        (json.dumps(document).encode(), False),
    ):
        store = open_store("memory://", private=False)
        store.put_once("dp_statement.json", content)
        manifest = {
            **published.manifest,
            "files": [e for e in published.manifest["files"] if e["path"] == "dp_statement.json"],
        }
        results = list(verify_metadata(store, "", Published(manifest, published.channels, published.statement)))
        assert all(result.passed for result in results) is passes


def test_a_package_from_before_metadata_is_asked_for_none(made: Any) -> None:
    published = _published(made)
    before = Published({**published.manifest, "files": []}, published.channels, published.statement)
    assert list(verify_metadata(open_store("memory://", private=False), "", before)) == []
