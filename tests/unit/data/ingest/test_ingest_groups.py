"""Columns of a group stored as one code, and labels coarsened as they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trasgo_lib.data import (
    CategoryDomain,
    ColumnReading,
    GroupReading,
    NumberDomain,
    ProductDomain,
    ProductPart,
    SourceReading,
    read_codes,
    read_source,
)
from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.noise import Keystream

AGE = NumberDomain("0", "9")
AREA = CategoryDomain(["north", "south"])
DOMAIN = ProductDomain([ProductPart("area", AREA), ProductPart("age", AGE, 5, True)])
MEMBERS = (("north", ("maine", "vermont")), ("south", ("texas",)))
COLUMNS = (
    ColumnReading("age", ("age",), "number", AGE, missing="code"),
    ColumnReading("pay", ("pay",), "number", AGE),
    ColumnReading("area", ("state",), "category", AREA, members=MEMBERS),
)


def _reading(folder: Path, text: str, order: str = "source") -> SourceReading:
    (folder / "s.csv").write_text(text, encoding="utf-8")
    groups = (GroupReading("who", ("area", "age"), DOMAIN),)
    return SourceReading(folder / "s.csv", "csv", COLUMNS, row_order=order, groups=groups)  # type: ignore[arg-type]


def _read(reading: SourceReading, folder: Path):  # type: ignore[no-untyped-def]
    return read_source(
        reading,
        digest_key=bytes(32),
        permutation=lambda digest: Keystream(bytes(32), digest),
        work=folder / "work",
        rows_per_batch=2,
    )


def test_a_group_is_stored_as_one_unit(tmp_path: Path) -> None:
    table, report = _read(_reading(tmp_path, "age,pay,state\n9,1,texas\n,2,maine\n0,3,vermont\n"), tmp_path)
    assert [codes.unit for codes in table.units] == ["who", "pay"]
    area, age = DOMAIN.decode(read_codes(table.unit("who")))
    assert (area.tolist(), age.tolist()) == ([1, 0, 0], [8, 10, 0])
    assert read_codes(table.unit("pay")).tolist() == [1, 2, 3]
    assert [(column.name, column.missing) for column in report.columns] == [("age", 1), ("pay", 0), ("area", 0)]


def test_columns_of_a_group_are_shuffled_together_with_the_others(tmp_path: Path) -> None:
    lines = "".join(f"{row % 10},{row % 10},{'texas' if row % 10 > 4 else 'maine'}\n" for row in range(50))
    table, _ = _read(_reading(tmp_path, "age,pay,state\n" + lines, "shuffle"), tmp_path)
    area, age = DOMAIN.decode(read_codes(table.unit("who")))
    pay = read_codes(table.unit("pay"))
    assert pay.tolist() != [row % 10 for row in range(50)]
    assert np.array_equal(area, (pay > 4).astype(np.int32)) and np.array_equal(age, pay // 2 * 2)


def test_a_label_outside_the_hierarchy_is_counted(tmp_path: Path) -> None:
    with pytest.raises(InputContractError) as caught:
        _read(_reading(tmp_path, "age,pay,state\n1,1,north\n1,1,texas\n"), tmp_path)
    (fault,) = caught.value.faults
    assert (fault.where, fault.reason, fault.rows) == ("area", Reason.OUT_OF_DOMAIN, 1)
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("names", [("age", "age"), ("age", "wave")])
def test_a_group_holds_noised_columns_once(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="a group holds noised columns"):
        SourceReading(tmp_path, "csv", COLUMNS, groups=(GroupReading("g", names, DOMAIN),))
