"""A uniform keyed permutation of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.noise.keystream import Keystream


def permutation(keystream: Keystream, rows: int) -> NDArray[np.int64]:
    """Source row of every row of the shuffled file: int64[rows], a permutation of 0..rows-1.

    Rows are sorted by a 64-bit word each; rows with equal words are sorted by a second word, so the order in the source
    decides nothing (two rows tie in both with probability 2**-128). Every permutation is equally likely over keys.

    Args:
        keystream: a stream with the purpose ``permute``, used for nothing else.
        rows: number of rows, public, 0 or more.
    """
    first = keystream.words(0, rows)
    order = np.argsort(first, kind="stable")
    ranked = first[order]
    if rows and bool((ranked[1:] == ranked[:-1]).any()):
        order = np.lexsort((keystream.words(rows, rows), first))
    return order.astype(np.int64, copy=False)
