"""``undecided``: refused at its line and key, all at once, and a text like any other where it is quoted or a code."""

from __future__ import annotations

from pathlib import Path

import pytest

from trasgo_lib.config import load_config
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.plan import read_plan

DRAFT = """\
format: 1
release: {dataset: people, version: "1", title: undecided}
source: {path: people.csv, format: csv, csv: {missing: undecided}}
privacy: {epsilon_total: undecided, account: undecided, unit: undecided}
columns:
  - name: age
    type: number
    domain: {lower: undecided, upper: "90", step: "1"}
    mechanism: undecided
    target: undecided
  - name: born
    type: date
    format: undecided
    domain: {lower: undecided, upper: undecided}
    mechanism: laplace
  - {name: sex, type: category, domain: {codes: undecided}, mechanism: undecided}
  - {name: what, type: undecided}
publish: {store: undecided}
"""

DECIDED = """\
format: 1
release: {dataset: people, version: "1", title: "undecided"}
source: {path: people.csv, format: csv}
privacy: {epsilon_total: "8", account: people}
columns:
  - {name: vote, type: category, domain: {codes: [left, right, undecided]}, mechanism: kary_randomized_response}
publish: {store: store}
"""


def _faults(tmp_path: Path, text: str) -> tuple[Fault, ...]:
    path = tmp_path / "release.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_plan(path)
    return caught.value.faults


def test_every_undecided_key_is_one_fault_at_its_line(tmp_path: Path) -> None:
    faults = _faults(tmp_path, DRAFT)
    assert {fault.reason for fault in faults} == {Reason.UNDECIDED}
    assert [(fault.line, fault.where) for fault in faults] == [
        (2, "release.title"),
        (3, "source.csv.missing"),
        (4, "privacy.epsilon_total"),
        (4, "privacy.account"),
        (4, "privacy.unit"),
        (8, "columns[age].domain.lower"),
        (9, "columns[age].mechanism"),
        (10, "columns[age].target"),
        (13, "columns[born].format"),
        (14, "columns[born].domain.lower"),
        (14, "columns[born].domain.upper"),
        (16, "columns[sex].domain.codes"),
        (16, "columns[sex].mechanism"),
        (17, "columns[what].type"),
        (18, "publish.store"),
    ]


def test_a_fault_says_what_the_key_means_for_this_type_and_shows_an_example(tmp_path: Path) -> None:
    told = {fault.where: fault for fault in _faults(tmp_path, DRAFT)}
    assert told["columns[age].domain.lower"].required == "a decision: smallest value, in the column's unit"
    assert told["columns[born].domain.lower"].required == "a decision: first day, as year-month-day"
    assert told["columns[age].mechanism"].fix == "Decide it, as in `mechanism: laplace`."
    assert told["columns[sex].mechanism"].fix == "Decide it, as in `mechanism: kary_randomized_response`."


def test_other_faults_stand_beside_it_and_none_says_the_same_again(tmp_path: Path) -> None:
    wrong = DRAFT.replace('upper: "90"', "upper: 90").replace("mechanism: laplace", "mechanism: laplce")
    faults = _faults(tmp_path, wrong)
    others = [fault for fault in faults if fault.reason is not Reason.UNDECIDED]
    assert [(fault.line, fault.reason) for fault in others] == [(8, Reason.BAD_SHAPE)]
    places = [(fault.line, fault.column) for fault in faults]
    assert len(set(places)) == len(places)


def test_in_quotes_or_as_a_code_it_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(DECIDED, encoding="utf-8")
    config = load_config(path).config
    assert config.release.title == "undecided"
    assert read_plan(path)[1].unit("vote").domain.describe()["codes"] == ["left", "right", "undecided"]


def test_a_file_that_is_right_but_for_it_is_refused_too(tmp_path: Path) -> None:
    faults = _faults(tmp_path, DECIDED.replace("account: people", "account: undecided"))
    assert [fault.where for fault in faults] == ["privacy.account"]
