"""Small releases of made-up people: a known population, rows drawn from it, real channels, a Parquet file in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trasgo_lib.analysis import NoisedColumn, Release
from trasgo_lib.analysis.counting import PublishedRows
from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.mechanisms import build_chain, build_channel
from trasgo_lib.noise import Keystream

ROWS = 2000
YEARS = NumberDomain(lower="0", upper="36", step="2")
GRADES = CategoryDomain(codes=["low", "middle", "high"], ordered=True)
REGIONS = CategoryDomain(codes=["north", "east", "south", "west"])
WAVES = ("2025", "2026")


def population() -> np.ndarray:
    """Probability of years' code, grade, wave and whether years is missing: float64[19, 3, 2, 2]."""
    years, grades = np.arange(19)[:, None, None, None], np.arange(3)[None, :, None, None]
    waves, gaps = np.arange(2)[None, None, :, None], np.arange(2)[None, None, None, :]
    middle = 6 + 2.5 * grades + 1.5 * waves
    law = np.exp(-(((years - middle) / 4.0) ** 2)) * (3 - grades + 0.5 * waves) * np.where(gaps == 1, 1.0, 6.0)
    return np.broadcast_to(law, (19, 3, 2, 2)) / np.broadcast_to(law, (19, 3, 2, 2)).sum()


LAW = population()


@lru_cache(maxsize=1)
def columns() -> dict[str, NoisedColumn]:
    """Channels of every kind the tests ask about; one is the middle level of a chain."""
    chain = build_chain("laplace", YEARS, ["1", "4", "8"])
    return {
        "years": NoisedColumn("years", "years", YEARS, chain.channel("4")),
        "gaps": NoisedColumn("gaps", "gaps", YEARS, build_channel("laplace", YEARS, "6", missing=True)),
        "grade": NoisedColumn("grade", "grade", GRADES, build_channel("kary_randomized_response", GRADES, "3")),
        "binned": NoisedColumn(
            "binned", "binned", YEARS, build_channel("binned_randomized_response", YEARS, "3", bins=4)
        ),
        "region": NoisedColumn("region", "region", REGIONS, build_channel("kary_randomized_response", REGIONS, "1")),
    }


def private_rows(key: int, rows: int) -> dict[str, np.ndarray]:
    """Codes of rows drawn from the population."""
    words = Keystream(bytes(32), "people", key).words(0, rows)
    cells = np.searchsorted(np.cumsum(LAW.ravel()), words.astype(np.float64) / 2.0**64, side="right")
    years, grade, wave, gap = np.unravel_index(np.minimum(cells, LAW.size - 1), LAW.shape)
    codes = {"years": years, "gaps": np.where(gap == 1, 19, years), "grade": grade, "binned": years}
    codes |= {"region": grade, "wave": wave}
    return {name: column.astype(np.int32) for name, column in codes.items()}


def published(column: NoisedColumn, codes: np.ndarray) -> pa.Array:
    """Published values of released codes, the missing code as null."""
    inside = np.where(codes == column.domain.size, 0, codes).astype(np.int32)
    values: Any = column.domain.decode(inside)
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.array(array.to_pylist(), array.type, mask=codes == column.domain.size)


def release_of(table: pa.Table, noised: dict[str, NoisedColumn], rows_per_group: int = 700) -> Release:
    """A release over a table in memory."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=rows_per_group)
    buffer = sink.getvalue()
    data = PublishedRows(lambda: pa.BufferReader(buffer))
    public = tuple(name for name in table.column_names if name not in noised)
    return Release("memory:///people", "people", "1", table.num_rows, MappingProxyType(noised), public, data)


def make_release(key: int, rows: int = ROWS) -> Release:
    """The release of one key."""
    private, noised = private_rows(key, rows), columns()
    arrays = {}
    for name, column in noised.items():
        released = column.channel.sample(private[name], Keystream(bytes(32), "noise", name, key))
        arrays[name] = published(column, released)
    arrays["wave"] = pa.array([WAVES[wave] for wave in private["wave"]])
    return release_of(pa.table(arrays), noised)


@pytest.fixture(scope="session")
def people() -> Callable[..., Release]:
    """Releases by key."""
    return lru_cache(maxsize=4)(make_release)


@pytest.fixture(scope="session")
def golden() -> Path:
    """A whole published package."""
    return Path(__file__).resolve().parents[2] / "golden" / "release"
