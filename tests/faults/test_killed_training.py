"""SIGKILL at points of a training, and two trainings at once: charged once, and the same weights after it is resumed.

The noise of the steps is keyed, so a run that was killed is held against one that was not, under the same key. The
noise of the accuracy is not: what was stored when the run was killed is what is published.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from killed import TRAINING_POINTS
from sites import ROWS, Places, Site

pytestmark = pytest.mark.long

CHARGES = ["model", "noise table", "accuracy"]
IS_STORED = {
    "after reserve": False,
    "in the middle of the steps": False,
    "between training and store": False,
    "between store and record": True,
    "between two uploads": True,
    "after the manifest": True,
}
"""Whether the model is stored at a point."""


def _training(places: Places, database: str) -> Site:
    office = places.office(database, "folder", delta="1e-4")
    columns = []
    for column in office.release["columns"]:
        kept = {key: column[key] for key in ("name", "type", "domain", "outside") if key in column}
        columns.append({"name": column["name"], "role": "drop"} if "role" in column else kept)
    model = {"type": "network", "target": "sex", "features": ["age", "region"], "hidden": [4]}
    law = {"epsilon": "2", "delta": "1e-5", "expected_batch": 60, "steps": 30, "learning_rate": "2"}
    evaluation = {"epsilon": "0.5", "share": "0.25"}
    office.release |= {"columns": columns, "rows": ROWS, "model": model | law, "evaluation": evaluation}
    office.release["privacy"] = {"epsilon_total": "3", "delta_total": "1e-5", "account": "people"}
    office.release.pop("loop")
    office.write()
    return office


def _stored(office: Site) -> dict[str, Any] | None:
    path = office.folder / "closed" / "people" / "1" / "model.json"
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


def _require_published(office: Site, weights: list[Any]) -> dict[str, Any]:
    """Charged once; the public weights are these, and the accuracy that which is stored."""
    assert [unit for unit, *_ in office.charges()] == CHARGES
    public, stored = office.folder / "public" / "people" / "1", _stored(office)
    model: dict[str, Any] = json.loads((public / "data" / "model.json").read_text(encoding="utf-8"))
    assert model["layers"] == weights
    assert stored is not None and model["accuracy"]["right"] == stored["measured"]["right"]
    assert office.trasgo("verify", str(public)).exit_code == 0
    return stored


@pytest.fixture(scope="module")
def whole(places: Places) -> tuple[list[Any], str]:
    """Weights and cost of a training that nobody interrupted."""
    office = _training(places, "sqlite")
    run = office.started("never", "train")
    run.join(timeout=900)
    assert run.exitcode == 0, (office.folder / "killed.log").read_text()
    stored = _stored(office)
    assert stored is not None
    return stored["weights"], office.spent()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("point", IS_STORED)
def test_a_killed_training_is_charged_once_and_resumed_to_the_same_weights(
    places: Places, whole: tuple[list[Any], str], database: str, point: str
) -> None:
    assert set(IS_STORED) == set(TRAINING_POINTS) - {"never"}
    office = _training(places, database)
    office.run_killed(point, "train")
    before = _stored(office)
    assert (before is not None) is IS_STORED[point]
    assert [unit for unit, *_ in office.charges()] == CHARGES, "charged before the first step"
    resumed = office.trasgo("resume", str(office.config), "--json")
    assert resumed.exit_code == 0, resumed.text
    weights, cost = whole
    after = _require_published(office, weights)
    assert before is None or after == before
    assert office.spent() == cost


def test_the_same_rows_under_another_key_give_other_weights(places: Places, whole: tuple[list[Any], str]) -> None:
    """The control: weights that agreed because noise or key did nothing would agree here too."""
    office = _training(places, "sqlite")
    office.release["release"]["version"] = "2"
    office.write()
    assert office.trasgo("train", str(office.config), "--quiet").exit_code == 0
    path = office.folder / "closed" / "people" / "2" / "model.json"
    assert json.loads(path.read_text(encoding="utf-8"))["weights"] != whole[0]


def test_two_trainings_at_once_are_charged_once_and_give_the_same_weights(
    places: Places, whole: tuple[list[Any], str]
) -> None:
    """One of them can be told that the other works; then it finds the version published."""
    office = _training(places, "sqlite")
    runs = [office.started("never", "train") for _ in range(2)]
    for run in runs:
        run.join(timeout=900)
    codes = sorted(-1 if run.exitcode is None else run.exitcode for run in runs)
    assert codes[0] == 0 and codes[1] in (0, 4), (office.folder / "killed.log").read_text()
    again = office.trasgo("train", str(office.config), "--json")
    assert again.json["already_published"] is True, again.text
    _require_published(office, whole[0])
