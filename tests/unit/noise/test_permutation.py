"""Keyed permutations: uniform over keys, fixed for a key, ties broken by second words."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from trasgo_lib.noise import Keystream, permutation

ROOT = bytes(range(32))


class ScriptedWords:
    """A keystream whose words are given."""

    def __init__(self, words: list[int]) -> None:
        self._words = np.array(words, dtype=np.uint64)

    def words(self, first: int, count: int) -> np.ndarray:
        return self._words[first : first + count]


@pytest.mark.parametrize("rows", [0, 1, 2, 1000])
def test_it_is_a_permutation_and_follows_the_key(rows: int) -> None:
    order = permutation(Keystream(ROOT, "permute"), rows)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(rows))
    assert np.array_equal(order, permutation(Keystream(ROOT, "permute"), rows))
    if rows == 1000:
        assert not np.array_equal(order, permutation(Keystream(ROOT, "other"), rows))
        assert abs(np.corrcoef(order, np.arange(rows))[0, 1]) < 0.15  # four standard errors


def test_ties_are_broken_by_second_words_not_by_source_order() -> None:
    tied = ScriptedWords([5, 5, 1, 5, 30, 20, 99, 10])
    assert permutation(tied, 4).tolist() == [2, 3, 1, 0]  # type: ignore[arg-type]


def test_every_order_of_four_rows_is_equally_likely() -> None:
    # 6000 keys, 24 orders; false alarm 1e-4; a cyclic shift, which makes 4 orders only, fails
    drawn = Counter(tuple(permutation(Keystream(ROOT, "uniform", key), 4).tolist()) for key in range(6000))
    counts = [drawn[order] for order in permutations(range(4))]
    assert chisquare(counts).pvalue > 1e-4
    shifted = Counter(tuple(np.roll(range(4), key).tolist()) for key in range(6000))
    assert chisquare([shifted[order] for order in permutations(range(4))]).pvalue < 1e-4
