"""The registry's entry of answers and of a model tells the amounts, units and neighbours of its statement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trasgo_lib.release.verify_metadata import Published, verify_answers_metadata, verify_model_metadata
from trasgo_lib.storage import open_store

GOLDEN = Path(__file__).parents[2] / "golden"
_VERIFY = {"answers": verify_answers_metadata, "model": verify_model_metadata}


def _failures(package: str, old: str, new: str) -> set[str]:
    folder = GOLDEN / package
    manifest, statement = (json.loads((folder / f"{name}.json").read_text()) for name in ("manifest", "statement"))
    text = (folder / "dp_statement.json").read_text(encoding="utf-8")
    assert old in text
    store = open_store("memory://", private=False)
    store.put_once("dp_statement.json", text.replace(old, new).encode())
    for name in ("datapackage.json", "dcat.jsonld", "csvw.json"):
        if (folder / name).exists():
            store.put_once(name, (folder / name).read_bytes())
    results = list(_VERIFY[package](store, "", Published(manifest, {}, statement)))
    assert len(results) > 8
    return {result.name for result in results if not result.passed}


@pytest.mark.parametrize("package", _VERIFY)
def test_a_sound_entry_passes(package: str) -> None:
    assert _failures(package, '"tier": 3', '"tier": 3') == set()


@pytest.mark.parametrize(
    ("package", "old", "new", "finding"),
    [
        ("model", "Spent by this version: epsilon 1.499918", "Spent by this version: epsilon 0.5", "amounts in words"),
        ("model", "cost epsilon 1.499918 and delta", "cost epsilon 1.4999 and delta", "amounts in words"),
        ("model", "Delta is at most 0.00001", "Delta is at most 0.0000001", "amounts in words"),
        (
            "answers",
            "Account to date, this version and earlier ones: epsilon 9",
            "Account: epsilon 8",
            "amounts in words",
        ),
        ("answers", '"number_of_privacy_units": 1000', '"number_of_privacy_units": 1001', "privacy units"),
        ("answers", '"number_of_privacy_units": 1000', '"number_of_privacy_units": null', "privacy units"),
        (
            "answers",
            "statement.json. Compared are files with the same rows",
            "statement.json. Compared: rows",
            "neighbours",
        ),
        (
            "model",
            "One row. Compared are files with the same number",
            "One row. Compared are files with any",
            "neighbours",
        ),
    ],
)
def test_an_entry_that_tells_something_else_is_found(package: str, old: str, new: str, finding: str) -> None:
    assert finding in _failures(package, old, new)


def test_the_publishers_own_words_may_name_any_amount() -> None:
    """Negative control: a title is no claim of ours."""
    assert _failures("model", '"name": "Golden model"', '"name": "Model at epsilon 77"') == set()
