"""The channel of a coarse level: what the matrices that ran do together, whatever family they are of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel
from trasgo_lib.mechanisms.shift import InverseOf, Linear
from trasgo_lib.noise import DenseAlias


class LevelLaw(Protocol):
    """A product of a top channel and the kernels that ran after it."""

    @property
    def linear(self) -> Linear:
        """The linear maps of the product, without forming a matrix."""

    def row(self, code: int) -> NDArray[np.uint64]:
        """The product's row of one input, rounded to words: uint64[outputs], sum 2**64."""

    def table_bytes(self) -> Iterator[bytes]:
        """Bytes that fix every weight, little-endian words."""


class CoarseChannel(TableChannel):
    """A coarse level of a chain.

    Args:
        facts: public facts of the level.
        law: the product that ran.
        inverse: how the product is undone.
    """

    def __init__(self, facts: ChannelFacts, law: LevelLaw, inverse: InverseOf) -> None:
        super().__init__(facts)
        self._law, self._inverse = law, inverse(law.linear)

    def row(self, code: int) -> NDArray[np.uint64]:
        """The published weights of one input as uint64[outputs]: the product's row, rounded to a word."""
        return self._law.row(code)

    def weights(self, code: int) -> tuple[int, ...]:
        """Published weights over output codes for one input: integers >= 1 that sum to 2**64."""
        return tuple(self.row(self._checked_code(code)).tolist())

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output, for each input."""
        return self._law.linear.expectation(values)

    @cached_property
    def _decoder(self) -> tuple[NDArray[np.float64], float]:
        return self._inverse.scores()

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """Decoder in code steps; see ``score_bias`` for how exact it is."""
        return self._decoder[0]

    @property
    def score_bias(self) -> float:
        """Largest distance, in code steps, between an input and the expected score of its output."""
        return self._decoder[1]

    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Input frequencies from output frequencies, as exact as the family allows."""
        return self._inverse.frequencies(np.asarray(histogram, dtype=np.float64))

    @cached_property
    def _alias(self) -> DenseAlias:
        return DenseAlias(np.stack([self.row(code) for code in range(self.inputs)]))

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write draws from the published weights: int32[rows], uint64[rows] -> ``out``, int32[rows]."""
        self._alias.draw(codes, words, out)

    def _draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        self.draw_into(codes, words, out)

    def table_bytes(self) -> Iterator[bytes]:
        """Bytes that fix every weight, little-endian words."""
        return self._law.table_bytes()

    def _table_bytes(self) -> Iterator[bytes]:
        return self.table_bytes()
