"""What ``sample`` draws from is what ``weights`` says, counted over every word there is, not estimated.

A sampler cuts the word space into segments at thresholds of its alias table. Both ends of each segment are sent through
``sample``: they must agree, and the lengths that lead to an output must add up to its weight, to the last unit. A
statistical test sees a bias of 1e-3; this one sees a single word of 2**64.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from test_channels import CASES, channel_of

from trasgo_lib.mechanisms.planar_window import UNIFORM_BITS

WORD = 2**64
FLOOR = 2**UNIFORM_BITS


class Words:
    """A keystream that returns these words."""

    def __init__(self, words: list[int]) -> None:
        self._words = np.array(words, dtype=np.uint64)

    def words(self, first: int, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        assert (first, count) == (0, len(self._words))
        return self._words


def outputs(channel: Any, code: int, words: list[int]) -> list[int]:
    """What one input becomes under each word (two-word channels: each number of 128 bits)."""
    flat = words if channel.words_per_row == 1 else [half for word in words for half in divmod(word, WORD)]
    drawn: list[int] = channel.sample(np.full(len(words), code, dtype=np.int32), Words(flat)).tolist()
    return drawn


def counted(channel: Any, code: int, cuts: list[int], end: int) -> list[int]:
    """Words of ``0..end-1`` that lead to each output; every cut begins a segment."""
    segments = [(start, stop - 1) for start, stop in pairwise(sorted({0, *cuts, end}))]
    first = outputs(channel, code, [start for start, _ in segments])
    assert first == outputs(channel, code, [last for _, last in segments])
    found = [0] * channel.outputs
    for (start, last), output in zip(segments, first, strict=True):
        found[output] += last - start + 1
    return found


def column_cuts(last: list[int], capacity: int, column: int = 0) -> list[int]:
    """Where columns begin and where their own shares end."""
    starts = [place * capacity for place in range(column, column + len(last))]
    return [*starts, *((value + 1) % (capacity * len(last)) for value in last)]


def word_cuts(alias: Any, code: int | None = None) -> list[int]:
    capacity = 1 << int(alias._shift)
    columns = WORD // capacity
    last = alias._last if code is None else alias._last[code * columns : (code + 1) * columns]
    return column_cuts(last.tolist(), capacity)


ONE_WORD = [name for name in CASES if channel_of(name, "2").words_per_row == 1]
FLAGGED = [name for name in CASES if CASES[name].parameters.get("missing") and name not in ONE_WORD]


@pytest.mark.parametrize("epsilon", ["0.5", "8"])
@pytest.mark.parametrize("name", ONE_WORD)
def test_every_word_is_counted_once(name: str, epsilon: str) -> None:
    channel: Any = channel_of(name, epsilon)
    # a binned channel draws bins, and its table is that of the bins
    alias = channel._alias if hasattr(channel, "_alias") else channel._table._alias
    is_dense = hasattr(alias, "_columns")
    for code in range(channel.inputs):
        found = counted(channel, code, word_cuts(alias, code if is_dense else None), WORD)
        assert tuple(found) == channel.weights(code)


@pytest.mark.parametrize("epsilon", ["0.5", "8"])
@pytest.mark.parametrize("name", FLAGGED)
def test_every_pair_of_flag_and_value_words_is_counted_once(name: str, epsilon: str) -> None:
    channel: Any = channel_of(name, epsilon)
    cuts = sorted({0, WORD, *word_cuts(channel._value._alias)})
    ends = [(start, stop - 1) for start, stop in pairwise(cuts)]
    for code in range(channel.inputs):
        missing_weight = channel.weights(code)[-1] // WORD
        # a present value is missing where the flag is below its weight, a missing one where it is not
        flip = missing_weight if code < channel.inputs - 1 else WORD - missing_weight
        found = [0] * channel.outputs
        for low, high in ((0, flip - 1), (flip, WORD - 1)):
            corners = [
                outputs(channel, code, [flag * WORD + end[side] for end in ends])
                for flag in (low, high)
                for side in (0, 1)
            ]
            assert all(corner == corners[0] for corner in corners)
            for (start, last), output in zip(ends, corners[0], strict=True):
                found[output] += (high - low + 1) * (last - start + 1)
        assert tuple(found) == channel.weights(code)


@pytest.mark.parametrize("epsilon", ["2", "8"])
def test_every_number_of_128_bits_is_counted_once_on_a_lattice(epsilon: str) -> None:
    channel: Any = channel_of("planar-box", epsilon)
    alias, cells = channel._alias, channel.inputs
    ends = [high * WORD + low for high, low in zip(alias._high.tolist(), alias._low.tolist(), strict=True)]
    cuts = sorted({0, WORD**2, *column_cuts(ends, WORD << int(alias._shift))})
    assert all(cut % FLOOR == 0 for cut in cuts)  # so the last 20 bits decide nothing but window or box
    segments = [(start, stop - 1) for start, stop in pairwise(cuts)]
    # the box: the upper 108 bits of a number whose last 20 are zero, cut into equal parts
    parts = [-(-cell * WORD**2 // (cells * FLOOR)) for cell in range(cells + 1)]
    for code in range(cells):
        first = outputs(channel, code, [start + 1 for start, _ in segments])
        assert first == outputs(channel, code, [last for _, last in segments])
        found = [stop - start for start, stop in pairwise(parts)]
        for (start, last), output in zip(segments, first, strict=True):
            found[output] += (last - start + 1) // FLOOR * (FLOOR - 1)
        assert tuple(found) == channel.weights(code)
        assert outputs(channel, code, [start * FLOOR for start in parts[:-1]]) == list(range(cells))
        assert outputs(channel, code, [stop * FLOOR - FLOOR for stop in parts[1:]]) == list(range(cells))
