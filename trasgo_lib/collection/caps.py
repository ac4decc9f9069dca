"""What one device may spend, and whether a channel fits it."""

from __future__ import annotations

from dataclasses import dataclass

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import epsilon_of_rho
from trasgo_lib.collection.channels import ChannelClaim


@dataclass(frozen=True, slots=True)
class DeviceCaps:
    """What one device may spend.

    Args:
        daily: most that the reports of one day cost.
        lifetime: most that all its reports ever cost.
        accounting: ``basic`` or ``zcdp``.
        delta: failure probability of concentrated accounting; 0 with ``basic``.
        memoised_cells: permanent responses a device keeps; the last answers for all further cells, as ``other``.
    """

    daily: Epsilon
    lifetime: Epsilon
    accounting: str
    delta: Delta
    memoised_cells: int


def lifetime_cost(claim: ChannelClaim, caps: DeviceCaps) -> Epsilon:
    """What a device reserves with its first report: of a memoised channel the whole memory, as losses add up.

    Args:
        claim: of the channel.
        caps: what the device may spend.
    """
    return claim.epsilon if claim.permanent is None else claim.permanent.times(caps.memoised_cells)


def fits_lifetime(claim: ChannelClaim, caps: DeviceCaps) -> bool:
    """Whether a device may make its first report at all, as losses add up or, under ``zcdp``, as concentrated ones do.

    Args:
        claim: of the channel.
        caps: what the device may spend.
    """
    if lifetime_cost(claim, caps) <= caps.lifetime:
        return True
    if caps.accounting != "zcdp" or claim.permanent is None:
        return False
    rho = Rho.ceil(claim.permanent.fraction**2 / 2).times(caps.memoised_cells)
    return epsilon_of_rho(rho, caps.delta) <= caps.lifetime
