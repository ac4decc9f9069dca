"""The short way for whole numbers gives what the long way gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from trasgo_lib.utility import coding, divergence
from trasgo_lib.utility.frames import read_column
from trasgo_lib.utility.whole_numbers import (
    CHUNK_ROWS,
    SHORT_RANGE,
    count_whole,
    look_up,
    products_of_pairs,
    short_range,
    whole_scores,
)

ROWS = 2 * CHUNK_ROWS + 7


def _rising(rows: int, step: int, kind: str) -> NDArray[np.generic]:
    return (np.arange(rows) * 7919 % 251 * step).astype(kind)


@pytest.mark.parametrize("kind", ["int64", "uint64", "int16", "float64", "float32"])
@pytest.mark.parametrize("missing", [False, True])
def test_scores_and_codes_are_those_of_the_long_way(kind: str, missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    values = pa.array(_rising(ROWS, 12, kind))
    if missing:
        values = pa.array([None, *values[1:].to_pylist()], values.type)
    short = coding.code_numbers(read_column(values, "x"))
    monkeypatch.setattr(coding, "whole_scores", lambda _: None)
    long = coding.code_numbers(read_column(values, "x"))
    assert np.array_equal(short.scores, long.scores)
    assert np.array_equal(short.present, long.present)
    # the codes differ where values are left out between; their order does not
    assert np.array_equal(np.unique(short.codes, return_inverse=True)[1], long.codes)


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.0, 1.5]),
        np.array([0.5, 1.5]),
        np.array([-1.0, 1e-20]),
        np.array([0, SHORT_RANGE]),
        np.array([2.0**60, 2.0**60 + 4096]),
        np.array([0.0, np.inf]),
        np.append(np.zeros(CHUNK_ROWS), 0.25),
    ],
)
def test_everything_else_is_left_to_the_long_way(values: NDArray[np.generic]) -> None:
    assert whole_scores(values) is None
    assert count_whole([values]) is None


def test_the_ends_are_those_of_all_columns() -> None:
    assert short_range(np.array([3, 9]), np.array([-2.0, 5.0])) == (-2, 9)
    counts = count_whole([np.array([3, 9, 9]), np.array([-2.0])])
    assert counts is not None
    assert [np.flatnonzero(count).tolist() for count in counts] == [[5, 11], [0]]
    assert counts[0].sum() == 3


def test_products_are_exact_at_the_largest_scores() -> None:
    top = np.full(ROWS, SHORT_RANGE - 1, dtype=np.int64)
    ramp = np.arange(ROWS, dtype=np.int64) % SHORT_RANGE
    sums = products_of_pairs([top, ramp])
    assert sums is not None
    exact = [
        [sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True)) for b in (top, ramp)] for a in (top, ramp)
    ]
    assert sums.tolist() == exact


def test_looking_up_is_indexing() -> None:
    table, places = np.array([5, -1, 7]), (np.arange(ROWS) % 3).astype(np.int32)
    assert np.array_equal(look_up(table, places), table[places])


def test_divergences_count_whole_numbers_of_any_type_and_missing_ones() -> None:
    ours, theirs = [1, 1, 2, None], [1.0, 3.0, None, None]
    found = divergence(pa.array(ours, pa.int64()), pa.array(theirs, pa.float64()))
    as_text = divergence(["1", "1", "2", None], ["1", "3", None, None])
    assert (found.tvd, found.js, found.kl, found.lost) == (as_text.tvd, as_text.js, as_text.kl, as_text.lost)
