"""Levels: devices split over resolutions, made consistent by inverse variances, children only under shown parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.estimating import Floats, Frequencies


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
        level: as in ``Frequencies.shown``.
    """
    raise NotImplementedError
