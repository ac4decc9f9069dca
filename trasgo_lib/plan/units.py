"""From a noised column of the release file to a noise unit: mechanism, parameters, rungs, certified channels."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from trasgo_lib.amounts import Epsilon, Geo
from trasgo_lib.budget import cost
from trasgo_lib.config import (
    CategoryColumn,
    DateColumn,
    KeyPath,
    NoisedColumn,
    NumberColumn,
    PlainColumn,
    PointColumn,
    ReleaseConfig,
    Replace,
)
from trasgo_lib.data import Domain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms import MECHANISMS, Chain
from trasgo_lib.plan.channels import Parameter, chain_of, channel_of
from trasgo_lib.plan.digest import chain_digest, reading_of_file
from trasgo_lib.plan.domains import check_codes_can_occur, compile_domain, fill_code
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.feasibility import certified_rungs
from trasgo_lib.plan.ladder import ladder, most_draws
from trasgo_lib.plan.mechanism import known_mechanism, parameters_of
from trasgo_lib.plan.model import MissingPolicy, Outside, Target, UnitPlan

_DEFAULT_BINS = 20
"""Bins of the divergences of a number without ``bins``; fewer when the domain has fewer values."""

_METRES_PER_KM = 1000


@dataclass(frozen=True, slots=True)
class UnitContext:
    """What a unit needs to know about the rest of the release.

    Args:
        config: the release file.
        max_rows: rows per privacy unit.
        available: what the other units' first draws leave of ``epsilon_total``.
    """

    config: ReleaseConfig
    max_rows: int
    available: Epsilon


def compile_unit(column: NoisedColumn, path: KeyPath, context: UnitContext, faults: FaultCollector) -> UnitPlan | None:
    """The noise unit of a column, or None with its faults noted.

    Args:
        column: a noised column.
        path: its place in the release file.
        context: the rest of the release.
        faults: where faults go.
    """
    before = len(faults.found)
    domain = compile_domain(column, path, faults)
    known = known_mechanism(column, path, faults)
    _check_missing_texts(column, path, context.config, faults)
    _check_target(column, path, faults)
    if domain is None or not known:
        return None
    fill = _fill(column, domain, path, faults)
    bins = _bins(column, domain, path, faults)
    parameters = parameters_of(column, path, faults)
    if len(faults.found) > before:
        return None
    certified = _rungs(column, domain, parameters, path, context, faults)
    if not certified:
        return None
    rungs, tables = tuple(rung for rung, _ in certified), tuple(digest for _, digest in certified)
    is_chained = context.config.loop.composition == "chain" and len(rungs) > 1
    if is_chained:
        coupled = _coupled(column, domain, parameters, rungs, path, faults)
        if coupled is None:
            return None
        tables = (coupled.digest,)
    return _unit(column, domain, parameters, _Levels(rungs, tables, is_chained), fill, bins, context)


def first_level(column: NoisedColumn, config: ReleaseConfig) -> Epsilon:
    """The level of a column's first draw; 0 for points, which cost geo epsilon."""
    if isinstance(column, PointColumn):
        return Epsilon(0)
    return Epsilon.parse(column.epsilon or column.start or config.loop.start)


def geo_level(column: NoisedColumn) -> Geo:
    """The geo epsilon per km of a point column, rounded up; 0 for all others."""
    if not isinstance(column, PointColumn):
        return Geo(0)
    per_metre = Fraction(Decimal(column.geo.epsilon)) / Fraction(Decimal(column.geo.radius_m))
    return Geo.ceil(per_metre * _METRES_PER_KM)


def sources_of(column: NoisedColumn | PlainColumn) -> tuple[str, ...]:
    """The file's columns that a column is read from: one, or latitude and longitude."""
    if isinstance(column, PointColumn):
        return (column.columns.latitude, column.columns.longitude)
    return (column.source or column.name,)


def released_names(column: NoisedColumn | PlainColumn) -> tuple[str, ...]:
    """The columns of the release that a column gives: none, one, or two for a point."""
    if isinstance(column, PointColumn):
        return (f"{column.name}_latitude", f"{column.name}_longitude")
    return (column.name,) if column.role in ("noised", "public") else ()


@dataclass(frozen=True, slots=True)
class _Levels:
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


def _unit(
    column: NoisedColumn,
    domain: Domain,
    parameters: tuple[tuple[str, Parameter], ...],
    levels: _Levels,
    fill: int | None,
    bins: int | None,
    context: UnitContext,
) -> UnitPlan:
    first = channel_of(column.mechanism, domain, levels.rungs[0], parameters)
    charged = cost(first.event)
    missing: MissingPolicy = "replace" if isinstance(column.missing, Replace) else column.missing
    outside: Outside = "reject" if isinstance(column, CategoryColumn) else column.outside
    date_format = column.format if isinstance(column, DateColumn) else None
    digest = chain_digest(
        mechanism=column.mechanism,
        version=first.version,
        parameters=parameters,
        domain=domain,
        columns=released_names(column),
        reading={
            "file": reading_of_file(context.config),
            "sources": sources_of(column),
            "missing": missing,
            "fill": fill,
            "missing_codes": column.missing_codes,
            "date_format": date_format,
            "outside": outside,
        },
        rungs=levels.rungs,
        channels=levels.tables,
        delta=charged.delta.text,
        geo=charged.geo.text,
    )
    return UnitPlan(
        name=column.name,
        type=column.type,
        columns=released_names(column),
        domain=domain,
        mechanism=column.mechanism,
        parameters=parameters,
        missing=missing,
        fill=fill,
        missing_codes=column.missing_codes,
        date_format=date_format,
        outside=outside,
        rungs=levels.rungs,
        delta=charged.delta,
        geo=charged.geo,
        target=None if column.target is None else Target(column.target.loss, column.target.ceiling),
        bins=bins,
        draws_at_most=1 if column.target is None else levels.most_draws(context),
        is_chained=levels.is_chained,
        chain_digest=digest,
    )


def _coupled(
    column: NoisedColumn,
    domain: Domain,
    parameters: tuple[tuple[str, Parameter], ...],
    rungs: tuple[Epsilon, ...],
    path: KeyPath,
    faults: FaultCollector,
) -> Chain | None:
    """The chain of a whole ladder, or None with its faults noted."""
    if not MECHANISMS[column.mechanism].chain:
        coupled = ", ".join(sorted(name for name, known in MECHANISMS.items() if known.chain))
        faults.add(
            Reason.BAD_PARAMETER,
            (*path, "mechanism"),
            required=f"a mechanism whose levels can be coupled ({coupled}), as composition: chain needs for a target",
            came=column.mechanism,
            fix="Choose one of them, give the column a fixed `epsilon`, or write `composition: sequential`.",
        )
        return None
    try:
        return chain_of(column.mechanism, domain, rungs, parameters)
    except ConfigError as error:
        faults.take(error, (*path, "mechanism"))
        return None


def _rungs(
    column: NoisedColumn,
    domain: Domain,
    parameters: tuple[tuple[str, Parameter], ...],
    path: KeyPath,
    context: UnitContext,
    faults: FaultCollector,
) -> tuple[tuple[Epsilon, str], ...]:
    """The ladder with its channels' digests, cut at the highest rung that certifies; empty with faults noted."""
    first = first_level(column, context.config)
    rungs: tuple[Epsilon, ...] = (first,)
    if column.target is not None and not isinstance(column, PointColumn):
        ceiling = Epsilon(max(first.units, context.available.units // context.max_rows))
        try:
            rungs = ladder(first, context.config.loop.ratio, ceiling)
        except ConfigError as error:
            faults.take(error, ("loop", "ratio"))
            return ()
    return certified_rungs(column, domain, parameters, rungs, path, faults)


def _fill(column: NoisedColumn, domain: Domain, path: KeyPath, faults: FaultCollector) -> int | None:
    if not isinstance(column.missing, Replace):
        return None
    return fill_code(column, domain, column.missing.replace, (*path, "missing", "replace"), faults)


def _bins(column: NoisedColumn, domain: Domain, path: KeyPath, faults: FaultCollector) -> int | None:
    if not isinstance(column, NumberColumn | DateColumn):
        return None
    if column.bins is not None and column.bins > domain.size:
        faults.add(
            Reason.BAD_PARAMETER,
            (*path, "bins"),
            required=f"at most {domain.size} bins, one for each value of the domain",
            came=str(column.bins),
            fix="Use fewer bins.",
        )
    return column.bins or min(_DEFAULT_BINS, domain.size)


def _check_missing_texts(column: NoisedColumn, path: KeyPath, config: ReleaseConfig, faults: FaultCollector) -> None:
    if isinstance(column, CategoryColumn):
        csv = config.source.csv
        of_file = csv.missing if config.source.format == "csv" else ()
        trim = config.source.format == "csv" and csv.trim
        check_codes_can_occur(column, path, (*of_file, *column.missing_codes), trim, faults)


def _check_target(column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> None:
    if isinstance(column, PointColumn) and column.target is not None and column.target.loss != "tvd":
        faults.add(
            Reason.BAD_PARAMETER,
            (*path, "target", column.target.loss),
            required="tvd (on a coarse grid of the domain), the only loss of a point",
            came=column.target.loss,
            fix='Write {tvd: "0.2"}, or remove the target.',
        )
