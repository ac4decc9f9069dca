"""Rules about the release file as a whole: what is not built yet, names, roles, targets and places."""

from __future__ import annotations

from trasgo_lib.config import KeyPath, PlainColumn, PointColumn, ReleaseConfig, UnitColumn
from trasgo_lib.errors import Reason
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.units import released_names, sources_of


def check_not_built(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Refuse what the format knows and this version does not do yet, naming what to write."""
    if config.loop.composition == "chain":
        _not_built(faults, ("loop", "composition"), "sequential", "chain, the default")
    if config.loop.loss_from == "released":
        _not_built(faults, ("loop", "loss_from"), "original", "released, the default")
    if config.groups:
        faults.add(
            Reason.NOT_BUILT_YET,
            ("groups",),
            required="no groups in this version",
            came=f"{len(config.groups)}",
            fix="Remove them; each column is noised by itself.",
        )


def _not_built(faults: FaultCollector, path: KeyPath, word: str, came: str) -> None:
    faults.add(
        Reason.NOT_BUILT_YET,
        path,
        required=f"{word}: this version does nothing else yet",
        came=came,
        fix=f"Write `loop: {{{path[-1]}: {word}}}`.",
    )


def check_roles(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Check that the privacy unit's column and the roles agree, and that something is noised."""
    unit = config.privacy.unit
    named = unit.column if isinstance(unit, UnitColumn) else None
    with_role = [
        (position, column.name)
        for position, column in enumerate(config.columns)
        if isinstance(column, PlainColumn) and column.role == "unit"
    ]
    if named is not None and named not in [name for _, name in with_role]:
        known = ", ".join(name for _, name in with_role) or "none so far"
        faults.add(
            Reason.UNKNOWN_NAME,
            ("privacy", "unit", "column"),
            required=f"a column with role unit ({known})",
            came=f"`{named}`",
            fix=f"Add `{{name: {named}, role: unit}}` to the columns.",
        )
    for position, name in with_role:
        if name != named:
            faults.add(
                Reason.BAD_PARAMETER,
                ("columns", position, "role"),
                required="role unit only for the column that privacy.unit names",
                came=f"privacy.unit {'row' if named is None else named}",
                fix=f"Write privacy.unit as {{column: {name}, max_rows: ...}}, or another role.",
            )
    if all(isinstance(column, PlainColumn) for column in config.columns):
        faults.add(
            Reason.BAD_SHAPE,
            ("columns",),
            required="at least one noised column",
            came="none",
            fix="Declare the columns that are protected; without one nothing is.",
        )


def check_names(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Refuse a column, a released column or a column of the file that is named twice."""
    names: dict[str, int] = {}
    released: dict[str, str] = {}
    read: dict[str, str] = {}
    for position, column in enumerate(config.columns):
        path: KeyPath = ("columns", position)
        if column.name in names:
            _twice(faults, (*path, "name"), "each column once", column.name, f"entry {names[column.name] + 1}")
            continue
        names[column.name] = position
        gives, takes = released_names(column), sources_of(column)
        for name in gives:
            if name in released:
                _twice(faults, (*path, "name"), "each released column once", name, released[name])
            released.setdefault(name, column.name)
        for place, name in enumerate(takes):
            if name in read:
                _twice(faults, _source_path(column, path, place), "each column of the file once", name, read[name])
            read.setdefault(name, column.name)
            _check_trim(config, name, _source_path(column, path, place), faults)


def _twice(faults: FaultCollector, path: KeyPath, required: str, name: str, first: str) -> None:
    faults.add(
        Reason.DUPLICATE_COLUMN,
        path,
        required=required,
        came=f"`{name}` again, after {first}",
        fix="Rename or remove one.",
    )


def _source_path(column: object, path: KeyPath, place: int) -> KeyPath:
    if isinstance(column, PointColumn):
        return (*path, "columns", ("latitude", "longitude")[place])
    return (*path, "source" if getattr(column, "source", None) else "name")


def _check_trim(config: ReleaseConfig, name: str, path: KeyPath, faults: FaultCollector) -> None:
    trimmed = config.source.format == "csv" and config.source.csv.trim
    if trimmed and name != name.strip():
        faults.add(
            Reason.BAD_PARAMETER,
            path,
            required="a name without blanks at its ends, since source.csv.trim removes them from the header",
            came=repr(name),
            fix="Remove the blanks, or set source.csv.trim to false.",
        )


def check_targets(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Refuse a correlation loss where there is nothing to correlate with."""
    noised = [column for column in config.columns if not isinstance(column, (PlainColumn, PointColumn))]
    if len(noised) >= 2:
        return
    for position, column in enumerate(config.columns):
        if isinstance(column, PlainColumn) or column.target is None or column.target.loss != "correlation_loss":
            continue
        if not isinstance(column, PointColumn):
            faults.add(
                Reason.BAD_PARAMETER,
                ("columns", position, "target", "correlation_loss"),
                required="at least two noised numbers, dates or categories in the release",
                came="one",
                fix="Write a target of tvd, js or kl, which need one column only.",
            )


def check_places(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Check that the two roots are apart and that the ledger has a place."""
    publish = config.publish
    restricted = publish.restricted or publish.store or ""
    if publish.public and publish.restricted and _inside(publish.public, publish.restricted):
        faults.add(
            Reason.BAD_PARAMETER,
            ("publish", "restricted"),
            required="two roots of which neither lies in the other",
            came=f"{publish.restricted} and {publish.public}",
            fix="Separate them: whoever may read the public root must not reach the restricted one.",
        )
    if "://" in restricted and not restricted.startswith("file://") and config.ledger is None:
        faults.add(
            Reason.BAD_PARAMETER,
            ("publish",),
            required="a ledger beside a restricted root that is no folder",
            came="none",
            fix="Add `ledger: {url: ...}`.",
        )


def _inside(one: str, other: str) -> bool:
    first, second = one.rstrip("/") + "/", other.rstrip("/") + "/"
    return first.startswith(second) or second.startswith(first)
