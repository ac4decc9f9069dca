"""A declared table of every published kind, and rows that satisfy it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from trasgo_lib.checks import ExpectedColumn, ExpectedTable, expected_unit
from trasgo_lib.data import BoxDomain, CategoryDomain, DateDomain, Domain, NumberDomain

DOMAINS: dict[str, Domain] = {
    "wage": NumberDomain("0", "2000", "10"),
    "rate": NumberDomain("0", "1", "0.1"),
    "region": CategoryDomain(["north", "mid, west", 'so"uth']),
    "size": CategoryDomain(["1", "2", "3"], output="integer"),
    "day": DateDomain("2017-01-01", "2017-12-31"),
    "place": BoxDomain(["41.6", "-87.9", "42.1", "-87.5"], "EPSG:3435", "2000"),
}
NULLABLE = {"rate"}
COLUMNS = {name: (name,) for name in DOMAINS} | {"place": ("place_latitude", "place_longitude")}


def declared(rows: int) -> ExpectedTable:
    """The declaration of ``rows`` rows of every kind of column, and one public column."""
    columns = [
        column
        for name, domain in DOMAINS.items()
        for column in expected_unit(name, COLUMNS[name], domain, nullable=name in NULLABLE, max_share_at_bounds="0.7")
    ]
    return ExpectedTable((*columns, ExpectedColumn("note", pa.string(), nullable=True)), rows)


def spread_codes(size: int, rows: int, first_row: int = 0) -> np.ndarray:
    """Codes that visit the whole domain in strides: no randomness, few of them at the ends."""
    return ((np.arange(first_row, first_row + rows, dtype=np.int64) * 7919 + 3) % size).astype(np.int32)


def released_batch(rows: int, first_row: int = 0) -> pa.RecordBatch:
    """Rows that satisfy ``declared``."""
    arrays: dict[str, pa.Array] = {}
    for name, domain in DOMAINS.items():
        decoded = domain.decode(spread_codes(domain.size, rows, first_row))
        parts = decoded if isinstance(decoded, tuple) else (decoded,)
        for column, part in zip(COLUMNS[name], parts, strict=True):
            arrays[column] = part if isinstance(part, pa.Array) else pa.array(part)
    arrays["note"] = pa.array([None if row % 3 == 0 else f"n{row}" for row in range(rows)], pa.string())
    return pa.record_batch(list(arrays.values()), names=list(arrays))


@pytest.fixture
def expected() -> ExpectedTable:
    return declared(400)


@pytest.fixture
def batch() -> pa.RecordBatch:
    return released_batch(400)
