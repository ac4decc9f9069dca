import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.utility import Histogram, equal_bins


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 300), st.integers(1, 40))
def test_bins_are_equal_and_all_used(size, bins):
    parts = equal_bins(size, bins)
    assert parts.size == size
    assert (np.diff(parts) >= 0).all()
    counts = np.bincount(parts)
    assert len(counts) == min(size, bins)
    assert counts.max() - counts.min() <= 1
    if bins >= size:
        assert parts.tolist() == list(range(size))


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 7), max_size=50), st.integers(0, 50))
def test_counts_merge_and_bin(codes, cut):
    array = np.array(codes, dtype=np.int32)
    whole = Histogram.count(array, 7)
    merged = Histogram.empty(7).merge(Histogram.count(array[:cut], 7)).merge(Histogram.count(array[cut:], 7))
    assert merged.counts.tolist() == whole.counts.tolist() == [codes.count(code) for code in range(8)]
    assert whole.rows == len(codes)
    assert whole.distinct == len(set(codes) - {7})
    binned = whole.binned(equal_bins(7, 2))
    low = sum(codes.count(code) for code in (0, 1, 2, 3))
    assert binned.tolist() == [low, len(codes) - low - codes.count(7), codes.count(7)]
    assert whole.binned(None) is whole.counts


@pytest.mark.parametrize("code", [-1, 8])
def test_codes_outside_are_counted(code):
    with pytest.raises(InputContractError) as caught:
        Histogram.count(np.array([0, code, code], dtype=np.int32), 7)
    assert (caught.value.reason, caught.value.faults[0].rows) == (Reason.OUT_OF_DOMAIN, 2)


def test_repr_shows_no_counts():
    assert repr(Histogram.count(np.array([5, 5], dtype=np.int32), 7)) == "Histogram()"
