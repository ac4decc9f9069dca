"""Correlation losses between a raw table and its release, estimated from released codes and channels (Pearson).

Released correlations r' are known. Raw ones, r, come from decoded moments, with the covariance of their noise from
the influence of each row; pairs that share a column share its noise. The loss is a ratio of sums of absolute values, so
its bias and scatter are found by a bootstrap of r from that covariance, in which r' moves along as far as the released
codes follow their decoders.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation import Estimate, Powers, powers
from trasgo_lib.estimation.pairs import LEAST_SPREAD_SCORE, PairMoments, square_weights
from trasgo_lib.mechanisms import Channel
from trasgo_lib.utility.coefficients import CorrelationMethod
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.loss_rule import RELIABLE_SCORE
from trasgo_lib.utility.resampling import Resampling, symmetric_root

MOST_ERROR = 0.025
"""Largest mean standard error of the raw correlations of a loss: beyond it, the error of the decoded variances is no
longer small and intervals were too narrow (measured on two files). It depends on the level far more than on chance,
so withholding estimates by it does not favour lucky ones."""

STRENGTH_SCORE = 4.5
"""The mean size of the raw correlations must exceed this many times their mean standard error; else the ratio's
denominator is mostly noise."""

MOST_KEPT_ROWS = 2**17
"""Rows whose influences are looked at for standard errors, evenly spaced: so many fix an error to about 1 %, and memory
stays bounded, 5 MB a column."""

Codes = Mapping[str, NDArray[np.int32]]
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CorrelationLossEstimates:
    """Estimated correlation losses in percent: over all pairs, and by column over the pairs that contain it."""

    overall: Estimate
    columns: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class _Sides:
    """By pair: released and decoded correlation, how far the first follows the second, and the noise of the second."""

    pairs: tuple[Pair, ...]
    released: NDArray[np.float64] = field(repr=False)
    decoded: NDArray[np.float64] = field(repr=False)
    follows: NDArray[np.float64] = field(repr=False)
    covariance: NDArray[np.float64] = field(repr=False)


def code_powers(column: LossColumn, channel: Channel) -> Powers | str:
    """Decoders of a column's codes as numbers, the missing code left out; labels count by declared order."""
    places = np.arange(channel.inputs, dtype=np.float64)
    if channel.inputs > column.size:
        places[column.size :] = np.nan
    return powers(channel, places)


def estimate_correlation_losses(
    batches: Iterable[Codes],
    columns: Sequence[LossColumn],
    channels: Mapping[str, Channel],
    method: CorrelationMethod,
    resampling: Resampling,
    rows: int,
) -> CorrelationLossEstimates:
    """Correlation losses of every column and overall.

    Args:
        batches: released codes by unit, batch by batch; read once.
        columns: correlated columns, at least two for any estimate.
        channels: by noise unit.
        method: fixes the standard error of the reliability rule; only Pearson's correlation is decoded.
        resampling: numbers for the bootstrap.
        rows: number of rows of all batches.
    """
    names = [column.name for column in columns]
    if method.name != "pearson":
        return _nothing(names, f"{method.name} correlations are not estimated from released codes yet")
    decoders: list[Powers] = []
    for column in columns:
        found = code_powers(column, channels[column.unit])
        if isinstance(found, str):
            return _nothing(names, f"{column.name}: {found}")
        decoders.append(found)
    pairs = tuple(combinations(range(len(columns)), 2))
    if rows == 0:
        return _nothing(names, "no rows")
    if not pairs:
        return _nothing(names, "no pair of columns that vary together")
    moments = _Moments(columns, decoders, -(-rows // MOST_KEPT_ROWS))
    moments.take(batches)
    sides = moments.sides(pairs, rows)
    if isinstance(sides, str):
        return _nothing(names, sides)
    root = symmetric_root(sides.covariance)
    noise = resampling.normals(root.shape[1]) @ root.T  # float64[REPLICATES, pairs]
    bar = min(1.0, RELIABLE_SCORE * method.standard_error(max(4, rows)))
    everything = np.ones(len(pairs), dtype=np.bool_)
    return CorrelationLossEstimates(
        _loss(sides, everything, noise, bar),
        {name: _loss(sides, np.array([at in pair for pair in pairs]), noise, bar) for at, name in enumerate(names)},
    )


def _nothing(names: Sequence[str], reason: str) -> CorrelationLossEstimates:
    return CorrelationLossEstimates(Estimate.none(reason), {name: Estimate.none(reason) for name in names})


class _Moments:
    """Decoded and plain powers of every column, row by row, and their products summed."""

    def __init__(self, columns: Sequence[LossColumn], decoders: Sequence[Powers], stride: int) -> None:
        self._columns = columns
        self._decoders = decoders
        self._stride = stride
        self._kept: list[NDArray[np.float64]] = []
        size = 6 * len(columns)
        self._products = np.zeros((size, size))

    def take(self, batches: Iterable[Codes]) -> None:
        """Sum over all batches, and keep some rows."""
        first = 0
        for batch in batches:
            decoded = np.stack(
                [way.decoded[batch[column.unit]] for way, column in zip(self._decoders, self._columns)]
            )  # float64[columns, rows, 5]
            plain = np.stack([self._plain(way, column, batch) for way, column in zip(self._decoders, self._columns)])
            both = np.concatenate([decoded[:, :, :3], plain], axis=0).transpose(1, 0, 2).reshape(decoded.shape[1], -1)
            self._products += both.T @ both
            # which rows are kept must not depend on the batches
            self._kept.append(decoded[:, -first % self._stride :: self._stride])
            first += decoded.shape[1]

    @staticmethod
    def _plain(way: Powers, column: LossColumn, batch: Codes) -> NDArray[np.float64]:
        codes = batch[column.unit]
        here = (codes < column.size).astype(np.float64)
        standard = here * (codes - way.centre) / way.scale
        return np.stack([here, standard, standard**2], axis=1)

    def _block(self, left: int, right: int, rows: int) -> NDArray[np.float64]:
        return self._products[3 * left : 3 * left + 3, 3 * right : 3 * right + 3] / rows

    def sides(self, pairs: Sequence[Pair], rows: int) -> _Sides | str:
        """Correlations of every pair, or the reason why one cannot be had."""
        count = len(self._columns)
        follow = [self._follow(at, rows) for at in range(count)]
        decoded, released, follows, weights = [], [], [], []
        for left, right in pairs:
            ours = PairMoments.of(self._block(left, right, rows))
            theirs = PairMoments.of(self._block(count + left, count + right, rows))
            names = f"{self._columns[left].name} with {self._columns[right].name}"
            if ours is None or theirs is None or ours.correlation is None or theirs.correlation is None:
                return f"{names}: the noise hides how far the values spread"
            decoded.append(ours.correlation)
            released.append(theirs.correlation)
            scale = math.sqrt(ours.squares[0] * ours.squares[1] / (theirs.squares[0] * theirs.squares[1]))
            follows.append(min(1.0, follow[left] * follow[right] * scale))
            weights.append(ours.correlation_weights)
        doubtful = [self._columns[at].name for at in range(count) if not self._spread_is_known(at, rows)]
        if doubtful:
            return f"the noise hides how far the values spread: {', '.join(doubtful)}"
        covariance = _noise_covariance(np.concatenate(self._kept, axis=1), pairs, weights) / rows
        return _Sides(tuple(pairs), np.array(released), np.array(decoded), np.array(follows), covariance)

    def _follow(self, at: int, rows: int) -> float:
        """Slope of the released code on its decoder, over released rows."""
        count = len(self._columns)
        decoded, cross = self._block(at, at, rows), self._block(at, count + at, rows)
        spread = decoded[1, 1] - decoded[0, 1] ** 2
        together = cross[1, 1] - decoded[0, 1] * self._block(count + at, count + at, rows)[0, 1]
        return float(together / spread) if spread > 0 else 1.0

    def _spread_is_known(self, at: int, rows: int) -> bool:
        way = np.concatenate([batch[at] for batch in self._kept])[:, :3]
        present, total, squares = way.mean(axis=0)
        if present <= 0:
            return False
        place = total / present
        spread = squares / present - place**2
        influence = way @ (np.array([place**2 - spread, -2 * place, 1.0]) / present)
        return bool(spread > LEAST_SPREAD_SCORE * influence.std() / math.sqrt(rows))


def _noise_covariance(
    decoded: NDArray[np.float64], pairs: Sequence[Pair], weights: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Covariance over the noise of one row's influences; pairs without a common column have independent noise."""
    influences = [
        np.einsum("nk,kl,nl->n", decoded[left, :, :3], weight, decoded[right, :, :3], optimize=True)
        for (left, right), weight in zip(pairs, weights)
    ]
    covariance = np.zeros((len(pairs), len(pairs)))
    for first, second in combinations(range(len(pairs)), 2):
        shared = set(pairs[first]) & set(pairs[second])
        if shared:
            (at,) = shared
            ours = _coefficients(decoded, pairs[first], weights[first], at)
            theirs = _coefficients(decoded, pairs[second], weights[second], at)
            explained = np.zeros(decoded.shape[1])
            for power in range(5):
                for left in range(max(0, power - 2), min(2, power) + 1):
                    explained += ours[:, left] * theirs[:, power - left] * decoded[at, :, power]
            found = float(np.mean(influences[first] * influences[second] - explained))
            covariance[first, second] = covariance[second, first] = found
    for at, ((left, right), weight) in enumerate(zip(pairs, weights)):
        squared = square_weights(weight)
        explained = np.einsum("nk,kl,nl->n", decoded[left], squared, decoded[right], optimize=True)
        covariance[at, at] = max(0.0, float(np.mean(influences[at] ** 2 - explained)))
    return covariance


def _coefficients(
    decoded: NDArray[np.float64], pair: Pair, weights: NDArray[np.float64], shared: int
) -> NDArray[np.float64]:
    """The influence as a polynomial in the shared column's value, the other column decoded: float64[rows, 3]."""
    if pair[0] == shared:
        return decoded[pair[1], :, :3] @ weights.T
    return decoded[pair[0], :, :3] @ weights


def _loss(sides: _Sides, chosen: NDArray[np.bool_], noise: NDArray[np.float64], bar: float) -> Estimate:
    decoded, released, follows = sides.decoded[chosen], sides.released[chosen], sides.follows[chosen]
    errors = np.sqrt(np.diag(sides.covariance)[chosen])
    near = np.sign(decoded) * np.sqrt(np.maximum(0.0, decoded**2 - errors**2))
    strength = float(np.abs(near).mean())
    if float(errors.mean()) > MOST_ERROR or strength < STRENGTH_SCORE * float(errors.mean()):
        return Estimate.none("the noise at this level hides the correlations")
    if strength < bar + STRENGTH_SCORE * float(errors.mean()) / math.sqrt(len(errors)):
        return Estimate.none("unreliable: the correlations may be no stronger than those of unrelated columns")
    moved = near + noise[:, chosen]
    after = follows * moved
    shift = _percent(near, after) - _percent(moved, after)
    plug_in = float(_percent(decoded, released))
    low, high = np.quantile(shift, [0.025, 0.975])
    ends = [max(0.0, plug_in + float(move)) for move in (low, shift.mean(), high)]
    return Estimate(ends[1], ends[0], ends[2], float(shift.std()))


def _percent(original: NDArray[np.float64], released: NDArray[np.float64]) -> NDArray[np.float64]:
    lost: NDArray[np.float64] = 100 * np.abs(original - released).sum(axis=-1) / np.abs(original).sum(axis=-1)
    return lost
