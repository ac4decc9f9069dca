"""The audit as a whole: every kind of column, the stored document, and the tables of a report."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trasgo_lib.config import RiskSpec, load_config
from trasgo_lib.data import CategoryDomain
from trasgo_lib.errors import VerificationError
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, compile_plan
from trasgo_lib.release import require_risk_audit
from trasgo_lib.reporting import risk_section, risk_tables
from trasgo_lib.risk import RiskAudit, RiskColumn, audit_risk, class_sizes, count_classes
from trasgo_lib.risk.audit import PURPOSE
from trasgo_lib.risk.linkage import ATTACKERS

FILE = """
format: 1
release: {dataset: kinds, version: "1", title: "Kinds"}
source: {path: kinds.csv, format: csv}
privacy: {epsilon_total: "40", account: kinds}
columns:
  - {name: age, type: number, domain: {lower: "100", upper: "109", step: "1"}, missing: code, mechanism: laplace,
     epsilon: "2"}
  - {name: day, type: date, format: "%Y-%m-%d", domain: {lower: "2017-01-01", upper: "2017-01-08"},
     mechanism: binned_randomized_response, noise_bins: 2, epsilon: "2"}
  - {name: level, type: category, domain: {codes: [junior, middle, senior], ordered: true},
     mechanism: kary_randomized_response, epsilon: "2"}
  - {name: sex, type: category, domain: {codes: [f, m]}, missing: code}
  - {name: hours, type: number, domain: {lower: "0", upper: "99", step: "1"}, noise_bins: 4, outside: clip}
  - {name: wave, role: public}
groups: [{name: work, columns: [hours, sex], mechanism: kary_randomized_response, epsilon: "3"}]
publish: {store: releases}
"""

ROWS = 400


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> ReleasePlan:
    path: Path = tmp_path_factory.mktemp("plan") / "release.yaml"
    path.write_text(FILE, encoding="utf-8")
    return compile_plan(load_config(path))


def _audit(plan: ReleasePlan, cuts: tuple[int, ...] = (), **spec: Any) -> RiskAudit:
    true, released, word = {}, {}, np.arange(ROWS, dtype=np.int64)
    levels = {unit.name: unit.rungs[0] for unit in plan.units}
    for place, unit in enumerate(plan.units):
        channel = unit.channel(levels[unit.name])
        true[unit.name] = ((word * (7 + 4 * place) + word // 3) % channel.inputs).astype(np.int32)
        released[unit.name] = channel.sample(true[unit.name], Keystream(bytes(32), unit.name))
    wave = pa.array([None if row % 5 == 0 else f"w{row % 2}" for row in range(ROWS)], pa.string())
    bounds = [0, *cuts, ROWS]
    readers = tuple(
        {name: (lambda codes=codes: iter(np.split(codes, cuts))) for name, codes in side.items()}
        for side in (true, released)
    )
    public = {"wave": lambda: iter([wave[a:b] for a, b in pairwise(bounds)])}
    return audit_risk(plan, RiskSpec(**spec), levels, readers, public, ROWS, Keystream(bytes(32), "risk"))  # type: ignore[arg-type]


SPEC: dict[str, Any] = {
    "quasi_identifiers": ("sex", "day", "wave"),
    "sensitive": ("age", "level", "hours"),
    "bins": {"age": 5},
    "linkage_sample": 100,
}


def test_values_are_counted_as_declared(plan: ReleasePlan) -> None:
    """Missing is a value; bins are; a date in noise bins keeps its days in the original and two in the release."""
    audit = _audit(plan, **SPEC)
    columns = {column.name: (column.size, column.ordered) for column in audit.columns}
    assert columns == {
        "sex": (3, False),
        "day": (8, True),
        "wave": (3, False),
        "age": (6, True),
        "level": (3, True),
        "hours": (100, True),
    }
    assert audit.original.classes.classes <= 3 * 8 * 3 and audit.released.classes.classes <= 3 * 2 * 3
    assert audit.released.classes.classes < audit.original.classes.classes
    assert set(audit.released.sensitive) == {"age", "level", "hours"}
    assert audit.released.sensitive["hours"].distinct_l <= 4
    assert [entry.name for entry in audit.inferences] == ["age", "level", "hours"]


def test_noise_moves_k_both_ways_at_the_same_epsilon() -> None:
    """Why k says little of a noised table: 1,000 equal rows fall apart, and a row alone with its value gets company."""
    channel = build_channel("kary_randomized_response", CategoryDomain(codes=("a", "b", "c")), epsilon="2")
    column = RiskColumn("q", "q", 3, False, np.arange(3, dtype=np.int32))

    def k(codes: Any) -> int:
        return class_sizes(count_classes({"q": lambda: iter([codes])}, [column])).k

    equal = np.zeros(1000, dtype=np.int32)
    alone = np.append(equal, [1, 2]).astype(np.int32)
    stream = Keystream(bytes(32), "k")
    assert k(equal) == 1000 and k(channel.sample(equal, stream)) < 200
    assert k(alone) == 1 and k(channel.sample(alone, stream)) > 50


def test_batches_change_nothing(plan: ReleasePlan) -> None:
    assert _audit(plan, **SPEC).to_json() == _audit(plan, cuts=(1, 130, 399), **SPEC).to_json()


def test_guesses_are_those_of_bayes(plan: ReleasePlan) -> None:
    """``level`` has three values: the best guess is the released value, or the commonest one."""
    (found,) = _audit(plan, quasi_identifiers=("sex",), sensitive=("level",)).inferences
    unit = plan.unit("level")
    channel = unit.channel(unit.rungs[0])
    word = np.arange(ROWS, dtype=np.int64)
    place = [entry.name for entry in plan.units].index("level")
    prior = np.bincount((word * (7 + 4 * place) + word // 3) % 3, minlength=3) / ROWS
    law = np.array([channel.weights(code) for code in range(3)], dtype=np.float64) / 2.0**64
    assert found.prior_share == prior.max()
    assert found.released_share == pytest.approx((prior[:, None] * law).max(axis=0).sum())
    assert found.prior_share < found.released_share <= (found.bound or 0)  # type: ignore[operator]


def test_the_document_is_stored_shown_and_says_what_it_is(plan: ReleasePlan) -> None:
    risk = json.loads(json.dumps(_audit(plan, **SPEC).to_json(), allow_nan=False))
    require_risk_audit(plan, risk)
    assert risk["purpose"].startswith("Descriptive. It decides nothing")
    titles = [title for title, _, _ in risk_tables(risk)]
    assert titles == [
        "Columns",
        "Classes of quasi-identifiers",
        "Classes by size",
        "What classes tell of age",
        "What classes tell of level",
        "What classes tell of hours",
        "Record linkage",
        "What bounds record linkage",
        "Attribute inference",
    ]
    for _, head, rows in risk_tables(risk):
        assert rows and {len(row) for row in rows} == {len(head)}
        assert all(isinstance(cell, str) and cell for row in rows for cell in row)
    text = "\n".join(risk_section(risk))
    assert "changes no epsilon" in text and "k goes down or up at the same epsilon" in text
    assert "none: a quasi-identifier is public" in text and "100 of 400" in text


def _texts(value: Any) -> set[str]:
    """Every text of a document, keys among them."""
    if isinstance(value, dict):
        return set(value) | {text for entry in value.values() for text in _texts(entry)}
    if isinstance(value, list):
        return {text for entry in value for text in _texts(entry)}
    return {value} if isinstance(value, str) else set()


def test_no_value_of_a_column_stands_in_the_document(plan: ReleasePlan) -> None:
    """Texts are names of columns, keys of the format and words of ours; numbers are counts and measures."""
    texts = _texts(json.loads(json.dumps(_audit(plan, **SPEC).to_json())))
    assert {"f", "m", "junior", "middle", "senior", "w0", "w1", "2017-01-01"} & texts == set()
    names = {column.name for column in plan.columns}
    words = {PURPOSE, "a quasi-identifier is public, and released as it is", *ATTACKERS}
    schema = json.loads((files("trasgo_lib.release") / "schemas" / "risk_audit.schema.json").read_text("utf-8"))
    assert texts <= names | words | _texts(schema)


def test_an_audit_that_failed_is_stored_and_shown(plan: ReleasePlan) -> None:
    failed = {"not_computed": "MemoryError"}
    require_risk_audit(plan, failed)
    assert risk_tables(failed) == [("Risk audit", ("what", "value"), [("not computed", "MemoryError")])]
    assert "MemoryError" in "\n".join(risk_section(failed))


@pytest.mark.parametrize("change", [{"linkage": {}}, {"values": ["f"]}, {"purpose": float("nan")}])
def test_a_document_of_another_shape_is_refused_before_it_can_hurt(plan: ReleasePlan, change: dict[str, Any]) -> None:
    with pytest.raises((VerificationError, ValueError)):
        require_risk_audit(plan, _audit(plan, **SPEC).to_json() | change)
