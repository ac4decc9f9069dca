"""Dates written as text: a declared format becomes one anchored pattern, so nothing is guessed row by row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.errors import ConfigError, Reason

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SHORTHANDS = {"%F": "%Y-%m-%d", "%D": "%m/%d/%y", "%T": "%H:%M:%S"}

_NUMERIC = {"d": 2, "e": 2, "m": 2, "y": 2, "j": 3}
"""Longest width of the directives that may be written without leading zeros."""

_FIXED = {
    "Y": r"(?P<Y>\d{4})",
    "b": rf"(?P<b>(?i:{'|'.join(_MONTHS)}))",
    "B": rf"(?P<B>(?i:{'|'.join(_MONTH_NAMES)}))",
    "H": r"(?:[01]?\d|2[0-3])",
    "M": r"[0-5]?\d",
    "S": r"[0-5]?\d",
    "f": r"\d{1,9}",
    "%": "%",
}
_CENTURY_PIVOT = 69
"""Two-digit years from 69 on belong to the 1900s (POSIX); formats with four digits need no such rule."""

_EPOCH_YEAR = 1970


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A declared way to write dates.

    Args:
        text: directives of ``strptime``: ``%d %e %m %Y %y %j %b %B %F %D`` and, matched but not kept, ``%H %M %S %T
            %f``; month names are English on every machine. Leading zeros may be absent beside separators. Public.

    Raises:
        ConfigError: a directive that is not known or stands twice, or a format that does not fix a day.
    """

    text: str

    def __post_init__(self) -> None:
        directives = re.findall(r"%(.?)", self._expanded)
        kept = [letter for letter in directives if letter != "%"]
        unknown = sorted({letter for letter in kept if letter not in _NUMERIC and letter not in _FIXED})
        years, months = [sum(kept.count(letter) for letter in group) for group in ("Yy", "mbB")]
        days, ordinals = kept.count("d") + kept.count("e"), kept.count("j")
        fixes_a_day = years == 1 and (months, days, ordinals) in {(1, 1, 0), (0, 0, 1)}
        if unknown or not fixes_a_day or len(set(kept)) != len(kept):
            raise ConfigError.of(
                Reason.BAD_PARAMETER,
                "format",
                required="a date format with one year, one month and one day, such as %d/%m/%Y",
                came=repr(self.text),
                fix="Known directives: %d %e %m %b %B %Y %y %j %F %D %H %M %S %T %f.",
            )

    @property
    def pattern(self) -> str:
        """The anchored regular expression (RE2) that a whole cell must match."""
        parts = re.split(r"(%.)", self._expanded)
        return "^" + "".join(_part_pattern(parts, index) for index in range(len(parts))) + "$"

    @property
    def _expanded(self) -> str:
        return re.sub(r"%.", lambda found: _SHORTHANDS.get(found[0], found[0]), self.text)

    def parse(self, text: pa.Array) -> tuple[NDArray[np.datetime64], NDArray[np.bool_]]:
        """Read dates.

        Args:
            text: cells, string[rows]; null cells are not read; private.

        Returns:
            datetime64[D] of each row (NaT where there is none) and bool[rows], which cells are no date of this format.
        """
        coded = text.dictionary_encode()
        days, readable = self._parse_distinct(coded.dictionary)
        present = coded.indices.is_valid().to_numpy(zero_copy_only=False)
        index = coded.indices.fill_null(0).to_numpy()
        if len(days) == 0:
            return np.full(len(text), "NaT", dtype="datetime64[D]"), np.zeros(len(text), dtype=np.bool_)
        return np.where(present & readable[index], days[index], np.datetime64("NaT", "D")), present & ~readable[index]

    def _parse_distinct(self, text: pa.Array) -> tuple[NDArray[np.datetime64], NDArray[np.bool_]]:
        found = pc.extract_regex(text, self.pattern)
        matched = found.is_valid().to_numpy(zero_copy_only=False)
        names = [found.type.field(index).name for index in range(found.type.num_fields)]
        parts = {name: pc.struct_field(found, name) for name in names}
        year = _numbers(parts["Y"]) if "Y" in parts else _full_year(_numbers(parts["y"]))
        year_start: NDArray[np.datetime64] = (year - _EPOCH_YEAR).astype("datetime64[Y]")
        if "j" in parts:
            days = _advanced(year_start, _numbers(parts["j"]), "D")
            return days, matched & (days.astype("datetime64[Y]") == year_start)
        month = _month(parts)
        month_start = _advanced(year_start, month, "M")
        days = _advanced(month_start, _numbers(parts["d" if "d" in parts else "e"]), "D")
        return days, matched & (month >= 1) & (month <= len(_MONTHS)) & (days.astype("datetime64[M]") == month_start)


def _advanced(start: NDArray[np.datetime64], ordinal: NDArray[np.int64], unit: Literal["D", "M"]) -> Any:
    """From the first day or month of a period to the one with the given number, counted from 1."""
    return start.astype(f"datetime64[{unit}]") + (ordinal - 1).astype(f"timedelta64[{unit}]")


def _part_pattern(parts: list[str], index: int) -> str:
    part = parts[index]
    if not part.startswith("%"):
        return re.escape(part)
    letter = part[1]
    if letter not in _NUMERIC:
        return _FIXED[letter]
    # Without a separator on both sides 2017112 could be two dates: then every number must have its full width.
    before = parts[index - 2] if index > 1 and not parts[index - 1] else ""
    after = parts[index + 2] if index + 2 < len(parts) and not parts[index + 1] else ""
    crowded = before.startswith("%") or after.startswith("%")
    width = _NUMERIC[letter]
    if letter == "e":
        return r" ?(?P<e>\d{1,2})"
    return rf"(?P<{letter}>\d{{{width if crowded or letter == 'y' else 1},{width}}})"


def _numbers(digits: pa.Array) -> NDArray[np.int64]:
    # A cell that does not match has an empty or null group; it is flagged elsewhere, so any number will do here.
    filled = pc.if_else(pc.equal(pc.binary_length(pc.fill_null(digits, "")), 0), "1", pc.fill_null(digits, "1"))
    numbers: NDArray[np.int64] = filled.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _full_year(year: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(year >= _CENTURY_PIVOT, 1900 + year, 2000 + year)


def _month(parts: dict[str, pa.Array]) -> NDArray[np.int64]:
    if "m" in parts:
        return _numbers(parts["m"])
    name, known = (parts["b"], _MONTHS) if "b" in parts else (parts["B"], _MONTH_NAMES)
    position = pc.index_in(pc.utf8_lower(name), value_set=pa.array(known))
    month: NDArray[np.int64] = position.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False) + 1
    return month
