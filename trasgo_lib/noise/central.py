"""Exact noise for central statistics, drawn and certified by OpenDP; the only module that imports it.

Unlike the draws of released rows these are **not keyed**: OpenDP takes its randomness from the operating system, so the
same call gives another answer every time. Whoever calls must store an answer, restricted, before it is committed
anywhere, and serve the stored one afterwards; drawing twice and choosing would be a second, unpaid look.

Everything is a whole number. The scale is a float64 number that OpenDP reads as an exact rational; sampling is by exact
rational arithmetic (Canonne, Kamath, Steinke 2020), so no float noise is ever added to anything. Each function asks the
map of the very measurement it draws from for its loss and refuses to draw above the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from trasgo_lib.amounts import Epsilon, Rho
from trasgo_lib.errors import BudgetError, Reason
from trasgo_lib.noise.scales import l2_above

_LARGEST = 2**62
"""Answers are 64-bit numbers, and OpenDP adds with saturation; half the range is left for the noise."""

_KEPT = 64
"""Measurements kept: making one costs milliseconds, drawing from it microseconds; they hold no state and no data."""


_Certified = tuple[Any, float]
"""A measurement with OpenDP's own bound on its loss at the sensitivity it is used with, rounded up."""


def add_laplace(values: Sequence[int], scale: float, l1: int, claim: Epsilon) -> tuple[int, ...]:
    """Add discrete Laplace noise to each number of a vector.

    Args:
        values: the exact statistic, private.
        scale: of the noise; see ``laplace_scale``.
        l1: L1 sensitivity of the vector; public.
        claim: what the draw may cost one privacy unit.

    Raises:
        BudgetError: OpenDP's map says that it costs more; nothing was drawn.
        ValueError: a number beyond 2**62.
    """
    measurement, loss = _laplace(len(values), scale, l1)
    _certify("discrete Laplace", loss, claim.fraction)
    return tuple(int(value) for value in measurement(_checked(values)))


def add_gaussian(values: Sequence[int], scale: float, l2_squared: int, claim: Rho) -> tuple[int, ...]:
    """Add discrete Gaussian noise to each number of a vector.

    Args:
        values: the exact statistic, private.
        scale: of the noise; see ``gaussian_scale``.
        l2_squared: square of the L2 sensitivity of the vector; public.
        claim: what the draw may cost one privacy unit, concentrated.

    Raises:
        BudgetError: OpenDP's map says that it costs more; nothing was drawn.
        ValueError: a number beyond 2**62.
    """
    measurement, loss = _gaussian(len(values), scale, l2_squared)
    _certify("discrete Gaussian", loss, claim.fraction)
    return tuple(int(value) for value in measurement(_checked(values)))


def noisy_max(scores: Sequence[int], scale: float, linf: int, claim: Epsilon, best: int = 1) -> tuple[int, ...]:
    """Places of the highest scores after exponential noise, highest first; no score leaves.

    Args:
        scores: private.
        scale: of the noise; see ``selection_scale``.
        linf: by how much one privacy unit can move any score; public.
        claim: what all ``best`` selections together may cost one privacy unit.
        best: how many places to report, at most the number of scores.

    Raises:
        BudgetError: OpenDP's map says that it costs more; nothing was drawn.

    Source:
        McKenna, Sheldon, "Permute-and-flip: a new mechanism for differentially private selection" (2020).
    """
    measurement, loss = _top_k(len(scores), "max_divergence", scale, best, linf)
    _certify("noisy max", loss, claim.fraction)
    return tuple(int(place) for place in measurement(_checked(scores)))


def exponential_choice(scores: Sequence[int], scale: float, linf: int, claim: Epsilon) -> int:
    """A place drawn with probability proportional to ``exp(score / scale)``: the exponential mechanism.

    It is drawn as the highest score after Gumbel noise. OpenDP certifies its concentrated loss, ``epsilon**2 / 8`` for
    a choice of bounded range ``epsilon``; that is at most ``claim**2 / 8`` exactly when ``2 linf / scale <= claim``.

    Args:
        scores: private.
        scale: of the noise; see ``selection_scale``.
        linf: by how much one privacy unit can move any score; public.
        claim: what the choice may cost one privacy unit.

    Raises:
        BudgetError: OpenDP's map says that it costs more; nothing was drawn.
    """
    measurement, loss = _top_k(len(scores), "zero_concentrated_divergence", scale, 1, linf)
    _certify("exponential mechanism", loss, claim.fraction**2 / 8)
    return int(measurement(_checked(scores))[0])


def concentrated_choice(scores: Sequence[int], scale: float, linf: int, claim: Rho, best: int = 1) -> tuple[int, ...]:
    """As ``exponential_choice``, ``best`` times without putting back, under a concentrated claim for all of them.

    Args:
        scores: private.
        scale: of the noise; see ``concentrated_selection_scale``.
        linf: by how much one privacy unit can move any score; public.
        claim: what all choices together may cost one privacy unit, concentrated.
        best: how many places to choose, best first.

    Raises:
        BudgetError: OpenDP's map says that it costs more; nothing was drawn.

    Source:
        Durfee, Rogers, "Practical differentially private top-k selection" (2019), Lemma 4.2.
    """
    measurement, loss = _top_k(len(scores), "zero_concentrated_divergence", scale, best, linf)
    _certify("Gumbel noise", loss, claim.fraction)
    return tuple(int(place) for place in measurement(_checked(scores)))


@lru_cache(maxsize=_KEPT)
def _laplace(length: int, scale: float, l1: int) -> _Certified:
    dp = _opendp()
    measurement = dp.m.make_laplace(_vectors(length), dp.l1_distance(T="i64"), scale=scale)
    return measurement, float(measurement.map(l1))


@lru_cache(maxsize=_KEPT)
def _gaussian(length: int, scale: float, l2_squared: int) -> _Certified:
    dp = _opendp()
    measurement = dp.m.make_gaussian(_vectors(length), dp.l2_distance(T="f64"), scale=scale)
    return measurement, float(measurement.map(l2_above(l2_squared)))


@lru_cache(maxsize=_KEPT)
def _top_k(length: int, measure: str, scale: float, best: int, linf: int) -> _Certified:
    dp = _opendp()
    if not 1 <= best <= length:
        raise ValueError(f"{best} of {length} scores cannot be reported")
    kind, vectors = getattr(dp, measure)(), _vectors(length)
    measurement = dp.m.make_noisy_top_k(vectors, dp.linf_distance(T="i64"), kind, k=best, scale=scale)
    return measurement, float(measurement.map(linf))


def _vectors(length: int) -> Any:
    dp = _opendp()
    return dp.vector_domain(dp.atom_domain(T="i64"), length)


def _checked(values: Sequence[int]) -> list[int]:
    plain = [int(value) for value in values]
    if any(abs(value) > _LARGEST for value in plain):
        raise ValueError("a statistic lies beyond 2**62 steps")
    return plain


def _certify(what: str, loss: float, claim: Fraction) -> None:
    """Refuse to draw above the claim; ``loss`` is OpenDP's, rounded up."""
    if not Fraction(loss) <= claim:
        raise BudgetError.of(
            Reason.CLAIM_NOT_CERTIFIED,
            what,
            required=f"a loss of at most {float(claim):.9g}, as claimed",
            came=f"{loss:.9g} by the certificate",
            fix="Nothing was drawn; report this.",
        )


@cache
def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp
