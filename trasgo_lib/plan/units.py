"""From a noised column of the release file to a noise unit: mechanism, parameters, rungs, certified channels."""

from __future__ import annotations

from dataclasses import replace

from trasgo_lib.budget import cost
from trasgo_lib.config import KeyPath, NoisedColumn, PointColumn
from trasgo_lib.errors import Reason
from trasgo_lib.plan.auto import choices
from trasgo_lib.plan.channels import Parameter
from trasgo_lib.plan.demand import UnitDemand
from trasgo_lib.plan.digest import chain_digest, reading_of_file
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.levels import (
    Levels,
    UnitContext,
    compile_levels,
    first_channel,
    first_level,
    level_path,
)
from trasgo_lib.plan.mechanism import AUTO, known_mechanism, parameters_of
from trasgo_lib.plan.model import PartPlan, Target, UnitPlan
from trasgo_lib.plan.parts import compile_part, reading_of_part, released_names


def compile_unit(column: NoisedColumn, path: KeyPath, context: UnitContext, faults: FaultCollector) -> UnitPlan | None:
    """The noise unit of a column, or None with its faults noted.

    Args:
        column: a noised column of no group.
        path: its place in the release file.
        context: the rest of the release.
        faults: where faults go.
    """
    before = len(faults.found)
    part = compile_part(column, path, context.config, faults)
    mechanism = known_mechanism(column, path, faults)
    _check_target(column, path, faults)
    if part is None or mechanism is None:
        return None
    if mechanism == AUTO:
        return _chosen_unit(column, part, path, context, faults)
    parameters = parameters_of(column, mechanism, path, faults)
    if len(faults.found) > before:
        return None
    demand = _demand(column, mechanism, part, parameters, path, context)
    levels = compile_levels(demand, context, faults)
    return None if levels is None else _unit(column, part, demand, levels, context)


def _chosen_unit(
    column: NoisedColumn, part: PartPlan, path: KeyPath, context: UnitContext, faults: FaultCollector
) -> UnitPlan | None:
    """The unit of a column with ``auto``: the best mechanism whose levels can all be built."""
    before, trouble = len(faults.found), None
    for choice in choices(column, part, path, context, faults):
        if len(faults.found) > before:
            break
        tried = FaultCollector(faults.loaded)
        demand = _demand(column, choice.mechanism, choice.part, choice.parameters, path, context)
        levels = compile_levels(demand, context, tried)
        if levels is not None:
            return replace(_unit(column, choice.part, demand, levels, context), selection=choice.selection)
        trouble = trouble or tried
    if trouble is not None:
        faults.found += trouble.found
    return None


def _demand(
    column: NoisedColumn,
    mechanism: str,
    part: PartPlan,
    parameters: tuple[tuple[str, Parameter], ...],
    path: KeyPath,
    context: UnitContext,
) -> UnitDemand:
    return UnitDemand(
        path=path,
        mechanism=mechanism,
        domain=part.domain,
        parameters=parameters,
        first=first_level(column, context.config),
        level_path=level_path(column, path),
        target=column.target,
        geo=column.geo if isinstance(column, PointColumn) else None,
        keys={"bins": (*path, "noise_bins")},
    )


def _unit(column: NoisedColumn, part: PartPlan, demand: UnitDemand, levels: Levels, context: UnitContext) -> UnitPlan:
    first = first_channel(demand, levels)
    charged = cost(first.event)
    names = released_names(column)
    digest = chain_digest(
        mechanism=demand.mechanism,
        version=first.version,
        parameters=demand.parameters,
        domain=part.domain,
        columns=names,
        reading={"file": reading_of_file(context.config), **reading_of_part(column, part)},
        rungs=levels.rungs,
        channels=levels.tables,
        delta=charged.delta.text,
        geo=charged.geo.text,
    )
    return UnitPlan(
        name=column.name,
        type=column.type,
        columns=names,
        domain=part.domain,
        mechanism=demand.mechanism,
        parameters=demand.parameters,
        missing=part.missing,
        fill=part.fill,
        missing_codes=part.missing_codes,
        date_format=part.date_format,
        outside=part.outside,
        rungs=levels.rungs,
        delta=charged.delta,
        geo=charged.geo,
        target=None if column.target is None else Target(column.target.loss, column.target.ceiling),
        bins=part.bins,
        draws_at_most=1 if column.target is None else levels.most_draws(context),
        is_chained=levels.is_chained,
        chain_digest=digest,
        members=part.members,
    )


def _check_target(column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> None:
    if isinstance(column, PointColumn) and column.target is not None and column.target.loss != "tvd":
        faults.add(
            Reason.BAD_PARAMETER,
            (*path, "target", column.target.loss),
            required="tvd (on a coarse grid of the domain), the only loss of a point",
            came=column.target.loss,
            fix='Write {tvd: "0.2"}, or remove the target.',
        )
