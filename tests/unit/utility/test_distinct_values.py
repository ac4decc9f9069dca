"""Counts by sorting are the counts of a dictionary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from trasgo_lib.utility import divergence
from trasgo_lib.utility.distinct_values import count_distinct
from trasgo_lib.utility.divergences import divergence_of_counts, divergence_of_shares


@pytest.mark.parametrize("kind", ["float64", "int64"])
@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([3, 1, 2, 1], [1, 5, 5]), ([2], []), ([], [7, 7, -1])])
def test_counts_are_those_of_a_dictionary(kind: str, ours: list[int], theirs: list[int]) -> None:
    found = count_distinct(np.array(ours, dtype=kind), np.array(theirs, dtype=kind))
    values = sorted({*ours, *theirs})
    assert [side.tolist() for side in found] == [[Counter(side)[value] for value in values] for side in (ours, theirs)]


def test_fractions_that_are_nearly_all_distinct_and_missing_ones() -> None:
    ours = [at / 7 for at in range(500)] + [None, 0.125]
    theirs = [at / 7 for at in range(250, 750)] + [0.125, None]
    found = divergence(pa.array(ours), pa.array(theirs))
    as_text = divergence(
        [None if v is None else repr(v) for v in ours], [None if v is None else repr(v) for v in theirs]
    )
    assert found.tvd == as_text.tvd == pytest.approx(250 / 502, abs=1e-12)
    assert found.lost == as_text.lost == 250
    assert found.js == pytest.approx(as_text.js, rel=1e-12)


@pytest.mark.parametrize("overlap", [True, False])
def test_counts_taken_together_give_the_same_bits(overlap: bool) -> None:
    place = np.arange(3 * 2**14)
    ours, theirs = place % 3 + overlap, place // 7 % 4 + overlap
    found = divergence_of_counts(ours, theirs)
    assert found == divergence_of_shares(ours / ours.sum(), theirs / theirs.sum())
    assert (found.lost == 0) == overlap


def test_many_different_counts_are_not_taken_together() -> None:
    place = np.arange(2**14)
    ours, theirs = place % 1000, place[::-1] % 1000
    assert divergence_of_counts(ours, theirs) == divergence_of_shares(ours / ours.sum(), theirs / theirs.sum())
