"""Reported faults of columns without information, in the risk audit. Ids name rows of the list of reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trasgo_lib.config import RiskSpec, load_config
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, compile_plan
from trasgo_lib.release import require_risk_audit
from trasgo_lib.reporting import risk_tables
from trasgo_lib.risk import audit_risk

FILE = """
format: 1
release: {dataset: people, version: "1", title: "People"}
source: {path: people.csv, format: csv}
privacy: {epsilon_total: "40", account: people}
columns:
  - {name: pay, type: number, domain: {lower: "-5", upper: "4", step: "1"}, missing: code, mechanism: laplace,
     epsilon: "2"}
  - {name: sex, type: category, domain: {codes: [f, m]}, missing: code, mechanism: kary_randomized_response,
     epsilon: "2"}
  - {name: note, role: public}
publish: {store: releases}
"""
MISSING_PAY, MISSING_SEX = 10, 2


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> ReleasePlan:
    path: Path = tmp_path_factory.mktemp("plan") / "release.yaml"
    path.write_text(FILE, encoding="utf-8")
    return compile_plan(load_config(path))


def _audit(plan: ReleasePlan, pay: list[int], sex: list[int], note: list[str | None], *known: str) -> dict[str, Any]:
    """The stored document of an audit, after it was held against its schema and shown as tables."""
    levels = {unit.name: unit.rungs[0] for unit in plan.units}
    true = {"pay": np.array(pay, np.int32), "sex": np.array(sex, np.int32)}
    released = {
        unit.name: unit.channel(levels[unit.name]).sample(true[unit.name], Keystream(bytes(32), unit.name))
        for unit in plan.units
    }
    sides = tuple(
        {name: (lambda codes=codes: iter([codes])) for name, codes in side.items()} for side in (true, released)
    )
    public = {"note": lambda: iter([pa.array(note, pa.string())])}
    spec = RiskSpec(quasi_identifiers=known, sensitive=("pay",), linkage_sample=100)
    audit = audit_risk(plan, spec, levels, sides, public, len(pay), Keystream(bytes(32), "risk"))  # type: ignore[arg-type]
    document: dict[str, Any] = json.loads(json.dumps(audit.to_json(), allow_nan=False))
    require_risk_audit(plan, document)
    assert all(cell for _, _, rows in risk_tables(document) for row in rows for cell in row)
    return document


def _sides(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return document["original"], document["original"]["sensitive"]["pay"]


@pytest.mark.parametrize("known", [("sex",), ("note",), ("sex", "note")])
@pytest.mark.parametrize("kind", ["empty", "constant"])
def test_b14_b41_b57_columns_without_information_form_one_class(
    plan: ReleasePlan, kind: str, known: tuple[str, ...]
) -> None:
    """A column of gaps is a column of one value, missing: it neither splits classes nor drops rows from them."""
    pay, sex, note = (MISSING_PAY, MISSING_SEX, None) if kind == "empty" else (3, 1, "x")
    sizes, measures = _sides(_audit(plan, [pay] * 50, [sex] * 50, [note] * 50, *known))
    assert (sizes["classes"]["k"], sizes["classes"]["rows"], sizes["classes"]["classes"]) == (50, 50, 1)
    assert (measures["alpha"], measures["distinct_l"], measures["t"]) == (1.0, 1, 0.0)


def test_b14_a_gap_is_a_value_and_keeps_its_row(plan: ReleasePlan) -> None:
    """20 women, 10 men, 5 without an answer: k is 5, and not 10 as where rows with gaps are left out."""
    sex = [0] * 20 + [1] * 10 + [MISSING_SEX] * 5
    sizes, _ = _sides(_audit(plan, list(range(7)) * 5, sex, [None] * 35, "sex", "note"))
    assert (sizes["classes"]["k"], sizes["classes"]["rows"], sizes["classes"]["classes"]) == (5, 35, 3)


@pytest.mark.parametrize("rows", [1, 2])
def test_b41_b64_one_row_and_two_give_strict_documents(plan: ReleasePlan, rows: int) -> None:
    """The logarithm of the share of a value that a class lacks is no number, and null in the document."""
    sizes, measures = _sides(_audit(plan, list(range(rows)), list(range(rows)), ["a", "b"][:rows], "sex", "note"))
    assert (sizes["classes"]["k"], sizes["classes"]["unique_rows"]) == (1, rows)
    assert measures["delta"] == (0.0 if rows == 1 else None)


def test_b47_steps_between_negative_amounts_count_like_others(plan: ReleasePlan) -> None:
    """t moves shares over the ten declared steps: from -5 and 4 to half and half it is half of all of them."""
    ends = [0, 9]
    apart = _sides(_audit(plan, ends * 10, [0, 1] * 10, ["x"] * 20, "sex"))[1]
    near = _sides(_audit(plan, [4, 5] * 10, [0, 1] * 10, ["x"] * 20, "sex"))[1]
    scale = 10  # eleven values with the missing one, ten steps
    assert apart["t"] == pytest.approx(0.5 * 9 / scale) and near["t"] == pytest.approx(0.5 / scale)
