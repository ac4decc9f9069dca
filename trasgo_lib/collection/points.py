"""Noised points: planar Laplace noise on a lattice, drawn on the device, with a budget per distance of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import PointSpec
from trasgo_lib.data import BoxDomain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms.planar import build_planar_laplace
from trasgo_lib.mechanisms.planar_channel import PlanarChannel

_VERSION_HEX = 32


@dataclass(frozen=True, slots=True)
class PointPlan:
    """The compiled section ``point``.

    Args:
        domain: the lattice.
        channel: planar Laplace noise over it.
        epsilon: loss of one point, for two places ``radius_m`` apart.
        radius_m: metres, decimal text.
        daily: most that the points of one day cost, at that radius.
        lifetime: most that all points of a device cost, at that radius.
    """

    domain: BoxDomain
    channel: PlanarChannel = field(repr=False)
    epsilon: Epsilon
    radius_m: str
    daily: Epsilon
    lifetime: Epsilon

    @property
    def version(self) -> str:
        """Digest of lattice and weights: 32 hexadecimal characters."""
        return self.channel.digest[:_VERSION_HEX]


def compile_points(spec: PointSpec) -> PointPlan:
    """Build the channel of a section ``point``.

    Raises:
        ConfigError: a box, projection, step or loss that does not suit.
    """
    domain = BoxDomain(tuple(spec.box), spec.crs, spec.step_m)
    channel = build_planar_laplace(domain, spec.geo.epsilon, radius_m=spec.geo.radius_m)
    if not isinstance(channel, PlanarChannel):
        raise TypeError("a box has a planar channel")
    each = Epsilon.parse(spec.geo.epsilon)
    caps = Epsilon.parse(spec.daily_epsilon), Epsilon.parse(spec.lifetime_epsilon)
    for name, cap in zip(("daily_epsilon", "lifetime_epsilon"), caps, strict=True):
        if each > cap:
            raise ConfigError.of(
                Reason.BAD_PARAMETER,
                f"point.{name}",
                required=f"at least {each.text}, what one point costs",
                came=cap.text,
                fix="Raise it, or lower geo.epsilon.",
            )
    return PointPlan(domain, channel, each, str(spec.geo.radius_m), *caps)
