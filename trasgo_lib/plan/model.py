"""The plan: a release file whose every name, channel, rung and worst-case cost is resolved, before data is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.config import Checks, Publish, ReleaseConfig, Source
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms import Channel

Role = Literal["noised", "public", "drop", "unit"]
LossName = Literal["correlation_loss", "tvd", "js", "kl"]


@dataclass(frozen=True, slots=True)
class Target:
    """A loss and its ceiling, both public; ``ceiling`` is exact decimal text (percent for correlation_loss)."""

    loss: LossName
    ceiling: str


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How one source column is read and what becomes of it.

    A point column is one ColumnPlan with two source columns.
    """

    name: str
    role: Role
    sources: tuple[str, ...]
    unit: str | None


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """One noise unit: its columns, domain, mechanism, rungs and target.

    Args:
        name: column or group name.
        columns: names of the released columns (one; a group has several; a point has latitude and longitude).
        domain: the declared domain.
        mechanism: registry name.
        missing: ``error``, ``code`` (a missing value is one more code) or ``replace`` (``fill`` is its code).
        fill: the code that replaces a missing value, else None.
        rungs: levels the loop may draw, rising; one entry for a unit without target and for points.
        delta: delta of each draw; 0 for pure channels.
        geo: geo epsilon of each draw; 0 for all but points.
        target: ceiling of a loss, or None.
        chain_digest: SHA-256 over everything that fixes the unit's draws: mechanism and version, parameters, domain,
            missing policy, columns, rungs, deltas.
        draws_at_most: most draws the loop can make within the total.
    """

    name: str
    columns: tuple[str, ...]
    domain: Domain
    mechanism: str
    parameters: tuple[tuple[str, str], ...]
    missing: Literal["error", "code", "replace"]
    fill: int | None
    outside: Literal["clip", "reject"]
    rungs: tuple[Epsilon, ...]
    delta: Delta
    geo: Geo
    target: Target | None
    chain_digest: str
