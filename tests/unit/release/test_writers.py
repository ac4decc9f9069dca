"""Published data files: decoded exactly, the same bytes for the same codes, and never from anything private."""

from __future__ import annotations

import csv
import dataclasses
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trasgo_lib.data import (
    PrivateCodes,
    PrivateTable,
    PublicValues,
    ReleasedCodes,
    ReleasedTable,
    read_codes,
    write_batch,
    write_values,
)
from trasgo_lib.errors import CheckFailedError
from trasgo_lib.release import (
    public_types,
    read_parquet_batches,
    released_batches,
    released_schema,
    require_released,
    stage_data,
    write_csv,
    write_parquet,
)

NAMES = ["wage", "note", "rate", "region", "size", "day", "place_latitude", "place_longitude"]
TYPES = ["int64", "string", "double", "string", "int64", "date32[day]", "double", "double"]


def test_columns_order_and_types(made: Any) -> None:
    table = pq.read_table(made.work / "data" / "demo.parquet")
    assert table.schema.names == NAMES
    assert [str(kind) for kind in table.schema.types] == TYPES
    assert table.num_rows == 500
    assert released_schema(made.table, made.plan).equals(table.schema, check_metadata=True)


def test_values_are_the_decoded_codes(made: Any) -> None:
    table = pq.read_table(made.work / "data" / "demo.parquet")
    for unit in made.plan.units:
        codes = read_codes(made.table.unit(unit.name))
        missing = codes == unit.domain.size
        assert missing.any() == (unit.missing == "code")
        decoded = unit.domain.decode(np.where(missing, 0, codes).astype(np.int32))
        parts = decoded if isinstance(decoded, tuple) else (decoded,)
        for name, part in zip(unit.columns, parts, strict=True):
            wanted = (part if isinstance(part, pa.Array) else pa.array(part)).to_pylist()
            wanted = [None if gone else value for value, gone in zip(wanted, missing, strict=True)]
            assert table.column(name).to_pylist() == wanted
    assert table.column("note").to_pylist()[:3] == [None, "", "002"]


def test_a_public_column_passes_unchanged(made: Any) -> None:
    # B45, B04: public text keeps leading zeros, empty text and nulls apart
    note = pq.read_table(made.work / "data" / "demo.parquet").column("note").to_pylist()
    assert note == [None if row % 7 == 0 else ("" if row % 7 == 1 else f"00{row}") for row in range(500)]


def test_one_row_group_a_batch_zstd_and_no_frame_metadata(made: Any) -> None:
    with pq.ParquetFile(made.work / "data" / "demo.parquet") as file:
        groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
        assert [group.num_rows for group in groups] == [300, 200]
        assert {group.column(0).compression for group in groups} == {"ZSTD"}
        assert groups[0].column(0).is_stats_set
        assert file.schema_arrow.metadata is None
        assert b"pandas" not in (file.metadata.metadata or {})
    assert [batch.num_rows for batch in read_parquet_batches(made.work / "data" / "demo.parquet")] == [300, 200]


def test_csv_is_quoted_as_in_rfc_4180_with_empty_fields_for_nulls(made: Any) -> None:
    text = (made.work / "data" / "demo.csv").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0] == ",".join(f'"{name}"' for name in NAMES)
    assert '"so""uth"' in text
    assert '"mid, west"' in text
    first = lines[1].split(",")
    assert first[1] == ""
    assert '"",' in lines[2]
    assert "nan" not in text.lower()
    rows = list(csv.reader(text.splitlines()))
    assert {len(row) for row in rows} == {len(NAMES)}
    assert len(rows) == 501


def test_the_same_codes_give_the_same_bytes(made: Any, tmp_path: Path) -> None:
    for write, name in ((write_parquet, "demo.parquet"), (write_csv, "demo.csv")):
        again = tmp_path / name
        write(again, made.table, made.plan)
        assert again.read_bytes() == (made.work / "data" / name).read_bytes()
        write(again, made.table, made.plan)
        assert again.read_bytes() == (made.work / "data" / name).read_bytes()


def test_csv_bytes_do_not_depend_on_the_batching(made: Any, kit: Any, tmp_path: Path) -> None:
    other = kit.released_table(made.plan, tmp_path, cuts=(0, 1, 499, 500))
    write_csv(tmp_path / "demo.csv", other, made.plan)
    assert (tmp_path / "demo.csv").read_bytes() == (made.work / "data" / "demo.csv").read_bytes()


def test_staged_files_are_private_whatever_the_umask(made: Any) -> None:
    for file in made.package.files:
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def _private(table: ReleasedTable) -> PrivateTable:
    units = tuple(PrivateCodes(codes.unit, codes.batches, codes.digest) for codes in table.units)
    return PrivateTable(table.rows, "0" * 64, units, table.public)


def _dressed(table: ReleasedTable) -> ReleasedTable:
    return ReleasedTable(table.rows, _private(table).units, table.public)  # type: ignore[arg-type]


def _public_codes(table: ReleasedTable) -> ReleasedTable:
    public = tuple(PrivateCodes(values.column, values.batches, "0" * 64) for values in table.public)
    return ReleasedTable(table.rows, table.units, public)  # type: ignore[arg-type]


class _Subclass(ReleasedTable):
    pass


@pytest.mark.parametrize("disguise", [_private, _dressed, _public_codes, lambda table: {"rows": table.rows}])
def test_only_released_data_is_written(made: Any, tmp_path: Path, disguise: object) -> None:
    wrong = disguise(made.table)  # type: ignore[operator]
    for write in (write_parquet, write_csv):
        with pytest.raises(TypeError, match="public root"):
            write(tmp_path / "x", wrong, made.plan)
    with pytest.raises(TypeError):
        stage_data(wrong, made.plan, tmp_path)
    with pytest.raises(TypeError):
        next(iter(released_batches(wrong, made.plan)))
    assert list(tmp_path.iterdir()) == []


def test_a_subclass_is_not_a_released_table(made: Any) -> None:
    with pytest.raises(TypeError, match="_Subclass"):
        require_released(_Subclass(made.table.rows, made.table.units, made.table.public), made.plan)


def _replaced(table: ReleasedTable, unit: str, batches: tuple[object, ...]) -> ReleasedTable:
    units = tuple(
        ReleasedCodes(codes.unit, batches, codes.digest) if codes.unit == unit else codes  # type: ignore[arg-type]
        for codes in table.units
    )
    return dataclasses.replace(table, units=units)


def test_units_of_another_plan_are_refused(made: Any, tmp_path: Path) -> None:
    fewer = dataclasses.replace(made.table, units=made.table.units[1:])
    no_public = dataclasses.replace(made.table, public=())
    for table in (fewer, no_public):
        with pytest.raises(CheckFailedError, match="of the plan"):
            write_parquet(tmp_path / "x", table, made.plan)


def test_columns_that_disagree_about_rows_are_refused(made: Any, tmp_path: Path) -> None:
    first, second = made.table.unit("wage").batches
    cases = {
        "differ": (first,),
        "gap": (first, dataclasses.replace(second, first_row=301)),
    }
    for batches in cases.values():
        with pytest.raises(CheckFailedError):
            write_csv(tmp_path / "x", _replaced(made.table, "wage", batches), made.plan)
    shorter = dataclasses.replace(made.table, rows=499)
    with pytest.raises(CheckFailedError, match="499 rows"):
        write_csv(tmp_path / "x", shorter, made.plan)


def test_all_columns_with_the_same_gap_are_refused(made: Any, tmp_path: Path) -> None:
    def gap(column: ReleasedCodes | PublicValues) -> tuple[object, ...]:
        first, second = column.batches
        return first, dataclasses.replace(second, first_row=second.first_row + 1)

    table = ReleasedTable(
        500,
        tuple(dataclasses.replace(codes, batches=gap(codes)) for codes in made.table.units),
        tuple(dataclasses.replace(values, batches=gap(values)) for values in made.table.public),
    )
    with pytest.raises(CheckFailedError, match="gap"):
        write_csv(tmp_path / "x", table, made.plan)


@pytest.mark.parametrize("code", [-1, 201])
def test_a_code_outside_its_domain_is_refused(kit: Any, tmp_path: Path, code: int) -> None:
    codes = np.array([0, code], dtype=np.int32)
    bad = write_batch(tmp_path, "wage", 0, codes, kit.digest_key)
    plan = kit.compile_text(tmp_path, _ONE_COLUMN)
    table = ReleasedTable(2, (ReleasedCodes("wage", (bad,), "0" * 64),), ())
    with pytest.raises(CheckFailedError) as caught:
        write_parquet(tmp_path / "x", table, plan)
    assert str(code) not in caught.value.faults[0].came


_ONE_COLUMN = """
format: 1
release: {dataset: demo, version: "1", title: One column}
source: {path: x.csv, format: csv}
privacy: {epsilon_total: "2", account: a}
columns:
  - {name: wage, type: number, domain: {lower: "0", upper: "2000", step: "10"}, mechanism: laplace, epsilon: "1"}
loop: {loss_from: original, composition: sequential}
publish: {store: releases, formats: [parquet]}
"""


def test_without_csv_only_parquet_is_staged(kit: Any, tmp_path: Path) -> None:
    plan = kit.compile_text(tmp_path, _ONE_COLUMN)
    files = stage_data(kit.released_table(plan, tmp_path), plan, tmp_path / "work")
    assert [file.key for file in files] == ["data/demo.parquet"]


def test_dictionaries_are_published_as_their_values(kit: Any, tmp_path: Path) -> None:
    values = pa.array(["a", "b", "a"]).dictionary_encode()
    ref = write_values(tmp_path, "note", 0, values, kit.digest_key)
    table = ReleasedTable(3, (), (PublicValues("note", (ref,), "0" * 64),))
    assert public_types(table) == {"note": pa.string()}
