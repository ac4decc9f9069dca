"""Exact whole-number statistics of private codes: counts by cell and code, from which every query is made.

Private values stay here and in ``answering``: what this module returns is exact, so it never leaves the task.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.statistics.model import Bounds, Frame, Measure, QueryPlan, Rule, Table

Counts = NDArray[np.int64]
_BELOW = 2**62


class PrivateRows(Protocol):
    """The encoded source, batch by batch."""

    @property
    def rows(self) -> int:
        """Number of rows; public."""

    def batches(self, names: Sequence[str]) -> Iterator[Mapping[str, NDArray[np.int32]]]:
        """Codes of the named columns: int32[rows] each; private."""

    def units(self) -> Iterator[NDArray[np.int64]]:
        """The keyed hash of each row's privacy unit, in the same batches: int64[rows]; private."""


def count_cells(query: QueryPlan, source: PrivateRows, key: bytes) -> Counts:
    """Rows that count, by cell and by code of the query's column.

    Args:
        query: the compiled query.
        source: private.
        key: secret; chooses which rows of a unit count where it has more than may count.

    Returns:
        int64[cells, codes]; private and exact.
    """
    total = np.zeros((len(query.table.labels), query.size), dtype=np.int64)
    for codes, cells in _counted(query, source, key, query.table):
        kept = cells >= 0
        places = cells[kept] * query.size
        if query.column is not None:
            places = places + codes[query.column][kept]
        total += np.bincount(places, minlength=total.size).reshape(total.shape)
    return total


def count_options(query: QueryPlan, source: PrivateRows, key: bytes) -> Counts:
    """Rows that count, by candidate or question: int64[options]; private.

    With utility ``split`` they are rows whose label is the commonest on their side, whether they meet the condition or
    not (Friedman and Schuster 2010, the Max operator): a replaced row moves it by at most 1.
    """
    options = query.options
    if options is None:
        raise ValueError(f"{query.name} chooses nothing")
    labels = 1 if options.label is None else options.label[1]
    total = np.zeros((len(options.rules), 2, labels), dtype=np.int64)
    for codes, cells in _counted(query, source, key, query.table):
        kept = cells >= 0
        label = 0 if options.label is None else codes[options.label[0]][kept]
        for place, rules in enumerate(options.rules):
            side = _meets(rules, codes, len(cells))[kept].astype(np.int64)
            total[place] += np.bincount(side * labels + label, minlength=2 * labels).reshape(2, labels)
    if options.label is None:
        return total[:, 1, 0]
    best: Counts = total.max(axis=2).sum(axis=1)
    return best


def sums(counts: Counts, measure: Measure, frame: Frame | None) -> tuple[int, ...]:
    """The sum of a measure in each cell, exact.

    Args:
        counts: int64[cells, codes].
        measure: what a row adds.
        frame: the grid; not needed for ``rows``.

    Raises:
        ValueError: the result does not fit 62 bits.
    """
    if measure == "rows" or frame is None:
        found = [int(total) for total in counts.sum(axis=1)]
    else:
        weights = weights_of(frame, measure)
        bound = int(np.abs(weights).max()) * max(1, int(counts.sum()))
        if bound < _BELOW:
            found = [int(total) for total in counts @ weights]
        else:
            exact = [int(weight) for weight in weights]
            found = [sum(int(n) * w for n, w in zip(row, exact, strict=True) if n) for row in counts]
    if any(abs(total) >= _BELOW for total in found):
        raise ValueError("a sum does not fit 62 bits")
    return tuple(found)


def weights_of(frame: Frame, measure: Measure) -> NDArray[np.int64]:
    """What a row of each code adds: int64[codes]."""
    codes = np.arange(frame.largest + 1, dtype=np.int64)
    if measure == "code":
        return codes
    if measure == "value":
        return int(frame.lower / frame.unit) + int(frame.step / frame.unit) * codes
    centred = 2 * codes - frame.largest
    return centred if measure == "centred" else centred * centred


def _counted(
    query: QueryPlan, source: PrivateRows, key: bytes, table: Table
) -> Iterator[tuple[Mapping[str, NDArray[np.int32]], NDArray[np.int64]]]:
    """Each batch with the cell of each row: -1 where the row does not count."""
    names = _columns(query)
    kept = _kept(query, source, key, names) if query.bounds.trims else None
    start = 0
    for codes in source.batches(names):
        cells = _cells(query.rules, table, codes)
        if kept is not None:
            cells = np.where(kept[start : start + len(cells)], cells, -1)
        start += len(cells)
        yield codes, cells


def _columns(query: QueryPlan) -> tuple[str, ...]:
    names = [rule.unit for rule in query.rules]
    names += [query.column] if query.column is not None else []
    names += query.table.columns
    if query.options is not None:
        names += [rule.unit for rules in query.options.rules for rule in rules]
        names += [query.options.label[0]] if query.options.label is not None else []
    return tuple(dict.fromkeys(names))


def _cells(rules: Sequence[Rule], table: Table, codes: Mapping[str, NDArray[np.int32]]) -> NDArray[np.int64]:
    rows = len(next(iter(codes.values())))
    place = np.zeros(rows, dtype=np.int64)
    for name, size in zip(table.columns, table.sizes, strict=True):
        place = place * size + codes[name]
    found: NDArray[np.int64] = np.array(table.cells, dtype=np.int64)[place]
    return np.where(_meets(rules, codes, rows), found, -1)


def _meets(rules: Sequence[Rule], codes: Mapping[str, NDArray[np.int32]], rows: int) -> NDArray[np.bool_]:
    met = np.ones(rows, dtype=np.bool_)
    for rule in rules:
        met &= np.frombuffer(rule.allowed, dtype=np.uint8)[codes[rule.unit]] == 1
    return met


def _kept(query: QueryPlan, source: PrivateRows, key: bytes, names: Sequence[str]) -> NDArray[np.bool_]:
    cells = np.concatenate([_cells(query.rules, query.table, codes) for codes in source.batches(names)])
    units = np.concatenate(list(source.units()))
    return keep_bounded(units, cells, query.bounds, key)


def keep_bounded(units: NDArray[np.int64], cells: NDArray[np.int64], bounds: Bounds, key: bytes) -> NDArray[np.bool_]:
    """Which rows count when a unit may count in so many groups, with so many rows in each.

    Of a unit with too many, those stay whose keyed hash is smallest: of (unit, group), then of (unit, row). So what
    stays of one unit depends on nothing but that unit's rows, their places in the shuffled order, and the key.

    Args:
        units: keyed hash of each row's unit: int64[rows].
        cells: each row's group, -1 where it does not count: int64[rows].
        bounds: what may count.
        key: secret, 32 bytes.

    Returns:
        bool[rows]; False where ``cells`` is -1.
    """
    kept = cells >= 0
    rows = np.flatnonzero(kept)
    order = rows[np.lexsort((cells[rows], units[rows]))]
    for start, end in _runs(units[order]):
        held = order[start:end]
        groups, sizes = np.unique(cells[held], return_counts=True)
        if len(groups) > bounds.groups:
            unit = int(units[held[0]])
            chosen = sorted(groups.tolist(), key=lambda group: _priority(key, b"group", unit, group))
            dropped = np.isin(cells[held], chosen[bounds.groups :])
            kept[held[dropped]] = False
            held = held[~dropped]
        if sizes.max() > bounds.rows:
            _keep_rows(kept, held, cells, int(units[held[0]]), bounds.rows, key)
    return kept


def _keep_rows(
    kept: NDArray[np.bool_], held: NDArray[np.int64], cells: NDArray[np.int64], unit: int, most: int, key: bytes
) -> None:
    for start, end in _runs(cells[held]):
        if end - start > most:
            ranked = sorted(held[start:end].tolist(), key=lambda row: _priority(key, b"row", unit, row))
            kept[ranked[most:]] = False


def _runs(values: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Starts and ends of runs of equal values that are longer than one."""
    if not len(values):
        return
    breaks = np.flatnonzero(np.diff(values)) + 1
    starts, ends = np.r_[0, breaks], np.r_[breaks, len(values)]
    long = ends - starts > 1
    yield from zip(starts[long].tolist(), ends[long].tolist(), strict=True)


def _priority(key: bytes, purpose: bytes, unit: int, place: int) -> bytes:
    message = purpose + unit.to_bytes(8, "big", signed=True) + place.to_bytes(8, "big", signed=True)
    return hmac.new(key, message, hashlib.sha256).digest()
