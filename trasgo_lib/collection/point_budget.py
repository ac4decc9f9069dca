"""What noised points cost a device, whatever loss per distance each of them had.

A later collection file may ask for points of another loss per distance. What was sent keeps the price it had: counted
at the new one, points of a higher loss would become cheaper afterwards, and a device would pass its lifetime cap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from trasgo_lib.amounts import Epsilon


@dataclass(frozen=True, slots=True)
class PointCaps:
    """What a point costs, and what a device may spend on points: losses of two places ``radius_m`` apart.

    Args:
        each: loss of one point.
        radius_m: metres, decimal text.
        daily: most that the points of a day cost.
        lifetime: most that all points cost.
    """

    each: Epsilon
    radius_m: str
    daily: Epsilon
    lifetime: Epsilon

    @property
    def price(self) -> str:
        """What points of this loss are counted under."""
        return f"{self.each.text}/{self.radius_m}"

    @property
    def points_ever(self) -> int:
        """How many points of this price a device sends at most."""
        return self.lifetime.units // self.each.units

    def cost(self, points: Mapping[str, int]) -> Epsilon:
        """What points cost at this radius, whatever loss per distance each had: losses grow with the distance.

        Args:
            points: how many, by ``price``.
        """
        radius = Fraction(self.radius_m)
        return Epsilon.ceil(sum((count * _per_metre(price) * radius for price, count in points.items()), Fraction(0)))


def one_more(points: Mapping[str, int], price: str) -> dict[str, int]:
    """Points by price, with one more of a price."""
    return {**points, price: points.get(price, 0) + 1}


def _per_metre(price: str) -> Fraction:
    """The loss per metre of points that are counted under a price."""
    epsilon, _, radius = price.partition("/")
    return Epsilon.parse(epsilon).fraction / Fraction(radius)


def points_of(told: Any) -> dict[str, int]:
    """Points by price, as they were stored; a bare number, as earlier versions stored, does not say what they cost.

    Raises:
        ValueError: no such mapping, or a price that is none.
    """
    if told == 0:
        return {}
    points = {str(price): int(count) for price, count in told.items()}
    if any(_per_metre(price) <= 0 or count < 0 for price, count in points.items()):
        raise ValueError("no price")
    return points
