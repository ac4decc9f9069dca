"""Declared distributions as shares over the codes of a domain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import Domain
from trasgo_lib.data.bins import EqualBins

_LARGEST_EXPONENT = 40
"""As for domains: no value lies beyond 1e40."""


def place_of(domain: Domain, text: str) -> float | None:
    """Where a value lies on the codes of a number or date domain, in steps from the lower end; None when it is none.

    Args:
        domain: a number or date domain.
        text: a decimal number, or a day as year-month-day.
    """
    facts = domain.describe()
    try:
        if facts["kind"] == "date":
            distance = Decimal((date.fromisoformat(text) - date.fromisoformat(facts["lower"])).days)
        else:
            value = Decimal(text)
            if not value.is_finite() or abs(value.adjusted()) > _LARGEST_EXPONENT:
                return None
            distance = value - Decimal(facts["lower"])
        return float(distance / Decimal(facts["step"]))
    except (ValueError, InvalidOperation):
        return None


def normal_law(size: int, mean: float, deviation: float) -> NDArray[np.float64]:
    """A normal law over codes, renormalised.

    Args:
        size: number of codes.
        mean: in steps from the lower end.
        deviation: in steps, above 0.
    """
    exponents = -0.5 * ((np.arange(size) - mean) / deviation) ** 2
    # from the likeliest code, so that a narrow law between two codes does not vanish
    weights: NDArray[np.float64] = np.exp(exponents - exponents.max())
    weights /= weights.sum()
    return weights


def quantile_law(size: int, quantiles: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """A law that is even between quantiles and the ends of the domain; every code reaches half a step to each side.

    Args:
        size: number of codes.
        quantiles: shares of the rows, rising, each with the place up to which they are, in steps, not falling.
    """
    places = np.array([-0.5, *(place for _, place in quantiles), size - 0.5])
    reached = np.array([0.0, *(share for share, _ in quantiles), 1.0])
    edges = np.arange(size + 1) - 0.5
    shares: NDArray[np.float64] = np.diff(np.interp(edges, places, reached))
    shares /= shares.sum()
    return shares


def parts_law(size: int, parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """A law that is even within each of equal parts of the domain.

    Args:
        size: number of codes.
        parts: float64[parts], 2 to ``size`` of them, summing to 1.
    """
    of_codes = EqualBins(size, len(parts)).of_codes
    shares: NDArray[np.float64] = (parts / np.bincount(of_codes))[of_codes]
    return shares
