"""What the noise does, jointly, to decoded covariances of pairs and decoded variances of columns.

Given the private row, noise of different units is independent, so only quantities that share a unit vary together: with
D a decoder, the covariance of D[f] and D[g] is what D[f] D[g] exceeds D[f g] by, on average over released rows. A
column that is a unit of its own decodes f g by its higher powers. A group is randomised response over its combinations:
a share ``kept`` of the rows is kept, the others are drawn afresh, so D[f] = (f - (1 - kept) mean f) / kept for any
function of several of its columns, and products of two functions follow from plain values and one table of means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.pairs import square_weights

Pair = tuple[int, int]
Floats = NDArray[np.float64]

_EXACT = 1e-9
"""Less than this is what float64 leaves of nothing: without missing values, present is decoded as 1 everywhere."""

_ORDERS = tuple(combinations_with_replacement(range(3), 2))
"""Unordered products of two powers 0 to 2 of one column."""

_CHUNK_ROWS = 2**12
"""The 300 products of two powers of a group of eight columns are then 10 MB."""


@dataclass(frozen=True, slots=True)
class GroupRows:
    """A group in the rows looked at.

    Args:
        columns: which of the correlated columns are of this group.
        kept: share of the rows whose combination the channel keeps; it draws the others afresh from all combinations.
        plain: by column of the group, float64[3, combinations], the powers 0 to 2 of its own value.
        codes: int32[rows], released codes of the group.
    """

    columns: tuple[int, ...]
    kept: float
    plain: tuple[Floats, ...] = field(repr=False)
    codes: NDArray[np.int32] = field(repr=False)

    def decoded(self, functions: Floats) -> Floats:
        """Decoders of functions of the combination: float64[..., combinations] -> same."""
        found: Floats = (functions - (1 - self.kept) * functions.mean(axis=-1, keepdims=True)) / self.kept
        return found

    def powers(self, column: int) -> Floats:
        """The plain powers of one of the correlated columns: float64[3, combinations]."""
        return self.plain[self.columns.index(column)]

    def function(self, pair: Pair, weights: Floats) -> Floats:
        """A polynomial in two of its columns by combination: float64[combinations]."""
        left, right = (self.powers(column) for column in pair)
        found: Floats = np.einsum("kc,kc->c", weights.T @ left, right)
        return found


def noise_covariance(
    decoded: Sequence[Floats],
    pairs: Sequence[Pair],
    weights: Sequence[Floats],
    alone: Sequence[Floats],
    groups: Sequence[GroupRows] = (),
) -> Floats:
    """Covariance, over the noise, of one row's influences on quantities of pairs and of single columns.

    Args:
        decoded: by column, float64[5, rows], decoders of the powers 0 to 4.
        pairs: columns of each pair.
        weights: by pair, float64[3, 3], weights of products of the left and the right power.
        alone: by column, float64[3], weights of the powers of that column.
        groups: columns that are noised together.

    Returns:
        float64[pairs + columns, same], unbiased; quantities without a common unit do not vary together.
    """
    grouped = frozenset(column for group in groups for column in group.columns)
    covariance = _of_single_columns(decoded, pairs, weights, alone, grouped)
    if not groups:
        return covariance
    units: list[tuple[tuple[int, ...], GroupRows | None]] = [(group.columns, group) for group in groups]
    units += [((at,), None) for at in range(len(decoded)) if at not in grouped]
    home = {column: place for place, (columns, _) in enumerate(units) for column in columns}
    for group in groups:
        chosen, block = _of_one_group(group, decoded, pairs, weights, alone)
        covariance[np.ix_(chosen, chosen)] = block
    for first, second in combinations(range(len(units)), 2):
        between = [at for at, pair in enumerate(pairs) if {home[column] for column in pair} == {first, second}]
        ours, theirs = units[first][1], units[second][1]
        if between and (ours is not None or theirs is not None):
            sides = [_Side.of(columns, group, decoded) for columns, group in (units[first], units[second])]
            turned = [pairs[at] if home[pairs[at][0]] == first else pairs[at][::-1] for at in between]
            placed = [weights[at] if home[pairs[at][0]] == first else weights[at].T for at in between]
            covariance[np.ix_(between, between)] = _of_two_units(sides[0], sides[1], turned, placed)
    return covariance


def _of_single_columns(
    decoded: Sequence[Floats],
    pairs: Sequence[Pair],
    weights: Sequence[Floats],
    alone: Sequence[Floats],
    grouped: frozenset[int],
) -> Floats:
    """What quantities have in common through columns that are units of their own; 0 where they share a group."""
    others = np.vstack([*(part[:3] for part in decoded), np.ones((1, decoded[0].shape[1]))])
    shared = {at: _shared_moments(own, others) for at, own in enumerate(decoded) if at not in grouped}
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
            if len(common) == 1 and not common <= grouped:
                (at,) = common
                found = _together(seen[first][at], seen[second][at], shared[at])
                covariance[first, second] = covariance[second, first] = found
    for at, ((left, right), weight) in enumerate(zip(pairs, weights)):
        if left in grouped or right in grouped:
            continue
        ours, theirs = decoded[left], decoded[right]
        influence = np.einsum("kn,kn->n", weight.T @ ours[:3], theirs[:3])
        explained = np.vdot(square_weights(weight).T @ ours, theirs)
        covariance[at, at] = (influence @ influence - explained) / len(influence)
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


def _of_one_group(
    group: GroupRows,
    decoded: Sequence[Floats],
    pairs: Sequence[Pair],
    weights: Sequence[Floats],
    alone: Sequence[Floats],
) -> tuple[list[int], Floats]:
    """Which quantities hold a column of a group, and their covariances; right where they share nothing but the group.

    Returns:
        The quantities, and float64[quantities, same].
    """
    width = 3 * len(group.columns)
    features = [*group.plain]  # float64[features, combinations], first the powers of its columns
    chosen, placed = [], []
    others = np.vstack([*(part[:3] for part in decoded), np.ones((1, len(group.codes)))])
    for at, (pair, weight) in enumerate(zip(pairs, weights)):
        inside = [column for column in pair if column in group.columns]
        if len(inside) == 2:
            features.append(group.function(pair, weight)[None, :])
            placed.append({width + len(features) - len(group.plain) - 1: {len(others) - 1: 1.0}})
        elif inside:
            own, other = (pair, weight) if pair[0] == inside[0] else (pair[::-1], weight.T)
            start = 3 * group.columns.index(own[0])
            placed.append(
                {start + low: {3 * own[1] + high: float(other[low, high]) for high in range(3)} for low in range(3)}
            )
        else:
            continue
        chosen.append(at)
    for at in group.columns:
        start = 3 * group.columns.index(at)
        placed.append({start + power: {len(others) - 1: float(alone[at][power])} for power in range(3)})
        chosen.append(len(pairs) + at)
    plain = np.vstack(features)
    along = np.zeros((len(chosen), len(plain), len(others)))  # weights of a feature times another column's power
    for place, entries in enumerate(placed):
        for feature, row in entries.items():
            along[place, feature, list(row)] = list(row.values())
    spread = plain @ plain.T / plain.shape[1]  # means over all combinations
    around = others @ others.T / others.shape[1]
    fresh = np.einsum("qfo,rfo->qr", along, spread @ along @ around, optimize=True)
    by_row = [np.concatenate([plain[feature][None, :] for feature in entries]) for entries in placed]
    sizes = [
        np.array([sum(weight * others[other] for other, weight in row.items()) for row in entries.values()])
        for entries in placed
    ]
    influence = np.stack([(group.decoded(own)[:, group.codes] * size).sum(axis=0) for own, size in zip(by_row, sizes)])
    kept = np.stack([(own[:, group.codes] * size).sum(axis=0) for own, size in zip(by_row, sizes)])
    rows = len(group.codes)
    explained = (kept @ kept.T / rows - (1 - group.kept) * fresh) / group.kept
    return chosen, influence @ influence.T / rows - explained


@dataclass(frozen=True, slots=True)
class _Side:
    """One of two units that quantities lie between: decoders of its columns' powers, and of products of two powers.

    Args:
        columns: of the unit.
        group: its rows, or None for a column that is a unit of its own.
        decoded: by column, float64[5, rows].
    """

    columns: tuple[int, ...]
    group: GroupRows | None
    decoded: Mapping[int, Floats] = field(repr=False)

    @classmethod
    def of(cls, columns: tuple[int, ...], group: GroupRows | None, decoded: Sequence[Floats]) -> _Side:
        return cls(columns, group, {column: decoded[column] for column in columns})

    @property
    def orders(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Unordered products of two features, three features a column."""
        return np.triu_indices(3 * len(self.columns))

    def products(self) -> Iterator[Floats]:
        """Decoders of the products, some rows at a time: float64[orders, rows]."""
        low, high = self.orders
        if self.group is None:
            (own,) = self.decoded.values()
            for start in range(0, own.shape[1], _CHUNK_ROWS):
                yield own[low + high, start : start + _CHUNK_ROWS]
            return
        plain, kept = np.vstack(self.group.plain), self.group.kept
        spread = (plain @ plain.T / plain.shape[1])[low, high]
        for start in range(0, len(self.group.codes), _CHUNK_ROWS):
            here = plain[:, self.group.codes[start : start + _CHUNK_ROWS]]
            yield (here[low] * here[high] - (1 - kept) * spread[:, None]) / kept


def _of_two_units(left: _Side, right: _Side, pairs: Sequence[Pair], weights: Sequence[Floats]) -> Floats:
    """Covariances of quantities of pairs that all lie between the same two units: float64[pairs, same]."""
    rows = next(iter(left.decoded.values())).shape[1]
    moments = np.zeros((len(left.orders[0]), len(right.orders[0])))
    for ours, theirs in zip(left.products(), right.products(), strict=True):
        moments += ours @ theirs.T
    shapes = [3 * len(side.columns) for side in (left, right)]
    places = []
    for side, size in zip((left, right), shapes):
        place = np.zeros((size, size), dtype=np.intp)
        place[side.orders] = place.T[side.orders] = np.arange(len(side.orders[0]))
        places.append(place)
    placed = np.zeros((len(pairs), *shapes))
    for at, ((mine, other), weight) in enumerate(zip(pairs, weights)):
        row, column = 3 * left.columns.index(mine), 3 * right.columns.index(other)
        placed[at, row : row + 3, column : column + 3] = weight
    # of the private values, feature by feature of one quantity, then of the other
    table = (moments / rows)[places[0][:, None, :, None], places[1][None, :, None, :]]
    explained = np.einsum("qab,abcd,rcd->qr", placed, table, placed, optimize=True)
    influence = np.stack(
        [
            np.einsum("kn,kn->n", weight.T @ left.decoded[mine][:3], right.decoded[other][:3])
            for (mine, other), weight in zip(pairs, weights)
        ]
    )
    found: Floats = influence @ influence.T / rows - explained
    return found
