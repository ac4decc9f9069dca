"""The part of a plan that says how a source is read and where its results go, without any mechanism."""

from __future__ import annotations

from collections.abc import Mapping

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.config import KeyPath, LoadedConfig, PlainColumn, PointColumn
from trasgo_lib.errors import Reason
from trasgo_lib.plan.digest import Canonical, canonical_digest
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.model import ColumnPlan, PartPlan, ReleasePlan, UnitPlan
from trasgo_lib.plan.parts import compile_part, reading_of_part, sources_of
from trasgo_lib.plan.rules import check_names, check_places, check_roles
from trasgo_lib.plan.totals import rows_per_unit

NO_MECHANISM = "none"
_OF_MECHANISMS = (
    "mechanism",
    "target",
    "epsilon",
    "start",
    "delta",
    "utility",
    "bins",
    "noise_bins",
    "width",
    "output",
)


def compile_source(loaded: LoadedConfig, faults: FaultCollector) -> ReleasePlan | None:
    """Columns, domains, privacy unit and places of a file whose columns have no mechanism.

    Args:
        loaded: the file; keys of mechanisms in its columns are noted as faults.
        faults: where faults go.

    Returns:
        A plan whose units are never drawn by a channel, and whose digest covers how rows are read; None when a column
        is at fault.
    """
    config = loaded.config
    check_roles(config, faults)
    check_names(config, faults)
    check_places(config, faults)
    parts: dict[str, PartPlan] = {}
    readings: dict[str, Mapping[str, Canonical]] = {}
    before = len(faults.found)
    for position, column in enumerate(config.columns):
        path: KeyPath = ("columns", position)
        _check_column(column, path, faults)
        if isinstance(column, PlainColumn | PointColumn):
            continue
        part = compile_part(column, path, config, faults)
        if part is not None:
            parts[column.name] = part
            readings[column.name] = {"domain": part.domain.describe(), **reading_of_part(column, part)}
    if len(faults.found) > before:
        return None
    return _plan(loaded, parts, readings)


def _check_column(column: object, path: KeyPath, faults: FaultCollector) -> None:
    if isinstance(column, PointColumn):
        faults.add(
            Reason.NOT_BUILT_YET,
            (*path, "type"),
            required="a number, a category or a date",
            came="point",
            fix="Write `role: drop` with both columns of the point, or make a release of it.",
        )
        return
    if isinstance(column, PlainColumn):
        if column.role == "public":
            faults.add(
                Reason.BAD_PARAMETER,
                (*path, "role"),
                required="drop, unit, or a type and a domain: answers are made of declared values only",
                came="public",
                fix="Drop it, or declare its domain.",
            )
        return
    for key in sorted(getattr(column, "model_fields_set", set()) & set(_OF_MECHANISMS)):
        faults.add(
            Reason.BAD_PARAMETER,
            (*path, key),
            required="a column without mechanism, level and target: a statistics file noises answers",
            came=f"`{key}`",
            fix="Remove it; each query has a budget of its own.",
        )


def _plan(
    loaded: LoadedConfig, parts: Mapping[str, PartPlan], readings: Mapping[str, Mapping[str, Canonical]]
) -> ReleasePlan:
    config, privacy = loaded.config, loaded.config.privacy
    totals = (Epsilon.parse(privacy.epsilon_total), Delta.parse(privacy.delta_total, zero=True), Geo(0))
    digest = canonical_digest(
        {
            "format": 1,
            "dataset": config.release.dataset,
            "version": config.release.version,
            "account": privacy.account,
            "unit": "row" if privacy.unit == "row" else privacy.unit.model_dump(),
            "row_order": privacy.row_order,
            "totals": [total.text for total in totals],
            "csv": config.source.csv.model_dump(),
            "source_format": config.source.format,
            "columns": dict(readings),
        }
    )
    return ReleasePlan(
        config=config,
        config_path=loaded.path,
        source_path=loaded.resolve(config.source.path),
        dataset=config.release.dataset,
        version=config.release.version,
        account=privacy.account,
        privacy_unit="row" if privacy.unit == "row" else privacy.unit.column,
        max_rows=rows_per_unit(config),
        row_order=privacy.row_order,
        epsilon_total=totals[0],
        delta_total=totals[1],
        geo_total=totals[2],
        columns=tuple(
            ColumnPlan(column.name, column.role, sources_of(column), column.name if column.name in parts else None, ())
            for column in config.columns
        ),
        units=tuple(_unit(part) for part in parts.values()),
        loss_from="released",
        composition="sequential",
        on_unmet="hold",
        max_rounds=1,
        correlation="pearson",
        digest=digest,
    )


def _unit(part: PartPlan) -> UnitPlan:
    return UnitPlan(
        name=part.name,
        type=part.type,
        columns=(part.name,),
        domain=part.domain,
        mechanism=NO_MECHANISM,
        parameters=(),
        missing=part.missing,
        fill=part.fill,
        missing_codes=part.missing_codes,
        date_format=part.date_format,
        outside=part.outside,
        rungs=(),
        delta=Delta(0),
        geo=Geo(0),
        target=None,
        bins=None,
        draws_at_most=1,
        is_chained=False,
        chain_digest="",
        members=part.members,
    )
