"""Integer weights over declared cells, the certificate they prove, and the search for the decay that meets a claim.

Formulas and bounds: ``cells_channel``. Integers follow from exact exponentials and 64-bit integer products only, so
they are the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data.sphere import DISTANCE_ERROR_M
from trasgo_lib.mechanisms.fixed_point import exponentials, multiply_high
from trasgo_lib.mechanisms.geo_claim import DOWN, EXACT, UP

_WORD = 1 << 64
_UNIFORM_TOTAL = 1 << 44
"""One draw in 2**20 is uniform over the cells: a floor under every weight, as on a lattice."""

_UNITS_PER_METRE = 10_000
_DISTANCE_ERROR = Decimal("0.00005") + Decimal(str(DISTANCE_ERROR_M))
"""e, in metres: half a unit and the error of the distances."""

_ROUNDING_UNITS = 12
"""Bound on how far a weight is from its formula, in units of 2**-64: distances below 2**40 units are five digits of 8
bits, so an exponential is a product of five table entries and the start 1 - 2**-64, each entry and each product rounded
down (11 units), and the weight itself is rounded down once more."""

_BLOCK_PAIRS = 2**20
_SLIGHTLY_MORE = 1 + 1e-11
_LOGARITHM_ERROR = 1e-13
"""Logarithms of at most 64 in size, rounded to float64, are off by less than 1e-14 each."""

_SEARCH_STEPS = 60
_SEARCH_TOLERANCE = 1e-12
_SEARCH_DIGITS = Context(prec=15, rounding=ROUND_DOWN)


@dataclass(frozen=True, slots=True, eq=False)
class CellWeights:
    """The table of one channel.

    Args:
        decay: c, per metre.
        matrix: uint64[cells, cells], rows sum to 2**64.
        factors: M of each input cell.
        left: what the diagonal took of each row.
    """

    decay: Decimal
    matrix: NDArray[np.uint64]
    factors: tuple[int, ...]
    left: tuple[int, ...]

    @classmethod
    def build(cls, distances: NDArray[np.float64], decay: Decimal) -> CellWeights:
        """The table for a decay.

        Args:
            distances: float64[cells, cells] in metres, symmetric, alike on every machine.
            decay: c, per metre, more than 0.
        """
        cells = len(distances)
        floor, per_unit = _UNIFORM_TOTAL // cells, EXACT.divide(decay, Decimal(_UNITS_PER_METRE))
        matrix = np.empty((cells, cells), dtype=np.uint64)
        factors: list[int] = []
        left: list[int] = []
        block = max(1, _BLOCK_PAIRS // cells)
        for start in range(0, cells, block):
            units = np.rint(distances[start : start + block] * _UNITS_PER_METRE).astype(np.uint64)
            shares = exponentials(per_unit, units)
            factor = [((_WORD - cells * floor) << 64) // total for total in _exact_sums(shares)]
            weights = multiply_high(shares, np.array(factor, dtype=np.uint64)[:, None]) + np.uint64(floor)
            rest = [_WORD - total for total in _exact_sums(weights)]
            rows = np.arange(len(rest))
            weights[rows, start + rows] += np.array(rest, dtype=np.uint64)
            matrix[start : start + block] = weights
            factors += factor
            left += rest
        return cls(decay, matrix, tuple(factors), tuple(left))


def certified_geo(table: CellWeights, distances: NDArray[np.float64]) -> Decimal:
    """Largest log-ratio per metre over all pairs of inputs and all outputs, as the integers prove it; rounded up.

    Args:
        table: the integer weights.
        distances: float64[cells, cells] in metres, as used to build them.
    """
    cells = len(distances)
    logarithms = np.array([float(EXACT.ln(EXACT.divide(Decimal(factor), Decimal(_WORD)))) for factor in table.factors])
    slope, nearest = _steepest(logarithms, distances)
    worst_diagonal = max(
        UP.divide(Decimal(_ROUNDING_UNITS + left), Decimal(factor))
        for left, factor in zip(table.left, table.factors, strict=True)
    )
    delta = max(worst_diagonal, UP.divide(Decimal(_ROUNDING_UNITS), Decimal(_UNIFORM_TOTAL // cells)))
    rho = UP.add(
        UP.multiply(table.decay, _DISTANCE_ERROR),
        UP.multiply(EXACT.ln(DOWN.subtract(Decimal(1), delta)).copy_negate(), Decimal("1.000000000001")),
    )
    return UP.add(UP.add(table.decay, Decimal(slope)), UP.divide(UP.add(rho, rho), Decimal(nearest)))


def solve_decay(distances: NDArray[np.float64], geo: float) -> Decimal:
    """A decay whose certificate is about ``geo``: a search in floats, whose result is fixed to 15 digits.

    By the triangle inequality the slope of the normalisers is at most c, so the answer lies between geo / 2 and geo.

    Args:
        distances: float64[cells, cells] in metres.
        geo: epsilon per metre to meet.
    """
    rounded = np.rint(distances * _UNITS_PER_METRE) / _UNITS_PER_METRE  # as the weights see them

    def excess(decay: float) -> float:
        slope, nearest = _steepest(_log_normalisers(rounded, decay), distances)
        rounding = decay * float(_DISTANCE_ERROR) + _ROUNDING_UNITS * len(distances) / _UNIFORM_TOTAL
        return decay + slope + 2 * rounding / nearest - geo

    low, high, low_miss, high_miss = 0.0, geo, -geo, excess(geo)
    kept = 0
    for _ in range(_SEARCH_STEPS):
        middle = low + (high - low) * low_miss / (low_miss - high_miss)
        miss = excess(middle)
        # regula falsi, Illinois variant: the end that stays twice counts half, so that both ends move
        if miss > 0:
            low_miss, kept = (low_miss / 2 if kept == 1 else low_miss), 1
            high, high_miss = middle, miss
        else:
            high_miss, kept = (high_miss / 2 if kept == -1 else high_miss), -1
            low, low_miss = middle, miss
        if high - low <= _SEARCH_TOLERANCE * geo or -_SEARCH_TOLERANCE * geo <= miss <= 0:
            break
    return _SEARCH_DIGITS.create_decimal(Decimal(low))


def _steepest(logarithms: NDArray[np.float64], distances: NDArray[np.float64]) -> tuple[float, float]:
    """An upper bound on the largest difference of logarithms per metre, and a lower bound on the least distance."""
    cells = len(distances)
    block = max(1, _BLOCK_PAIRS // cells)
    slope, nearest = 0.0, np.inf
    for start in range(0, cells, block):
        apart = distances[start : start + block] - 2 * DISTANCE_ERROR_M
        np.fill_diagonal(apart[:, start:], np.inf)
        difference = np.abs(logarithms[start : start + block, None] - logarithms[None, :]) + _LOGARITHM_ERROR
        slope = max(slope, float((difference / apart).max()))
        nearest = min(nearest, float(apart.min()))
    return slope * _SLIGHTLY_MORE, nearest


def _log_normalisers(distances: NDArray[np.float64], decay: float) -> NDArray[np.float64]:
    return np.array([np.log(np.exp(-decay * row).sum()) for row in distances])


def _exact_sums(words: NDArray[np.uint64]) -> list[int]:
    """Exact sum of each row, from halves of 32 bits."""
    high = (words >> np.uint64(32)).sum(axis=1, dtype=np.uint64)
    low = (words & np.uint64(2**32 - 1)).sum(axis=1, dtype=np.uint64)
    return [(upper << 32) + lower for upper, lower in zip(high.tolist(), low.tolist(), strict=True)]
