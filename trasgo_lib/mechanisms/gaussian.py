"""``gaussian``: discrete normal noise, clamped to the domain.

A shift by ``z`` codes has probability proportional to ``exp(-z**2 / (2 sigma**2))`` over all whole numbers, and the
mass beyond the ends is lumped there. Clamping makes it pure: with delta 0, sigma is the smallest whose certificate is
the claim. With delta above 0 it is the smallest whose exact hockey-stick sum is at most delta. Both hold for any
epsilon; the textbook sigma (valid below epsilon 1 only) is never used. Source: Canonne, Kamath and Steinke 2020 for the
discrete normal; Balle and Wang 2018 for the start of the search.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import exp, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.base import ChannelFacts
from trasgo_lib.mechanisms.calibration import (
    ScaleSearch,
    build_levels,
    is_beyond_words,
    loss_event,
    meets,
    refuse_claim,
    require_certified,
)
from trasgo_lib.mechanisms.certificate import (
    approximate_epsilon,
    has_monotone_ratios,
    pure_epsilon,
    shift_extremes,
)
from trasgo_lib.mechanisms.channel import Channel, Json, Kernel
from trasgo_lib.mechanisms.fixed_point import BITS, CONTEXT, symmetric_weights, to_fixed
from trasgo_lib.mechanisms.missing import rebuild_flag, with_flag
from trasgo_lib.mechanisms.parameters import StoredParameters, read_delta, read_epsilon, refused
from trasgo_lib.mechanisms.shift import ShiftChannel, ShiftNoise
from trasgo_lib.mechanisms.smooth_inverse import SmoothInverse

NAME = "gaussian"
VERSION = 1

MAX_CODES = 2**16
"""Each trial of the search walks the whole table in integers; at this size it takes about a second in all."""

_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
_NEGLIGIBLE = Decimal("1e-95")
_FEW_CODES = Decimal(2)
"""Below this sigma the series is summed directly; above, its Fourier transform needs fewer terms."""


def _series_sum(sigma: Decimal) -> Decimal:
    """The sum of ``exp(-z**2 / (2 sigma**2))`` over all whole numbers z, to 95 digits."""
    square = CONTEXT.multiply(sigma, sigma)
    if sigma < _FEW_CODES:
        scale, front = CONTEXT.divide(Decimal("-0.5"), square), Decimal(1)
    else:  # Poisson summation
        scale = CONTEXT.multiply(CONTEXT.multiply(_PI, _PI), CONTEXT.multiply(Decimal(-2), square))
        front = CONTEXT.multiply(sigma, CONTEXT.sqrt(CONTEXT.multiply(Decimal(2), _PI)))
    total, place = Decimal(1), 1
    while (term := CONTEXT.exp(CONTEXT.multiply(scale, Decimal(place * place)))) > _NEGLIGIBLE:
        total = CONTEXT.add(total, CONTEXT.multiply(Decimal(2), term))
        place += 1
    return CONTEXT.multiply(front, total)


def normal_shares(size: int, sigma: Decimal) -> list[int]:
    """Shares of the shifts ``0..size-2`` and of the lumped tail, as multiples of 2**-256.

    Two multiplications a step: neighbouring shares have the ratio ``q**(2z+1)``, which itself falls by ``q**2``.

    Args:
        size: number of codes, at least 2.
        sigma: in code steps, exact.
    """
    ratio = CONTEXT.exp(CONTEXT.divide(Decimal(-1), CONTEXT.multiply(Decimal(2), CONTEXT.multiply(sigma, sigma))))
    share = to_fixed(CONTEXT.divide(Decimal(1), _series_sum(sigma)))
    step, shrink = to_fixed(ratio), to_fixed(CONTEXT.multiply(ratio, ratio))
    inside, shares = share, [share]
    for _ in range(1, size - 1):
        share = (share * step) >> BITS
        step = (step * shrink) >> BITS
        shares.append(share)
        inside += 2 * share
    return [*shares, max(0, ((1 << BITS) - inside) // 2)]


def normal_noise(size: int, sigma: Decimal) -> NDArray[np.uint64]:
    """Weights of the shifts ``-(size-1)..size-1``, tails lumped at both ends.

    Args:
        size: number of codes, at least 2.
        sigma: in code steps, exact.
    """
    return symmetric_weights(normal_shares(size, sigma))


def _certificate(noise: NDArray[np.uint64], delta: Delta) -> Decimal:
    if delta.units == 0:
        return pure_epsilon(*shift_extremes(noise))
    return approximate_epsilon(noise, delta.fraction)


def sigma_guess(size: int, epsilon: float, delta: float) -> float:
    """A first sigma, in code steps: the clamped pure formula, or the unclamped one of Balle and Wang."""
    reach, normal = size - 1, NormalDist()
    pure = -reach / normal.inv_cdf(0.5 * exp(-epsilon))
    if delta == 0:
        return pure
    low, high = pure / 1e6, pure
    for _ in range(60):
        sigma = sqrt(low * high)
        half, shift = reach / (2 * sigma), epsilon * sigma / reach
        reached = normal.cdf(half - shift) - exp(epsilon) * normal.cdf(-half - shift)
        low, high = (sigma, high) if reached > delta else (low, sigma)
    return high


def _sigma_for(size: int, claim: Epsilon, delta: Delta) -> Decimal | None:
    """The smallest sigma certified for the claim; None where none comes close to it."""
    if is_beyond_words(claim):
        return None
    for level in build_levels(claim):
        start = sigma_guess(size, float(level), float(delta.fraction))
        search = ScaleSearch(lambda sigma: _certificate(normal_noise(size, sigma), delta), level, start, rising=False)
        sigma = search.find()
        if sigma is not None and meets(_certificate(normal_noise(size, sigma), delta), claim):
            return sigma
    return None


def _assemble(size: int, claim: Epsilon, delta: Delta, sigma: Decimal) -> ShiftChannel:
    noise = normal_noise(size, sigma)
    if delta.units and not has_monotone_ratios(noise):
        raise refused(
            f"{NAME} delta",
            "weights whose likelihood ratios are monotone, on which the certificate rests",
            f"{size} codes at epsilon {claim.text} and delta {delta.text}, where rounding breaks them",
            "Use delta 0, a coarser domain or a smaller epsilon.",
        )
    facts = ChannelFacts(
        name=NAME,
        version=VERSION,
        inputs=size,
        outputs=size,
        certified_epsilon=require_certified(_certificate(noise, delta), claim, NAME),
        certified_delta=delta.decimal,
        event=loss_event(claim, delta),
        parameters={"epsilon": claim.text, "delta": delta.text, "sigma": f"{sigma:f}", "codes": size},
    )
    table = ShiftNoise(noise)
    channel = ShiftChannel(facts, table, SmoothInverse(table), lambda claim: _coarsen(channel, claim))
    return channel


def _coarsen(channel: ShiftChannel, claim: Epsilon) -> Kernel:
    # imported late: the chain's tables are built from those of this module
    from trasgo_lib.mechanisms.gaussian_chain import coarsening_kernel

    return coarsening_kernel(channel, claim)


def build_gaussian(
    domain: Domain, epsilon: object, *, delta: object = "0", missing: bool = False, fill: int | None = None
) -> Channel:
    """Clamped discrete normal noise over a number or date domain.

    Args:
        domain: declared domain of at most 2**16 codes.
        epsilon: decimal text.
        delta: decimal text; 0 gives pure epsilon.
        missing: whether a missing value is one more code; not with a delta above 0.
        fill: the code a missing value carries through the value channel; the middle by default.

    Raises:
        ConfigError: too many codes, a missing code together with delta, or an epsilon that cannot be realised.
    """
    claim, failure, size = read_epsilon(NAME, epsilon), read_delta(NAME, delta), domain.size
    _require_supported(size, failure, missing)
    sigma = _sigma_for(size, claim, failure)
    if sigma is None:
        refuse_claim(NAME, size, claim, lambda trial: _sigma_for(size, trial, failure) is not None)
    channel = _assemble(size, claim, failure, sigma)
    return with_flag(channel, claim, fill) if missing else channel


def rebuild_gaussian(domain: Domain, parameters: Mapping[str, Json]) -> Channel:
    """The channel of stored parameters, without a search.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: the weights prove less than the claim.
    """
    stored = StoredParameters(NAME, parameters)
    stored.require_size(domain.size)
    claim, delta = read_epsilon(NAME, stored.text("epsilon")), read_delta(NAME, stored.text("delta"))
    sigma, flag = stored.decimal("sigma"), rebuild_flag(stored, domain.size)
    stored.finish()
    _require_supported(domain.size, delta, flag is not None)
    channel = _assemble(domain.size, claim, delta, sigma)
    return channel if flag is None else flag.attach(channel, claim)


def _require_supported(size: int, delta: Delta, missing: bool) -> None:
    if size > MAX_CODES:
        raise refused(
            f"{NAME} domain", f"at most {MAX_CODES} codes", f"{size} codes", "Use a coarser step, or laplace."
        )
    if delta.units and missing:
        raise refused(
            f"{NAME} delta", "0 where a missing value is a code", delta.text, "Use delta 0, or missing: {replace: ...}."
        )
