"""Dense channels: any rows of weights, up to 4096 codes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel
from trasgo_lib.noise import DenseAlias

MAX_DENSE_CODES = 4096
"""A matrix of this many codes takes 128 MB and its alias tables 256 MB."""

_TOTAL = 2.0**64
_CUTOFF = 1e-9
"""Singular values below this share of the largest are noise of the float solution, not part of the channel."""

_BIAS_ALLOWED = 1e-9
"""Largest bias of a decoder, as a share of the range, that still counts as unbiased in float64."""


class DenseChannel(TableChannel):
    """A channel held as a matrix.

    Args:
        facts: public facts.
        matrix: uint64[inputs, outputs]; rows sum to 2**64, every weight at least 1.
        values: how many leading codes are numbers that have scores; 0 for labels.
    """

    def __init__(self, facts: ChannelFacts, matrix: NDArray[np.uint64], values: int) -> None:
        super().__init__(facts)
        self._matrix = matrix
        self._values = values

    @cached_property
    def _alias(self) -> DenseAlias:
        return DenseAlias(self._matrix)

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 1 that sum to 2**64."""
        return tuple(self._matrix[self._checked_code(code)].tolist())

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output, for each input."""
        return self._matrix.astype(np.float64) @ (values / _TOTAL)

    @cached_property
    def _decoder(self) -> tuple[NDArray[np.float64] | None, float]:
        """Solution of ``E[g(output) | input i, a value is released] = i``, or None, and its largest bias."""
        size = self._values
        if not size:
            return None, 0.0
        shares = self._matrix[:size, :size].astype(np.float64)
        shares /= shares.sum(axis=1, keepdims=True)
        places = np.arange(size, dtype=np.float64)
        solution = _solve(shares, places - places.mean()) + places.mean()
        bias = float(np.abs(shares @ solution - places).max())
        if bias > _BIAS_ALLOWED * size:
            return None, 0.0
        return np.append(solution, np.full(self.outputs - size, np.nan)), bias

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """Unbiased decoder for numbers; None for labels, and where the rows do not determine the codes."""
        return self._decoder[0]

    @property
    def score_bias(self) -> float:
        """Largest bias of the decoder in code steps: what float64 leaves of zero."""
        return self._decoder[1]

    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unbiased input frequencies from output frequencies; least squares where rows are not independent."""
        shares = self._matrix.astype(np.float64).T / _TOTAL
        return _solve(shares, np.asarray(histogram, dtype=np.float64))

    def _draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        self._alias.draw(codes, words, out)

    def _table_bytes(self) -> Iterator[bytes]:
        for row in self._matrix:
            yield row.astype("<u8").tobytes()


def _solve(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve, with one step of refinement; fall back to least squares for a matrix that is singular in float64."""
    try:
        solution = np.linalg.solve(matrix, right).astype(np.float64, copy=False)
        solution += np.linalg.solve(matrix, right - matrix @ solution)
    except np.linalg.LinAlgError:
        solution = np.full(len(right), np.nan)
    scale = max(float(np.abs(right).max()), 1e-300)
    if np.isfinite(solution).all() and float(np.abs(matrix @ solution - right).max()) <= _CUTOFF * scale:
        return solution
    return np.linalg.lstsq(matrix, right, rcond=_CUTOFF)[0].astype(np.float64, copy=False)
