"""``laplace``: two-sided geometric noise, clamped to the domain; pure epsilon.

The noise spans the whole domain: a shift by ``z`` codes has probability ``(1-a)/(1+a) * a**|z|`` with
``a = exp(-epsilon/N)``, and the mass beyond the ends is lumped there. Source: Ghosh, Roughgarden and Sundararajan 2009
(truncated geometric mechanism); Gupte and Sundararajan 2010 for its inverse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.base import ChannelFacts
from trasgo_lib.mechanisms.calibration import (
    build_levels,
    is_beyond_words,
    loss_event,
    meets,
    refuse_claim,
    require_certified,
)
from trasgo_lib.mechanisms.certificate import published, pure_epsilon, shift_extremes
from trasgo_lib.mechanisms.channel import Channel, Json, Kernel
from trasgo_lib.mechanisms.coupling import unreachable_step
from trasgo_lib.mechanisms.fixed_point import BITS, CONTEXT, symmetric_weights, to_fixed
from trasgo_lib.mechanisms.geometric_kernel import geometric_kernel
from trasgo_lib.mechanisms.missing import rebuild_flag, with_flag
from trasgo_lib.mechanisms.parameters import StoredParameters, read_epsilon
from trasgo_lib.mechanisms.shift import ShiftChannel, ShiftNoise

NAME = "laplace"
VERSION = 1


def geometric_noise(size: int, epsilon: Decimal) -> NDArray[np.uint64]:
    """Weights of the shifts ``-(size-1)..size-1``, tails lumped at both ends.

    Args:
        size: number of codes, at least 2.
        epsilon: the level over the whole domain, exact.
    """
    reach = size - 1
    decay = CONTEXT.exp(CONTEXT.divide(epsilon, Decimal(-reach)))
    centre = CONTEXT.divide(CONTEXT.subtract(Decimal(1), decay), CONTEXT.add(Decimal(1), decay))
    tail = CONTEXT.divide(CONTEXT.exp(CONTEXT.minus(epsilon)), CONTEXT.add(Decimal(1), decay))
    factor, share = to_fixed(decay), to_fixed(centre)
    shares = [share]
    for _ in range(1, reach):
        share = (share * factor) >> BITS
        shares.append(share)
    return symmetric_weights([*shares, to_fixed(tail)])


@dataclass(frozen=True, slots=True)
class GeometricInverse:
    """Closed-form inverse of clamped geometric noise.

    Args:
        size: number of codes.
        decay: a, the ratio of neighbouring weights.
        complement: 1 - a, kept apart because the difference of two floats would lose its digits on large domains.
    """

    size: int
    decay: float
    complement: float

    def scores(self) -> tuple[NDArray[np.float64], float]:
        """The unbiased decoder moves the two end codes only: -a/(1-a) and N + a/(1-a)."""
        scores = np.arange(self.size, dtype=np.float64)
        scores[0] = -self.decay / self.complement
        scores[-1] += self.decay / self.complement
        return scores, 0.0

    def frequencies(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unbiased in linear time: with the end outputs scaled by 1-a the rows are ``a**|i-y|`` up to a constant.

        Its inverse is the tridiagonal matrix of Kac, Murdock and Szegő. Written as second differences, so that no
        digits are lost where a is close to 1.
        """
        scaled = histogram.copy()
        scaled[[0, -1]] *= self.complement
        a, b = self.decay, self.complement
        inner = scaled.copy()
        if self.size > 2:
            inner[1:-1] = b * b * scaled[1:-1] + a * (2 * scaled[1:-1] - scaled[:-2] - scaled[2:])
        inner[0] = scaled[0] - a * scaled[1]
        inner[-1] = scaled[-1] - a * scaled[-2]
        return inner / (b * b)


def geometric_inverse(size: int, epsilon: Decimal) -> GeometricInverse:
    """The inverse of the noise of one exact level."""
    decay = CONTEXT.exp(CONTEXT.divide(epsilon, Decimal(1 - size)))
    return GeometricInverse(size, float(decay), float(CONTEXT.subtract(Decimal(1), decay)))


def _certificate(noise: NDArray[np.uint64]) -> Decimal:
    return pure_epsilon(*shift_extremes(noise))


def _assemble(size: int, claim: Epsilon, level: Decimal, noise: NDArray[np.uint64], proven: Decimal) -> ShiftChannel:
    facts = ChannelFacts(
        name=NAME,
        version=VERSION,
        inputs=size,
        outputs=size,
        certified_epsilon=proven,
        certified_delta=Decimal(0),
        event=loss_event(claim),
        parameters={"epsilon": claim.text, "level": f"{level:f}", "codes": size},
    )
    return ShiftChannel(facts, ShiftNoise(noise), geometric_inverse(size, level), partial(_coarsen, size, level))


def _coarsen(size: int, finer: Decimal, claim: Epsilon) -> Kernel:
    for level in build_levels(claim):
        if level < finer and (kernel := geometric_kernel(size, finer, level)).rounding_error is not None:
            return kernel
    raise unreachable_step(NAME, claim)


def _build_value(size: int, claim: Epsilon) -> ShiftChannel | None:
    for level in () if is_beyond_words(claim) else build_levels(claim):
        noise = geometric_noise(size, level)
        certificate = _certificate(noise)
        if meets(certificate, claim):
            return _assemble(size, claim, level, noise, published(certificate))
    return None


def build_laplace(domain: Domain, epsilon: object, *, missing: bool = False, fill: int | None = None) -> Channel:
    """Clamped geometric noise over a number or date domain.

    Args:
        domain: declared domain; its size fixes the noise, since a record may move anywhere in it.
        epsilon: decimal text.
        missing: whether a missing value is one more code.
        fill: the code a missing value carries through the value channel; the middle by default.

    Raises:
        ConfigError: an epsilon that 64-bit weights cannot realise on this domain.
    """
    claim = read_epsilon(NAME, epsilon)
    channel = _build_value(domain.size, claim)
    if channel is None:
        refuse_claim(NAME, domain.size, claim, lambda trial: _build_value(domain.size, trial) is not None)
    return with_flag(channel, claim, fill) if missing else channel


def rebuild_laplace(domain: Domain, parameters: Mapping[str, Json]) -> Channel:
    """The channel of stored parameters, without a search.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: the weights prove less than the claim.
    """
    stored = StoredParameters(NAME, parameters)
    stored.require_size(domain.size)
    claim, level = read_epsilon(NAME, stored.text("epsilon")), stored.decimal("level")
    flag = rebuild_flag(stored, domain.size)
    stored.finish()
    noise = geometric_noise(domain.size, level)
    proven = require_certified(_certificate(noise), claim, NAME)
    channel = _assemble(domain.size, claim, level, noise, proven)
    return channel if flag is None else flag.attach(channel, claim)
