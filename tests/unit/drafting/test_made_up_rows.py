"""Made-up rows: of the declared domains and of nothing else, readable by the ingest; the release file beside them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trasgo_lib.config import load_config
from trasgo_lib.data import read_codes, read_source
from trasgo_lib.drafting.made_up_rows import DEFAULT_ROWS, make_up_rows, write_rows
from trasgo_lib.drafting.rehearsal_file import KEY_FILE, ROWS_FILE, TITLE, rehearsal_text, rehearsals_folder
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, read_plan, source_reading

RELEASE: dict[str, Any] = {
    "format": 1,
    "release": {
        "dataset": "people",
        "version": "2",
        "title": "People",
        "supersedes": {"version": "1", "reason": "error", "note": "x"},
    },
    "source": {"path": "absent.csv", "format": "csv", "csv": {"delimiter": ";", "decimal": ",", "missing": ["?"]}},
    "privacy": {
        "epsilon_total": "40",
        "geo_total": "10",
        "account": "people",
        "unit": {"column": "person", "max_rows": 2},
    },
    "columns": [
        {"name": "person", "role": "unit"},
        {
            "name": "pay",
            "type": "number",
            "domain": {"lower": "-1.5", "upper": "8.5", "step": "0.1"},
            "mechanism": "laplace",
            "missing": "code",
            "epsilon": "1",
        },
        {
            "name": "born",
            "source": "birthday",
            "type": "date",
            "format": "%d/%m/%y",
            "domain": {"lower": "1950-01-01", "upper": "1969-12-28", "step": "7"},
            "mechanism": "laplace",
            "epsilon": "1",
        },
        {
            "name": "area",
            "type": "category",
            "domain": {"hierarchy": {"big": {"n, o": ["01", "02"], "s": ["03"]}}, "level": "big"},
            "mechanism": "randomized_response",
            "epsilon": "1",
        },
        {"name": "sex", "type": "category", "domain": {"codes": ["f", "m"]}},
        {"name": "job", "type": "category", "domain": {"codes": ['a "b"', "c", "d"]}},
        {
            "name": "home",
            "type": "point",
            "columns": {"latitude": "lat", "longitude": "lon"},
            "domain": {"box": ["40.4", "-74.3", "41.0", "-73.6"], "crs": "EPSG:32118", "step_m": "5000"},
            "mechanism": "planar_laplace",
            "geo": {"epsilon": "1", "radius_m": "1000"},
        },
        {"name": "wave", "role": "public"},
        {"name": "note", "role": "drop"},
    ],
    "groups": [{"name": "both", "columns": ["sex", "job"], "mechanism": "kary_randomized_response", "epsilon": "1"}],
    "keys": {"env": "REAL_KEY"},
    "ledger": {"url": "sqlite:////real/ledger.db"},
    "publish": {
        "public": "s3://open/x",
        "restricted": "s3://closed/x",
        "approvals": 2,
        "embargo": "2030-01-01T00:00:00 Europe/Madrid",
        "formats": ["parquet"],
    },
}


def _plan(tmp_path: Path, **sections: Any) -> ReleasePlan:
    path = tmp_path / "release.yaml"
    path.write_text(json.dumps({**RELEASE, **sections}), encoding="utf-8")
    return read_plan(path)[1]


def _derived(tmp_path: Path, text: str) -> ReleasePlan:
    folder = tmp_path / "rehearsals" / "work"
    folder.mkdir(parents=True)
    (folder / "release.yaml").write_text(text, encoding="utf-8")
    return read_plan(folder / "release.yaml")[1]


def test_the_derived_file_reads_the_rows_and_every_value_is_of_its_domain(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    derived = _derived(tmp_path, rehearsal_text(load_config(plan.config_path)))
    rows = make_up_rows(plan, 500)
    write_rows(derived.source_path, plan, rows)
    table, report = read_source(
        source_reading(derived),
        digest_key=bytes(range(32)),
        permutation=lambda digest: Keystream(bytes(range(32)), digest),
        work=tmp_path / "work",
        rows_per_batch=1000,
    )
    assert table.rows == report.rows == 500
    for unit in derived.units:
        codes = read_codes(table.unit(unit.name))
        assert len(np.unique(codes)) >= min(unit.domain.size, 5), unit.name
    # the codes that were read are those that were made, in another order
    assert sorted(read_codes(table.unit("pay"))) == sorted(rows.codes["pay"])
    assert plan.unit("pay").domain.size in rows.codes["pay"], "missing values are rehearsed, too"
    moved = np.sort(read_codes(table.unit("home"))) != np.sort(rows.codes["home"])
    assert moved.mean() < 0.1, "only places in cells that the box cuts may move"


def test_nothing_of_the_real_office_is_in_the_derived_file(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    text = rehearsal_text(load_config(plan.config_path))
    derived = _derived(tmp_path, text)
    assert derived.is_rehearsal and not plan.is_rehearsal
    assert derived.digest != plan.digest
    assert derived.config.release.title == TITLE + "People"
    assert derived.source_path.name == ROWS_FILE
    assert [unit.name for unit in derived.units] == [unit.name for unit in plan.units]
    assert derived.epsilon_total == plan.epsilon_total
    for real in ("REAL_KEY", "real/ledger", "s3://", "absent.csv", "embargo", "approvals", "supersedes"):
        assert real not in text
    keys = derived.config.keys
    assert keys is not None and keys.file == KEY_FILE
    assert (derived.config.publish.sign, derived.config.publish.formats) == ("none", ("parquet",))


def test_rows_follow_the_prior_and_its_number(tmp_path: Path) -> None:
    prior = {
        "public": True,
        "source": "a table",
        "rows": 4_000,
        "columns": [{"name": "job", "shares": {'a "b"': "0.9", "c": "0.1", "d": "0"}}],
    }
    rows = make_up_rows(_plan(tmp_path, prior=prior), None)
    assert rows.count == 4_000 and rows.from_prior == ("job",)
    assert set(rows.spread) == {"pay", "born", "area", "sex", "home"}
    shares = np.bincount(rows.codes["job"], minlength=3) / 4_000
    # 4,000 draws: four standard deviations are 0.019; the rows are public and always the same
    assert abs(shares[0] - 0.9) < 0.019 and shares[2] == 0
    assert abs(np.bincount(rows.codes["sex"])[0] / 4_000 - 0.5) < 0.032


def test_rows_are_always_the_same_and_counted_in_reason(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    once, again = make_up_rows(plan, None), make_up_rows(plan, DEFAULT_ROWS)
    assert once.count == DEFAULT_ROWS
    assert all(np.array_equal(once.codes[name], again.codes[name]) for name in once.codes)
    for wrong in (99, 10_000_001):
        with pytest.raises(ConfigError):
            make_up_rows(plan, wrong)


def test_where_no_text_means_missing_none_is_written(tmp_path: Path) -> None:
    plan = _plan(tmp_path, source={"path": "absent.csv", "format": "csv", "csv": {"missing": []}})
    path = tmp_path / "rows.csv"
    write_rows(path, plan, make_up_rows(plan, 500))
    with path.open(encoding="utf-8", newline="") as stream:
        pays = [row["pay"] for row in csv.DictReader(stream)]
    assert all(-1.5 <= float(pay) <= 8.5 for pay in pays)


def test_rehearsals_lie_in_the_restricted_folder_or_here_and_never_among_releases(tmp_path: Path) -> None:
    assert rehearsals_folder(_plan(tmp_path), tmp_path) == tmp_path / "rehearsals"
    folders = {"public": "open", "restricted": "closed"}
    assert rehearsals_folder(_plan(tmp_path, publish=folders), tmp_path) == tmp_path / "closed" / "rehearsals"


@pytest.mark.parametrize("publish", [{"store": "store"}, {"public": "s3://a/rehearsals/x", "restricted": "closed"}])
def test_a_rehearsal_in_any_other_place_is_refused(tmp_path: Path, publish: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        _plan(tmp_path, rehearsal=True, publish=publish)
    assert Reason.REHEARSAL in {fault.reason for fault in caught.value.faults}


def test_a_plan_that_is_no_rehearsal_keeps_its_digest(tmp_path: Path) -> None:
    assert _plan(tmp_path).digest == _plan(tmp_path, rehearsal=False).digest
