"""The short way for whole numbers gives what the long way gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trasgo_lib.utility import coding, correlation_loss, divergence
from trasgo_lib.utility.divergences import divergence_of_counts
from trasgo_lib.utility.frames import read_column
from trasgo_lib.utility.whole_numbers import (
    CHUNK_ROWS,
    SHORT_RANGE,
    count_bytes,
    count_whole,
    look_up,
    narrowed,
    short_range,
    sums_of_pairs,
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
    assert (short.present is None) == (long.present is None) == (not missing)
    assert short.present is None or np.array_equal(short.present, long.present)
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
    top = np.full(ROWS, SHORT_RANGE - 1, dtype=np.uint16)
    ramp = (np.arange(ROWS) % SHORT_RANGE).astype(np.uint16)
    found = sums_of_pairs([top, ramp])
    assert found is not None
    totals, sums = found
    assert totals == [sum(top.tolist()), sum(ramp.tolist())]
    exact = [
        [sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True)) for b in (top, ramp)] for a in (top, ramp)
    ]
    assert sums.tolist() == exact


def test_looking_up_is_indexing() -> None:
    table, places = np.array([5, -1, 7]), (np.arange(ROWS) % 3).astype(np.int32)
    assert np.array_equal(look_up(table, places), table[places])


@pytest.mark.parametrize("kind", ["int64", "uint8", "float64", "float32"])
def test_narrow_numbers_are_the_same_numbers(kind: str) -> None:
    values = (np.arange(ROWS) % 256).astype(kind)
    found = narrowed(values)
    assert found is not None
    assert found.dtype == np.uint8
    assert np.array_equal(found, values)
    assert np.array_equal(count_bytes(found), np.bincount(found, minlength=256))


@pytest.mark.parametrize("value", [-1.0, -0.0, 0.5, 65536.0, 1e300, -1e300, np.nan, np.inf, -np.inf])
def test_one_other_number_is_not_narrow(value: float) -> None:
    for place in (0, CHUNK_ROWS, ROWS - 1):
        values = np.zeros(ROWS)
        values[place] = value
        assert narrowed(values) is None


@settings(deadline=None)
@given(st.lists(st.integers(0, 255), max_size=40), st.booleans())
def test_bytes_are_counted_one_by_one(values: list[int], many: bool) -> None:
    column = np.array(values * (8000 if many else 1), dtype=np.uint8)
    assert np.array_equal(count_bytes(column), np.bincount(column, minlength=256))


_VALUES = st.sampled_from([0, -0.0, 1, 2.5, 255, 256, 65535, 70_000, -3, None, float("nan")])
_TEXTS = st.sampled_from(["aa", "ab", "b", "ab\0", "zz", None])


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(_VALUES, _VALUES), max_size=12) | st.lists(st.tuples(_TEXTS, _TEXTS), max_size=12))
def test_divergences_are_those_of_a_count_in_plain_python(rows: list[tuple[object, object]]) -> None:
    sides = [[None if value != value else value for value in side] for side in zip(*rows, strict=True)] or [[], []]
    values = list(dict.fromkeys(value for side in sides for value in side))
    counts = [np.array([side.count(value) for value in values], dtype=np.int64) for side in sides]
    expected = divergence_of_counts(*counts)
    columns = [[*side] for side in zip(*rows, strict=True)] or [[], []]
    assert divergence(*columns) == expected
    if all(isinstance(value, str | None) for value in values):
        assert divergence(*(pd.Series(side, dtype="category") for side in columns)) == expected
    else:
        assert divergence(*(pd.Series(side, dtype="float64") for side in columns)) == expected


@pytest.mark.parametrize("late", [None, "zz", "zzz"])
def test_labels_that_come_late_are_counted_and_coded_like_others(late: str | None) -> None:
    ours = pd.Series(["ab", "cd", "ef"] * 3000, dtype="str")
    theirs = pd.Series(["cd", "ab", "ef"] * 3000, dtype="str")
    theirs[8999] = late
    plain = divergence(pa.array(ours), pa.array(theirs))
    assert plain == divergence(ours.astype("category"), theirs.astype("category"))
    assert plain.tvd == pytest.approx(1 / 9000)
    before = pd.DataFrame({"x": ours, "y": np.arange(9000) % 7})
    after = pd.DataFrame({"x": theirs, "y": np.arange(9000) % 7})
    wider = [frame.assign(x=frame["x"] + frame["x"].str.slice(0, 1)) for frame in (before, after)]
    uneven = [frame.assign(x="x" + frame["x"].where(frame["x"] != "ab", "a")) for frame in (before, after)]
    losses = [correlation_loss(*frames).percent for frames in ((before, after), wider, uneven)]
    assert losses[0] == losses[1] == losses[2]
    assert correlation_loss(*(frame.astype({"x": "category"}) for frame in (before, after))).percent == losses[0]


def test_divergences_count_whole_numbers_of_any_type_and_missing_ones() -> None:
    ours, theirs = [1, 1, 2, None], [1.0, 3.0, None, None]
    found = divergence(pa.array(ours, pa.int64()), pa.array(theirs, pa.float64()))
    as_text = divergence(["1", "1", "2", None], ["1", "3", None, None])
    assert (found.tvd, found.js, found.kl, found.lost) == (as_text.tvd, as_text.js, as_text.kl, as_text.lost)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64"])
def test_a_negative_number_is_not_narrow_in_any_type(kind: str) -> None:
    """In one or two bytes it would have the bits of another number, and come back from them as it was."""
    values = np.array([-3, 0, 3], dtype=kind)
    assert narrowed(values) is None
    assert narrowed(values + values.dtype.type(3)) is not None
    wide = pd.DataFrame({"x": np.tile(values.astype(np.int64), 40), "y": np.tile([0, 5, 7], 40)})
    other = pd.DataFrame({"x": wide["x"].to_numpy()[::-1], "y": wide["y"]})
    for method in ("pearson", "spearman", "kendall"):
        frames = (wide.astype({"x": kind}), other.astype({"x": kind}))
        assert correlation_loss(*frames, method=method) == correlation_loss(wide, other, method=method)
    assert divergence(wide["x"].astype(kind), other["x"]).tvd == 0.0
