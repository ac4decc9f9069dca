"""Scales of central noise, and how far it moves an answer: public arithmetic that draws nothing.

A scale is a float64 number read as the exact rational it stands for. It is a few parts in 1e15 above the ratio it is
made from, so that a certificate that rounds up stays within the claim.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist

from trasgo_lib.amounts import Epsilon, Rho

_SLACK = Fraction(1, 2**47)
"""Relative room for the upward rounding of a certificate in float64 (one part in 2**52 a step)."""

_SUMMED_SIGMA = 500
"""Up to this scale the tail of the discrete Gaussian is summed; above it the normal one is within 1e-6 of it."""

_DIGITS = 40


def laplace_scale(l1: int, epsilon: Epsilon) -> float:
    """Scale of discrete Laplace noise on a whole-number statistic.

    Args:
        l1: L1 sensitivity, at least 1; public.
        epsilon: claim for one privacy unit, nats.

    Returns:
        At least ``l1 / epsilon``.

    Source:
        Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms" (2009).
    """
    return float_above(Fraction(l1) / epsilon.fraction)


def gaussian_scale(l2_squared: int, rho: Rho) -> float:
    """Scale of discrete Gaussian noise on a whole-number statistic.

    Args:
        l2_squared: square of the L2 sensitivity, at least 1; public.
        rho: claim for one privacy unit.

    Returns:
        At least ``sqrt(l2_squared / (2 rho))``.

    Source:
        Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Theorem 4.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        ratio = Fraction(l2_squared) / (2 * rho.fraction)
        root = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).sqrt().next_plus()
    return float_above(Fraction(root))


def selection_scale(linf: int, epsilon: Epsilon) -> float:
    """Scale of the noise on the scores of one selection: exponential noise (noisy max) or Gumbel noise (exponential).

    Args:
        linf: by how much one privacy unit can move any score, at least 1; public.
        epsilon: claim of one selection, nats.

    Source:
        McSherry, Talwar, "Mechanism design via differential privacy" (2007), Theorem 6; McKenna, Sheldon,
        "Permute-and-flip" (2020), Theorem 1. Both need ``2 * linf / epsilon``, since scores can move both ways.
    """
    return float_above(2 * Fraction(linf) / epsilon.fraction)


def concentrated_selection_scale(linf: int, rho: Rho) -> float:
    """Scale of Gumbel noise for one selection of a concentrated loss: ``epsilon**2 / 8`` is ``rho``.

    Source:
        Cesar, Rogers, "Bounding, concentrating, and truncating" (2021), Lemma 3.2 (bounded range).
    """
    return gaussian_scale(4 * linf * linf, Rho(4 * rho.units))


def l2_above(l2_squared: int) -> float:
    """The L2 sensitivity as a float64 number, not below it."""
    with localcontext() as context:
        context.prec = _DIGITS
        exact = Decimal(l2_squared).sqrt().next_plus()
    root = float(exact)
    return root if Fraction(root) ** 2 >= l2_squared else math.nextafter(root, math.inf)


def laplace_half_width(scale: float, share: float = 0.05) -> int:
    """The least whole ``h`` such that discrete Laplace noise passes ``h`` in size with probability at most ``share``.

    Args:
        scale: of the noise, in steps.
        share: allowed probability, 0 to 1.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        ratio = (-1 / Decimal(scale)).exp()
        # P(|Z| > h) = 2 ratio**(h+1) / (1 + ratio)
        bound = (Decimal(repr(share)) * (1 + ratio) / 2).ln() / ratio.ln() - 1
        return max(0, int(bound.to_integral_value(ROUND_CEILING)))


def gaussian_half_width(sigma: float, share: float = 0.05) -> int:
    """The same for discrete Gaussian noise of scale ``sigma``."""
    if sigma > _SUMMED_SIGMA:
        return math.ceil(NormalDist(0, sigma).inv_cdf(1 - share / 2))
    widest = math.ceil(12 * sigma) + 2
    mass = [math.exp(-((place / sigma) ** 2) / 2) for place in range(widest + 1)]
    total = mass[0] + 2 * math.fsum(mass[1:])
    tail = 2 * math.fsum(mass[1:])
    for place in range(widest):
        if tail <= share * total:
            return place
        tail -= 2 * mass[place + 1]
    return widest


def selection_shortfall(scale: float, candidates: int, share: float = 0.05) -> int:
    """By how much the score of what is selected can fall short of the best, but with probability ``share``.

    Args:
        scale: of the noise on the scores.
        candidates: how many there are.
        share: allowed probability, 0 to 1.

    Source:
        McSherry, Talwar (2007), Theorem 7; permute-and-flip is never worse (McKenna, Sheldon 2020, Theorem 2).
    """
    return math.ceil(scale * math.log(candidates / share))


def float_above(ratio: Fraction) -> float:
    """A float64 number that is a few parts in 1e15 above a ratio, and never below it."""
    wanted = ratio * (1 + _SLACK)
    found = float(wanted)
    return found if Fraction(found) >= wanted else math.nextafter(found, math.inf)
