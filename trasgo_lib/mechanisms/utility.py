"""Utilities of the exponential mechanism, in exact steps below the best output of each input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data.domain import exact_decimal
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms.channel import Json
from trasgo_lib.mechanisms.fixed_point import CONTEXT
from trasgo_lib.mechanisms.parameters import refused

_WHERE = "exponential utility"
_NAMES = ("zero_one", "ordinal")
_MOST_STEPS = 2**32
"""Finest grid of a declared matrix: its range over its common unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Utility:
    """How far each output falls short of the best output of its input.

    Args:
        declared: name or matrix as declared, for the channel file.
        unit: size of a step, above 0.
        distinct: uint64[n], the shortfalls that occur, in steps.
        places: int64[codes, codes], where each shortfall stands in ``distinct``.
        spread: largest difference between two inputs' shortfalls of one output; above 0.
    """

    declared: Json
    unit: Decimal
    distinct: NDArray[np.uint64]
    places: NDArray[np.int64]
    spread: Decimal


def read_utility(declared: object, size: int, codes: int) -> Utility:
    """A named or declared utility over ``codes`` codes.

    Args:
        declared: ``zero_one``, ``ordinal`` or a square matrix of decimal text, row = input; public.
        size: codes of the domain.
        codes: ``size``, or one more where a missing value is a code.

    Raises:
        ConfigError: an unknown name, not such a matrix, or a utility that treats all inputs alike.
    """
    if isinstance(declared, str):
        return _named(declared, size, codes)
    return _from_matrix(declared, codes)


def _named(name: str, size: int, codes: int) -> Utility:
    if name not in _NAMES:
        raise refused(_WHERE, "zero_one, ordinal or a matrix", repr(name), "Choose one of them.")
    order = np.arange(codes, dtype=np.int64)
    shortfall = np.abs(order[:, None] - order[None, :])
    if name == "zero_one":
        shortfall = np.minimum(shortfall, 1)
    elif codes > size:
        # near two thirds of the range the missing row's normaliser is like the others', which costs them least
        shortfall[size, :size] = shortfall[:size, size] = -(-2 * (size - 1) // 3)
    return _utility(name, Decimal(1), shortfall)


def _from_matrix(declared: object, codes: int) -> Utility:
    rows = _rows(declared)
    if len(rows) != codes or any(len(row) != codes for row in rows):
        came = f"{len(rows)} rows" if rows else type(declared).__name__
        raise refused(_WHERE, f"zero_one, ordinal or {codes} rows of {codes} numbers", came, "One row an input code.")
    values = [[Fraction(exact_decimal(value, _WHERE)) for value in row] for row in rows]
    scale = lcm(*(value.denominator for row in values for value in row))
    shortfall = [[int((max(row) - value) * scale) for value in row] for row in values]
    if max(map(max, shortfall)) >= _MOST_STEPS:
        raise refused(
            _WHERE, "a range of at most 2**32 of its smallest steps", "a finer matrix", "Round the utilities."
        )
    text: Json = [[str(value).strip() for value in row] for row in rows]
    unit = CONTEXT.divide(Decimal(1), Decimal(scale))  # exact: denominators of decimals are products of 2 and 5
    return _utility(text, unit, np.array(shortfall, dtype=np.int64))


def _rows(declared: object) -> list[list[object]]:
    """The rows of a table, or nothing where it is none."""
    if not isinstance(declared, Sequence) or any(
        isinstance(row, str) or not isinstance(row, Sequence) for row in declared
    ):
        return []
    return [list(row) for row in declared]


def _utility(declared: Json, unit: Decimal, shortfall: NDArray[np.int64]) -> Utility:
    spread = int((shortfall.max(axis=0) - shortfall.min(axis=0)).max())
    if spread == 0:
        raise _tells_nothing_apart()
    distinct, places = np.unique(shortfall, return_inverse=True)
    return Utility(
        declared=declared,
        unit=unit,
        distinct=distinct.astype(np.uint64),
        places=places.reshape(shortfall.shape),
        spread=CONTEXT.multiply(Decimal(spread), unit),
    )


def _tells_nothing_apart() -> ConfigError:
    return refused(
        _WHERE, "a utility that prefers different outputs for different inputs", "equal rows", "Correct the matrix."
    )
