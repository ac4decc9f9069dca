"""Education by sex and the quartiles of age of the UCI Adult file, at a total of 1; skipped where the data is absent.

False alarms: 32 cells, each of whose intervals misses with probability 0.05 at most; fewer than 90 % of them hold the
truth with probability 0.02, so the test is of at least 26 (below 8e-4 by the binomial law), and says what it found. The
share itself is looked at over 200 further draws of the same table, where 90 % is missed with probability below 1e-12.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
import pytest
from office import Office
from ruamel.yaml import YAML

from trasgo_lib.noise.central import add_laplace
from trasgo_lib.statistics import read_statistics

CONFIG = Path(__file__).parent / "configs" / "adult_answers.yaml"


@pytest.mark.long
def test_adult_at_a_total_of_one(real_data: Path, tmp_path: Path) -> None:
    office = Office(tmp_path)
    shutil.copy(real_data / "uci_adult_train.csv", tmp_path / "uci_adult_train.csv")
    office.release = YAML(typ="safe").load(CONFIG.read_text(encoding="utf-8"))
    office.open()
    answer = office.trasgo("query", str(office.config), "--json")
    assert answer.exit_code == 0, answer.text
    assert answer.json["spent"]["total"]["epsilon"] == "1"
    public = tmp_path / "releases" / "public" / "adult-answers" / "1"
    assert office.trasgo("verify", str(public)).exit_code == 0

    truth = pacsv.read_csv(tmp_path / "uci_adult_train.csv")
    columns = {name.strip(): [str(value).strip() for value in truth[name].to_pylist()] for name in truth.column_names}
    counts: dict[tuple[str, str], int] = {}
    for key in zip(columns["education"], columns["sex"], strict=True):
        counts[key] = counts.get(key, 0) + 1
    table, *quartiles = json.loads((public / "data" / "answers.json").read_text(encoding="utf-8"))["queries"]
    held = [
        cell["low"] <= counts.get((cell["key"]["education"], cell["key"]["sex"]), 0) <= cell["high"]
        for cell in table["cells"]
    ]
    assert len(held) == 32 and sum(held) >= 26, sum(held)

    ages = np.sort(np.array([int(age) for age in columns["age"] if age != "None"]))
    for share, quartile in zip((0.25, 0.5, 0.75), quartiles, strict=True):
        # rows between the released value and the right place; ties of the value itself count for it
        value, margin = int(quartile["cells"][0]["value"]), quartile["margin_rows"]
        below, at_most = int((ages < value).sum()), int((ages <= value).sum())
        missed = max(0.0, below - share * len(ages), share * len(ages) - at_most)
        assert missed <= 3 * margin, (share, value, missed, margin)
    _require_share_held(office, list(counts.values()))


def _require_share_held(office: Office, counts: list[int]) -> None:
    """The same table drawn 200 times more: at least 90 % of the intervals hold, and half as wide they do not."""
    _, plan = read_statistics(office.config)
    part = plan.query("education_by_sex").parts[0]
    held = narrow = 0
    for _ in range(200):
        noisy = add_laplace(counts, part.scale, part.sensitivity.l1, part.claim)  # type: ignore[arg-type]
        errors = np.abs(np.array(noisy) - np.array(counts))
        held += int((errors <= part.half_width).sum())
        narrow += int((errors <= part.half_width / 2).sum())
    assert held >= 0.9 * 200 * len(counts) > narrow
