"""What noised points can tell, before anyone is asked; from public figures alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from trasgo_lib.collection.point_estimates import evenly_spread
from trasgo_lib.collection.points import PointLattice
from trasgo_lib.collection.sizing import POWER


@dataclass(frozen=True, slots=True)
class PointSizing:
    """What so many noised points tell of the middle cell, if devices were spread evenly over the box.

    Args:
        points: how many.
        share: of the devices in that cell.
        standard_error: of its estimated share.
        floor: least estimated share that is shown.
        is_told: whether the cell is shown with probability 0.9.
        times_counting: its variance over that of counting devices without noise.
    """

    points: int
    share: float
    standard_error: float
    floor: float
    is_told: bool
    times_counting: float


def size_points(lattice: PointLattice, counts: Sequence[int], level: float) -> list[PointSizing]:
    """What numbers of points can tell.

    Args:
        lattice: what they go through.
        counts: numbers of points, each at least 1.
        level: probability that any empty cell is shown.
    """
    found, even = [], evenly_spread(lattice, 1)
    for count in counts:
        one = replace(even, points=count)
        share, error = float(one.shares[0]), float(one.standard_error[0])
        floor = float(one.bound(level / lattice.alphabet.slots)[0])
        is_told = share >= floor + NormalDist().inv_cdf(POWER) * error
        found.append(PointSizing(count, share, error, floor, is_told, error**2 * count / (share * (1 - share))))
    return found
