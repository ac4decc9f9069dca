"""Stored codes as rows of queries: the same counts whatever the batches, units told apart and nothing more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asked import KEY, plan_of

from trasgo_lib.data import read_source
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import source_reading
from trasgo_lib.statistics.counting import count_cells
from trasgo_lib.statistics.private_rows import StoredRows

PEOPLE = ["ann", "bob", "ann", "eve", "ann", "bob", "dan"]
REGIONS = ["north", "south", "south", "east", "north", "south", "east"]
QUERY = "{name: q, type: crosstab, by: [region], epsilon: '1', max_rows: 1, max_groups: 1}"


def _rows(folder: Path, batch: int, *, keeps: bool = True) -> StoredRows:
    lines = ["age,balance,region,sex,born,person"]
    lines += [f"3,0,{region},f,2000-01-02,{person}" for person, region in zip(PEOPLE, REGIONS, strict=True)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    plan = plan_of(folder, QUERY, max_rows=3)
    reading = replace(source_reading(plan.base), keeps_units=keeps)
    table, _ = read_source(
        reading,
        digest_key=KEY,
        permutation=lambda digest: Keystream(KEY, "permute", digest),
        work=folder / f"work-{batch}-{keeps}",
        rows_per_batch=batch,
    )
    return StoredRows(table, KEY, "person")


def test_rows_of_one_unit_share_a_hash_and_others_have_another(tmp_path: Path) -> None:
    units = np.concatenate(list(_rows(tmp_path, 3).units()))
    assert sorted(np.unique(units, return_counts=True)[1].tolist()) == [1, 1, 2, 3]
    assert np.array_equal(units, np.concatenate(list(_rows(tmp_path, 7).units())))


def test_what_a_unit_adds_is_bounded_whatever_the_batches(tmp_path: Path) -> None:
    query = plan_of(tmp_path, QUERY, max_rows=3).queries[0]
    counts = [count_cells(query, _rows(tmp_path, batch), KEY).reshape(-1).tolist() for batch in (1, 3, 7)]
    assert counts[0] == counts[1] == counts[2]
    assert sum(counts[0]) == 4 and counts[0][2] == 2, "one row of each of four people; eve and dan live in the east"
    loose = plan_of(tmp_path, QUERY.replace(", max_rows: 1, max_groups: 1", ""), max_rows=3).queries[0]
    assert count_cells(loose, _rows(tmp_path, 3), KEY).reshape(-1).tolist() == [2, 3, 2]


def test_no_hash_is_stored_that_no_query_needs(tmp_path: Path) -> None:
    rows = _rows(tmp_path, 3, keeps=False)
    assert [codes.unit for codes in rows.table.units] == ["age", "balance", "region", "sex", "born"]
    with pytest.raises(ValueError, match="no identifiers"):
        next(replace(rows, unit=None).units())
