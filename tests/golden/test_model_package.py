"""A small package of a model, file for file: weights set by hand, fixed key, fixed time, the real writers.

What was published stays readable by ``verify`` and ``open_model``, and the same weights give the same bytes. A
difference here is a break of a stored format: while none has been released, write the package anew with
``.venv/bin/python tests/golden/test_model_package.py``; after that, raise the format instead.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np

from trasgo_lib.keys import SigningKey
from trasgo_lib.release import Anchors, PublishedBefore, Signing, verify_release
from trasgo_lib.release.model_file import CARD, MODEL, card_text
from trasgo_lib.training import open_model, read_training
from trasgo_lib.training.fitting import Fitted, Measured
from trasgo_lib.training.package import ModelFacts, stage_model

GOLDEN = Path(__file__).with_name("model")
TRAINING_FILE = Path(__file__).with_name("model.yaml")
SIGNING_KEY = SigningKey(bytes(range(64, 96)))
ROWS = 1000
WEIGHTS = [[205_000], [-12_345], [40_000], [-77_000], [3], [-150_000], [150_000], [0], [65_536]]
"""Age, age missing, three regions, three codes of sex, the constant: multiples of 2**-18."""


def stage(work: Path, weights: list[list[int]] = WEIGHTS) -> dict[str, Path]:
    """Stage the package."""
    _, plan = read_training(TRAINING_FILE)
    fitted = Fitted(plan.base.digest, ROWS, (np.array(weights, dtype=np.int64),), Measured(203, 151))
    facts = ModelFacts(plan, fitted, plan.cost, "2030-01-31T12:00:00+00:00", "0.1.0", "0123abc")
    anchors = Anchors(plan.base.digest, plan.base.account, 9, "ab" * 32, PublishedBefore("1", "cd" * 32))
    package = stage_model(facts, work, Signing(SIGNING_KEY, anchors))
    return {file.key: file.path for file in package.files}


def test_the_stored_package_verifies() -> None:
    report = verify_release(GOLDEN, keys=(SIGNING_KEY.public,))
    assert report.passed, report.failures
    names = {result.name for result in report.results}
    assert len(report.results) > 60 and report.signature.signer_checked
    assert {"described files", "amounts", "composition", "not covered", "scale of the noise"} <= names


def test_the_same_weights_give_the_same_bytes(tmp_path: Path) -> None:
    staged = stage(tmp_path)
    stored = {str(path.relative_to(GOLDEN)): path for path in GOLDEN.rglob("*") if path.is_file()}
    assert staged.keys() == stored.keys()
    differ = [key for key in staged if staged[key].read_bytes() != stored[key].read_bytes()]
    assert differ == []


def test_another_weight_gives_other_bytes(tmp_path: Path) -> None:
    """Negative control."""
    staged = stage(tmp_path, [[205_001], *WEIGHTS[1:]])
    differ = {key for key in staged if staged[key].read_bytes() != (GOLDEN / key).read_bytes()}
    assert {"data/model.json", "manifest.json"} <= differ
    assert "statement.json" not in differ and "model_card.md" not in differ


def test_the_stored_model_opens_and_predicts() -> None:
    model = open_model(GOLDEN)
    told = model.predict({"age": [78, 18, None], "region": ["<east>"] * 3, "sex": ["m", "f", None]})
    assert told.tolist() == ["yes", "no", "yes"]


def test_the_card_shows_a_title_and_labels_as_they_are_written() -> None:
    model, statement = (json.loads((GOLDEN / name).read_text()) for name in (MODEL, "statement.json"))
    sound = card_text(model, statement)
    assert sound == (GOLDEN / CARD).read_text(encoding="utf-8")
    statement["title"] = "Jobs <script>alert(1)</script>"
    model["target"]["labels"] = ["<b>no", "yes|maybe"]
    statement["training"]["features"][0]["name"] = "age|years"
    told = card_text(model, statement)
    assert "<script>" not in told and "<b>" not in told
    assert (
        "# Jobs &lt;script&gt;" in told and "(&lt;b&gt;no, yes\\|maybe)" in told and "from age\\|years, region" in told
    )


def main() -> None:
    """Write the stored package anew."""
    with tempfile.TemporaryDirectory() as work:
        staged = stage(Path(work))
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for key, path in staged.items():
            (GOLDEN / key).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, GOLDEN / key)


if __name__ == "__main__":
    main()
