"""Levels: devices split over resolutions, made consistent by inverse variances, children only under shown parents.

Each device answers at one level, so the levels' noise is independent. Splitting devices beats splitting epsilon: at
epsilon 2 over four levels its errors are 2.2 times smaller. Source: Hay and others (2010), section 4, for any number of
children and unequal variances; the down step is conditioning on the parent, which gives the variances, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.collection.alphabet import Alphabet, Slots
from trasgo_lib.collection.estimating import Floats, Frequencies
from trasgo_lib.errors import InputContractError, Reason


@dataclass(frozen=True, slots=True)
class ConsistentLevel:
    """The estimates of one level after all levels were made to agree.

    Args:
        alphabet: its slots.
        shares: float64[slots]; each sums over children to its parent's, the coarsest to 1. Entries can be negative.
        standard_error: float64[slots], of those.
        adjusted: float64[slots], at least 0, children summing to their parent's adjusted share; for maps.
        shown: bool[slots], clears its error, and so do all its ancestors.
    """

    alphabet: Alphabet
    shares: Floats = field(repr=False)
    standard_error: Floats = field(repr=False)
    adjusted: Floats = field(repr=False)
    shown: NDArray[np.bool_] = field(repr=False)


def reconcile(
    alphabets: Sequence[Alphabet], levels: Sequence[Frequencies], level: float
) -> tuple[ConsistentLevel, ...]:
    """Make the estimates of all levels agree.

    Args:
        alphabets: coarse to fine, each the ``coarser`` of the last.
        levels: the estimate of each, from different devices.
        level: probability that any empty slot of a level is shown.

    Raises:
        InputContractError: as many estimates as alphabets are needed, over their slots.
    """
    if not levels or [len(found.shares) for found in levels] != [alphabet.slots for alphabet in alphabets]:
        raise InputContractError.of(
            Reason.BAD_PARAMETER,
            "levels",
            required="one estimate for each alphabet, over its slots",
            came=f"{len(levels)} for {len(alphabets)}",
            fix="Estimate every level first; a level without reports cannot be reconciled.",
        )
    parents = [fine.slots_in(coarse) for coarse, fine in pairwise(alphabets)]
    values, variances = _gathered(levels, parents)
    whole = np.zeros(alphabets[0].slots, dtype=np.int32)
    above, spread, map_above = np.ones(1), np.zeros(1), np.ones(1)
    shown_above = np.ones(1, dtype=np.bool_)
    found = []
    for place, alphabet in enumerate(alphabets):
        parent = parents[place - 1] if place else whole
        above, spread = _handed_down(values[place], variances[place], parent, above, spread)
        map_above = _projected(above, parent, map_above)
        error = np.sqrt(spread)
        clears = above > NormalDist().inv_cdf(1 - level / alphabet.slots) * error
        shown_above = clears & shown_above[parent]
        found.append(ConsistentLevel(alphabet, above, error, map_above, shown_above))
    return tuple(found)


def _gathered(levels: Sequence[Frequencies], parents: Sequence[Slots]) -> tuple[list[Floats], list[Floats]]:
    """From fine to coarse: each slot's own estimate and the sum of its children, weighted by inverse variances."""
    values, variances = [levels[-1].shares], [levels[-1].standard_error ** 2]
    for own, parent in zip(reversed(levels[:-1]), reversed(parents), strict=True):
        slots = len(own.shares)
        below = np.bincount(parent, values[0], minlength=slots)
        below_variance = np.bincount(parent, variances[0], minlength=slots)
        own_variance = own.standard_error**2
        weight = below_variance / (own_variance + below_variance)
        values.insert(0, weight * own.shares + (1 - weight) * below)
        variances.insert(0, own_variance * below_variance / (own_variance + below_variance))
    return values, variances


def _handed_down(
    values: Floats, variances: Floats, parent: Slots, above: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """Condition children on their parent's final value: what is missing is shared out by variance."""
    slots = len(above)
    total = np.bincount(parent, variances, minlength=slots)
    missing = above - np.bincount(parent, values, minlength=slots)
    part = variances / total[parent]
    final = values + part * missing[parent]
    return final, np.maximum(variances - part * variances + part**2 * spread[parent], 0.0)


def _projected(values: Floats, parent: Slots, totals: Floats) -> Floats:
    """Norm-sub within each family: the nearest entries of at least 0 that sum to the parent's total."""
    order = np.lexsort((-values, parent))
    sorted_values, family = values[order], parent[order]
    starts = np.flatnonzero(np.r_[True, family[1:] != family[:-1]])
    group = np.cumsum(np.r_[False, family[1:] != family[:-1]])
    rank = np.arange(len(values)) - starts[group] + 1
    summed = np.cumsum(sorted_values)
    within = summed - (summed[starts] - sorted_values[starts])[group]
    shift = (within - totals[family]) / rank
    kept = sorted_values - shift > 0
    last = np.zeros(len(starts), dtype=np.int64)
    np.maximum.at(last, group, np.where(kept, rank, 1))
    cut = shift[starts + last - 1]
    projected = np.empty_like(values)
    projected[order] = np.maximum(sorted_values - cut[group], 0.0)
    return projected
