"""``risk`` in the release file: what it may name, and that it is in no digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from trasgo_lib.config import load_config
from trasgo_lib.errors import ConfigError
from trasgo_lib.plan import ReleasePlan, compile_plan

FILE = """
format: 1
release: {dataset: people, version: "1", title: "People"}
source: {path: people.csv, format: csv}
privacy: {epsilon_total: "12", account: people}
columns:
  - {name: age, type: number, domain: {lower: "0", upper: "9", step: "1"}, mechanism: laplace, epsilon: "1"}
  - {name: sex, type: category, domain: {codes: [f, m]}, mechanism: randomized_response, epsilon: "1"}
  - {name: wave, role: public}
  - {name: note, role: drop}
publish: {store: releases}
"""


def _plan(folder: Path, risk: str = "") -> ReleasePlan:
    path = folder / "release.yaml"
    path.write_text(FILE + (f"risk: {risk}\n" if risk else ""), encoding="utf-8")
    return compile_plan(load_config(path))


def test_an_audit_is_in_no_digest(tmp_path: Path) -> None:
    """It changes no draw, so declaring, changing or removing it must not make another plan of a begun version."""
    plain = _plan(tmp_path)
    asked = _plan(tmp_path, "{quasi_identifiers: [age, wave], sensitive: [sex], bins: {age: 5}, linkage_sample: 7}")
    assert asked.digest == plain.digest
    assert [unit.chain_digest for unit in asked.units] == [unit.chain_digest for unit in plain.units]
    assert plain.config.risk is None and asked.config.risk is not None
    assert _plan(tmp_path, "{quasi_identifiers: [age]}").config.risk.linkage_sample == 1000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("risk", "faults"),
    [
        ("{quasi_identifiers: [aeg]}", ["risk.quasi_identifiers[#1]: required a column that is released (age, "]),
        ("{quasi_identifiers: [note]}", ["risk.quasi_identifiers[#1]: required a column that is released"]),
        ("{quasi_identifiers: [age], sensitive: [age]}", ["risk.sensitive[#1]: required each column once"]),
        ("{quasi_identifiers: [age, sex, age]}", ["risk.quasi_identifiers[#3]: required each column once"]),
        ("{quasi_identifiers: []}", ["risk.quasi_identifiers: required at least 1 column"]),
        ("{quasi_identifiers: [age], linkage_sample: 0}", ["risk.linkage_sample"]),
        ("{quasi_identifiers: [age], bins: {age: 11}}", ["risk.bins.age: required a whole number of bins from 2 "]),
        ("{quasi_identifiers: [age], bins: {age: 1}}", ["risk.bins.age: required a whole number of bins from 2 "]),
        ("{quasi_identifiers: [age, sex], bins: {sex: 2, wave: 2}}", ["risk.bins.sex: req", "risk.bins.wave: req"]),
        ("{quasi_identifiers: [age], bin: {age: 2}}", ["Did you mean `bins`?"]),
    ],
)  # fmt: skip
def test_faults_name_the_key_and_what_to_do(tmp_path: Path, risk: str, faults: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        _plan(tmp_path, risk)
    for fault in faults:
        assert fault in str(caught.value)
    assert len(caught.value.faults) == len(faults)


def test_faults_of_an_audit_are_told_beside_those_of_other_sections(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    text = FILE.replace('epsilon_total: "12"', "epsilon_total: 12") + "risk: {quasi_identifiers: [aeg]}\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        compile_plan(load_config(path))
    assert "privacy.epsilon_total" in str(caught.value)
