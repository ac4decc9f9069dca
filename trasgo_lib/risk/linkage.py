"""Record linkage: how often someone who knows a person's quasi-identifiers picks out that person's released row.

The attacker knows the true quasi-identifiers of a target and all that is public: the released rows in their shuffled
order and the channels. Three ways to pick a row:

- ``likelihood``: the row that the channels give with the largest probability;
- ``posterior``: that probability divided by how many rows look the same. To someone who knows nothing of the other
  people this is the best there is: if they are drawn from one population, the chance that row j is the target's is in
  proportion to P(row j | target) / P(row j), and P(row j) shows in the release itself;
- ``nearest``: the row nearest to the true values, as one would do who knows nothing of the noise.

Rows that tie share the pick. Released rows with the same values are one candidate: the work is that of distinct rows.

What epsilon bounds, epsilon being that of the released quasi-identifiers. Swapping the places of two people changes the
probability of these columns by a factor of at most exp(2 eps), exp(eps) for each of the two rows. So nobody's row is
known with a probability above exp(2 eps) / (exp(2 eps) + n - 1), also not to someone who knows the true values of all
others. If the others are a random sample to the attacker, P(row j | target) / P(row j) is at most exp(eps), and no pick
succeeds with more than exp(eps) / n on average over such samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.noise import Keystream
from trasgo_lib.risk.classes import Integers, class_keys, count_classes
from trasgo_lib.risk.columns import Readers, RiskColumn
from trasgo_lib.risk.interval import exact_interval
from trasgo_lib.risk.visible import Visible

Floats = NDArray[np.float64]

ATTACKERS = ("likelihood", "posterior", "nearest")

_MOST_STEPS = 2**32
"""Numbers looked up in all, about a minute: with many distinct rows fewer targets are tried, and the audit says so."""

_STEPS_OF_A_WEIGHT = 64
"""What one exact weight costs, in such steps."""

_SAME_SCORE = 1e-9
"""Scores this near tie: sums of the same logarithms in another order differ by less, other scores by more."""


@dataclass(frozen=True, slots=True)
class Attack:
    """What one attacker achieves; private.

    Args:
        name: one of ``ATTACKERS``.
        share: mean chance of picking the right row, ties shared.
        correct: targets picked out when ties are broken by draw.
        low: lower end of the exact 95 % interval of the share over all rows, from ``correct``; the share where all
            rows are targets.
        high: upper end.
    """

    name: str
    share: float
    correct: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Linkage:
    """A record-linkage attack; private.

    Args:
        rows: rows of the release, n.
        candidates: distinct released rows, in their quasi-identifiers.
        targets: records that were tried.
        chance: what guessing achieves, 1 / n.
        attacks: one for each attacker.
        epsilon: of the quasi-identifiers together; None where none bounds the attack.
        reason: why there is none; None where there is.
        bound: most that any attacker achieves, everything about the others known; None without epsilon.
        bound_target_only: most on average for one who knows the target only; None without epsilon.
    """

    rows: int
    candidates: int
    targets: int
    chance: float
    attacks: tuple[Attack, ...]
    epsilon: float | None
    reason: str | None
    bound: float | None
    bound_target_only: float | None


def link_records(
    original: Readers,
    released: Readers,
    visible: Sequence[Visible],
    rows: int,
    sample: int,
    stream: Keystream,
    epsilon: float | str,
) -> Linkage:
    """Attack a release whose true rows are known: row i of both versions is the same person.

    Args:
        original: how the true rows are read; private.
        released: how the released rows are read.
        visible: what the attacker sees and knows.
        rows: number of rows, at least 1.
        sample: most targets to try.
        stream: words for the choice of targets and for ties, used for nothing else.
        epsilon: of all quasi-identifiers together, or why none bounds the attack.

    Raises:
        InputContractError: too many combinations or distinct rows.
    """
    columns = [entry.column for entry in visible]
    classes = count_classes(released, columns)
    values = classes.values(columns)
    cost = len(classes.keys) * len(columns) + _STEPS_OF_A_WEIGHT * sum(column.size for column in columns)
    places = sampled_rows(stream, rows, min(sample, max(1, _MOST_STEPS // cost)))
    true, seen = (_keys_at(readers, columns, places) for readers in (original, released))
    right = np.searchsorted(classes.keys, seen)
    chances = np.zeros((len(ATTACKERS), len(places)))
    common = np.log(classes.counts)
    order = np.argsort(true, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(true[order])) + 1):
        for row, picked in enumerate(_picks(visible, true[group[0]], values, common)):
            chances[row, group] = picked[right[group]] / classes.counts[picked].sum()
    attacks = tuple(_attack(name, found, rows, stream) for name, found in zip(ATTACKERS, chances, strict=True))
    known = None if isinstance(epsilon, str) else epsilon
    return Linkage(
        rows=rows,
        candidates=len(classes.keys),
        targets=len(places),
        chance=1 / rows,
        attacks=attacks,
        epsilon=known,
        reason=epsilon if isinstance(epsilon, str) else None,
        bound=None if known is None else informed_bound(known, rows),
        bound_target_only=None if known is None else target_only_bound(known, rows),
    )


def informed_bound(epsilon: float, rows: int) -> float:
    """Most that an attacker achieves who knows everything but which row is whose: exp(2 eps) / (exp(2 eps) + n - 1)."""
    return 1.0 / (1.0 + (rows - 1) * exp(-2 * epsilon))


def target_only_bound(epsilon: float, rows: int) -> float:
    """Most on average for one who knows the target, the others being a random sample: exp(eps) / n."""
    return exp(min(0.0, epsilon - log(rows)))


def sampled_rows(stream: Keystream, rows: int, sample: int) -> Integers:
    """A uniform sample of rows without replacement, rising: int64[min(sample, rows)].

    Args:
        stream: its words; from the first on.
        rows: number of rows, at least 1.
        sample: how many are wanted.
    """
    if sample >= rows:
        return np.arange(rows, dtype=np.int64)
    usable = np.uint64(2**64 // rows * rows - 1)  # words above would favour the first rows
    chosen: dict[int, None] = {}
    first = 0
    while len(chosen) < sample:
        words = stream.words(first, 2 * sample)
        first += len(words)
        chosen.update(dict.fromkeys((words[words <= usable] % np.uint64(rows)).tolist()))
    return np.sort(np.array(list(chosen)[:sample], dtype=np.int64))


def _keys_at(readers: Readers, columns: Sequence[RiskColumn], places: Integers) -> Integers:
    """Keys of some rows: int64[places]; places rise."""
    found, first = [], 0
    for keys in class_keys(readers, columns):
        begin, end = np.searchsorted(places, (first, first + len(keys)))
        found.append(keys[places[begin:end] - first])
        first += len(keys)
    return np.concatenate(found)


def _picks(
    visible: Sequence[Visible], true: int, values: Sequence[NDArray[np.int32]], common: Floats
) -> Iterable[NDArray[np.bool_]]:
    """For each attacker: which candidates score best, bool[candidates]; ``common`` is the logarithm of their rows."""
    likely, apart = np.zeros(len(common)), np.zeros(len(common))
    rest = int(true)
    for entry, released in zip(reversed(visible), reversed(values), strict=True):
        rest, value = divmod(rest, entry.column.size)
        likely += entry.log_likelihood(value)[released]
        apart += entry.distance(value)[released]
    for scores in (likely, likely - common, -apart):
        yield scores >= scores.max() - _SAME_SCORE


def _attack(name: str, chances: Floats, rows: int, stream: Keystream) -> Attack:
    targets, share = len(chances), float(chances.mean())
    # the same words for every attacker, from a part of the stream that no choice of targets reaches
    draws = stream.words(2**48, targets).astype(np.float64) * 2.0**-64
    correct = int((draws < chances).sum())
    low, high = (share, share) if targets == rows else exact_interval(correct, targets)
    return Attack(name, share, correct, low, high)
