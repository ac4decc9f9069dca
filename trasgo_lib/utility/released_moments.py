"""Decoded and released second moments of many columns at once, with the noise covariance of the decoded ones.

Every row is read once. Sums of products of decoders give the decoded covariance of each pair and the decoded variance
of each column; the same sums over plain codes give the released ones. Products of decoders are right for columns of
different units; those of one group are decoded together, from the counts of its combinations. What the noise does to
the decoded ones, jointly, comes from an evenly spaced part of the rows (``released_noise``).

Decoders of binned channels take values to be spread evenly within their bin, which no released code confirms: a file
of a few rough columns had a loss of 24 % where they said 3. Beyond ``MOST_WITHIN`` there is no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation import Powers
from trasgo_lib.estimation.pairs import LEAST_SPREAD_SCORE, PairMoments
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.released_groups import CorrelatedGroup
from trasgo_lib.utility.released_noise import Floats, Pair, noise_covariance
from trasgo_lib.utility.released_outlook import GroupOutlook

MOST_KEPT_ROWS = 2**15
"""Rows looked at for the noise covariance: so many fix a standard error to about 1.5 %, and memory stays bounded. With
twice as many, a round of the loop over a million rows spent more time here than on sampling and counting."""

_CHUNK_ROWS = 2**13
"""Six features of eight columns are then 3 MB: they stay in the cache between being looked up and multiplied."""

MOST_WITHIN = 0.02
"""Largest variance within bins in terms of a column's own. Below it, half of it is taken as a standard error; smooth
noise, whose decoders are biased by a thousandth of the range, stays far below it."""

HIDDEN = "the noise hides how far the values spread"

Codes = Mapping[str, NDArray[np.int32]]


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
        offsets: float64[pairs], what a released correlation has beside its share of the decoded one; noise of a group
            leaves some of the margins' own, other noise nothing.
        outlooks: by group, the released correlations at its other rungs; none for rank correlations.
    """

    pairs: tuple[Pair, ...]
    released: Floats = field(repr=False)
    decoded: Floats = field(repr=False)
    follows: Floats = field(repr=False)
    covariance: Floats = field(repr=False)
    offsets: Floats | float = field(default=0.0, repr=False)
    outlooks: Mapping[str, GroupOutlook] = field(default_factory=dict, repr=False)

    def at(self, unit: str, kept: float) -> SecondMoments | None:
        """The same at another rung of a group; what is decoded, and its noise, stay those of the rung looked at.

        Args:
            unit: name of the group.
            kept: share of the rows whose combination is kept there.

        Returns:
            None where nothing is known of that rung.
        """
        outlook = self.outlooks.get(unit)
        found = None if outlook is None else outlook.at(kept)
        if outlook is None or found is None:
            return None
        released, follows = self.released.copy(), self.follows.copy()
        offsets = np.broadcast_to(self.offsets, released.shape).copy()
        released[outlook.pairs] = found[0]
        follows[outlook.pairs] = np.minimum(1.0, follows[outlook.pairs] * found[1])
        offsets = np.where(offsets == 0.0, 0.0, released - follows * self.decoded)
        return replace(self, released=released, follows=follows, offsets=offsets)


class MomentSums:
    """Sums over released rows.

    Args:
        columns: correlated columns.
        decoders: of each column, by the codes of its unit.
        rows: number of rows to come, at least 1.
        groups: which of the columns are noised together.
    """

    def __init__(
        self,
        columns: Sequence[LossColumn],
        decoders: Sequence[Powers],
        rows: int,
        groups: Sequence[CorrelatedGroup] = (),
    ) -> None:
        self._groups = groups
        self._counts = [np.zeros(group.channel.outputs, dtype=np.int64) for group in groups]
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
        waiting = [np.empty(0, dtype=np.int32) for _ in self._columns]
        for batch in batches:
            codes = [batch[column.unit] for column in self._columns]
            # chunks begin at the same rows whatever the batches: sums of floats depend on how they are cut
            ends = range(-first % _CHUNK_ROWS, codes[0].size + _CHUNK_ROWS, _CHUNK_ROWS)
            for end in ends:
                chunk = [part[max(0, end - _CHUNK_ROWS) : end] for part in codes]
                if waiting[0].size:
                    chunk = [np.concatenate(both) for both in zip(waiting, chunk)]
                if chunk[0].size == _CHUNK_ROWS:
                    self._add(chunk)
                    chunk = [part[:0] for part in chunk]
                waiting = chunk
            waiting = [part.copy() for part in waiting]
            for kept, part in zip(self._kept, codes):
                # whatever the batches, the same rows; a copy, since a view would hold on to the whole batch
                kept.append(part[-first % self._stride :: self._stride].copy())
            for group, counts in zip(self._groups, self._counts):
                counts += np.bincount(batch[group.unit], minlength=len(counts))
            first += codes[0].size
        if waiting and waiting[0].size:
            self._add(waiting)

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
        decoded, released, follows, weights, offsets = [], [], [], [], []
        for left, right in pairs:
            group = next((at for at, group in enumerate(self._groups) if {left, right} <= {*group.columns}), None)
            theirs = PairMoments.of(self._block(6 * left + 3, 6 * right + 3))
            ours = PairMoments.of(
                self._block(6 * left, 6 * right) if group is None else self._joint(left, right, group)
            )
            if ours is None or theirs is None or ours.correlation is None or theirs.correlation is None:
                return f"{self._columns[left].name} with {self._columns[right].name}: {HIDDEN}"
            scale = math.sqrt(ours.squares[0] * ours.squares[1] / (theirs.squares[0] * theirs.squares[1]))
            slope = follow[left] * follow[right] if group is None else self._groups[group].kept
            decoded.append(ours.correlation)
            released.append(theirs.correlation)
            follows.append(min(1.0, slope * scale))
            offsets.append(0.0 if group is None else released[-1] - follows[-1] * decoded[-1])
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
        groups = [group.rows(self._decoders, np.concatenate(self._kept[group.columns[0]])) for group in self._groups]
        covariance = noise_covariance(kept, pairs, weights, [spread.relative_weights for spread in spreads], groups)
        covariance[np.diag_indices_from(covariance)] = np.maximum(np.diag(covariance), 0.0)
        covariance /= self._rows
        place = np.arange(len(pairs), len(covariance))
        covariance[place, place] += (np.array(within) / 2) ** 2
        outlooks = {group.unit: self._outlook(group, pairs) for group in self._groups}
        found = np.array([released, decoded, follows])
        return SecondMoments(pairs, found[0], found[1], found[2], covariance, np.array(offsets), outlooks)

    def _block(self, left: int, right: int) -> Floats:
        """Means of products of three powers of either side; 6 per column, decoded then plain ones."""
        return self._products[left : left + 3, right : right + 3] / self._rows

    def _joint(self, left: int, right: int, group: int) -> Floats:
        """The same of two columns of one group, whose products are decoded together."""
        shares = self._counts[group] / self._rows
        products = self._groups[group].products(self._decoders[left], self._decoders[right])
        found: Floats = (products @ shares).reshape(3, 3)
        return found

    def _outlook(self, group: CorrelatedGroup, pairs: Sequence[Pair]) -> GroupOutlook:
        chosen, seen, fresh = [], [], []
        for place, pair in enumerate(pairs):
            inside = [at in group.columns for at in pair]
            if not any(inside):
                continue
            ours, theirs = (self._tables[at][3:] for at in pair)
            if all(inside):
                afresh = ours @ theirs.T / ours.shape[1]
            else:
                means = [self._totals[6 * at + 3 : 6 * at + 6] / self._rows for at in pair]
                means[inside.index(True)] = (ours if inside[0] else theirs).mean(axis=1)
                afresh = np.outer(*means)
            chosen.append(place)
            seen.append(self._block(6 * pair[0] + 3, 6 * pair[1] + 3))
            fresh.append(afresh)
        return GroupOutlook(group.kept, np.array(chosen), np.array(seen), np.array(fresh))

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
    """Three decoded powers and three plain ones, by the unit's code: float64[6, codes]; a missing code has none."""
    codes = column.own_codes(np.arange(len(way.decoded), dtype=np.int32))
    here = codes < column.size
    plain = np.where(here, (codes - way.centre) / way.scale, 0.0)
    return np.vstack([way.decoded[:, :3].T, here.astype(np.float64), plain, plain**2])
