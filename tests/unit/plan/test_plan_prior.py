"""Public priors: what they become, and what is refused before any data is opened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trasgo_lib.config import load_config
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.plan import PublicPrior, ReleasePlan, compile_plan, read_plan
from trasgo_lib.plan.prior_laws import normal_law, parts_law, quantile_law

HEAD = """\
format: 1
release: {dataset: t, version: "1", title: T}
source: {path: t.csv, format: csv}
privacy: {epsilon_total: "8", account: a}
publish: {store: out}
columns:
  - {name: wage, type: number, domain: {lower: "0", upper: "2000", step: "10"}, mechanism: laplace, epsilon: "1"}
  - {name: age, type: number, domain: {lower: "18", upper: "70", step: "1"}, mechanism: laplace, epsilon: "1",
     missing: code}
  - {name: day, type: date, format: "%Y-%m-%d", domain: {lower: "2020-01-01", upper: "2020-01-31"},
     mechanism: laplace, epsilon: "1", missing: {replace: "2020-01-10"}}
  - name: place
    type: category
    mechanism: kary_randomized_response
    epsilon: "1"
    domain: {hierarchy: {area: {north: [maine, vermont], south: [texas], west: [oregon]}}, level: area}
  - {name: home, type: point, columns: {latitude: la, longitude: lo}, mechanism: planar_laplace, geo: {epsilon: "1",
     radius_m: "1000"}, domain: {box: ["41.6", "-87.9", "42.1", "-87.5"], crs: "EPSG:3435", step_m: "5000"}}
""".replace('epsilon_total: "8",', 'epsilon_total: "8", geo_total: "1",')
KEYS = '{public: true, source: "a table", COLUMNS}'
PRIOR = """\
public: true
source: Tables of 2019
rows: 500
columns:
  - {name: wage, mean: "600", deviation: "450"}
  - {name: age, quantiles: {"0.5": "30"}, missing: "0.1"}
  - {name: day, shares: ["0.25", "0.75"], missing: "0.2"}
  - {name: place, shares: {south: "0.3005", north: "0.7"}}
correlations:
  - {columns: [age, wage], value: "-0.25"}
"""


def file_of(tmp_path: Path, prior: str, head: str = HEAD) -> Path:
    path = tmp_path / "release.yaml"
    path.write_text(head + "prior:\n" + "".join(f"  {line}\n" for line in prior.splitlines()), encoding="utf-8")
    return path


def plan_of(tmp_path: Path, prior: str, head: str = HEAD) -> ReleasePlan:
    return compile_plan(load_config(file_of(tmp_path, prior, head)))


def prior_of(tmp_path: Path, prior: str) -> PublicPrior:
    found = plan_of(tmp_path, prior).prior
    assert found is not None
    return found


def faults_of(tmp_path: Path, prior: str) -> tuple[Fault, ...]:
    with pytest.raises(ConfigError) as caught:
        read_plan(file_of(tmp_path, prior))
    for fault in caught.value.faults:
        assert fault.reason is Reason.FILE_UNREADABLE or (fault.line and fault.column)
        assert fault.required and fault.came and fault.fix
    return caught.value.faults


def test_every_form_becomes_shares_over_the_codes(tmp_path: Path) -> None:
    prior = prior_of(tmp_path, PRIOR)
    assert (prior.source, prior.rows) == ("Tables of 2019", 500)
    assert {name: len(shares) for name, shares in prior.shares.items()} == {
        "wage": 201,
        "age": 54,
        "day": 31,
        "place": 3,
    }
    for shares in prior.shares.values():
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1, abs=1e-12)
    wage, age, day = (prior.shares[name] for name in ("wage", "age", "day"))
    assert wage.argmax() == 60
    assert wage[60] / wage[105] == pytest.approx(np.exp(0.5))
    assert age[-1] == pytest.approx(0.1)
    assert age[:12].sum() == pytest.approx(0.9 * 0.5 * 12 / 12.5)  # code 12 reaches half a step beyond the median
    assert day[20] == pytest.approx(0.8 * 0.75 / 15)
    assert day[9] == pytest.approx(0.2 + 0.8 * 0.25 / 16)
    assert prior.shares["place"] == pytest.approx(np.array([0.7, 0.3005, 0]) / 1.0005)
    assert prior.correlations == {("wage", "age"): -0.25}


def test_a_file_of_its_own_says_the_same(tmp_path: Path) -> None:
    here = prior_of(tmp_path, PRIOR)
    (tmp_path / "tables.yaml").write_text("format: 1\n" + PRIOR, encoding="utf-8")
    there = prior_of(tmp_path, "file: tables.yaml")
    assert there.digest == here.digest
    assert all(np.array_equal(there.shares[name], here.shares[name]) for name in here.shares)


def test_a_prior_that_decides_nothing_does_not_change_the_plan(tmp_path: Path) -> None:
    first, second = plan_of(tmp_path, PRIOR), plan_of(tmp_path, PRIOR.replace('"600"', '"700"'))
    assert first.prior is not None and second.prior is not None
    assert first.prior.digest != second.prior.digest
    assert first.digest == second.digest


@pytest.mark.parametrize(
    ("old", "new", "key", "reason"),
    [
        ("public: true", "public: false", "prior.public", Reason.BAD_PARAMETER),
        ("public: true", 'public: "true"', "prior.public", Reason.BAD_PARAMETER),
        ("public: true\n", "", "prior.public", Reason.BAD_SHAPE),
        ("source: Tables of 2019\n", "", "prior.source", Reason.BAD_SHAPE),
        ("rows: 500", "rows: 0", "prior.rows", Reason.BAD_SHAPE),
        ("name: wage", "name: wages", "prior.columns[wages].name", Reason.UNKNOWN_NAME),
        ("name: wage", "name: home", "prior.columns[home].name", Reason.UNKNOWN_NAME),
        ("name: age", "name: wage", "prior.columns[wage].name", Reason.DUPLICATE_COLUMN),
        ('mean: "600", ', "", "prior.columns[wage].mean", Reason.BAD_SHAPE),
        ('mean: "600", deviation: "450"', 'missing: "0"', "prior.columns[wage]", Reason.BAD_SHAPE),
        ('mean: "600"', 'mean: "600", shares: ["0.5", "0.5"]', "prior.columns[wage]", Reason.BAD_SHAPE),
        ('mean: "600"', 'mean: "2600"', "prior.columns[wage].mean", Reason.BAD_PARAMETER),
        ('mean: "600"', 'mean: "lots"', "prior.columns[wage].mean", Reason.BAD_PARAMETER),
        ('deviation: "450"', 'deviation: "0"', "prior.columns[wage].deviation", Reason.BAD_PARAMETER),
        ('deviation: "450"', "deviation: 450", "prior.columns[wage].deviation", Reason.BAD_SHAPE),
        ('"0.5": "30"', '"1.5": "30"', "prior.columns[age].quantiles", Reason.BAD_SHAPE),
        ('"0.5": "30"', '"0.5": "30", "0.50": "31"', "prior.columns[age].quantiles", Reason.BAD_SHAPE),
        ('"0.5": "30"', '"0.5": "30", "0.9": "29"', "prior.columns[age].quantiles.0.9", Reason.BAD_PARAMETER),
        ('"0.5": "30"', '"0.5": "99"', "prior.columns[age].quantiles.0.5", Reason.BAD_PARAMETER),
        ('missing: "0.1"', 'missing: "1.1"', "prior.columns[age].missing", Reason.BAD_PARAMETER),
        ('deviation: "450"', 'deviation: "450", missing: "0.1"', "prior.columns[wage].missing", Reason.BAD_PARAMETER),
        ('["0.25", "0.75"]', '["0.25", "0.70"]', "prior.columns[day].shares", Reason.BAD_PARAMETER),
        ('["0.25", "0.75"]', '["-0.25", "1.25"]', "prior.columns[day].shares[#1]", Reason.BAD_PARAMETER),
        ('["0.25", "0.75"]', '["1"]', "prior.columns[day].shares", Reason.BAD_PARAMETER),
        ('["0.25", "0.75"]', '{a: "1"}', "prior.columns[day].shares", Reason.BAD_PARAMETER),
        ('{south: "0.3005", north: "0.7"}', '["0.5", "0.5"]', "prior.columns[place].shares", Reason.BAD_PARAMETER),
        ("south:", "maine:", "prior.columns[place].shares.maine", Reason.UNKNOWN_NAME),
        ('value: "-0.25"', 'value: "-1.25"', "prior.correlations[#1].value", Reason.BAD_PARAMETER),
        ("[age, wage]", "[age, age]", "prior.correlations[#1].columns", Reason.BAD_SHAPE),
        ("[age, wage]", "[age, height]", "prior.correlations[#1].columns[#2]", Reason.UNKNOWN_NAME),
        (
            "correlations:",
            'correlations:\n  - {columns: [wage, age], value: "0.1"}',
            "prior.correlations[#2].columns",
            Reason.BAD_PARAMETER,
        ),
    ],
)
def test_faults_name_the_key(tmp_path: Path, old: str, new: str, key: str, reason: Reason) -> None:
    assert old in PRIOR
    (fault,) = faults_of(tmp_path, PRIOR.replace(old, new, 1))
    assert (fault.where, fault.reason) == (key, reason)


def test_faults_of_the_priors_own_file_name_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "tables.yaml").write_text(PRIOR.replace("deviation", "sd"), encoding="utf-8")
    faults = faults_of(tmp_path, "file: tables.yaml")
    assert [fault.where for fault in faults] == ["tables.yaml: columns[wage].sd"]
    assert {fault.line for fault in faults} == {5}
    (fault,) = faults_of(tmp_path, "file: nowhere.yaml")
    assert fault.reason is Reason.FILE_UNREADABLE
    assert fault.where.count("nowhere.yaml") == 1


@pytest.mark.parametrize("name", ["t.csv", "copy.csv", "link.csv", "out/restricted/p.yaml"])
def test_a_file_that_is_not_public_is_refused_and_not_read(tmp_path: Path, name: str) -> None:
    rows = "wage,age\nSECRET: 600,[30\n"
    (tmp_path / "t.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "copy.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "link.csv").symlink_to("t.csv")
    (tmp_path / "out" / "restricted").mkdir(parents=True)
    (tmp_path / "out" / "restricted" / "p.yaml").write_text(PRIOR, encoding="utf-8")
    (fault,) = faults_of(tmp_path, f"file: {name}")
    assert (fault.where, fault.reason) == ("prior.file", Reason.BAD_PARAMETER)
    assert "SECRET" not in str(fault)


def test_a_file_of_the_same_size_that_differs_is_read(tmp_path: Path) -> None:
    (tmp_path / "tables.yaml").write_text(PRIOR, encoding="utf-8")
    (tmp_path / "t.csv").write_text("x" * len(PRIOR), encoding="utf-8")
    assert prior_of(tmp_path, "file: tables.yaml").rows == 500


def test_laws() -> None:
    assert normal_law(5, 1.5, 1e-6) == pytest.approx([0, 0.5, 0.5, 0, 0])
    assert quantile_law(4, [(0.5, 1.5)]) == pytest.approx([0.25] * 4)
    assert quantile_law(4, [(0.5, 0.0)])[0] > 0.5
    assert quantile_law(4, [(0.2, 2.0), (0.9, 2.0)])[2] > 0.7
    assert parts_law(5, np.array([0.6, 0.4])) == pytest.approx([0.2] * 5)
