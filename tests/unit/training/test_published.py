"""From rows to a package: fitted, staged, verified, opened; and every lie in it is found."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trained import people, plan_of, streams, training_file

from trasgo_lib.budget import Cost
from trasgo_lib.errors import InputContractError, VerificationError
from trasgo_lib.release import verify_release
from trasgo_lib.release.manifest import sums_text
from trasgo_lib.release.package import StagedFile
from trasgo_lib.training import open_model
from trasgo_lib.training.fitting import Fitted, fit
from trasgo_lib.training.package import ModelFacts, accuracy_document, stage_model, statement_document


def _facts(folder: Path, document: dict[str, Any] | None = None) -> ModelFacts:
    plan = plan_of(folder, document)
    spent = plan.cost + Cost.of("1")
    return ModelFacts(plan, fit(plan, people(), streams), spent, "2026-01-02T03:04:05+00:00", "0.1.0", "unknown")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> ModelFacts:
    return _facts(tmp_path_factory.mktemp("plan"), training_file(learning_rate="4", steps=60))


@pytest.fixture(scope="module")
def package(facts: ModelFacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    stage_model(facts, folder, None)
    return folder


def test_the_package_verifies(package: Path) -> None:
    report = verify_release(package)
    assert report.passed, report.failures


def test_a_training_learns_and_gives_the_same_weights_again(facts: ModelFacts) -> None:
    again = fit(facts.plan, people(), streams)
    assert [layer.tolist() for layer in again.weights] == [layer.tolist() for layer in facts.fitted.weights]
    accuracy = accuracy_document(facts)
    assert accuracy is not None and accuracy["share"] > 0.7 and accuracy["low"] <= accuracy["share"] <= accuracy["high"]
    stored = json.loads(json.dumps(facts.fitted.to_json()))
    back = Fitted.from_json(stored)
    assert back.to_json() == stored
    with pytest.raises(ValueError, match="stored training"):
        Fitted.from_json(stored | {"format": 2})


def test_the_opened_model_predicts_what_was_trained(package: Path, facts: ModelFacts) -> None:
    model = open_model(package)
    rows = people()
    columns = {
        "age": (18 + rows.codes["age"]).tolist(),
        "region": [("north", "east", "south", "west")[code] for code in rows.codes["region"]],
    }
    told = model.predict(columns)
    truth = np.array(["f", "m"])[rows.codes["sex"]]
    assert set(told) <= {"f", "m"} and (told == truth).mean() > 0.7
    shares = model.shares(columns)
    assert shares.shape == (1200, 2) and shares.sum(axis=1) == pytest.approx(np.ones(1200))
    assert (
        model.predict({"age": [500.0], "region": ["west"]}).tolist()
        == model.predict({"age": [78], "region": ["west"]}).tolist()
    )
    assert model.shares({"age": [], "region": []}).shape == (0, 2)
    for wrong in (
        {"age": [20]},
        {"age": [20], "region": ["nowhere"]},
        {"age": [None], "region": ["west"]},
        {"age": [20, 21], "region": ["west"]},
    ):
        with pytest.raises(InputContractError) as refused:
            model.predict(wrong)
        assert "nowhere" not in str(refused.value)


def _entry(folder: Path, name: str) -> dict[str, Any]:
    data = (folder / name).read_bytes()
    return {"path": name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def _rewritten(folder: Path, path: str, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads((folder / path).read_text(encoding="utf-8"))
    change(document)
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2)
    (folder / path).write_text(f"{text}\n", encoding="utf-8")


def _lie(folder: Path, path: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a document and make every digest of it agree again."""
    _rewritten(folder, path, change)
    data = _entry(folder, "data/model.json")

    def package(document: dict[str, Any]) -> None:
        document["resources"][0] |= {"bytes": data["bytes"], "hash": f"sha256:{data['sha256']}"}

    def record(document: dict[str, Any]) -> None:
        file = document["dcat:distribution"][0]
        file["dcat:byteSize"]["@value"] = str(data["bytes"])
        file["spdx:checksum"]["spdx:checksumValue"]["@value"] = data["sha256"]

    def crate(document: dict[str, Any]) -> None:
        for entity in document["@graph"]:
            if "sha256" in entity:
                entity["sha256"] = _entry(folder, entity["@id"])["sha256"]

    _rewritten(folder, "datapackage.json", package)
    _rewritten(folder, "dcat.jsonld", record)
    _rewritten(folder, "ro-crate-metadata.json", crate)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    names = [one["path"] for one in manifest["files"]]
    listed = [_entry(folder, name) for name in names if name != "SHA256SUMS"]
    files = [StagedFile(one["path"], folder / one["path"], one["sha256"], one["bytes"]) for one in listed]
    (folder / "SHA256SUMS").write_text(sums_text(files), encoding="utf-8")
    _rewritten(folder, "manifest.json", lambda document: document.update(files=[_entry(folder, n) for n in names]))


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    *above, last, value = path

    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for key in above:
            place = place[key]
        place[last] = value(place[last]) if callable(value) else value

    return change


LIES = {
    "smaller cost": ("statement.json", _set("charges", 0, "cost", "epsilon", "0.5")),
    "smaller sum": ("statement.json", _set("spent", "epsilon", "0.5")),
    "smaller multiplier": ("statement.json", _set("training", "noise", "multiplier", "0.5")),
    "smaller variance": ("statement.json", _set("training", "noise", "variance", 0, "1")),
    "fewer steps charged": ("statement.json", _set("charges", 0, "event", "steps", "3")),
    "many rows a unit": ("statement.json", _set("max_rows", 10**9)),
    "hardly any noise": ("statement.json", _set("charges", 0, "event", "noise_multiplier", "0.00001")),
    "a rate of a billion places": ("statement.json", _set("charges", 0, "event", "rate", "1e-999999999")),
    "another rate": ("statement.json", _set("training", "sampling", "chances_in_2_32", 7)),
    "no rounding": ("statement.json", _set("training", "sensitivity", "rounding", 1)),
    "fewer weights": ("statement.json", _set("training", "parameters", 5)),
    "other layers": ("statement.json", _set("training", "layers", [[7, 1]])),
    "account": ("statement.json", _set("account_to_date", "epsilon", "0.1")),
    "guarantee": ("statement.json", _set("epsilon_guarantee", "0.1")),
    "accuracy unpaid": ("statement.json", _set("charges", lambda charges: charges[:2])),
    "share": ("data/model.json", _set("accuracy", "share", 0.99)),
    "interval": ("data/model.json", _set("accuracy", "low", lambda low: low + 0.01)),
    "rows kept out": ("statement.json", _set("training", "kept_out", "chances_in_2_32", 0)),
    "public and paid": ("data/model.json", _set("accuracy", "measured_on", "public_file")),
    "superseded": ("statement.json", _set("supersedes", {"version": "0", "reason": "error"})),
    "composition": ("statement.json", _set("composition", "basic")),
    "registry: smaller epsilon": (
        "dp_statement.json",
        _set("registry", "deployment", "privacy_loss", "privacy_parameters", "epsilon", 0.1),
    ),
    "registry: composition": (
        "dp_statement.json",
        _set("registry", "deployment", "implementation", "composition", "Advanced; exact"),
    ),
    "registry: not covered": (
        "dp_statement.json",
        _set("registry", "deployment", "dp_variant", "unprotected_quantities", "nothing"),
    ),
    "package of another version": ("datapackage.json", _set("version", "7")),
    "record of another version": ("dcat.jsonld", _set("dcat:version", "7")),
    "labels": ("data/model.json", _set("target", "labels", ["f", "m", "x"])),
    "domain": ("data/model.json", _set("features", 1, "domain", "codes", lambda codes: codes[:3])),
    "target": ("data/model.json", _set("target", "name", "region")),
    "uneven": ("data/model.json", _set("layers", 0, 0, [1, 2])),
    "too heavy": ("data/model.json", _set("layers", 0, 0, [2**40])),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_with_true_digests_is_found(name: str, package: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    _lie(copy, *LIES[name])
    failures = verify_release(copy).failures
    # the card is made from the documents, so it differs too; some other check must see the lie itself
    assert [one for one in failures if one.name != "card says what the documents say"], name


def test_true_changes_of_nothing_pass(package: Path, tmp_path: Path) -> None:
    """The control of the test above: digests made anew over the same content verify."""
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    _lie(copy, "statement.json", lambda document: None)
    assert not verify_release(copy).failures


def test_what_is_predicted_stands_in_the_manifest(package: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    _rewritten(copy, "manifest.json", _set("columns", ["region"]))
    assert {one.name for one in verify_release(copy).failures} == {"column that is predicted"}


def test_the_report_shows_what_the_documents_say(package: Path, facts: ModelFacts) -> None:
    page = (package / "report.html").read_text(encoding="utf-8")
    accuracy = accuracy_document(facts)
    assert accuracy is not None
    for words in (
        "Model report: people, version 1",
        f"{accuracy['rows']:,} rows that were kept out",
        "Charges add up by these rules: basic over all charges; Renyi over the steps of the training",
        "60",
        "noise table",
        facts.plan.cost.epsilon.text,
        "open_model",
    ):
        assert words in page, words
    weights = [f"{row[0] / 2**18:+.4f}" for row in facts.fitted.weights[0].tolist()]
    assert all(weight in page for weight in weights) and "region = north" in page
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")


def test_the_metadata_describe_the_weights(package: Path) -> None:
    codebook = (package / "codebook.md").read_text(encoding="utf-8")
    assert "18 to 78, in steps of 1" in codebook and "multiples of 2^-18" in codebook and "f, m" in codebook
    record = json.loads((package / "dcat.jsonld").read_text(encoding="utf-8"))
    pages = [page["@id"] for page in record["foaf:page"]]
    assert pages == ["codebook.md", "report.html", "model_card.md"]
    assert all((package / page).exists() for page in pages)
    registry = json.loads((package / "dp_statement.json").read_text(encoding="utf-8"))["registry"]["deployment"]
    assert registry["privacy_loss"]["privacy_parameters"] == {"epsilon": 3.0, "delta": 1e-5}
    assert "DP-SGD: 60 steps" in registry["implementation"]["mechanisms"]
    statement = json.loads((package / "statement.json").read_text(encoding="utf-8"))
    for said in (statement["guarantee"], registry["deployment_model"]["trust_assumptions"]):
        assert "The guarantee is computational" in said, "keyed noise is that of a pseudo-random function"


def test_the_card_says_what_matters(package: Path) -> None:
    card = (package / "model_card.md").read_text(encoding="utf-8")
    for words in ("Epsilon ", "trusted curator", "Accuracy ", "kept out of training", "open_model", "not examined"):
        assert words in card


def test_without_evaluation_the_card_says_so(tmp_path: Path) -> None:
    document = training_file(type="network", hidden=[4], target="region", features=["age", "sex"])
    del document["evaluation"]
    found = _facts(tmp_path, document)
    folder = tmp_path / "package"
    stage_model(found, folder, None)
    assert verify_release(folder).passed
    assert "not measured" in (folder / "model_card.md").read_text(encoding="utf-8")
    assert open_model(folder).shares({"age": [30], "sex": ["f"]}).shape == (1, 4)


def test_accuracy_on_public_rows_is_exact_and_free(tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text("age\n2\n")
    plan = plan_of(tmp_path, training_file() | {"evaluation": {"public_file": "public.csv"}})
    found = fit(plan, people(), streams, public_rows=people(300))
    assert found.measured is not None and found.measured.rows == 300 and 0 <= found.measured.right <= 300
    accuracy = accuracy_document(ModelFacts(plan, found, plan.cost, "2026-01-02T03:04:05+00:00", "0", "unknown"))
    assert accuracy is not None and accuracy["low"] == accuracy["high"] and accuracy["measured_on"] == "public_file"


def test_a_version_of_one_part_says_that_the_part_is_not_protected(facts: ModelFacts, tmp_path: Path) -> None:
    document = training_file(steps=2)
    document["privacy"]["partition"] = {"of": "year", "part": "2025", "parts_per_unit": 1}
    found = _facts(tmp_path, document)
    statement = statement_document(found)
    assert statement["neighbours"].endswith("it keeps its part")
    assert any("2025" in words and "not protected" in words for words in statement["not_covered"])
    whole = statement_document(facts)
    assert "part" not in whole["neighbours"] and not any("partition" in words for words in whole["not_covered"])


def test_missing_codes_have_an_input_of_their_own(tmp_path: Path) -> None:
    document = training_file()
    document["columns"][0]["missing"] = "code"
    document["columns"][2]["missing"] = "code"
    plan = plan_of(tmp_path, document)
    assert [feature.width for feature in plan.features] == [2, 5]
    table = plan.features[0].table()
    assert table[61].tolist() == [0.0, 1.0] and table[0].tolist() == [-1.0, 0.0]
    assert (np.abs(table) <= 1).all() and (table * 1024 == np.rint(table * 1024)).all()


def test_another_document_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "model.json").write_text("{}")
    with pytest.raises(VerificationError):
        open_model(tmp_path)
