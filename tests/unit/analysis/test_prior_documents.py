"""Priors written from a release or a file: what they hold reads back, what the noise hid is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from trasgo_lib.analysis.prior import prior_of_release
from trasgo_lib.analysis.prior_document import PriorDraft, figure
from trasgo_lib.config import load_prior
from trasgo_lib.data import NumberDomain
from trasgo_lib.plan.declared import declared_columns

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def test_a_prior_of_a_release_reads_back(tmp_path: Path) -> None:
    _, columns = declared_columns(GOLDEN / "release.yaml")
    text = prior_of_release(GOLDEN / "release", columns).text()
    path = tmp_path / "prior.yaml"
    path.write_text(text, encoding="utf-8")
    spec = load_prior(path).spec
    known = {column.name: column for column in spec.columns}
    assert spec.rows == 200
    assert set(known) == {"rate", "region", "size", "smsa"}
    assert known["rate"].mean is not None and 0 <= float(known["rate"].mean) <= 1
    assert isinstance(known["region"].shares, dict) and set(known["region"].shares) == {"north", "mid, west", 'so"uth'}
    said = [line for line in text.splitlines() if line.startswith("# ")]
    assert any("wage: the noise leaves" in line for line in said)
    assert any("correlations of" in line for line in said)


def test_what_the_release_does_not_tell_is_said() -> None:
    _, columns = declared_columns(GOLDEN / "release.yaml")
    other = replace(columns["rate"], domain=NumberDomain("0", "2", "0.1"))
    draft = prior_of_release(GOLDEN / "release", {"rate": other, "age": replace(other, name="age")})
    assert not draft.columns
    assert draft.hidden == ["rate: declared with another domain there", "age: not a noised column of that release"]


def test_the_document_is_yaml_of_exact_text() -> None:
    draft = PriorDraft(source='a "table": 1', rows=7, notes=("a note",))
    draft.add_parts("x: y", np.array([1.0, 2.0, 1.0]), 0.25)
    draft.add_codes("c", {"yes": 3.0, "1": 1.0}, 0.0)
    draft.add_moments("m", "600", 450.0, 0.0)
    draft.add_correlation("c", "m", -1.00000001)
    draft.hidden.append("word " * 60)
    found = YAML(typ="safe").load(draft.text())
    assert found["source"] == 'a "table": 1'
    assert found["columns"] == [
        {"name": "x: y", "shares": ["0.25", "0.5", "0.25"], "missing": "0.25"},
        {"name": "c", "shares": {"yes": "0.75", "1": "0.25"}},
        {"name": "m", "mean": "600", "deviation": "450"},
    ]
    assert found["correlations"] == [{"columns": ["c", "m"], "value": "-1"}]
    assert max(map(len, draft.text().splitlines())) <= 120


@pytest.mark.parametrize(
    ("value", "text"), [(600.0, "600"), (1234567.0, "1234570"), (0.000012345, "0.000012345"), (-2.5, "-2.5")]
)
def test_figures_have_no_exponent(value: float, text: str) -> None:
    assert figure(value) == text
