"""The levels of a noise unit: its ladder, cut where the mechanism can certify, coupled under ``composition: chain``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import (
    GroupSpec,
    KeyPath,
    NoisedColumn,
    PlainColumn,
    PointColumn,
    ReleaseConfig,
)
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms import MECHANISMS, Chain, Channel
from trasgo_lib.plan.channels import chain_of, channel_of
from trasgo_lib.plan.demand import UnitDemand
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.feasibility import CertifiedRung, certified_rungs
from trasgo_lib.plan.ladder import ladder, most_draws
from trasgo_lib.plan.prior import PublicPrior


@dataclass(frozen=True, slots=True)
class UnitContext:
    """What a unit needs to know about the rest of the release.

    Args:
        config: the release file.
        max_rows: rows per privacy unit.
        available: what the other units' first draws leave of ``epsilon_total``.
        prior: public knowledge of the values, or None.
        is_prior_sound: whether nothing is wrong with the release file's prior; else ``auto`` is not judged.
    """

    config: ReleaseConfig
    max_rows: int
    available: Epsilon
    prior: PublicPrior | None = None
    is_prior_sound: bool = True

    @property
    def correlations_estimated(self) -> Literal["", "moments", "ranks"]:
        """How the loop learns correlation losses from released codes; empty where it does not need to."""
        return estimate_of_correlations(self.config)


def estimate_of_correlations(config: ReleaseConfig) -> Literal["", "moments", "ranks"]:
    """How the loop learns correlation losses from released codes; empty where it does not need to."""
    asked = (*config.columns, *config.groups)
    wanted = any(
        not isinstance(one, PlainColumn) and one.target is not None and one.target.loss == "correlation_loss"
        for one in asked
    )
    if config.loop.loss_from != "released" or not wanted:
        return ""
    return "moments" if config.loop.correlation == "pearson" else "ranks"


@dataclass(frozen=True, slots=True)
class Levels:
    """A unit's ladder, the digests of the integers behind it, and whether its levels are coupled."""

    rungs: tuple[Epsilon, ...]
    tables: tuple[str, ...]
    is_chained: bool

    def most_draws(self, context: UnitContext) -> int:
        """Most draws the loop can make within the total."""
        rounds = context.config.loop.max_rounds
        if self.is_chained:
            return min(len(self.rungs), rounds)
        return most_draws(self.rungs, context.available, context.max_rows, rounds)


def first_level(asked: NoisedColumn | GroupSpec, config: ReleaseConfig) -> Epsilon:
    """The level of the first draw of a column or group; 0 for points, which cost geo epsilon."""
    if isinstance(asked, PointColumn):
        return Epsilon(0)
    return Epsilon.parse(asked.epsilon or asked.start or config.loop.start)


def level_path(asked: NoisedColumn | GroupSpec, path: KeyPath) -> KeyPath:
    """The key that declares the first level of a column or group."""
    if isinstance(asked, PointColumn):
        return (*path, "geo", "epsilon")
    if asked.epsilon is not None:
        return (*path, "epsilon")
    return (*path, "start") if asked.start is not None else ("loop", "start")


def compile_levels(demand: UnitDemand, context: UnitContext, faults: FaultCollector) -> Levels | None:
    """Every level of a unit, built and certified, or None with faults noted.

    Args:
        demand: what is asked for.
        context: the rest of the release.
        faults: where faults go.
    """
    try:
        declared = declared_rungs(demand.first, demand.target is not None and demand.geo is None, context)
    except ConfigError as error:
        faults.take(error, ("loop", "ratio"))
        return None
    certified = certified_rungs(demand, declared, faults)
    if not certified or not are_distinct(certified, demand.path, context, faults):
        return None
    rungs, tables = tuple(rung.level for rung in certified), tuple(rung.digest for rung in certified)
    if context.config.loop.composition == "sequential" or len(rungs) == 1:
        return Levels(rungs, tables, is_chained=False)
    coupled = _coupled(demand, rungs, faults)
    return None if coupled is None else Levels(coupled.levels, (coupled.digest,), is_chained=True)


def declared_rungs(first: Epsilon, has_target: bool, context: UnitContext) -> tuple[Epsilon, ...]:
    """The levels that a unit's first level, the ratio and the total allow: one without a target.

    Raises:
        ConfigError: a ratio that gives no ladder.
    """
    if not has_target:
        return (first,)
    ceiling = Epsilon(max(first.units, context.available.units // context.max_rows))
    return ladder(first, context.config.loop.ratio, ceiling)


def are_distinct(
    certified: Sequence[CertifiedRung], path: KeyPath, context: UnitContext, faults: FaultCollector
) -> bool:
    """Whether no two neighbouring rungs draw with the same integers; else a fault is noted.

    The higher of two such rungs would be paid for and change nothing.

    Args:
        certified: rising levels with the digests of their channels.
        path: place of the unit in the release file.
        context: the rest of the release.
        faults: where faults go.
    """
    for lower, upper in pairwise(certified):
        if lower.table == upper.table:
            ratio = context.config.loop.ratio
            faults.add(
                Reason.BAD_PARAMETER,
                (*path, "mechanism"),
                required="levels of which each changes the noise",
                came=f"{lower.level.text} and {upper.level.text}, whose channels have the same integers",
                fix=f"Write a larger loop.ratio than {ratio}, a finer step, or a mechanism whose noise changes in"
                " smaller steps, as laplace.",
            )
            return False
    return True


def first_channel(demand: UnitDemand, levels: Levels) -> Channel:
    """The channel of a draw at the lowest level, for what does not depend on the level."""
    return channel_of(demand.mechanism, demand.domain, levels.rungs[0], demand.parameters)


def _coupled(demand: UnitDemand, rungs: tuple[Epsilon, ...], faults: FaultCollector) -> Chain | None:
    """The chain of a ladder, cut where levels cannot be coupled any more, or None with its faults noted."""
    if not MECHANISMS[demand.mechanism].chain:
        coupled = ", ".join(sorted(name for name, known in MECHANISMS.items() if known.chain))
        faults.add(
            Reason.BAD_PARAMETER,
            (*demand.path, "mechanism"),
            required=f"a mechanism whose levels can be coupled ({coupled}), as composition: chain needs for a target",
            came=demand.mechanism,
            fix="Choose one of them, give the column a fixed `epsilon`, or write `composition: sequential`.",
        )
        return None
    found = _chain_or_faults(demand, rungs)
    if isinstance(found, Chain):
        return found
    cut = _longest_coupled(demand, rungs)
    if cut is None:
        faults.take(found, (*demand.path, "mechanism"))
    return cut


def _longest_coupled(demand: UnitDemand, rungs: tuple[Epsilon, ...]) -> Chain | None:
    """The chain of as much of a ladder, from its first rung on, as couples; None when not even two rungs do.

    A level can certify by itself and not above others, since every step down adds its rounding; then the ladder ends
    lower, as it does where a level does not certify at all.
    """
    best, works, fails = None, 1, len(rungs)
    while fails - works > 1:
        middle = (works + fails) // 2
        found = _chain_or_faults(demand, rungs[:middle])
        if isinstance(found, Chain):
            best, works = found, middle
        else:
            fails = middle
    return best


def _chain_or_faults(demand: UnitDemand, rungs: tuple[Epsilon, ...]) -> Chain | ConfigError:
    try:
        return chain_of(demand.mechanism, demand.domain, rungs, demand.parameters)
    except ConfigError as error:
        return error
