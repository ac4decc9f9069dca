"""Statistics files and private rows made for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.config.document import read_document
from trasgo_lib.statistics import QueryPlan, StatisticsPlan, read_statistics

KEY = bytes(range(32))

HEAD = """\
format: 1
release: {dataset: people, version: "1", title: "People"}
source: {path: people.csv, format: csv}
privacy: {epsilon_total: "1000", delta_total: "0.001", account: people%s}
columns:
  - {name: age, type: number, domain: {lower: "0", upper: "9", step: "1", unit: years}, outside: clip}
  - {name: balance, type: number, domain: {lower: "-2.5", upper: "5", step: "2.5"}, outside: clip}
  - {name: region, type: category, domain: {codes: [north, south, east]}}
  - {name: sex, type: category, domain: {codes: [f, m]}, missing: code}
  - {name: born, type: date, format: "%%Y-%%m-%%d", domain: {lower: "2000-01-01", upper: "2000-01-10"}}
  - {name: person, role: %s}
rows: 1000
queries:
"""
SIZES = {"age": 10, "balance": 4, "region": 3, "sex": 3, "born": 10}


def text_of(*queries: str, max_rows: int = 1) -> str:
    """A statistics file with these queries; a privacy unit of several rows when ``max_rows`` is above 1."""
    unit = "" if max_rows == 1 else f", unit: {{column: person, max_rows: {max_rows}}}"
    head = HEAD % (unit, "drop" if max_rows == 1 else "unit")
    return head + "".join(f"  - {query}\n" for query in queries) + "publish: {store: releases}\n"


def plan_of(folder: Path, *queries: str, max_rows: int = 1) -> StatisticsPlan:
    """The compiled plan of a file with these queries."""
    path = folder / "people.yaml"
    path.write_text(text_of(*queries, max_rows=max_rows), encoding="utf-8")
    assert not read_document(path.read_text(encoding="utf-8")).faults
    return read_statistics(path)[1]


def query_of(folder: Path, query: str, max_rows: int = 1) -> QueryPlan:
    """The compiled plan of one query."""
    return plan_of(folder, query, max_rows=max_rows).queries[0]


@dataclass(frozen=True)
class Rows:
    """Private rows in memory, in batches."""

    codes: Mapping[str, NDArray[np.int32]]
    unit: NDArray[np.int64]
    batch: int = 3

    @property
    def rows(self) -> int:
        return len(self.unit)

    def batches(self, names: Sequence[str]) -> Iterator[Mapping[str, NDArray[np.int32]]]:
        for start in range(0, self.rows, self.batch):
            yield {name: self.codes[name][start : start + self.batch] for name in names}

    def units(self) -> Iterator[NDArray[np.int64]]:
        for start in range(0, self.rows, self.batch):
            yield self.unit[start : start + self.batch]


def rows_of(units: Sequence[int], batch: int = 3, **codes: Sequence[int]) -> Rows:
    """Rows with these codes; columns that are not named hold code 0."""
    full = {name: codes.get(name, [0] * len(units)) for name in SIZES}
    return Rows({n: np.array(c, dtype=np.int32) for n, c in full.items()}, np.array(units, dtype=np.int64), batch)
