"""The parts of a badly shaped release file that are sound, with stand-ins for the rest.

Shape and meaning are checked apart, but a person wants all faults at once: so the meaning of what is sound is checked
even when something else has the wrong shape. Nothing built from a stand-in ever leaves this use.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from trasgo_lib.config.columns import Column
from trasgo_lib.config.document import Plain
from trasgo_lib.config.release import ReleaseConfig

_STAND_INS: Mapping[str, Plain] = {
    "format": 1,
    "release": {"dataset": "unsound", "version": "0", "title": "unsound"},
    "source": {"path": "unsound", "format": "csv"},
    "privacy": {"epsilon_total": "8", "account": "unsound"},
    "groups": (),
    "prior": None,
    "loop": {},
    "checks": {},
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
