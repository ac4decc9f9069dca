"""Building every channel of a ladder before data is opened, and saying what is wrong when one cannot be built."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import KeyPath
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.mechanisms import Channel
from trasgo_lib.plan.channels import channel_of
from trasgo_lib.plan.demand import UnitDemand
from trasgo_lib.plan.faults import FaultCollector

_LEAST_USE = Decimal("0.999")
"""A certificate below this share of the claim means that budget would be paid for and not used."""

_UNDERUSED = frozenset({"gaussian"})
"""Mechanisms that may certify further below the claim: on small domains sigma moves the certificate in jumps."""

_KEYS = ("delta", "utility", "missing", "domain", "width")
"""Parameters under whose name a mechanism complains and that are keys of a column."""


class CertifiedRung(NamedTuple):
    """A level, the digest of its channel, and that of the channel's integers alone."""

    level: Epsilon
    digest: str
    table: str


def certified_rungs(
    demand: UnitDemand, rungs: tuple[Epsilon, ...], faults: FaultCollector
) -> tuple[CertifiedRung, ...]:
    """The rungs whose channels exist and certify, from the first on, each with the digests of its channel.

    The first rung must work; a ladder ends below the first later rung that does not, since integers of 64 bits cannot
    hold arbitrarily large ratios.

    Args:
        demand: a unit whose mechanism fits.
        rungs: the ladder as declared.
        faults: where faults go.
    """
    working: list[CertifiedRung] = []
    for rung in rungs:
        found = _certified(demand, rung)
        if isinstance(found, tuple):
            if not working:
                _note(found, demand, faults)
            break
        # digests only: the channels of a long ladder over a large domain would fill the memory
        working.append(CertifiedRung(rung, found.digest, found.table_digest))
    return tuple(working)


def _certified(demand: UnitDemand, rung: Epsilon) -> Channel | tuple[Fault, ...]:
    """The channel of a rung, or what is wrong with it."""
    try:
        channel = channel_of(demand.mechanism, demand.domain, rung, demand.parameters)
    except ConfigError as error:
        return error.faults
    claim = rung.decimal if demand.geo is None else Decimal(demand.geo.epsilon)
    return _uncertified(channel, claim) or channel


def _uncertified(channel: Channel, claim: Decimal) -> tuple[Fault, ...]:
    certified = channel.certified_epsilon
    enough = certified >= _LEAST_USE * claim or channel.name in _UNDERUSED
    if certified <= claim and enough:
        return ()
    came = f"a certificate of {certified}, " + ("above the claim" if certified > claim else "far below the claim")
    return (
        Fault(
            Reason.CLAIM_NOT_CERTIFIED,
            "epsilon",
            f"a channel that certifies {_LEAST_USE} to 1 times epsilon {claim}",
            came,
            "Use another level, a coarser step or another mechanism.",
        ),
    )


def _note(trouble: tuple[Fault, ...], demand: UnitDemand, faults: FaultCollector) -> None:
    path = demand.path
    keys: dict[str, KeyPath] = {key: (*path, key) for key in _KEYS}
    keys["epsilon"] = demand.level_path
    keys["radius_m"] = (*path, "geo", "radius_m")
    keys["domain.step_m"], keys["domain.cells"] = (*path, "domain", "step_m"), (*path, "domain", "cells")
    for fault in trouble:
        place = {**keys, **demand.keys}.get(_key(fault), (*path, "mechanism"))
        faults.add(fault.reason, place, required=fault.required, came=fault.came, fix=fault.fix)


def _key(fault: Fault) -> str:
    """The parameter a mechanism complains about; it writes ``laplace epsilon``."""
    return fault.where.rsplit(" ", 1)[-1]
