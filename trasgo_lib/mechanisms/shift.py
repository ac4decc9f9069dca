"""Shift families: one table of noise for every input, clamped to the domain.

Output = clamp(input + shift, 0, N). Only shifts from -N to N matter, so the table is finite and its tails are lumped
at both ends. Any domain size works, because no matrix is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel
from trasgo_lib.mechanisms.channel import Kernel
from trasgo_lib.mechanisms.coupling import lower_claim
from trasgo_lib.noise import AliasTable

_DIRECT_CODES = 1024
"""Up to here sums over shifts are taken one by one; above, by a fast Fourier transform."""

_TOTAL = 2.0**64


class Linear(Protocol):
    """The linear maps of a channel over as many outputs as inputs."""

    @property
    def size(self) -> int:
        """Number of codes."""

    @property
    def reach(self) -> int:
        """The last code."""

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output for each input: float64[size] -> float64[size]."""

    def outputs_of(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected output frequencies of input frequencies: float64[size] -> float64[size]."""


class ShiftInverse(Protocol):
    """How the noise of a shift family is undone."""

    def scores(self) -> tuple[NDArray[np.float64], float]:
        """Decoder and its largest bias, both in code steps."""

    def frequencies(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Input frequencies from output frequencies."""


InverseOf = Callable[[Linear], ShiftInverse]
"""How any linear map of a family is undone."""

Coarsening = Callable[[Epsilon], Kernel]
"""The kernel to a lower claim."""


class ShiftNoise:
    """A noise table and the two linear maps that follow from it.

    Args:
        weights: uint64[2 * size - 1], weights of the shifts ``-(size-1)..size-1``; they sum to 2**64; public.
    """

    __slots__ = ("_shares", "reach", "size", "weights")

    def __init__(self, weights: NDArray[np.uint64]) -> None:
        self.weights = weights
        self.reach = len(weights) // 2
        self.size = self.reach + 1
        self._shares = weights.astype(np.float64) / _TOTAL

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output for each input: float64[size] -> float64[size]."""
        left, right = np.full(self.reach, values[0]), np.full(self.reach, values[-1])
        padded = np.concatenate([left, values, right])
        # entry i collects padded[i + m] * shares[m] over shifts m - N
        if self.size <= _DIRECT_CODES:
            return np.correlate(padded, self._shares, mode="valid")
        return _convolve(padded, self._shares[::-1])[2 * self.reach : 3 * self.reach + 1]

    def outputs_of(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected output frequencies of input frequencies: float64[size] -> float64[size]."""
        if self.size <= _DIRECT_CODES:
            spread = np.convolve(frequencies, self._shares)
        else:
            spread = _convolve(frequencies, self._shares)
        # entry k of spread is the unclamped place k - N
        clamped = spread[self.reach : 2 * self.reach + 1].copy()
        clamped[0] += spread[: self.reach].sum()
        clamped[-1] += spread[2 * self.reach + 1 :].sum()
        return clamped


def _convolve(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    length = len(first) + len(second) - 1
    padded = 1 << (length - 1).bit_length()
    product = np.fft.rfft(first, padded) * np.fft.rfft(second, padded)
    return np.fft.irfft(product, padded)[:length]


class ShiftChannel(TableChannel):
    """A clamped shift family.

    Args:
        facts: public facts; inputs equal outputs.
        noise: weights of the shifts, tails lumped at both ends.
        inverse: how this noise is undone.
        coarsening: the kernel to a lower level, where the family has one.
    """

    def __init__(
        self,
        facts: ChannelFacts,
        noise: ShiftNoise,
        inverse: ShiftInverse,
        coarsening: Coarsening | None = None,
    ) -> None:
        super().__init__(facts)
        self._coarsening = coarsening
        self.noise = noise
        self._inverse = inverse

    @cached_property
    def _alias(self) -> AliasTable:
        return AliasTable(self.noise.weights)

    @cached_property
    def _upper_sums(self) -> NDArray[np.uint64]:
        """[k]: weight of shift index k and above; the whole sum, 2**64, wraps to 0 and is never asked for."""
        return np.cumsum(self.noise.weights[::-1], dtype=np.uint64)[::-1]

    def row(self, code: int) -> NDArray[np.uint64]:
        """The weights of one input as uint64[outputs]."""
        reach = self.noise.reach
        place = self._checked_code(code)
        row = self.noise.weights[reach - place : 2 * reach + 1 - place].copy()
        # shifts down to -place and below end at output 0; shifts of reach - place and above at output N
        row[0] = (1 << 64) - int(self._upper_sums[reach - place + 1])
        row[-1] = self._upper_sums[2 * reach - place]
        return row

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 1 that sum to 2**64."""
        return tuple(self.row(code).tolist())

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output, for each input."""
        return self.noise.expectation(values)

    @cached_property
    def _decoder(self) -> tuple[NDArray[np.float64], float]:
        return self._inverse.scores()

    @property
    def scores(self) -> NDArray[np.float64]:
        """Decoder in code steps; see ``score_bias`` for how exact it is."""
        return self._decoder[0]

    @property
    def score_bias(self) -> float:
        """Largest distance, in code steps, between an input and the expected score of its output."""
        return self._decoder[1]

    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Input frequencies from output frequencies, as exact as the family allows."""
        return self._inverse.frequencies(np.asarray(histogram, dtype=np.float64))

    def coarsen(self, level: Epsilon | str) -> Kernel | None:
        """The family's kernel to a lower level; None on a channel that is itself a level of a chain."""
        return None if self._coarsening is None else self._coarsening(lower_claim(self.name, level, self.event))

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write clamped shifts: int32[rows], uint64[rows] -> ``out``, int32[rows]."""
        self._alias.draw(words, out)
        out -= np.int32(self.noise.reach)
        out += codes
        np.maximum(out, np.int32(0), out=out)
        np.minimum(out, np.int32(self.noise.reach), out=out)

    def _draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        self.draw_into(codes, words, out)

    def table_bytes(self) -> Iterator[bytes]:
        """Bytes that fix every weight, little-endian words."""
        yield self.noise.weights.astype("<u8").tobytes()

    def _table_bytes(self) -> Iterator[bytes]:
        yield from self.table_bytes()
