"""What queries may ask of declared columns: conditions, grids, cells, candidates; each fault at its key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from trasgo_lib.config import Condition, KeyPath, closest
from trasgo_lib.data import CategoryDomain, DateDomain, EqualBins, NumberDomain
from trasgo_lib.errors import Reason
from trasgo_lib.plan import FaultCollector, UnitPlan
from trasgo_lib.statistics.model import Frame, Rule, Table

MOST_CELLS = 65_536
"""Cells of a table; each is a number that is noised and published."""

_LARGEST_EXPONENT = 40

MISSING = "missing"
_SINGLE = Table((), (), ((),), (0,))


def single() -> Table:
    """The table of a query without groups: one cell."""
    return _SINGLE


@dataclass(frozen=True, slots=True)
class Columns:
    """The declared columns, and where faults go.

    Args:
        units: by name.
        faults: where faults go.
    """

    units: dict[str, UnitPlan]
    faults: FaultCollector

    def unit(self, name: str, path: KeyPath) -> UnitPlan | None:
        """A declared column, or None with a fault noted."""
        if name in self.units:
            return self.units[name]
        self.faults.add(
            Reason.UNKNOWN_NAME,
            path,
            required=f"a declared column that is not dropped ({', '.join(self.units)})",
            came=f"`{name}`",
            fix=f"{closest(name, self.units)}Correct the name, or declare the column with a domain.",
        )
        return None

    def size(self, unit: UnitPlan) -> int:
        """Codes of a column, the one for missing values included."""
        return unit.domain.size + (1 if unit.missing == "code" else 0)

    def frame(self, name: str, path: KeyPath) -> tuple[UnitPlan, Frame] | None:
        """A number and its grid, or None with a fault noted."""
        unit = self.unit(name, path)
        if unit is None:
            return None
        if not isinstance(unit.domain, NumberDomain) or unit.missing == "code":
            came = f"a {unit.type}" if not isinstance(unit.domain, NumberDomain) else "a number with missing: code"
            required = "a number without a code for missing values"
            fix = "Declare missing as error or {replace: value}, or ask for a table."
            self.faults.add(Reason.BAD_PARAMETER, path, required=required, came=came, fix=fix)
            return None
        domain = unit.domain
        grid = Frame(_exact(domain.lower), _exact(domain.step), domain.size - 1, domain.unit)
        if max(abs(grid.lower / grid.unit), abs(grid.upper / grid.unit)) > 2**44:
            required = "values of at most 2**44 times the largest number that divides lower and step"
            fix = "Use bounds that are multiples of the step."
            self.faults.add(Reason.BAD_DOMAIN, path, required=required, came="finer ones", fix=fix)
            return None
        return unit, grid

    def rules(self, conditions: Sequence[Condition], path: KeyPath) -> tuple[Rule, ...] | None:
        """Conditions as one byte a code, or None with faults noted."""
        before = len(self.faults.found)
        rules = [self._rule(one, (*path, place)) for place, one in enumerate(conditions)]
        return None if len(self.faults.found) > before else tuple(rule for rule in rules if rule is not None)

    def _rule(self, condition: Condition, path: KeyPath) -> Rule | None:
        unit = self.unit(condition.column, (*path, "column"))
        if unit is None:
            return None
        if condition.codes is not None:
            labels = self.labels(unit, (*path, "codes"))
            if labels is None:
                return None
            for place, code in enumerate(condition.codes):
                if code not in labels:
                    self._unknown_label(code, labels, condition.column, (*path, "codes", place))
            return Rule(unit.name, self._some(bytes(int(label in condition.codes) for label in labels), path))
        if isinstance(unit.domain, CategoryDomain):
            required, came = "codes for a category", "a range"
            self.faults.add(Reason.BAD_PARAMETER, path, required=required, came=came, fix="Write codes: [...].")
            return None
        missing = bytes(self.size(unit) - unit.domain.size)  # a missing value lies in no range
        return Rule(unit.name, self._some(self._range(condition, unit, path), path) + missing)

    def _range(self, condition: Condition, unit: UnitPlan, path: KeyPath) -> bytes:
        domain = unit.domain
        met = np.ones(domain.size, dtype=np.uint8)
        for key, text in (("at_least", condition.at_least), ("at_most", condition.at_most)):
            if text is None:
                continue
            try:
                if isinstance(domain, NumberDomain):
                    place = (_exact(text) - _exact(domain.lower)) / _exact(domain.step)
                    codes, edge = np.arange(domain.size), min(max(place, Fraction(-1)), Fraction(domain.size))
                    met &= codes >= -(-edge // 1) if key == "at_least" else codes <= edge // 1
                elif isinstance(domain, DateDomain):
                    day = np.datetime64(text, "D")
                    if str(day) != text:  # a year alone would be read as its first day
                        raise ValueError(text)
                    met &= domain.values >= day if key == "at_least" else domain.values <= day
            except (ArithmeticError, ValueError):
                required = "a day, as year-month-day" if isinstance(domain, DateDomain) else "a decimal number as text"
                self.faults.add(
                    Reason.BAD_PARAMETER, (*path, key), required=required, came=repr(text), fix="Correct it."
                )
        return met.tobytes()

    def _some(self, allowed: bytes, path: KeyPath) -> bytes:
        if 1 not in allowed:
            required, came = "a condition that some value of the domain meets", "one that none meets"
            self.faults.add(Reason.BAD_PARAMETER, path, required=required, came=came, fix="Correct it.")
        return allowed

    def labels(self, unit: UnitPlan, path: KeyPath) -> tuple[str, ...] | None:
        """Labels of a category, in code order, ``missing`` last where it is one; None with a fault for others."""
        if not isinstance(unit.domain, CategoryDomain):
            required = "a category, whose keys are declared"
            fix = "Ask for a histogram of it."
            self.faults.add(Reason.BAD_PARAMETER, path, required=required, came=f"a {unit.type}", fix=fix)
            return None
        if unit.missing == "code" and MISSING in unit.domain.codes:
            required, came = f"no code `{MISSING}` of its own in a column with missing: code", f"one in {unit.name}"
            fix = "Rename the code, or declare missing as error: an answer could not tell the two apart."
            self.faults.add(Reason.BAD_DOMAIN, path, required=required, came=came, fix=fix)
            return None
        return (*unit.domain.codes, *((MISSING,) if unit.missing == "code" else ()))

    def _unknown_label(self, code: str, labels: Sequence[str], column: str, path: KeyPath) -> None:
        self.faults.add(
            Reason.OUT_OF_DOMAIN,
            path,
            required=f"a declared key of {column} ({', '.join(labels[:20])}{', ...' if len(labels) > 20 else ''})",
            came=repr(code),
            fix=f"{closest(code, labels)}Correct the key, or declare it in the column's domain.",
        )

    def table(
        self, by: Sequence[str], keys: Sequence[Sequence[str]] | None, path: KeyPath, key: str = "by"
    ) -> Table | None:
        """Cells by combination of labels, or None with faults noted."""
        before = len(self.faults.found)
        held: list[tuple[str, ...]] = []
        for place, name in enumerate(by):
            here = (*path, key, place) if key == "by" else (*path, key)
            unit = self.unit(name, here)
            labels = None if unit is None else self.labels(unit, here)
            held.append(labels or ())
            if name in by[:place]:
                self.faults.add(Reason.DUPLICATE_COLUMN, here, required="each column once", came=name, fix="Remove it.")
        if len(self.faults.found) > before:
            return None
        sizes = tuple(len(labels) for labels in held)
        if prod(sizes) > MOST_CELLS:
            required, came = f"at most {MOST_CELLS} combinations of labels", str(prod(sizes))
            fix = "Use fewer columns, or coarsen them by a hierarchy."
            self.faults.add(Reason.BAD_PARAMETER, (*path, key), required=required, came=came, fix=fix)
            return None
        combinations = tuple(product(*held))
        if keys is None:
            return Table(tuple(by), sizes, combinations, tuple(range(len(combinations))))
        return self._declared(tuple(by), sizes, held, combinations, keys, path)

    def _declared(
        self,
        by: tuple[str, ...],
        sizes: tuple[int, ...],
        held: Sequence[tuple[str, ...]],
        combinations: tuple[tuple[str, ...], ...],
        keys: Sequence[Sequence[str]],
        path: KeyPath,
    ) -> Table | None:
        before = len(self.faults.found)
        if not keys:
            required, fix = "at least one combination", "Name some, or leave `keys` out for all."
            self.faults.add(Reason.BAD_PARAMETER, (*path, "keys"), required=required, came="none", fix=fix)
        for place, key in enumerate(keys):
            here = (*path, "keys", place)
            if len(key) != len(by):
                required, came = f"one label for each of {', '.join(by)}", f"{len(key)} labels"
                self.faults.add(Reason.BAD_SHAPE, here, required=required, came=came, fix="Correct the key.")
            elif tuple(key) in [tuple(other) for other in keys[:place]]:
                required = "each combination once"
                self.faults.add(Reason.BAD_PARAMETER, here, required=required, came="one twice", fix="Remove it.")
            else:
                for column, labels, label in zip(by, held, key, strict=True):
                    if label not in labels:
                        self._unknown_label(label, labels, column, here)
        if len(self.faults.found) > before:
            return None
        places = {tuple(key): place for place, key in enumerate(keys)}
        cells = tuple(places.get(combination, -1) for combination in combinations)
        return Table(by, sizes, tuple(tuple(key) for key in keys), cells)

    def bins(self, name: str, bins: int | None, path: KeyPath) -> Table | None:
        """Cells of one column: its labels, its values, or equal bins of a number or a date."""
        unit = self.unit(name, (*path, "column"))
        if unit is None:
            return None
        if isinstance(unit.domain, CategoryDomain):
            if bins is not None:
                required, came = "no bins for a category", str(bins)
                self.faults.add(Reason.BAD_PARAMETER, (*path, "bins"), required=required, came=came, fix="Remove them.")
                return None
            return self.table([name], None, path, "column")
        size, count = unit.domain.size, bins or unit.domain.size
        if count > min(size, MOST_CELLS):
            required, came = f"at most {min(size, MOST_CELLS)} bins", str(count)
            fix = "Write `bins`, with fewer of them."
            self.faults.add(Reason.BAD_PARAMETER, (*path, "bins"), required=required, came=came, fix=fix)
            return None
        cells = EqualBins(size, count).of_codes.tolist()
        values = [str(value) for value in unit.domain.decode(np.arange(size, dtype=np.int32)).tolist()]
        firsts = [cells.index(place) for place in range(count)]
        ends = [*firsts[1:], size]
        labels = [
            (values[first] if end - first == 1 else f"{values[first]} to {values[end - 1]}",)
            for first, end in zip(firsts, ends, strict=True)
        ]
        if unit.missing == "code":
            labels.append((MISSING,))
            cells.append(count)
        return Table((name,), (self.size(unit),), tuple(labels), tuple(cells))

    def candidates(
        self, unit: UnitPlan, grid: Frame, texts: Sequence[str] | None, path: KeyPath
    ) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
        """Values to choose from, with their codes; None with faults noted."""
        most = 4096
        if texts is None:
            if grid.largest + 1 > most:
                required, came = f"candidates, where the domain has more than {most} values", "none"
                fix = "Write `candidates`, declared and rising."
                self.faults.add(Reason.BAD_PARAMETER, path, required=required, came=came, fix=fix)
                return None
            codes = tuple(range(grid.largest + 1))
            values = unit.domain.decode(np.arange(grid.largest + 1, dtype=np.int32))
            return tuple(str(value) for value in values.tolist()), codes
        found: list[int] = []
        for place, text in enumerate(texts):
            code = (_exact(text) - grid.lower) / grid.step
            if code.denominator != 1 or not 0 <= code <= grid.largest or (found and code <= found[-1]):
                required = "values of the declared domain, rising"
                fix = "Correct it: candidates are declared, never read from the data."
                here = (*path, "candidates", place)
                self.faults.add(Reason.OUT_OF_DOMAIN, here, required=required, came=repr(text), fix=fix)
            else:
                found.append(int(code))
        if len(found) < len(texts):
            return None
        if not 2 <= len(found) <= most:
            required, came = f"2 to {most} candidates", str(len(found))
            here = (*path, "candidates")
            self.faults.add(Reason.BAD_PARAMETER, here, required=required, came=came, fix="Declare others.")
            return None
        return tuple(texts), tuple(found)


def _exact(text: str | int) -> Fraction:
    value = Decimal(text)
    # first the size: exact arithmetic on 1e999999 would fill the memory
    if not value.is_finite() or abs(value.adjusted()) > _LARGEST_EXPONENT:
        raise ValueError("not a number that a domain can hold")
    return Fraction(value)
