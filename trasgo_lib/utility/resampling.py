"""Random numbers of a bootstrap: a fixed public stream, so that the same release always gets the same estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.noise import Keystream

REPLICATES = 400
"""Ends of a 95 % interval are then the 10th value from either side, with a standard error of 3 % of half its width."""

_BLOCK_WORDS = 2**40
"""Words set aside for each purpose; no purpose of one release takes as many."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """One purpose's part of a public stream.

    Args:
        stream: a stream of a public fixed key; noise of a release never comes from it.
        block: number of the purpose.
    """

    stream: Keystream
    block: int

    def normals(self, dimensions: int) -> NDArray[np.float64]:
        """Independent standard normal numbers: float64[REPLICATES, dimensions]."""
        # imported late: only estimates need scipy
        from scipy.special import ndtri

        words = self.stream.words(self.block * _BLOCK_WORDS, REPLICATES * dimensions)
        shares = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
        normal: NDArray[np.float64] = ndtri(shares).reshape(REPLICATES, dimensions)
        return normal

    def first_row(self, replicate: int, rows: int) -> int:
        """Where one replicate's draws of a channel start; channels take at most two words a row."""
        return self.block * _BLOCK_WORDS // 2 + replicate * rows


def symmetric_root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix whose square with itself transposed is the covariance; eigenvalues below 0 count as 0."""
    values, vectors = np.linalg.eigh(covariance)
    root: NDArray[np.float64] = vectors * np.sqrt(np.maximum(values, 0.0))
    return root
