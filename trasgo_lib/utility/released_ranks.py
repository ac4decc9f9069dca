"""Rank correlations of raw columns from joint released counts: Spearman's rho and Kendall's tau-b.

Both are smooth functions of the joint shares, which the inverses of the two channels give without bias. The influence
of a row is then a table over released codes, and the noise of a coefficient is the part of its variance that the
private codes do not explain. Where an inverse is biased, or its shares are so noisy that sums of their powers mean
nothing, there is no estimate: clamped noise over many codes is such a case, at every level people use. Two columns of
one group have a joint inverse: over the pairs of their places the group's channel is randomised response as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.decoding import MOST_CODES
from trasgo_lib.estimation.shares import inverse_bias, inverse_matrix
from trasgo_lib.mechanisms import Channel, kept_share
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.released_moments import MOST_KEPT_ROWS, Codes, SecondMoments
from trasgo_lib.utility.released_noise import Floats

MOST_SHARE_NOISE = 0.02
"""Largest sum of the variances of a column's inverted shares, against sums of squared shares that lie well above it."""

MOST_CELLS = 2**16
"""Largest joint table of two columns: a table of each pair is held, as float64."""

HIDDEN = "the noise hides the ranks"


@dataclass(frozen=True, slots=True)
class _Side:
    """One column: its inverse as a matrix, how many codes are values, and the variances of inverted shares."""

    inverse: Floats = field(repr=False)
    size: int
    noise: Floats = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A column as its ranks see it: a bin of a group's column is one code.

    Args:
        column: as measured.
        channel: of its unit.
        places: int32[unit codes], the place of each; None where the unit's codes are the places.
        outputs: number of places, the missing one included.
        size: number of places that are values.
        kept: for a column of a group, the share of rows whose combination is kept; None for the others.
    """

    column: LossColumn
    channel: Channel = field(repr=False)
    places: NDArray[np.int32] | None = field(repr=False)
    outputs: int
    size: int
    kept: float | None

    @classmethod
    def of(cls, column: LossColumn, channel: Channel) -> _Ranked:
        if column.places is None:
            return cls(column, channel, None, channel.outputs, column.size, None)
        values, places = np.unique(column.places, return_inverse=True)
        size = int(np.count_nonzero(values < column.size))
        return cls(column, channel, places.astype(np.int32), len(values), size, kept_share(channel))

    def own(self, batch: Codes) -> NDArray[np.int32]:
        codes = batch[self.column.unit]
        return codes if self.places is None else self.places[codes]

    @property
    def inverse(self) -> Floats:
        if self.kept is None:
            return inverse_matrix(self.channel)
        return _undone(np.eye(self.outputs), self.kept, axis=0)


def _undone(table: Floats, kept: float, axis: int | None = None) -> Floats:
    """Randomised response taken back from shares, or from all of a table; the same for functions of places."""
    found: Floats = (table - (1 - kept) * table.mean(axis=axis, keepdims=True)) / kept
    return found


def rank_moments(
    batches: Iterable[Codes], columns: Sequence[LossColumn], channels: Mapping[str, Channel], method: str, rows: int
) -> SecondMoments | str:
    """Released and estimated raw rank correlations of every pair, with the noise of the latter.

    Args:
        batches: released codes by unit; read once.
        columns: at least two.
        channels: by noise unit.
        method: ``spearman`` or ``kendall``.
        rows: number of rows of all batches, at least 1.

    Returns:
        The correlations, variances known without error, or the reason why one cannot be had.
    """
    ranked = [_Ranked.of(column, channels[column.unit]) for column in columns]
    reason = _unfit(ranked)
    if reason is not None:
        return reason
    pairs = tuple(combinations(range(len(columns)), 2))
    tables, kept = _tables(batches, ranked, pairs, rows)
    sides = []
    for at, column in enumerate(ranked):
        side = _side(column, _margin(tables, pairs, at) / rows, rows)
        if float(side.noise[: side.size].sum()) > MOST_SHARE_NOISE:
            return f"{column.column.name}: {HIDDEN}"
        sides.append(side)
    coefficient = _METHODS[method]
    decoded, released, follows, errors, influences, offsets = [], [], [], [], [], []
    for (left, right), table in zip(pairs, tables):
        ours, theirs, shares = sides[left], sides[right], table / rows
        together = ranked[left].kept if columns[left].unit == columns[right].unit else None
        private = _inverted(shares, ours, theirs, together)
        found = coefficient(private, ours, theirs)
        plain = coefficient(shares, _as_it_is(ours), _as_it_is(theirs))
        if found is None or plain is None:
            return f"{columns[left].name} with {columns[right].name}: {HIDDEN}"
        table_of = ours.inverse.T @ found[1] @ theirs.inverse if together is None else _undone(found[1], together)
        table_of -= (table_of * shares).sum()
        spread = float((table_of**2 * shares).sum())
        mean = float((private * (found[1] - (found[1] * private).sum()) ** 2).sum())  # of the private codes, unbiased
        decoded.append(found[0])
        released.append(plain[0])
        slope = float((table_of * (plain[1] - (plain[1] * shares).sum()) * shares).sum()) / max(spread, 1e-300)
        follows.append(min(1.0, max(0.0, slope)))
        offsets.append(0.0 if together is None else released[-1] - follows[-1] * decoded[-1])
        errors.append(math.sqrt(max(0.0, spread - mean) / rows))
        influences.append(table_of[kept[left], kept[right]])
    correlated = np.corrcoef(np.array(influences)) if len(pairs) > 1 else np.ones((1, 1))
    size = len(pairs) + len(columns)
    covariance = np.zeros((size, size))
    covariance[: len(pairs), : len(pairs)] = np.nan_to_num(correlated) * np.outer(errors, errors)
    moved = np.array(follows)
    return SecondMoments(pairs, np.array(released), np.array(decoded), moved, covariance, np.array(offsets))


def _inverted(shares: Floats, left: _Side, right: _Side, together: float | None) -> Floats:
    """Joint shares of private places: apart, or as two columns of one group that keeps a share ``together``."""
    if together is not None:
        return _undone(shares, together)
    found: Floats = left.inverse @ shares @ right.inverse.T
    return found


def _unfit(columns: Sequence[_Ranked]) -> str | None:
    sizes = sorted(column.outputs for column in columns)
    if sizes[-1] > MOST_CODES or sizes[-1] * sizes[-2] > MOST_CELLS:
        return f"rank correlations are not estimated for more than {MOST_CELLS} pairs of codes"
    for column in columns:
        channel = column.channel
        if column.kept is not None:
            continue
        if channel.inputs != channel.outputs or inverse_bias(channel, inverse_matrix(channel)).max() > 0:
            return f"{column.column.name}: its channel does not tell all codes apart, so their ranks stay unknown"
    return None


def _tables(
    batches: Iterable[Codes],
    columns: Sequence[_Ranked],
    pairs: Sequence[tuple[int, int]],
    rows: int,
) -> tuple[list[Floats], list[NDArray[np.int32]]]:
    """Joint counts of every pair, and the codes of some evenly spaced rows by column."""
    shapes = [column.outputs for column in columns]
    tables = [np.zeros((shapes[left], shapes[right])) for left, right in pairs]
    kept: list[list[NDArray[np.int32]]] = [[] for _ in columns]
    stride, first = -(-rows // MOST_KEPT_ROWS), 0
    for batch in batches:
        codes = [column.own(batch) for column in columns]
        for table, (left, right) in zip(tables, pairs):
            cells = codes[left].astype(np.int64) * shapes[right] + codes[right]
            table += np.bincount(cells, minlength=table.size).reshape(table.shape)
        for part, found in zip(kept, codes):
            part.append(found[-first % stride :: stride].copy())  # a view would hold on to the whole batch
        first += codes[0].size
    return tables, [np.concatenate(part) for part in kept]


def _margin(tables: Sequence[Floats], pairs: Sequence[tuple[int, int]], at: int) -> Floats:
    place = next(place for place, pair in enumerate(pairs) if at in pair)
    margin: Floats = tables[place].sum(axis=1 if pairs[place][0] == at else 0)
    return margin


def _side(column: _Ranked, margin: Floats, rows: int) -> _Side:
    inverse = column.inverse
    # noise variance of every inverted share: that of a released row given its private code, summed over private codes
    private = inverse @ margin
    spread = inverse**2 @ margin - np.clip(private, 0.0, 1.0)
    return _Side(inverse, column.size, np.maximum(spread, 0.0) / rows)


def _as_it_is(side: _Side) -> _Side:
    return _Side(side.inverse, side.size, np.zeros_like(side.noise))


def _present(shares: Floats, left: _Side, right: _Side) -> tuple[Floats, float]:
    values = shares[: left.size, : right.size]
    return values, float(values.sum())


Coefficient = Callable[[Floats, _Side, _Side], tuple[float, Floats] | None]


def _padded(gradient: Floats, shape: tuple[int, ...], present: float) -> Floats:
    """The gradient over all codes, of a function of shares among present rows; missing ones do not matter."""
    found = np.zeros(shape)
    found[: gradient.shape[0], : gradient.shape[1]] = gradient / present
    return found


def _kendall(shares: Floats, left: _Side, right: _Side) -> tuple[float, Floats] | None:
    values, present = _present(shares, left, right)
    if present <= 0:
        return None
    values = values / present
    ours, theirs = values.sum(axis=1), values.sum(axis=0)
    # the noise adds its variance to sums of squares; it adds nothing to the numerator, whose kernel is antisymmetric
    spread = 1.0 - float(ours @ ours - left.noise[: left.size].sum() / present**2)
    other = 1.0 - float(theirs @ theirs - right.noise[: right.size].sum() / present**2)
    if min(spread, other) <= 0:
        return None
    together = _signs(len(ours)) @ values @ _signs(len(theirs)).T  # concordant less discordant share of each cell
    scale = math.sqrt(spread * other)
    value = float((values * together).sum()) / scale
    gradient = 2 * together / scale + value * (ours[:, None] / spread + theirs[None, :] / other)
    gradient -= float((gradient * values).sum())
    return value, _padded(gradient, shares.shape, present)


def _signs(size: int) -> Floats:
    place = np.arange(size)
    found: Floats = np.sign(place[:, None] - place[None, :]).astype(np.float64)
    return found


def _spearman(shares: Floats, left: _Side, right: _Side) -> tuple[float, Floats] | None:
    values, present = _present(shares, left, right)
    if present <= 0:
        return None
    values = values / present
    ours, theirs = values.sum(axis=1), values.sum(axis=0)
    ranks, others = (_signs(len(part)) @ part / 2 for part in (ours, theirs))  # middle ranks, centred, in shares
    spread = (1.0 - float((ours**3 - 3 * ours * left.noise[: left.size] / present**2).sum())) / 12
    other = (1.0 - float((theirs**3 - 3 * theirs * right.noise[: right.size] / present**2).sum())) / 12
    if min(spread, other) <= 0:
        return None
    scale = math.sqrt(spread * other)
    value = float(ranks @ values @ others) / scale
    along = _signs(len(ours)).T @ (values @ others) / 2
    across = _signs(len(theirs)).T @ (ranks @ values) / 2
    gradient = (np.outer(ranks, others) + along[:, None] + across[None, :]) / scale
    gradient += value * (ours[:, None] ** 2 / spread + theirs[None, :] ** 2 / other) / 8
    gradient -= float((gradient * values).sum())
    return value, _padded(gradient, shares.shape, present)


_METHODS: Mapping[str, Coefficient] = {"kendall": _kendall, "spearman": _spearman}
