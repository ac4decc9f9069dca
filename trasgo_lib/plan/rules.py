"""Rules about the release file as a whole: names, roles, targets and places."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from trasgo_lib.config import (
    KeyPath,
    Keys,
    LedgerSpec,
    PlainColumn,
    PointColumn,
    PostgresDatabase,
    Publish,
    ReleaseConfig,
    S3Spec,
    UnitColumn,
    ledger_address,
)
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.parts import released_names, sources_of
from trasgo_lib.storage import Bucket, check_endpoint, place_of

REHEARSALS = "rehearsals"
"""Name of the folder that holds rehearsals, and no release ever."""


def check_roles(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Check that the privacy unit's column and the roles agree, and that something is noised."""
    unit = config.privacy.unit
    named = unit.column if isinstance(unit, UnitColumn) else None
    with_role = [
        (position, column.name)
        for position, column in enumerate(config.columns)
        if isinstance(column, PlainColumn) and column.role == "unit"
    ]
    if named == "row":
        faults.add(
            Reason.BAD_PARAMETER,
            ("privacy", "unit", "column"),
            required="another name than row, which in accounts and statements means that each row is a unit",
            came="`row`",
            fix="Rename the column here and give the file's own name in `source`.",
        )
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


class HasRoots(Protocol):
    """A file that publishes."""

    @property
    def publish(self) -> Publish:
        """Where it goes."""

    @property
    def keys(self) -> Keys | None:
        """Where its keys are; None where it does not say."""

    @property
    def ledger(self) -> LedgerSpec | None:
        """Where its records are; None where it does not say."""


def check_places(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Check that both roots can be served, and that nothing private lies in the public one."""
    check_roots(config, faults, {("source", "path"): config.source.path})


def check_roots(config: HasRoots, faults: FaultCollector, private: Mapping[KeyPath, str]) -> None:
    """The same for any file that publishes.

    Args:
        config: its models.
        faults: where faults go.
        private: by key, paths of private data, as the file writes them.
    """
    publish, store = config.publish, config.publish.store
    if store is not None:
        top = _root(store, ("publish", "store"), faults)
        public, restricted = (None, None) if top is None else (_below(top, "public"), _below(top, "restricted"))
    else:
        public = _root(publish.public or "", ("publish", "public"), faults)
        restricted = _root(publish.restricted or "", ("publish", "restricted"), faults)
    for root, access, name in (
        (public, publish.public_s3, "public_s3"),
        (restricted, publish.restricted_s3, "restricted_s3"),
    ):
        _check_access(root, access, ("publish", name), faults)
    ledger = _ledger_file(config, faults)
    if isinstance(public, Path):
        _check_public_folder(config, public, ledger, private, faults)
    _check_apart(config, public, restricted, faults)
    if isinstance(restricted, Bucket) and config.ledger is None:
        faults.add(
            Reason.BAD_PARAMETER,
            ("publish", "store" if store is not None else "restricted"),
            required="`ledger: {url: ...}` beside a restricted root in a bucket, where no database can live",
            came="no ledger",
            fix='Write, for example, ledger: {url: "sqlite:////srv/trasgo/ledger.db"}.',
        )


def check_rehearsal(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Refuse a rehearsal whose roots are not in a folder of rehearsals: none must ever stand among releases."""
    if not config.rehearsal:
        return
    publish = config.publish
    for key in ("store", "public", "restricted"):
        location = getattr(publish, key)
        if location is None:
            continue
        if "://" in location or REHEARSALS not in faults.loaded.resolve(location).parts:
            faults.add(
                Reason.REHEARSAL,
                ("publish", key),
                required=f"a folder below one that is named {REHEARSALS}, since `rehearsal: true` stands above",
                came="another place",
                fix="Remove `rehearsal`; rehearse a release file as it is with: trasgo run --rehearse.",
            )


def _ledger_file(config: HasRoots, faults: FaultCollector) -> Path | None:
    """The ledger's file as declared; None for a server, for the default place, and where the URL is at fault."""
    if config.ledger is None:
        return None
    try:
        address = ledger_address(config.ledger.url, faults.loaded.path.parent)
    except ConfigError as error:
        faults.take(error, ("ledger", "url"), {"ledger.url": ("ledger", "url")})
        return None
    if isinstance(address, PostgresDatabase):
        return None
    for key in ("password_env", "password_block"):
        if getattr(config.ledger, key) is not None:
            faults.add(
                Reason.BAD_PARAMETER,
                ("ledger", key),
                required="a password only for a PostgreSQL database",
                came="one for a SQLite file",
                fix=f"Remove `{key}`: the file's mode protects it.",
            )
    return faults.loaded.resolve(str(address.path))


def _check_access(root: Path | Bucket | None, access: S3Spec | None, path: KeyPath, faults: FaultCollector) -> None:
    """Refuse an endpoint that is none, and settings of a store that is not there."""
    if access is None:
        return
    if isinstance(root, Path):
        faults.add(
            Reason.BAD_PARAMETER,
            path,
            required="a root that is s3://bucket/prefix",
            came="a folder",
            fix="Remove these settings, or correct the root.",
        )
    try:
        check_endpoint(access.endpoint, allow_http=access.allow_http)
    except ConfigError as error:
        faults.take(error, (*path, "endpoint"))


def _below(top: Path | Bucket, name: str) -> Path | Bucket:
    return top / name if isinstance(top, Path) else Bucket(top.name, f"{top.prefix}/{name}".lstrip("/"))


def _root(location: str, path: KeyPath, faults: FaultCollector) -> Path | Bucket | None:
    """The place of a root, symbolic links resolved; None, with its fault noted, where it is none."""
    if "://" not in location:
        return faults.loaded.resolve(location)
    try:
        place = place_of(location)
    except ConfigError as error:
        faults.take(error, path)
        return None
    if place is not None:
        return place.resolve() if isinstance(place, Path) else place
    faults.add(
        Reason.BAD_PARAMETER,
        path,
        required="a place that outlives the run",
        came="memory",
        fix="Write a folder, file:///absolute/folder or s3://bucket/prefix.",
    )
    return None


def _check_public_folder(
    config: HasRoots, public: Path, ledger: Path | None, private: Mapping[KeyPath, str], faults: FaultCollector
) -> None:
    """Refuse a public root that holds something private; places are compared as folders, not as texts."""
    key = None if config.keys is None or config.keys.file is None else faults.loaded.resolve(config.keys.file)
    found: list[tuple[KeyPath, Path | None]] = [(at, faults.loaded.resolve(text)) for at, text in private.items()]
    for path, place in (*found, (("keys", "file"), key), (("ledger", "url"), ledger)):
        if place is not None and place.is_relative_to(public):
            faults.add(
                Reason.BAD_PARAMETER,
                path,
                required="a place outside the public root",
                came="one inside it",
                fix="Move it: whoever may read the public root must not reach it.",
            )


def _check_apart(
    config: HasRoots, public: Path | Bucket | None, restricted: Path | Bucket | None, faults: FaultCollector
) -> None:
    """Refuse roots of which one lies in the other; buckets of one name count as one, whatever their endpoints say."""
    if isinstance(public, Path) and isinstance(restricted, Path):
        nested = public.is_relative_to(restricted) or restricted.is_relative_to(public)
    elif isinstance(public, Bucket) and isinstance(restricted, Bucket):
        nested = public.holds(restricted) or restricted.holds(public)
    else:
        nested = False
    if nested:
        faults.add(
            Reason.BAD_PARAMETER,
            ("publish", "store") if config.publish.store else ("publish", "restricted"),
            required="two roots of which neither lies in the other",
            came="one inside the other",
            fix="Separate them: whoever may read the public root must not reach the restricted one.",
        )
