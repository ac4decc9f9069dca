"""What every declared domain promises, and the exact decimal text from which domains are built.

A domain is the declared, public set of values of a column. Mechanisms never see values, only codes ``0..size-1``.
Encoding is a fixed record-wise map, so its float work cannot weaken a guarantee; nothing in a domain ever comes from
the data. Each domain is a frozen, hashable value and is rebuilt from its ``describe()``.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import ConfigError, InputContractError, Reason

Outside = Literal["clip", "reject"]
"""What happens to values outside the domain: the nearest domain value, or an input error with a count."""

Codes = NDArray[np.int32]

MAX_CODES = 2**20
"""Largest domain of numbers, dates or categories; shift families hold one weight a code."""

_MOST_DIGITS = 40
"""Digits before and after the point that a declared number may have; keeps ``1e999999`` from filling the memory."""


class Domain(Protocol):
    """A declared set of values, numbered from 0."""

    @property
    def kind(self) -> str:
        """``number``, ``category``, ``date``, ``box`` or ``cells``."""

    @property
    def size(self) -> int:
        """Number of codes; a missing value, where it is released as a code of its own, is not counted."""

    def describe(self) -> dict[str, Any]:
        """The domain as strict JSON (public; no floats), from which ``domain_from_description`` rebuilds it."""

    def encode(self, *values: Any, **options: Any) -> Codes:
        """Private values to private codes: int32[rows] in ``0..size-1``."""

    def decode(self, codes: Codes) -> Any:
        """Codes to domain values, one or two arrays of the released type."""


def exact_decimal(value: object, where: str) -> Decimal:
    """Read a declared number exactly.

    Args:
        value: decimal text or an int; public. Floats and Booleans are refused.
        where: the key that holds it, for the error.

    Raises:
        ConfigError: not decimal text, not finite, or with more than 40 digits on a side of the point.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            where,
            required="exact decimal text",
            came=f"{value!r}, a {type(value).__name__}" if isinstance(value, (bool, float)) else type(value).__name__,
            fix='Quote it, as in "0.5".',
        )
    try:
        number = Decimal(value.strip() if isinstance(value, str) else value)
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite():
        raise ConfigError.of(
            Reason.BAD_DOMAIN, where, required="a finite decimal", came=repr(str(value)), fix="Correct the number."
        )
    exponent = number.as_tuple().exponent
    if number.adjusted() >= _MOST_DIGITS or (isinstance(exponent, int) and exponent < -_MOST_DIGITS):
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            where,
            required=f"at most {_MOST_DIGITS} digits before and after the point",
            came=repr(str(value)),
            fix="Round the number or change its unit.",
        )
    return number


def decimal_text(number: Decimal | Fraction | int) -> str:
    """Plain decimal text without exponent or trailing zeros; ``number`` must have a finite decimal expansion."""
    exact = Fraction(number)
    places = 0
    while exact.denominator != 1:
        exact *= 10
        places += 1
    sign = "-" if exact < 0 else ""
    digits = str(abs(exact.numerator)).rjust(places + 1, "0")
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def whole_steps(
    lower: Decimal, upper: Decimal, step: Decimal, written: Callable[[Decimal | Fraction], str] = decimal_text
) -> int:
    """How many whole steps lead from ``lower`` to ``upper``.

    Args:
        lower: smallest value.
        upper: largest value.
        step: distance of neighbours.
        written: how an end stands in the release file.

    Raises:
        ConfigError: bounds not in order, a step that is not positive or does not divide the range, more than 2**20
            values.
    """
    if lower >= upper:
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            "upper",
            required=f"more than lower, which is {decimal_text(lower)}",
            came=decimal_text(upper),
            fix="Exchange lower and upper."
            if lower > upper
            else "A domain needs at least two values; use role: drop or public for a constant column.",
        )
    if step <= 0:
        raise ConfigError.of(
            Reason.BAD_DOMAIN, "step", required="more than 0", came=decimal_text(step), fix="Write a positive step."
        )
    steps = (Fraction(upper) - Fraction(lower)) / Fraction(step)
    if steps.denominator != 1:
        reachable = Fraction(lower) + (steps.numerator // steps.denominator) * Fraction(step)
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            "step",
            required="a step that divides upper - lower",
            came=f"{decimal_text(step)} from {written(lower)} to {written(upper)}",
            fix=f"Change the step, or set upper to {written(reachable)} or {written(reachable + Fraction(step))}.",
        )
    if steps >= MAX_CODES:
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            "step",
            required=f"at most {MAX_CODES} values",
            came=f"{int(steps) + 1} values",
            fix="Use a coarser step.",
        )
    return int(steps)


def checked_codes(codes: Codes, size: int) -> Codes:
    """The codes as they came, once all of them are known to stand in ``0..size-1``.

    Raises:
        InputContractError: with the number of codes outside.
    """
    array = np.asarray(codes)
    if array.dtype.kind not in "iu":
        raise InputContractError.of(
            Reason.WRONG_TYPE, "codes", required="integer codes", came=str(array.dtype), fix="Pass encoded values."
        )
    if array.size and (array.min() < 0 or array.max() >= size):
        raise InputContractError.of(
            Reason.OUT_OF_DOMAIN,
            "codes",
            required=f"codes from 0 to {size - 1}",
            came="other codes",
            fix="Encode the values with this domain first.",
            rows=int(np.count_nonzero((array < 0) | (array >= size))),
        )
    return array


def refuse_outside(rows: int, outside: Outside, required: str) -> None:
    """Raise for values outside the domain when the policy is ``reject``.

    Args:
        rows: how many values are outside; private.
        outside: the column's policy.
        required: the domain in words; public.

    Raises:
        InputContractError: ``OUT_OF_DOMAIN`` with the count.
    """
    if outside not in ("clip", "reject"):
        raise ConfigError.of(
            Reason.BAD_PARAMETER, "outside", required="clip or reject", came=repr(outside), fix="Choose one of the two."
        )
    if rows and outside == "reject":
        raise InputContractError.of(
            Reason.OUT_OF_DOMAIN,
            "value",
            required=required,
            came="values outside it",
            fix="Correct the data, widen the domain, or declare outside: clip where the type allows it.",
            rows=rows,
        )


def refuse_rows(rows: int, reason: Reason, required: str, came: str, fix: str) -> None:
    """Raise an input error when ``rows``, a private count, is not zero.

    Raises:
        InputContractError: with the count.
    """
    if rows:
        raise InputContractError.of(reason, "value", required=required, came=came, fix=fix, rows=rows)
