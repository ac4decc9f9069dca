"""Decoded and released second moments of many columns at once, with the noise covariance of the decoded ones.

Every row is read once. Sums of products of decoders give the decoded covariance of each pair and the decoded variance
of each column; the same sums over plain codes give the released ones. What the noise does to the decoded ones, jointly,
comes from an evenly spaced part of the rows: given the private row, products of decoders of different columns are
independent, so only quantities that share a column vary together, and the square of what a decoder should be is itself
decoded by a higher power.

Decoders of binned channels take values to be spread evenly within their bin, which no released code confirms: a file
of a few rough columns had a loss of 24 % where they said 3. Beyond ``MOST_WITHIN`` there is no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation import Powers
from trasgo_lib.estimation.pairs import LEAST_SPREAD_SCORE, PairMoments, square_weights
from trasgo_lib.utility.loss_columns import LossColumn

MOST_KEPT_ROWS = 2**15
"""Rows looked at for the noise covariance: so many fix a standard error to about 1.5 %, and memory stays bounded. With
twice as many, a round of the loop over a million rows spent more time here than on sampling and counting."""

_CHUNK_ROWS = 2**13
"""Six features of eight columns are then 3 MB: they stay in the cache between being looked up and multiplied."""

_EXACT = 1e-9
"""Less than this is what float64 leaves of nothing: without missing values, present is decoded as 1 everywhere."""

MOST_WITHIN = 0.02
"""Largest variance within bins in terms of a column's own. Below it, half of it is taken as a standard error; smooth
noise, whose decoders are biased by a thousandth of the range, stays far below it."""

HIDDEN = "the noise hides how far the values spread"

Codes = Mapping[str, NDArray[np.int32]]
Pair = tuple[int, int]
Floats = NDArray[np.float64]

_ORDERS = tuple(combinations_with_replacement(range(3), 2))
"""Unordered products of two powers 0 to 2 of one column."""


@dataclass(frozen=True, slots=True)
class SecondMoments:
    """Correlations of every pair, and the joint noise of what the decoded ones are made of.

    Args:
        pairs: columns of each pair.
        released: float64[pairs], correlations of released codes.
        decoded: float64[pairs], correlations decoded from them.
        follows: float64[pairs], how far a released correlation moves with the decoded covariance behind it.
        covariance: float64[pairs + columns, same], over the noise: of the decoded covariances in terms of both columns'
            decoded deviations, then of the decoded variances in terms of themselves.
    """

    pairs: tuple[Pair, ...]
    released: Floats = field(repr=False)
    decoded: Floats = field(repr=False)
    follows: Floats = field(repr=False)
    covariance: Floats = field(repr=False)


class MomentSums:
    """Sums over released rows.

    Args:
        columns: correlated columns.
        decoders: of each column.
        rows: number of rows to come, at least 1.
    """

    def __init__(self, columns: Sequence[LossColumn], decoders: Sequence[Powers], rows: int) -> None:
        self._columns = columns
        self._decoders = decoders
        self._rows = rows
        self._stride = -(-rows // MOST_KEPT_ROWS)
        self._kept: list[list[NDArray[np.int32]]] = [[] for _ in columns]
        self._tables = [_lookup(way, column) for way, column in zip(decoders, columns)]
        self._products = np.zeros((6 * len(columns), 6 * len(columns)))
        self._totals = np.zeros(6 * len(columns))
        self._features = np.empty((6 * len(columns), _CHUNK_ROWS))

    def take(self, batches: Iterable[Codes]) -> None:
        """Sum over all batches, and keep some rows."""
        first = 0
        for batch in batches:
            codes = [batch[column.unit] for column in self._columns]
            for start in range(0, codes[0].size, _CHUNK_ROWS):
                self._add([part[start : start + _CHUNK_ROWS] for part in codes])
            for kept, part in zip(self._kept, codes):
                kept.append(part[-first % self._stride :: self._stride])  # whatever the batches, the same rows
            first += codes[0].size

    def _add(self, codes: Sequence[NDArray[np.int32]]) -> None:
        features = self._features[:, : codes[0].size]
        for at, (table, part) in enumerate(zip(self._tables, codes)):
            np.take(table, part, axis=1, out=features[6 * at : 6 * at + 6], mode="clip")  # checked when counted
        self._products += features @ features.T
        self._totals += features.sum(axis=1)

    def second_moments(self) -> SecondMoments | str:
        """Correlations of every pair, or the reason why one cannot be had."""
        count = len(self._columns)
        pairs = tuple(combinations(range(count), 2))
        spreads = [self._spread(at) for at in range(count)]
        follow = [self._follow(at) for at in range(count)]
        decoded, released, follows, weights = [], [], [], []
        for left, right in pairs:
            ours, theirs = self._pair(left, right, 0), self._pair(left, right, 3)
            if ours is None or theirs is None or ours.correlation is None or theirs.correlation is None:
                return f"{self._columns[left].name} with {self._columns[right].name}: {HIDDEN}"
            decoded.append(ours.correlation)
            released.append(theirs.correlation)
            scale = math.sqrt(ours.squares[0] * ours.squares[1] / (theirs.squares[0] * theirs.squares[1]))
            follows.append(min(1.0, follow[left] * follow[right] * scale))
            weights.append(ours.covariance_weights / math.sqrt(ours.squares[0] * ours.squares[1]))
        kept = [way.decoded.T[:, np.concatenate(codes)] for way, codes in zip(self._decoders, self._kept)]
        doubtful = [at for at in range(count) if not self._is_known(spreads[at], kept[at])]
        if doubtful:
            return f"{HIDDEN}: {', '.join(self._columns[at].name for at in doubtful)}"
        # a decoder off by at most b over a bin of width 2 b: a variance of b**2 / 3 within it
        within = [float(way.bias[1]) ** 2 / 3 / spread.value for way, spread in zip(self._decoders, spreads)]
        unknown = [column.name for column, part in zip(self._columns, within) if part > MOST_WITHIN]
        if unknown:
            return f"the channel does not tell values of one bin apart: {', '.join(unknown)}"
        covariance = noise_covariance(kept, pairs, weights, [spread.relative_weights for spread in spreads])
        covariance /= self._rows
        place = np.arange(len(pairs), len(covariance))
        covariance[place, place] += (np.array(within) / 2) ** 2
        return SecondMoments(pairs, np.array(released), np.array(decoded), np.array(follows), covariance)

    def _block(self, left: int, right: int) -> Floats:
        """Means of products of three powers of either side; 6 per column, decoded then plain ones."""
        return self._products[left : left + 3, right : right + 3] / self._rows

    def _pair(self, left: int, right: int, plain: int) -> PairMoments | None:
        return PairMoments.of(self._block(6 * left + plain, 6 * right + plain))

    def _spread(self, at: int) -> _Spread:
        present, total, squares = (float(mean) for mean in self._totals[6 * at : 6 * at + 3] / self._rows)
        place = total / present if present > 0 else 0.0
        return _Spread(present, place, squares / present - place**2 if present > 0 else 0.0)

    def _is_known(self, spread: _Spread, decoded: Floats) -> bool:
        """Whether a decoded variance can stand in a denominator."""
        if spread.present <= 0 or spread.value <= 0:
            return False
        influence = spread.relative_weights @ decoded[:3]
        return bool(LEAST_SPREAD_SCORE * influence.std() < math.sqrt(self._rows))

    def _follow(self, at: int) -> float:
        """Slope of the released code on its decoder, over released rows."""
        decoded, cross, plain = (self._block(6 * at + i, 6 * at + j) for i, j in ((0, 0), (0, 3), (3, 3)))
        spread = decoded[1, 1] - decoded[0, 1] ** 2
        together = cross[1, 1] - decoded[0, 1] * plain[0, 1]
        return float(together / spread) if spread > 0 else 1.0


@dataclass(frozen=True, slots=True)
class _Spread:
    """A column's share of present values, their decoded mean and their decoded variance."""

    present: float
    place: float
    value: float

    @property
    def relative_weights(self) -> Floats:
        """The influence of a row's powers on the variance, in terms of the variance."""
        along = np.array([self.place**2 - self.value, -2 * self.place, 1.0])
        return along / (self.present * self.value)


def _lookup(way: Powers, column: LossColumn) -> Floats:
    """Three decoded powers and three plain ones, by released code: float64[6, codes]; a missing code has none."""
    codes = np.arange(len(way.decoded))
    here = codes < column.size
    plain = np.where(here, (codes - way.centre) / way.scale, 0.0)
    return np.vstack([way.decoded[:, :3].T, here.astype(np.float64), plain, plain**2])


def noise_covariance(
    decoded: Sequence[Floats], pairs: Sequence[Pair], weights: Sequence[Floats], alone: Sequence[Floats]
) -> Floats:
    """Covariance, over the noise, of one row's influences on quantities of pairs and of single columns.

    Args:
        decoded: by column, float64[5, rows], decoders of the powers 0 to 4.
        pairs: columns of each pair.
        weights: by pair, float64[3, 3], weights of products of the left and the right power.
        alone: by column, float64[3], weights of the powers of that column.

    Returns:
        float64[pairs + columns, same]; quantities without a common column do not vary together.
    """
    others = np.vstack([*(part[:3] for part in decoded), np.ones((1, decoded[0].shape[1]))])
    shared = [_shared_moments(own, others) for own in decoded]
    # a quantity as seen from each of its columns: float64[3, 3 * columns + 1], powers of it by everything else
    seen: list[dict[int, Floats]] = []
    for (left, right), weight in zip(pairs, weights):
        seen.append({left: _placed(weight, right, len(decoded)), right: _placed(weight.T, left, len(decoded))})
    for at, along in enumerate(alone):
        seen.append({at: np.hstack([np.zeros((3, 3 * len(decoded))), along[:, None]])})
    covariance = np.zeros((len(seen), len(seen)))
    for first in range(len(seen)):
        for second in range(first, len(seen)):
            common = seen[first].keys() & seen[second].keys()
            if len(common) == 1:
                (at,) = common
                found = _together(seen[first][at], seen[second][at], shared[at])
                covariance[first, second] = covariance[second, first] = found
    for at, ((left, right), weight) in enumerate(zip(pairs, weights)):
        ours, theirs = decoded[left], decoded[right]
        influence = np.einsum("kn,kn->n", weight.T @ ours[:3], theirs[:3])
        explained = np.vdot(square_weights(weight).T @ ours, theirs)
        covariance[at, at] = (influence @ influence - explained) / len(influence)
    covariance[np.diag_indices_from(covariance)] = np.maximum(np.diag(covariance), 0.0)
    return covariance


def _shared_moments(own: Floats, others: Floats) -> Floats:
    """Means of what noise adds to a product of two powers of one column, times powers of two others.

    Args:
        own: float64[5, rows], the decoders of the column.
        others: float64[3 * columns + 1, rows], those of all columns; the last place stands for no other column.

    Returns:
        float64[6, 3 * columns + 1, same], by unordered product.
    """
    found = np.zeros((len(_ORDERS), len(others), len(others)))
    for place, (low, high) in enumerate(_ORDERS):
        added = own[low] * own[high] - own[low + high]
        if np.abs(added).max() > _EXACT:
            found[place] = (others * added) @ others.T / others.shape[1]
    return found


def _placed(weight: Floats, other: int, columns: int) -> Floats:
    placed = np.zeros((3, 3 * columns + 1))
    placed[:, 3 * other : 3 * other + 3] = weight
    return placed


def _together(first: Floats, second: Floats, shared: Floats) -> float:
    total = 0.0
    for place, (low, high) in enumerate(_ORDERS):
        total += float(first[low] @ shared[place] @ second[high])
        if low != high:
            total += float(first[high] @ shared[place] @ second[low])
    return total
