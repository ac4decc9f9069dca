"""The four other real files, from source to verified release; skipped where the data is absent."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from office import Office
from ruamel.yaml import YAML

CONFIGS = Path(__file__).parent / "configs"


def _release(name: str, file: str, real_data: Path, folder: Path, **caps: str) -> tuple[Office, Path]:
    office = Office(folder)
    shutil.copy(real_data / file, folder / file)
    office.release = YAML(typ="safe").load((CONFIGS / f"{name}.yaml").read_text(encoding="utf-8"))
    office.open(**caps)
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    public = folder / "releases" / "public" / office.release["release"]["dataset"] / "1"
    verified = office.trasgo("verify", str(public))
    assert verified.exit_code == 0, verified.text
    return office, public


def test_adult_has_at_least_eight_noised_columns(real_data: Path, tmp_path: Path) -> None:
    _, public = _release("adult", "uci_adult_train.csv", real_data, tmp_path)
    table = pq.read_table(public / "data/adult.parquet")
    channels = json.loads((public / "channel.json").read_text())["units"]
    assert table.num_rows == 32_561
    assert len(channels) >= 8
    assert table["workclass"].null_count > 0, "missing is a code, noised like the others"
    assert {"laplace", "gaussian", "exponential", "randomized_response", "kary_randomized_response"} == {
        channel["mechanism"] for channel in channels
    }


def test_chicago_trips_have_a_point_column_on_the_lattice(real_data: Path, tmp_path: Path) -> None:
    office, public = _release("chicago", "chicago_taxi_trips.csv", real_data, tmp_path, geo_per_km="20")
    table = pq.read_table(public / "data/chicago_taxi.parquet")
    assert table.num_rows == 15_002
    assert table["pickup_latitude"].null_count == 0 and table["pickup_longitude"].null_count == 0
    pairs = set(zip(table["pickup_latitude"].to_pylist(), table["pickup_longitude"].to_pylist()))
    assert len(pairs) > 1000, "236 centroids go in; lattice cells come out"
    statement = json.loads((public / "statement.json").read_text())
    assert statement["geo_per_km_realised_draws_only"] == "6.93"
    assert statement["epsilon_realised_draws_only"] == "8"
    assert office.trasgo("ledger", "check", str(office.config)).exit_code == 0


def test_nsfg_missing_value_policies_and_rows_per_respondent(real_data: Path, tmp_path: Path) -> None:
    _, public = _release("nsfg", "nsfg2002_pregnancies.csv", real_data, tmp_path, epsilon="400")
    table = pq.read_table(public / "data/nsfg2002.parquet")
    assert table.num_rows == 13_593
    assert "caseid" not in table.column_names
    assert table["birthwgt_lb"].null_count > 1000, "missing as a code"
    assert table["birthwgt_oz"].null_count == 0, "missing replaced"
    assert max(table["birthwgt_lb"].drop_null().to_pylist()) <= 15, "97, 98 and 99 are no weights"
    statement = json.loads((public / "statement.json").read_text())
    assert statement["privacy_unit"]["max_rows"] == 19
    assert statement["epsilon_realised_draws_only"] == "304"


def test_household_survey_in_european_number_format(real_data: Path, tmp_path: Path) -> None:
    _, public = _release("household", "household_survey_semicolon.csv", real_data, tmp_path, epsilon="120")
    table = pq.read_table(public / "data/household.parquet")
    assert table.num_rows == 4_580
    assert table.column_names[0] == "urbrur", "the byte-order mark is no part of the name"
    assert str(table.schema.field("income").type) == "int64"
    assert set(table["urbrur"].to_pylist()) == {1, 2}


@pytest.mark.parametrize("name", ["adult", "chicago", "nsfg", "household"])
def test_every_config_plans_without_any_data(name: str, tmp_path: Path) -> None:
    office = Office(tmp_path)
    shutil.copy(CONFIGS / f"{name}.yaml", office.config)
    answer = office.trasgo("plan", str(office.config))
    assert answer.exit_code == 0, answer.text
    assert "No data was opened" in answer.out
