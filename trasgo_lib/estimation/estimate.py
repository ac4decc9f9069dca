"""What an estimator gives back: a value, an interval, and a reason where there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, Self

from trasgo_lib.errors import InputContractError, Reason

TargetKind = Literal["file", "population"]
"""``file``: the raw rows that were noised, so only the noise is chance. ``population``: also the draw of the rows."""

NORMAL_95 = 1.959963984540054
"""Two-sided 95 % point of the normal law."""

CONFIDENCE = 0.95
"""What intervals hold the truth with unless another share is asked for."""

BOUND_BY_BINS = "more rows hardly narrow it: values within a bin are not told apart"
"""Noted of an interval of which the decoder's bias takes more than half."""

_ROUNDING = 1e-9
"""A bias below this share of the value is what arithmetic leaves, and nobody's bins."""


def normal_point(confidence: float) -> float:
    """Two-sided point of the normal law: 1.96 for 0.95.

    Args:
        confidence: with what probability an interval is to hold the truth.

    Raises:
        InputContractError: not between 0.5 and 0.9999; further out the normal law is no guide to decoded noise.
    """
    if not (isinstance(confidence, (int, float)) and 0.5 <= confidence <= 0.9999):
        raise InputContractError.of(
            Reason.BAD_PARAMETER,
            "confidence",
            required="a share from 0.5 to 0.9999",
            came=f"{confidence}",
            fix="0.95 is usual.",
        )
    return NORMAL_95 if confidence == CONFIDENCE else NormalDist().inv_cdf((1 + confidence) / 2)


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate from released codes; as public as they are.

    Args:
        value: the estimate, or None where no useful one exists.
        low: lower end of an interval at the confidence asked for, 95 % by default; None with ``value``.
        high: its upper end; None with ``value``.
        standard_error: of the value, the bias allowed for in the interval not counted; None with ``value``.
        reason: why there is no value; None where there is one.
        note: what else is to be known of it, as that a value is interpolated; None where nothing is.
    """

    value: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    reason: str | None = None
    note: str | None = None

    @classmethod
    def of(
        cls,
        value: float,
        standard_error: float,
        *,
        bias: float = 0.0,
        within: tuple[float, float] = (-math.inf, math.inf),
        confidence: float = CONFIDENCE,
    ) -> Self:
        """A normal interval around a value.

        Args:
            value: the estimate.
            standard_error: at least 0.
            bias: largest bias of the decoder behind it; both ends are moved out by it.
            within: the range of the estimated quantity; interval ends are clipped to it, the value is not.
            confidence: of the interval.
        """
        if not (math.isfinite(value) and math.isfinite(standard_error)):
            return cls.none("the noise leaves no finite estimate")
        noise = normal_point(confidence) * standard_error
        low, high = (float(min(max(end, within[0]), within[1])) for end in (value - noise - bias, value + noise + bias))
        felt = bias > max(noise, _ROUNDING * max(1.0, abs(value)))
        return cls(float(value), low, high, float(standard_error), note=BOUND_BY_BINS if felt else None)

    @classmethod
    def none(cls, reason: str) -> Self:
        """No estimate, and why."""
        return cls(None, None, None, None, reason)

    def within(self, least: float, most: float) -> Self:
        """The same with the ends of its interval cut to what is possible."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=min(max(self.low, least), most), high=min(max(self.high, least), most))

    def covers(self, truth: float) -> bool:
        """Whether the interval holds a value; an estimate without value covers nothing."""
        return self.low is not None and self.high is not None and self.low <= truth <= self.high

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return f"none: {self.reason}"
        said = f"; {self.note}" if self.note else ""
        width = self.high - self.low
        value, low, high = (_text(number, width) for number in (self.value, self.low, self.high))
        return f"{value} ({low} to {high}){said}"


_FEWEST_DIGITS = 4
"""Significant digits of a figure, however wide its interval is."""

_DIGITS_OF_WIDTH = 3
"""Digits of the width of an interval that its ends show: a day of a narrow one must not be lost in a large number."""

_EXPONENT_FROM = 1e12
"""Numbers are written out below it."""


def _text(number: float, width: float) -> str:
    """A figure of an interval of a width, as precise as the interval is narrow and without an exponent if it can be."""
    digits = _FEWEST_DIGITS
    if number and width > 0:
        digits = max(digits, math.floor(math.log10(abs(number))) - math.floor(math.log10(width)) + _DIGITS_OF_WIDTH)
    shown = f"{number:.{min(digits, 17)}g}"
    return f"{float(shown):,.0f}" if "e+" in shown and abs(number) < _EXPONENT_FROM else shown
