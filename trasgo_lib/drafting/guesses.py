"""What kind of values a column seems to hold: the only thing a draft takes from cells, and it says so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from trasgo_lib.drafting.dialect import PLACEHOLDERS, CsvDialect, is_date

Kind = Literal["number", "category", "date", "identifier", "words", "empty", "other"]
"""``words`` is free text, ``empty`` a column without values at the start, ``other`` what no type can hold."""

_NEARLY_ALL = 0.9
_FEW_CODES = 12
"""Whole numbers with at most so many different values are taken for codes."""

_ROWS_PER_CODE = 10
_ENOUGH_ROWS = 30
_LONG_TEXT = 60
_WORDS_APART = 5

_IDENTIFYING = re.compile(
    r"(^|[_\W])(id|hid|pid|hhid|uuid|guid|key|ssn|nin|iban|e?mail|phone|address|street|surname|passport)$"
    r"|^(case|person|record|resp|respondent|household|patient|client|row)_?(id|nr|no|number)$"
    r"|[a-z](ID|Id)$",
)
_PADDED = re.compile(r"0\d+")
"""Digits that are a code: as a number they would lose their leading zeros."""

_DAY = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
_DATED = re.compile(r"(^|[_\W])(date|day|dob)([_\W]|$)")
_LONGITUDES = {
    "lat": ("lon", "lng", "long"),
    "latitude": ("longitude",),
    "latitud": ("longitud",),
    "latitudine": ("longitudine",),
    "breite": ("länge", "laenge"),
    "breitengrad": ("längengrad", "laengengrad"),
}
"""What a longitude is called beside a latitude of that name, in languages of Europe."""

_LATITUDE = re.compile(rf"(^|[_\W])({'|'.join(_LONGITUDES)})$")
_COUNTED = re.compile(r"(\D*)(\d+)")
_FEWEST_COUNTED = 30
_ROWS_PER_COUNTED = 10


@dataclass(frozen=True, slots=True)
class ColumnGuess:
    """One column of a file.

    Args:
        name: its name in the file's header, public by declaration; empty where the file has no header, or no name here.
        kind: what it seems to hold.
        position: its place in the file, from 1.
    """

    name: str
    kind: Kind
    position: int


def guess_kind(name: str, cells: Sequence[str], dialect: CsvDialect) -> Kind:
    """What kind of values a column of a CSV file seems to hold.

    Args:
        name: its name, or empty.
        cells: its first cells that are not empty; private.
        dialect: how the file is written.
    """
    values = [cell for cell in cells if cell.lower() not in PLACEHOLDERS]
    if not values:
        return "empty"
    if _counts_up(values):
        return "identifier"
    few = len(values) * (1 - _NEARLY_ALL)
    compact = bool(_DATED.search(name.lower()))
    if sum(not (is_date(value) or (compact and bool(_DAY.fullmatch(value)))) for value in values) <= few:
        return "date"
    distinct = len(set(values))
    is_code = any(_PADDED.fullmatch(value) for value in values)
    if not is_code and sum(not dialect.is_number(value) for value in values) <= few:
        return _kind_of_numbers(name, values, distinct, is_whole=all(dialect.is_whole(value) for value in values))
    if is_identifying(name) or (len(values) >= _ENOUGH_ROWS and distinct >= _NEARLY_ALL * len(values)):
        return "identifier"
    length = sum(len(value) for value in values) / len(values)
    apart = sum(value.count(" ") for value in values) / len(values)
    return "words" if length > _LONG_TEXT or apart >= _WORDS_APART else "category"


def is_identifying(name: str) -> bool:
    """Whether a name is one that identifiers of people usually have."""
    return bool(_IDENTIFYING.search(name) or _IDENTIFYING.search(name.lower()))


def point_pairs(columns: Sequence[ColumnGuess]) -> dict[int, tuple[ColumnGuess, ColumnGuess, str]]:
    """Latitudes with their longitudes, by the position of either: both, and what their names have in common."""
    numbers = {column.name.lower(): column for column in columns if column.kind in ("number", "empty")}
    found: dict[int, tuple[ColumnGuess, ColumnGuess, str]] = {}
    for name, latitude in numbers.items():
        match = _LATITUDE.search(name)
        if match is None or latitude.kind == "empty":
            continue
        stem = name[: match.start(2)]
        others = (stem + word for word in (*_LONGITUDES[match[2]], *_LONGITUDES["lat"], *_LONGITUDES["latitude"]))
        longitude = next((numbers[other] for other in others if other in numbers), None)
        if longitude is not None:
            common = latitude.name[: match.start(2)].rstrip("_- .") or "place"
            found[latitude.position] = found[longitude.position] = (latitude, longitude, common)
    return found


def _kind_of_numbers(name: str, values: Sequence[str], distinct: int, *, is_whole: bool) -> Kind:
    if is_whole and is_identifying(name):
        return "identifier"
    if is_whole and len(values) >= _ENOUGH_ROWS and distinct == len(values) and _rising(values):
        return "identifier"
    codes = is_whole and distinct <= _FEW_CODES and len(values) >= _ROWS_PER_CODE * distinct
    return "category" if codes else "number"


def _counts_up(values: Sequence[str]) -> bool:
    """Whether cells number the rows or, with repeats, the households or people that rows belong to."""
    parts = [_COUNTED.fullmatch(value) for value in values]
    prefix = parts[0][1] if parts[0] else None
    numbers = [int(part[2]) for part in parts if part and part[1] == prefix and len(part[2]) <= 18]
    if len(numbers) < len(values) or len(set(numbers)) < max(_FEWEST_COUNTED, len(values) / _ROWS_PER_COUNTED):
        return False
    steps = [after - before for before, after in pairwise(numbers)]
    return min(steps) >= 0 and sum(step <= 1 for step in steps) >= _NEARLY_ALL * len(steps)


def _rising(values: Sequence[str]) -> bool:
    """Whether whole numbers are in order, as row numbers are."""
    numbers = [int(value) for value in values if value.isdigit()]
    return numbers == sorted(numbers)
