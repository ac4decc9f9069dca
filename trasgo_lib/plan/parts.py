"""How one column is read and measured, whether it is noised by itself or in a group."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import cast

from trasgo_lib.amounts import Geo
from trasgo_lib.config import (
    CategoryColumn,
    DateColumn,
    HierarchySpec,
    KeyPath,
    NoisedColumn,
    NumberColumn,
    PlainColumn,
    PointColumn,
    ReleaseConfig,
    Replace,
)
from trasgo_lib.data import DateFormat, Domain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.plan.digest import Canonical
from trasgo_lib.plan.domains import check_codes_can_occur, compile_domain, fill_code
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.model import Members, MissingPolicy, Outside, PartPlan, PartType

_DEFAULT_BINS = 20
"""Bins of the divergences of a number without ``bins`` and ``noise_bins``; fewer when the domain has fewer values."""

_METRES_PER_KM = 1000


def compile_part(column: NoisedColumn, path: KeyPath, config: ReleaseConfig, faults: FaultCollector) -> PartPlan | None:
    """How a column is read and measured, or None with its faults noted.

    Args:
        column: a noised column; a point keeps its type, which no group takes.
        path: its place in the release file.
        config: the release file.
        faults: where faults go.
    """
    before = len(faults.found)
    domain = compile_domain(column, path, faults)
    _check_missing_texts(column, path, config, faults)
    _check_date_format(column, path, faults)
    if domain is None:
        return None
    fill = _fill(column, domain, path, faults)
    bins = _bins(column, domain, path, faults)
    if len(faults.found) > before:
        return None
    missing: MissingPolicy = "replace" if isinstance(column.missing, Replace) else column.missing
    outside: Outside = "reject" if isinstance(column, CategoryColumn) else column.outside
    return PartPlan(
        name=column.name,
        type=cast(PartType, column.type),
        domain=domain,
        noise_bins=column.noise_bins if isinstance(column, NumberColumn | DateColumn) else None,
        missing=missing,
        fill=fill,
        missing_codes=column.missing_codes,
        date_format=column.format if isinstance(column, DateColumn) else None,
        outside=outside,
        bins=bins,
        members=members_of(column),
    )


def reading_of_part(column: NoisedColumn, part: PartPlan) -> dict[str, Canonical]:
    """The way from cells to codes, as far as it is no part of the domain."""
    reading: dict[str, Canonical] = {
        "sources": sources_of(column),
        "missing": part.missing,
        "fill": part.fill,
        "missing_codes": part.missing_codes,
        "date_format": part.date_format,
        "outside": part.outside,
    }
    return reading | ({"members": part.members} if part.members else {})


def members_of(column: NoisedColumn) -> Members:
    """The codes of the file by coarse code; empty without a hierarchy."""
    if isinstance(column, CategoryColumn) and isinstance(column.domain, HierarchySpec):
        return column.domain.members
    return ()


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


def _fill(column: NoisedColumn, domain: Domain, path: KeyPath, faults: FaultCollector) -> int | None:
    if not isinstance(column.missing, Replace):
        return None
    return fill_code(column, domain, column.missing.replace, (*path, "missing", "replace"), faults)


def _bins(column: NoisedColumn, domain: Domain, path: KeyPath, faults: FaultCollector) -> int | None:
    if not isinstance(column, NumberColumn | DateColumn):
        return None
    for key in ("bins", "noise_bins"):
        count: int | None = getattr(column, key)
        if count is not None and count > domain.size:
            faults.add(
                Reason.BAD_PARAMETER,
                (*path, key),
                required=f"at most {domain.size} bins, one for each value of the domain",
                came=str(count),
                fix="Use fewer bins.",
            )
    if column.bins is not None and column.noise_bins is not None and column.noise_bins % column.bins:
        faults.add(
            Reason.BAD_PARAMETER,
            (*path, "bins"),
            required=f"a number that divides noise_bins ({column.noise_bins}): losses look at whole bins of the noise",
            came=str(column.bins),
            fix="Leave `bins` out, which measures in the bins of the noise.",
        )
    return column.bins or column.noise_bins or min(_DEFAULT_BINS, domain.size)


def _check_missing_texts(column: NoisedColumn, path: KeyPath, config: ReleaseConfig, faults: FaultCollector) -> None:
    if isinstance(column, CategoryColumn):
        csv = config.source.csv
        of_file = csv.missing if config.source.format == "csv" else ()
        trim = config.source.format == "csv" and csv.trim
        check_codes_can_occur(column, path, (*of_file, *column.missing_codes), trim, faults)


def _check_date_format(column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> None:
    if isinstance(column, DateColumn):
        try:
            DateFormat(column.format)
        except ConfigError as error:
            faults.take(error, (*path, "format"))
