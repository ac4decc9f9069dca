"""Numbers on a declared grid: ``lower``, ``lower + step``, ..., ``upper``."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite, lcm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trasgo_lib.data.domain import (
    Codes,
    Outside,
    checked_codes,
    decimal_text,
    exact_decimal,
    refuse_outside,
    refuse_rows,
    whole_steps,
)
from trasgo_lib.errors import ConfigError, InputContractError, Reason

_EXACT = 2**53
"""Whole numbers up to here are float64 values, so int and float columns encode alike."""

_FINEST = 2**48
"""Largest bound over step: beyond it neighbouring grid values are no longer far apart as float64 numbers."""

_CHUNK_ROWS = 2**15
"""Rows encoded at a time, so that what lies between stays in the cache (measured: 6 times as fast as whole columns)."""


@dataclass(frozen=True, slots=True)
class NumberDomain:
    """A grid of numbers.

    Args:
        lower: smallest value; decimal text or an int, in the column's unit; public, never taken from the data.
        upper: largest value, likewise.
        step: distance of neighbours; must divide ``upper - lower``.
        unit: the unit in words, for reports.

    Raises:
        ConfigError: bounds not exact, not finite or not in order, a step that does not divide the range, more than
            2**20 values, or a grid too fine for float64.
    """

    lower: str | int
    upper: str | int
    step: str | int = "1"
    unit: str = ""
    size: int = field(init=False, compare=False)
    _first: Fraction = field(init=False, repr=False, compare=False)
    _step: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lower, upper = exact_decimal(self.lower, "lower"), exact_decimal(self.upper, "upper")
        step = exact_decimal(self.step, "step")
        size = whole_steps(lower, upper, step) + 1
        largest = max(abs(Fraction(lower)), abs(Fraction(upper)))
        if largest > _EXACT or largest / Fraction(step) > _FINEST:
            raise ConfigError.of(
                Reason.BAD_DOMAIN,
                "step",
                required="bounds up to 2**53, and up to 2**48 steps from zero",
                came=f"{decimal_text(lower)} to {decimal_text(upper)} by {decimal_text(step)}",
                fix="Use a coarser step or a larger unit.",
            )
        for name, value in (("lower", lower), ("upper", upper), ("step", step)):
            object.__setattr__(self, name, decimal_text(value))
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "_first", Fraction(lower))
        object.__setattr__(self, "_step", Fraction(step))

    @property
    def kind(self) -> str:
        """``number``."""
        return "number"

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number, so that int64 is released."""
        return self._first.denominator == 1 and self._step.denominator == 1

    @property
    def values(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """Every domain value in code order: int64[size] or correctly rounded float64[size]."""
        return self.decode(np.arange(self.size, dtype=np.int32))

    def describe(self) -> dict[str, Any]:
        """Strict JSON: kind, bounds and step as decimal text, unit, size."""
        return {
            "kind": self.kind,
            "lower": self.lower,
            "upper": self.upper,
            "step": self.step,
            "unit": self.unit,
            "size": self.size,
        }

    def encode(self, values: ArrayLike, *, outside: Outside = "clip") -> Codes:
        """Nearest grid value of each number, as its code.

        Args:
            values: int or float array-like, private; no missing values.
            outside: ``clip`` moves values outside the bounds to the nearest bound, ``reject`` refuses them.

        Raises:
            InputContractError: not numbers, not finite, or outside under ``reject``; with counts only.
        """
        numbers = _as_numbers(values)
        lower, upper, flat = float(self._first), float(Fraction(self.upper)), numbers.reshape(-1)
        codes = np.empty(flat.size, dtype=np.int32)
        room = np.empty(min(_CHUNK_ROWS, flat.size), dtype=np.float64)
        beyond = 0
        for start in range(0, flat.size, _CHUNK_ROWS):
            part = flat[start : start + _CHUNK_ROWS].astype(np.float64, copy=False)
            least, most = float(part.min()), float(part.max())
            if not isfinite(least) or not isfinite(most):  # a single NaN makes both of them NaN
                _refuse_not_finite(flat)
            if outside != "clip" and (least < lower or most > upper):
                beyond += int(np.count_nonzero((part < lower) | (part > upper)))
            places = np.clip(part, lower, upper, out=room[: part.size])
            places -= lower
            places /= float(self._step)
            np.rint(places, out=places)
            # this clip guards against a quotient that rounds past the upper end
            codes[start : start + part.size] = np.clip(places, 0, self.size - 1, out=places)
        refuse_outside(beyond, outside, f"{self.lower} to {self.upper}")
        return codes.reshape(numbers.shape)

    def decode(self, codes: Codes) -> NDArray[np.int64] | NDArray[np.float64]:
        """Grid values of codes: int64 where all values are whole, else the float64 nearest the decimal value.

        Raises:
            InputContractError: a code outside ``0..size-1``.
        """
        places = checked_codes(codes, self.size).astype(np.int64)
        if self.whole:
            places *= int(self._step)
            places += int(self._first)
            return places
        scale = lcm(self._first.denominator, self._step.denominator)
        first, step = int(self._first * scale), int(self._step * scale)
        if max(abs(first), abs(first + step * (self.size - 1)), scale) <= _EXACT:
            # both operands are exact float64 numbers, so one IEEE division is correctly rounded
            return (first + step * places).astype(np.float64) / float(scale)
        distinct, where = np.unique(places, return_inverse=True)
        table = np.array([float(self._first + self._step * int(place)) for place in distinct], dtype=np.float64)
        return table[where.reshape(places.shape)] if distinct.size else np.empty(places.shape, dtype=np.float64)


def _refuse_not_finite(numbers: NDArray[Any]) -> None:
    refuse_rows(
        int(numbers.size - np.count_nonzero(np.isfinite(numbers.astype(np.float64, copy=False)))),
        Reason.NON_FINITE,
        required="finite numbers",
        came="missing or infinite values",
        fix="Correct the data, or declare missing codes and a missing policy.",
    )


def _as_numbers(values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise InputContractError.of(
            Reason.WRONG_TYPE,
            "value",
            required="int or float numbers without missing values",
            came=f"an array of type {array.dtype}",
            fix="Parse the column as declared before it is encoded.",
        )
    return array
