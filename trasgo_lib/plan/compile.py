"""compile: every name, domain, channel, rung and worst-case cost resolved and checked, before data is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.config import (
    GroupSpec,
    LoadedConfig,
    ReleaseConfig,
    in_file_order,
    load_config,
    load_sound_part,
    not_undecided,
    tells_its_kind,
)
from trasgo_lib.errors import ConfigError, Fault
from trasgo_lib.plan.compile_prior import compile_prior
from trasgo_lib.plan.digest import plan_digest
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.groups import asked_units, check_groups, check_mechanisms, compile_group
from trasgo_lib.plan.levels import UnitContext
from trasgo_lib.plan.model import ColumnPlan, ReleasePlan, UnitPlan
from trasgo_lib.plan.parts import released_names, sources_of
from trasgo_lib.plan.prior import PublicPrior
from trasgo_lib.plan.reach import check_reach
from trasgo_lib.plan.risk import check_risk
from trasgo_lib.plan.rules import check_names, check_places, check_rehearsal, check_roles, check_targets
from trasgo_lib.plan.runner import check_runner
from trasgo_lib.plan.totals import check_delta_total, check_epsilon_total, check_geo_total, first_charges, rows_per_unit
from trasgo_lib.plan.units import compile_unit
from trasgo_lib.plan.unseen import check_estimates

_CHECKS: tuple[tuple[frozenset[str], Callable[[ReleaseConfig, FaultCollector], None]], ...] = (
    (frozenset({"columns", "groups"}), check_groups),
    (frozenset({"groups"}), check_mechanisms),
    (frozenset({"columns", "privacy"}), check_roles),
    (frozenset({"columns", "source"}), check_names),
    (frozenset({"columns"}), check_targets),
    (frozenset({"columns", "risk"}), check_risk),
    (frozenset({"publish", "ledger", "source", "keys"}), check_places),
    (frozenset({"rehearsal", "publish"}), check_rehearsal),
    (frozenset({"publish", "ledger", "runner"}), check_runner),
    (frozenset({"columns", "groups", "privacy", "loop"}), check_epsilon_total),
    (frozenset({"columns", "privacy"}), check_geo_total),
)
"""Checks of the release as a whole, each with the sections it reads."""

_OF_PRIOR = frozenset({"columns", "prior", "source", "publish"})
"""Sections that a prior is compiled from."""

_OF_LEVELS = frozenset({"privacy", "loop", "groups"})
"""Sections that fix the levels; without them no target is held against a prior."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The prior, and whether nothing is wrong with it."""

    prior: PublicPrior | None
    is_sound: bool

    @classmethod
    def compiled(cls, config: ReleaseConfig, faults: FaultCollector) -> _Known:
        before = len(faults.found)
        return cls(compile_prior(config, faults), is_sound=len(faults.found) == before)


def compile_plan(loaded: LoadedConfig) -> ReleasePlan:
    """Resolve a release file.

    Every channel of every rung is built and certified, so that nothing about the release file can fail later.

    Args:
        loaded: a release file of the right shape; public.

    Raises:
        ConfigError: all faults at once, each with line, column, key, what was required, what came, what to do.
    """
    faults = FaultCollector(loaded)
    config = loaded.config
    for _, check in _CHECKS:
        check(config, faults)
    known = _Known.compiled(config, faults)
    units = _units(config, known, faults)
    check_estimates(config, units, faults)
    check_delta_total(config, units, faults)
    faults.raise_all()
    return _assemble(loaded, units, known.prior)


def read_plan(path: Path) -> tuple[LoadedConfig, ReleasePlan]:
    """Read and compile a release file; faults of shape and of meaning come together.

    Args:
        path: a release file; public.

    Raises:
        ConfigError: all faults at once.
    """
    try:
        loaded = load_config(path)
    except ConfigError as shape:
        if tells_its_kind(path) is not None:
            raise
        beside = not_undecided(_faults_beside(path), shape.faults)
        raise ConfigError(*in_file_order((*shape.faults, *beside))) from None
    return loaded, compile_plan(loaded)


def _faults_beside(path: Path) -> tuple[Fault, ...]:
    """Faults of meaning in what is sound of a file whose shape is wrong."""
    part = load_sound_part(path)
    if part is None:
        return ()
    config, sections = part.loaded.config, part.sections
    faults = FaultCollector(part.loaded)
    # a check runs only when every section it reads is the file's own, so that no stand-in is ever blamed
    for needs, check in _CHECKS:
        if needs <= sections:
            check(config, faults)
    known = _Known(None, is_sound=False)
    if sections >= _OF_PRIOR:
        found = _Known.compiled(config, faults)
        known = found if sections >= _OF_LEVELS else known
    _units(config, known, faults)
    return tuple(faults.found)


def _units(config: ReleaseConfig, known: _Known, faults: FaultCollector) -> tuple[UnitPlan, ...]:
    total = Epsilon.parse(config.privacy.epsilon_total).units
    charges = first_charges(config)
    units = []
    for asked, path in asked_units(config):
        others = sum(charge.units for place, charge in charges.items() if place != path)
        available = Epsilon(max(0, total - others))
        context = UnitContext(config, rows_per_unit(config), available, known.prior, known.is_sound)
        if isinstance(asked, GroupSpec):
            unit = compile_group(asked, path, context, faults)
        else:
            unit = compile_unit(asked, path, context, faults)
        if unit is not None:
            if config.loop.on_unmet == "hold":
                check_reach(unit, known.prior, config.loop.correlation, path, faults)
            units.append(unit)
    return tuple(units)


def _assemble(loaded: LoadedConfig, units: tuple[UnitPlan, ...], prior: PublicPrior | None) -> ReleasePlan:
    config = loaded.config
    privacy, loop = config.privacy, config.loop
    totals = (
        Epsilon.parse(privacy.epsilon_total),
        Delta.parse(privacy.delta_total, zero=True),
        Geo(0) if privacy.geo_total is None else Geo.parse(privacy.geo_total),
    )
    columns = _columns(config, units)
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
        columns=columns,
        units=units,
        loss_from=loop.loss_from,
        composition=loop.composition,
        on_unmet=loop.on_unmet,
        max_rounds=loop.max_rounds,
        correlation=loop.correlation,
        digest=plan_digest(config, totals, columns, units),
        prior=prior,
    )


def _columns(config: ReleaseConfig, units: tuple[UnitPlan, ...]) -> tuple[ColumnPlan, ...]:
    grouped = {part.name: unit.name for unit in units for part in unit.parts}
    return tuple(
        ColumnPlan(
            name=column.name,
            role=column.role,
            sources=sources_of(column),
            unit=grouped.get(column.name, column.name) if column.role == "noised" else None,
            released=released_names(column),
        )
        for column in config.columns
    )
