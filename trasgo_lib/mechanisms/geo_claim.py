"""What a channel over points claims: an epsilon at a radius, that is an epsilon per distance.

Source: Andres, Bordenabe, Chatzikokolakis, Palamidessi 2013, "Geo-indistinguishability", definition 3.1: the log-ratio
of an output's probabilities is at most epsilon times the distance of the two places.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Self

from trasgo_lib.amounts import Epsilon, Geo
from trasgo_lib.budget.events import GeoEvent
from trasgo_lib.errors import ConfigError, Reason

EXACT = Context(prec=60)
UP = Context(prec=60, rounding=ROUND_CEILING)
DOWN = Context(prec=60, rounding=ROUND_FLOOR)
"""Sixty digits; each result is then off by at most one part in 1e59, in the named direction."""

_BUILD_GAP = Fraction(1, 10**9)
"""Channels are built this far below the claim, so that a certificate rounded up to 1e-6 still meets it."""

_LARGEST_RADIUS_M = 10**7


@dataclass(frozen=True, slots=True)
class GeoClaim:
    """Epsilon for two places ``radius_m`` apart.

    Args:
        epsilon: at the radius; public.
        radius_m: metres, decimal text; public.
    """

    epsilon: Epsilon
    radius_m: str

    @classmethod
    def parse(cls, epsilon: object, radius_m: object) -> Self:
        """Read both exactly.

        Raises:
            AmountError: epsilon is not exact or not above zero.
            ConfigError: the radius is not exact, not above zero, or beyond 10,000 km.
        """
        amount = epsilon if isinstance(epsilon, Epsilon) else Epsilon.parse(epsilon)
        exact = isinstance(radius_m, (str, int)) and not isinstance(radius_m, bool)
        try:
            radius = Decimal(str(radius_m)) if exact else Decimal("NaN")
        except ArithmeticError:
            radius = Decimal("NaN")
        if not (radius.is_finite() and Decimal("1e-3") <= radius <= _LARGEST_RADIUS_M):
            raise ConfigError.of(
                Reason.BAD_PARAMETER,
                "radius_m",
                required=f"metres as exact decimal text, from 0.001 to {_LARGEST_RADIUS_M}",
                came=repr(radius_m),
                fix='Quote it, as in "200".',
            )
        plain = format(radius, "f")
        return cls(amount, plain.rstrip("0").rstrip(".") if "." in plain else plain)

    @property
    def per_metre(self) -> Fraction:
        """Claimed epsilon per metre, exactly."""
        return self.epsilon.fraction / Fraction(self.radius_m)

    @property
    def build_per_metre(self) -> Fraction:
        """What channels are built for: the claim less 1e-9 at the radius."""
        return (self.epsilon.fraction - _BUILD_GAP) / Fraction(self.radius_m)

    @property
    def event(self) -> GeoEvent:
        """The loss event of one draw; epsilon per kilometre, rounded up."""
        return GeoEvent(Geo.ceil(self.per_metre * 1000))

    def at_radius(self, per_metre: Decimal) -> Decimal:
        """An epsilon per metre as epsilon at the radius, rounded up to 60 digits."""
        return UP.multiply(per_metre, Decimal(self.radius_m))

    def refuse_above(self, certified: Decimal) -> None:
        """Raise when a certificate exceeds the claim.

        Args:
            certified: epsilon at the radius.

        Raises:
            ConfigError: naming both.
        """
        if Fraction(certified) > self.epsilon.fraction:
            raise ConfigError.of(
                Reason.CLAIM_NOT_CERTIFIED,
                "epsilon",
                required=f"a certificate of at most {self.epsilon} at {self.radius_m} m",
                came=f"{certified}",
                fix="Use a coarser step, a smaller box or fewer cells.",
            )


def as_decimal(value: Fraction, context: Context) -> Decimal:
    """A fraction as a decimal of 60 digits, rounded as the context says."""
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
