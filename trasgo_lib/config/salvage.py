"""The parts of a badly shaped release file that are sound, with stand-ins for the rest.

Shape and meaning are checked apart, but a person wants all faults at once: so the meaning of what is sound is checked
even when something else has the wrong shape. Nothing built from a stand-in ever leaves this use.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from trasgo_lib.config.columns import Column
from trasgo_lib.config.document import Plain
from trasgo_lib.config.release import ReleaseConfig, Source
from trasgo_lib.config.shape import UNDECIDED

_STAND_INS: Mapping[str, Plain] = {
    "format": 1,
    "rehearsal": False,
    "release": {"dataset": "unsound", "version": "0", "title": "unsound"},
    "source": {"path": "unsound", "format": "csv"},
    "privacy": {"epsilon_total": "8", "account": "unsound"},
    "groups": (),
    "prior": None,
    "loop": {},
    "checks": {},
    "risk": None,
    "publish": {"store": "unsound"},
    "keys": None,
    "ledger": None,
    "runner": "threads",
}
"""Sections that pass, for those of the file that do not."""

_ANY_COLUMNS: tuple[Plain, ...] = ({"name": "unsound", "role": "drop"},)
_COLUMN: TypeAdapter[object] = TypeAdapter(Column)


def sound_part(value: Mapping[str, Plain]) -> tuple[ReleaseConfig, frozenset[str]]:
    """A release file in which unsound sections and columns are replaced.

    Args:
        value: the file's plain values.

    Returns:
        The models, and the names of the sections that are the file's own.
    """
    columns, all_sound = _sound_columns(value.get("columns"))
    sections = dict(_STAND_INS)
    own = {"columns"} if all_sound else set()
    for name in _STAND_INS:
        if name not in value:
            if not ReleaseConfig.model_fields[name].is_required():
                own.add(name)
            continue
        tried = {**_STAND_INS, name: value[name], "columns": _ANY_COLUMNS}
        try:
            ReleaseConfig.model_validate(tried)
        except ValidationError:
            continue
        sections[name] = value[name]
        own.add(name)
    return ReleaseConfig.model_validate({**sections, "columns": columns}), frozenset(own)


def source_as_written(value: Plain) -> Source | None:
    """Where a release file says its rows are, with the defaults where it is undecided; None when that is unsound too.

    Args:
        value: the file's plain values.
    """
    section = value.get("source") if isinstance(value, dict) else None
    if not isinstance(section, dict):
        return None
    csv = section.get("csv")
    decided = {key: entry for key, entry in csv.items() if entry != UNDECIDED} if isinstance(csv, dict) else None
    try:
        return Source.model_validate(section if decided is None else {**section, "csv": decided})
    except ValidationError:
        return None


def declared_sources(value: Plain) -> tuple[str, ...]:
    """Names of the file's columns that a release file declares, as far as they are texts.

    Args:
        value: the file's plain values.
    """
    entries = value.get("columns") if isinstance(value, dict) else None
    names: list[Plain] = []
    for entry in entries if isinstance(entries, tuple) else ():
        if not isinstance(entry, dict):
            continue
        point = entry.get("columns")
        both = [point.get("latitude"), point.get("longitude")] if isinstance(point, dict) else None
        names += both or [entry.get("source", entry.get("name"))]
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))


def _sound_columns(entries: Plain) -> tuple[tuple[Plain, ...], bool]:
    """The columns at their places, unsound ones as dropped columns of a name that no file has."""
    if not isinstance(entries, tuple) or not entries:
        return _ANY_COLUMNS, False
    columns: list[Plain] = []
    for position, entry in enumerate(entries):
        try:
            _COLUMN.validate_python(entry)
        except ValidationError:
            columns.append({"name": f"unsound column {position + 1}", "role": "drop"})
        else:
            columns.append(entry)
    return tuple(columns), tuple(columns) == entries
