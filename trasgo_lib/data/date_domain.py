"""Days on a declared grid."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data.domain import (
    Codes,
    Outside,
    checked_codes,
    exact_decimal,
    refuse_outside,
    refuse_rows,
    whole_steps,
)
from trasgo_lib.errors import ConfigError, InputContractError, Reason


@dataclass(frozen=True, slots=True)
class DateDomain:
    """A grid of days.

    Args:
        lower: first day, ISO text such as ``"2017-01-01"``; public, never taken from the data.
        upper: last day, likewise.
        step: whole number of days between neighbours; must divide the range.

    Raises:
        ConfigError: bounds not ISO days or not in order, a step that is not whole or does not divide the range.
    """

    lower: str
    upper: str
    step: str | int = "1"
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        lower, upper = _day(self.lower, "lower"), _day(self.upper, "upper")
        step = exact_decimal(self.step, "step")
        if step != step.to_integral_value() or step <= 0:
            raise ConfigError.of(
                Reason.BAD_DOMAIN, "step", required="whole days", came=str(self.step), fix='Write it as in "7".'
            )
        if upper <= lower:
            raise ConfigError.of(
                Reason.BAD_DOMAIN,
                "upper",
                required=f"a day after lower, which is {lower.isoformat()}",
                came=upper.isoformat(),
                fix="Exchange lower and upper." if upper < lower else "A domain needs at least two days.",
            )
        days = Decimal((upper - lower).days)

        def day(after: Decimal | Fraction) -> str:
            return (lower + timedelta(days=min(int(after), (date.max - lower).days))).isoformat()

        object.__setattr__(self, "size", whole_steps(Decimal(0), days, step, day) + 1)
        object.__setattr__(self, "step", str(int(step)))

    @property
    def kind(self) -> str:
        """``date``."""
        return "date"

    @property
    def values(self) -> NDArray[np.datetime64]:
        """Every day in code order: datetime64[D][size]."""
        return self.decode(np.arange(self.size, dtype=np.int32))

    def describe(self) -> dict[str, Any]:
        """Strict JSON: kind, first and last day in ISO form, step in days as text, size."""
        return {
            "kind": self.kind,
            "lower": self.lower,
            "upper": self.upper,
            "step": str(self.step),
            "unit": "days",
            "size": self.size,
        }

    def encode(self, values: Any, *, outside: Outside = "clip") -> Codes:
        """Nearest grid day of each day, as its code; half a step goes to the later day.

        Args:
            values: days, private: datetime64 of any unit (cut to the day), a pyarrow date or timestamp array, or a
                sequence of ``datetime.date``; no missing values.
            outside: ``clip`` moves days outside the bounds to the nearest bound, ``reject`` refuses them.

        Raises:
            InputContractError: not days, missing, or outside under ``reject``; with counts only.
        """
        days = _as_days(values)
        refuse_rows(
            int(np.count_nonzero(np.isnat(days))),
            Reason.NULL_VALUE,
            required="a day in every row",
            came="missing values",
            fix="Declare a missing policy for the column.",
        )
        lower, upper = np.datetime64(self.lower, "D"), np.datetime64(self.upper, "D")
        refuse_outside(int(np.count_nonzero((days < lower) | (days > upper))), outside, f"{self.lower} to {self.upper}")
        since = (np.clip(days, lower, upper) - lower).astype(np.int64)
        step = int(self.step)
        return ((since + step // 2) // step).astype(np.int32)

    def decode(self, codes: Codes) -> NDArray[np.datetime64]:
        """Days of codes: datetime64[D][rows].

        Raises:
            InputContractError: a code outside ``0..size-1``.
        """
        places = checked_codes(codes, self.size).astype(np.int64)
        return np.datetime64(self.lower, "D") + (places * int(self.step)).astype("timedelta64[D]")


def _day(text: object, where: str) -> date:
    try:
        if isinstance(text, str) and len(text) == len("2017-01-01"):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise ConfigError.of(
        Reason.BAD_DOMAIN, where, required="a day as year-month-day", came=repr(text), fix='Write "2017-01-31".'
    )


def _as_days(values: Any) -> NDArray[np.datetime64]:
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = array.astype("datetime64[D]")
    except (TypeError, ValueError):
        # numpy quotes the offending value, so its message must not travel
        array = np.empty(0, dtype=object)
    if array.dtype.kind != "M":
        raise InputContractError.of(
            Reason.WRONG_TYPE,
            "value",
            required="days",
            came=f"an array of type {array.dtype}",
            fix="Declare the date format of the column.",
        )
    return array.astype("datetime64[D]")
