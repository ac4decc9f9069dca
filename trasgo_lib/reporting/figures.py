"""Derived figures as people read them: three significant digits, thousands apart, no exponent where none is needed."""

from __future__ import annotations

from math import ceil, isfinite, log10


def figure_text(value: float) -> str:
    """A figure with three significant digits.

    Args:
        value: finite.

    Raises:
        ValueError: NaN or infinity.
    """
    if not isfinite(value):
        raise ValueError("a figure is finite")
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        return f"{value:.2e}"
    if size >= 100:
        return f"{round(value):,}"
    return f"{value:.3g}"


def percent_text(share: float) -> str:
    """A share in percent with three significant digits; never 100 % for less than all."""
    if share >= 1:
        return "100 %"
    value = 100 * share
    if value > 99.9:
        return "over 99.9 %"
    return f"{figure_text(value)} %"


def bound_text(share: float) -> str:
    """A probability that is not passed, in percent and rounded up: three digits, more where it is near certainty."""
    if share > 0.99999:
        return "almost 100 %"
    places = 3 if share >= 0.99 else max(0, 2 - int(log10(100 * share))) if share >= 0.01 else 4
    return f"{ceil(round(100 * share * 10**places, 6)) / 10**places:g} %"


def count_text(value: float) -> str:
    """A number of rows: whole from 10 on, else one decimal."""
    return f"{round(value):,}" if value >= 10 else f"{value:.1f}"
