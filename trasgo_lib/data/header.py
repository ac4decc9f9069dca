"""Which file column is which declared one: missing, extra and duplicated names, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trasgo_lib.data.reading import SourceReading
from trasgo_lib.errors import Fault, Reason

_LONGEST_NAME = 64
"""A longer "name" is more likely a cell."""


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """Where the declared columns stand in the file.

    Args:
        positions: position of each declared file column that stands there exactly once, from 0.
        faults: what is wrong with the header.
        is_header: false when the first record names no declared column, so that reading on makes no sense.
    """

    positions: dict[str, int]
    faults: tuple[Fault, ...]
    is_header: bool = True


def match_header(found: Sequence[str], reading: SourceReading) -> ColumnMatch:
    """Compare the names in the file with the declared ones.

    Without a header the first record is a person's: its cells are never quoted. An undeclared name is therefore shown
    only when most of the record is made of declared names and it looks like a name; else its position is.

    Args:
        found: names as they stand in the file, trimmed where the reading says so; private until proven to be names.
        reading: what was declared.
    """
    declared = reading.sources
    known = set(declared) & set(found)
    if not known and reading.format == "csv":
        return ColumnMatch({}, (_no_header(len(found), reading),), is_header=False)
    places = {name: [place for place, other in enumerate(found) if other == name] for name in dict.fromkeys(found)}
    trusted = reading.format == "parquet" or 2 * len(known) > len(declared) or 2 * len(known) > len(places)
    faults = [_missing(name) for name in declared if name not in known]
    for name, at in places.items():
        shown = repr(name) if name in known or (trusted and _looks_like_a_name(name)) else "a name not shown here"
        if len(at) > 1:
            faults.append(_duplicate(shown, at))
        if name not in known:
            faults.append(_extra(shown, at[0]))
    positions = {name: places[name][0] for name in declared if name in known and len(places[name]) == 1}
    return ColumnMatch(positions, tuple(faults), is_header=bool(known))


def match_order(first: Sequence[str], reading: SourceReading) -> ColumnMatch:
    """Take the declared order for a file without header.

    Args:
        first: fields of the first record, only counted and compared with the declared names; private.
        reading: what was declared.
    """
    declared = reading.sources
    fields = len(first)
    if tuple(first) == declared:
        return ColumnMatch({}, (_header_after_all(),), is_header=False)
    if fields == len(declared):
        return ColumnMatch({name: place for place, name in enumerate(declared)}, ())
    fault = Fault(
        reason=Reason.MISSING_COLUMN if fields < len(declared) else Reason.EXTRA_COLUMN,
        where="columns",
        required=f"{len(declared)} fields a record, as many as columns are declared",
        came=f"{fields} fields in the first record",
        fix="Declare every field in the order of the file (role: drop for those not wanted), or correct the delimiter.",
    )
    return ColumnMatch({}, (fault,), is_header=False)


def _looks_like_a_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_NAME and (text[0].isalpha() or text[0] == "_")


def _no_header(fields: int, reading: SourceReading) -> Fault:
    return Fault(
        reason=Reason.NO_HEADER,
        where="columns",
        required="a header with the declared names " + ", ".join(map(repr, reading.sources)),
        came=f"a first record of {fields} fields, none of which is a declared name",
        fix="Declare source.csv.header: false if the file has none, or correct delimiter, encoding or names.",
    )


def _header_after_all() -> Fault:
    return Fault(
        reason=Reason.NO_HEADER,
        where="columns",
        required="a file without header, as declared",
        came="a first record that holds the declared names",
        fix="Declare source.csv.header: true.",
    )


def _missing(name: str) -> Fault:
    return Fault(
        reason=Reason.MISSING_COLUMN,
        where=name,
        required="the declared column",
        came="no such column in the file",
        fix="Correct the name (`source:` gives a column's name in the file), or remove it from the release file.",
    )


def _extra(shown: str, place: int) -> Fault:
    index = shown.startswith("'__index_level_")
    return Fault(
        reason=Reason.EXTRA_COLUMN,
        where=f"position {place + 1}",
        required="declared columns only",
        came=f"{shown}, an index that pandas wrote" if index else shown,
        fix="Declare it; with role: drop it is neither read nor published."
        + (" Or write the file with index=False." if index else ""),
    )


def _duplicate(shown: str, at: Sequence[int]) -> Fault:
    positions = " and ".join(str(place + 1) for place in at)
    return Fault(
        reason=Reason.DUPLICATE_COLUMN,
        where=f"positions {positions}",
        required="each column name once",
        came=shown,
        fix="Rename or remove one of the columns in the file.",
    )
