"""Counts of values that are nearly all distinct: two sorts and one merge."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def count_distinct(ours: NDArray[Any], theirs: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each value of either column occurs in each of them, by rising value: int64[values] twice.

    Args:
        ours: numbers without NaN; private.
        theirs: numbers of the same type, likewise.
    """
    both = np.concatenate([np.sort(ours), np.sort(theirs)])
    if both.size == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    order = np.argsort(both, kind="stable")  # merges two runs, which takes one pass
    merged = both[order]
    starts = np.flatnonzero(np.concatenate([[True], merged[1:] != merged[:-1]]))
    of_theirs = np.add.reduceat((order >= ours.size).astype(np.int64), starts)
    return np.diff(np.append(starts, both.size)) - of_theirs, of_theirs
