"""Groups: columns noised as one, from the release file to one noise unit over the product of their domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import prod

from trasgo_lib.budget import cost
from trasgo_lib.config import GroupSpec, KeyPath, NoisedColumn, PlainColumn, PointColumn, ReleaseConfig, closest
from trasgo_lib.data import MAX_PRODUCT_CODES, ProductDomain, ProductPart
from trasgo_lib.errors import Reason
from trasgo_lib.mechanisms import MECHANISMS
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
from trasgo_lib.plan.model import PartPlan, Target, UnitPlan
from trasgo_lib.plan.parts import compile_part, reading_of_part

_OWN_KEYS = ("mechanism", "epsilon", "start", "target", "utility", "width")
"""Keys of a column that its group has, or that no group takes."""

_FEWEST_BINS = 2

Member = tuple[NoisedColumn, KeyPath]
"""A column of a group and its place in the release file."""


def group_positions(config: ReleaseConfig) -> Mapping[str, int]:
    """By column, the position of the first group that names it."""
    found: dict[str, int] = {}
    for position, group in enumerate(config.groups):
        for name in group.columns:
            found.setdefault(name, position)
    return found


def members_of_group(config: ReleaseConfig, group: GroupSpec) -> tuple[Member, ...]:
    """The noised columns that a group names, in its order, each once; what it names beside them is left out."""
    noised: dict[str, Member] = {
        column.name: (column, ("columns", position))
        for position, column in enumerate(config.columns)
        if not isinstance(column, PlainColumn)
    }
    return tuple(noised[name] for name in dict.fromkeys(group.columns) if name in noised)


def check_groups(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Check what groups name: noised columns without a noise of their own, each in one group."""
    columns = {column.name: (position, column) for position, column in enumerate(config.columns)}
    taken: dict[str, str] = dict.fromkeys(columns, "a column")
    seen: dict[str, str] = {}
    for place, group in enumerate(config.groups):
        path: KeyPath = ("groups", place)
        if group.name in taken:
            _refuse(
                faults,
                (*path, "name"),
                "a name that no column and no other group has",
                f"`{group.name}`, {taken[group.name]}",
                "Rename the group.",
                Reason.DUPLICATE_COLUMN,
            )
        taken.setdefault(group.name, "another group")
        for position, name in enumerate(group.columns):
            here = (*path, "columns", position)
            if name in seen:
                came = f"`{name}` again, after group {seen[name]}"
                _refuse(faults, here, "each column in one group, once", came, "Remove one.", Reason.DUPLICATE_COLUMN)
                continue
            seen[name] = group.name
            if name not in columns:
                required, came = f"one of {', '.join(columns)}", f"`{name}`"
                fix = f"{closest(name, columns)}Name columns of this file."
                _refuse(faults, here, required, came, fix, Reason.UNKNOWN_NAME)
                continue
            at, column = columns[name]
            _check_member(column, ("columns", at), group.name, here, faults)


def check_mechanisms(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Refuse a noised column that has no mechanism and is in no group."""
    grouped = group_positions(config)
    for position, column in enumerate(config.columns):
        if isinstance(column, PlainColumn) or column.mechanism is not None or column.name in grouped:
            continue
        faults.add(
            Reason.BAD_SHAPE,
            ("columns", position, "mechanism"),
            required="a mechanism of the registry",
            came="nothing",
            fix="Add it, as in `mechanism: laplace`, or name the column in a group.",
        )


def _check_member(
    column: NoisedColumn | PlainColumn, path: KeyPath, group: str, here: KeyPath, faults: FaultCollector
) -> None:
    if isinstance(column, PlainColumn | PointColumn):
        came = (
            f"`{column.name}`, a point" if isinstance(column, PointColumn) else f"`{column.name}`, role {column.role}"
        )
        _refuse(faults, here, "noised numbers, dates and categories", came, "Leave it out of the group.")
        return
    for key in _OWN_KEYS:
        if getattr(column, key, None) is not None:
            _refuse_own(faults, (*path, key), key, group)
    if Decimal(column.delta) != 0:
        _refuse_own(faults, (*path, "delta"), "delta", group)


def _refuse_own(faults: FaultCollector, path: KeyPath, key: str, group: str) -> None:
    fix = f"Remove `{key}` here, or take the column out of the group."
    _refuse(faults, path, f"no {key} in a column of a group: it is noised as part of {group}", f"`{key}`", fix)


def _refuse(
    faults: FaultCollector,
    path: KeyPath,
    required: str,
    came: str,
    fix: str,
    reason: Reason = Reason.BAD_PARAMETER,
) -> None:
    faults.add(reason, path, required=required, came=came, fix=fix)


def compile_group(group: GroupSpec, path: KeyPath, context: UnitContext, faults: FaultCollector) -> UnitPlan | None:
    """The noise unit of a group, or None with its faults noted.

    Args:
        group: the group.
        path: its place in the release file.
        context: the rest of the release.
        faults: where faults go; what the group names wrongly is noted by ``check_groups``.
    """
    members = members_of_group(context.config, group)
    parts = [compile_part(column, place, context.config, faults) for column, place in members]
    sound = [part for part in parts if part is not None]
    is_complete = len(sound) == len(group.columns) and not any(isinstance(column, PointColumn) for column, _ in members)
    if not _is_known(group, path, faults) or not is_complete:
        return None
    domain = _product(sound, path, faults)
    if domain is None:
        return None
    demand = UnitDemand(
        path=path,
        mechanism=group.mechanism,
        domain=domain,
        parameters=(),
        first=first_level(group, context.config),
        level_path=level_path(group, path),
        target=group.target,
    )
    levels = compile_levels(demand, context, faults)
    return None if levels is None else _unit(group, members, sound, demand, levels, context)


def _is_known(group: GroupSpec, path: KeyPath, faults: FaultCollector) -> bool:
    fitting = [name for name, known in MECHANISMS.items() if ProductDomain.KIND in known.kinds]
    if group.mechanism in fitting:
        return True
    required, came = f"a mechanism for groups: {', '.join(fitting)}", f"`{group.mechanism}`"
    reason = Reason.BAD_PARAMETER if group.mechanism in MECHANISMS else Reason.UNKNOWN_NAME
    fix = f"Write {' or '.join(fitting)}, or noise each column by itself."
    _refuse(faults, (*path, "mechanism"), required, came, fix, reason)
    return False


def _product(parts: Sequence[PartPlan], path: KeyPath, faults: FaultCollector) -> ProductDomain | None:
    sizes = {part.name: _places(part) for part in parts}
    if prod(sizes.values()) > MAX_PRODUCT_CODES:
        product = " x ".join(f"{name} {size:,}" for name, size in sizes.items())
        _refuse(
            faults,
            (*path, "columns"),
            f"at most {MAX_PRODUCT_CODES:,} combinations",
            f"{prod(sizes.values()):,} ({product})",
            _nearest(parts, sizes),
            Reason.BAD_DOMAIN,
        )
        return None
    return ProductDomain(
        [ProductPart(part.name, part.domain, part.noise_bins, part.missing == "code") for part in parts]
    )


def _places(part: PartPlan) -> int:
    return (part.noise_bins or part.domain.size) + (part.missing == "code")


def _nearest(parts: Sequence[PartPlan], sizes: Mapping[str, int]) -> str:
    """The nearest group that fits: the finest equal bins for its numbers and dates, else one column less."""
    scales = [part for part in parts if part.type != "category"]
    fixed = prod(sizes[part.name] for part in parts if part.type == "category")
    for bins in range(max((sizes[part.name] for part in scales), default=0), _FEWEST_BINS - 1, -1):
        cut = [min(bins, part.noise_bins or part.domain.size) + (part.missing == "code") for part in scales]
        if fixed * prod(cut) <= MAX_PRODUCT_CODES:
            return f"Write noise_bins of at most {bins} for {', '.join(part.name for part in scales)}."
    largest = max(sizes, key=lambda name: sizes[name])
    rest = prod(size for name, size in sizes.items() if name != largest)
    return f"Leave out {largest} (the rest has {rest:,} combinations), or coarsen it with a hierarchy."


def _unit(
    group: GroupSpec,
    members: Sequence[Member],
    parts: Sequence[PartPlan],
    demand: UnitDemand,
    levels: Levels,
    context: UnitContext,
) -> UnitPlan:
    first = first_channel(demand, levels)
    charged = cost(first.event)
    names = tuple(part.name for part in parts)
    readings = [reading_of_part(column, part) for (column, _), part in zip(members, parts, strict=True)]
    digest = chain_digest(
        mechanism=demand.mechanism,
        version=first.version,
        parameters=demand.parameters,
        domain=demand.domain,
        columns=names,
        reading={"file": reading_of_file(context.config), "parts": readings},
        rungs=levels.rungs,
        channels=levels.tables,
        delta=charged.delta.text,
        geo=charged.geo.text,
    )
    return UnitPlan(
        name=group.name,
        type="group",
        columns=names,
        domain=demand.domain,
        mechanism=demand.mechanism,
        parameters=demand.parameters,
        missing="error",
        fill=None,
        missing_codes=(),
        date_format=None,
        outside="reject",
        rungs=levels.rungs,
        delta=charged.delta,
        geo=charged.geo,
        target=None if group.target is None else Target(group.target.loss, group.target.ceiling),
        bins=None,
        draws_at_most=1 if group.target is None else levels.most_draws(context),
        is_chained=levels.is_chained,
        chain_digest=digest,
        parts=tuple(parts),
    )


def asked_units(config: ReleaseConfig) -> Iterator[tuple[NoisedColumn | GroupSpec, KeyPath]]:
    """Everything that becomes a noise unit, in release order: a group stands where its first column does."""
    grouped, done = group_positions(config), set[int]()
    for position, column in enumerate(config.columns):
        if isinstance(column, PlainColumn):
            continue
        place = grouped.get(column.name)
        if place is None:
            yield column, ("columns", position)
        elif place not in done:
            done.add(place)
            yield config.groups[place], ("groups", place)
