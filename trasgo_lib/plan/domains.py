"""Declared domains of the release file as domains of the data room, and the constants that stand for missing values."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from trasgo_lib.config import (
    BoxSpec,
    CategoryColumn,
    CellsSpec,
    DateColumn,
    HierarchySpec,
    KeyPath,
    NoisedColumn,
    NumberColumn,
    PointColumn,
)
from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, DateDomain, Domain, NumberDomain
from trasgo_lib.errors import ConfigError, InputContractError, Reason
from trasgo_lib.plan.faults import FaultCollector

_LARGEST_EXPONENT = 40
"""No domain holds a value beyond 1e40, and exact arithmetic on much larger exponents would fill the memory."""

_DOMAIN_KEYS = ("lower", "upper", "step", "unit", "codes", "box", "crs", "step_m", "cells")


def compile_domain(column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> Domain | None:
    """The domain of a column, or None with its faults noted.

    Args:
        column: a noised column.
        path: its place in the release file.
        faults: where faults go.
    """
    keys: dict[str, KeyPath] = {key: (*path, "domain", key) for key in _DOMAIN_KEYS}
    keys["output"] = (*path, "output")
    if isinstance(column, CategoryColumn) and isinstance(column.domain, HierarchySpec):
        keys["codes"] = (*path, "domain", "hierarchy", column.domain.level)
    try:
        return _domain(column)
    except ConfigError as error:
        faults.take(error, (*path, "domain"), keys)
        return None


def _domain(column: NoisedColumn) -> Domain:
    if isinstance(column, NumberColumn):
        number = column.domain
        return NumberDomain(number.lower, number.upper, number.step, number.unit)
    if isinstance(column, DateColumn):
        return DateDomain(column.domain.lower, column.domain.upper, column.domain.step)
    if isinstance(column, CategoryColumn):
        return CategoryDomain(column.domain.codes, column.domain.ordered, column.output)
    if isinstance(column.domain, CellsSpec):
        return CellsDomain(column.domain.cells)
    return BoxDomain(column.domain.box, column.domain.crs, column.domain.step_m)


def check_codes_can_occur(
    column: CategoryColumn, path: KeyPath, missing: tuple[str, ...], trim: bool, faults: FaultCollector
) -> None:
    """Refuse codes that no cell of the file could ever be read as.

    Args:
        column: a category.
        path: its place in the release file.
        missing: every text that means missing in this column.
        trim: whether cells are trimmed.
        faults: where faults go.
    """
    absent = {text.strip() for text in missing}
    for place, code in _codes_of_file(column):
        here = (*path, "domain", *place)
        if trim and code != code.strip():
            faults.add(
                Reason.BAD_DOMAIN,
                here,
                required="a code without blanks at its ends, since source.csv.trim removes them",
                came=repr(code),
                fix="Remove the blanks, or set source.csv.trim to false.",
            )
        elif code.strip() in absent:
            faults.add(
                Reason.BAD_DOMAIN,
                here,
                required="codes that do not mean missing",
                came=f"{code!r}, which source.csv.missing or missing_codes declares as missing",
                fix="Remove it here, with missing: code for a missing category, or remove it there.",
            )


def _codes_of_file(column: CategoryColumn) -> tuple[tuple[KeyPath, str], ...]:
    """Every code that the file may hold, with its place under ``domain``."""
    spec = column.domain
    if isinstance(spec, HierarchySpec):
        return tuple(
            (("hierarchy", spec.level, coarse, position), code)
            for coarse, codes in spec.members
            for position, code in enumerate(codes)
        )
    return tuple((("codes", position), code) for position, code in enumerate(spec.codes))


def fill_code(column: NoisedColumn, domain: Domain, text: str, path: KeyPath, faults: FaultCollector) -> int | None:
    """The code of the constant that replaces missing values, or None with a fault noted.

    Args:
        column: a noised column with ``missing: {replace: text}``.
        domain: its domain.
        text: the constant.
        path: place of the constant in the release file.
        faults: where faults go.
    """
    code = None
    try:
        code = _code_of(column, domain, text)
    except (ValueError, InvalidOperation, InputContractError, ConfigError):
        code = None
    if code is None:
        faults.add(
            Reason.BAD_PARAMETER,
            path,
            required=f"a value of the declared domain{_example_of(column)}",
            came=repr(text),
            fix="Choose one of its values: a public constant, never one computed from the data.",
        )
    return code


def _code_of(column: NoisedColumn, domain: Domain, text: str) -> int | None:
    if isinstance(column, NumberColumn):
        spec, value = column.domain, Decimal(text)
        if not value.is_finite() or abs(value.adjusted()) > _LARGEST_EXPONENT:
            return None
        place = (Fraction(value) - Fraction(Decimal(spec.lower))) / Fraction(Decimal(spec.step))
        return int(place) if place.denominator == 1 and 0 <= place < domain.size else None
    if isinstance(column, CategoryColumn):
        return column.domain.codes.index(text)
    if isinstance(column, DateColumn):
        day = np.datetime64(text, "D")
        code = int(domain.encode(np.array([day]), outside="reject")[0])
        return code if domain.decode(np.array([code], dtype=np.int32))[0] == day else None
    latitude, longitude = (float(Decimal(part.strip())) for part in text.split(","))
    return int(domain.encode(np.array([latitude]), np.array([longitude]), outside="reject")[0])


def _example_of(column: NoisedColumn) -> str:
    if isinstance(column, PointColumn):
        if isinstance(column.domain, BoxSpec):
            south, west = column.domain.box[:2]
            return f", as latitude and longitude (such as one north-east of {south}, {west})"
        return ", as latitude and longitude"
    if isinstance(column, CategoryColumn):
        return ", such as " + column.domain.codes[0]
    return f", such as {column.domain.lower}"
