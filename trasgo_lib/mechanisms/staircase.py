"""``staircase``: clamped staircase noise; the noise density falls by ``exp(-epsilon)`` once, at a declared width.

With the whole range N as sensitivity, the staircase of Geng and Viswanath has two steps inside -N..N: shifts below
``width`` have probability h, those from it up to N have ``h q`` with ``q = exp(-epsilon)``, and what lies beyond each
end is lumped there: ``q (1 + h) / 2``. So every output has the same largest ratio, exactly ``exp(epsilon)``:

    h = (1 - q) / ((2 width - 1) + (2 (N - width) + 1) q).

A missing value cannot be one more code beside it: every row differs from every fill row by the whole epsilon at some
output, so nothing is left for a flag. Source: Geng and Viswanath 2014 (staircase mechanism), section 4; the width of
least mean absolute error is ``N / (1 + exp(epsilon / 2))``, the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.base import ChannelFacts
from trasgo_lib.mechanisms.calibration import (
    SLACK,
    build_levels,
    is_beyond_words,
    loss_event,
    meets,
    refuse_claim,
    require_certified,
)
from trasgo_lib.mechanisms.certificate import pure_epsilon, shift_extremes
from trasgo_lib.mechanisms.channel import Channel, Json, Kernel
from trasgo_lib.mechanisms.coupling import unreachable_step
from trasgo_lib.mechanisms.dense import MAX_DENSE_CODES
from trasgo_lib.mechanisms.fixed_point import CONTEXT, symmetric_weights, to_fixed
from trasgo_lib.mechanisms.parameters import StoredParameters, read_epsilon, refused
from trasgo_lib.mechanisms.refresh_chain import RefreshProduct
from trasgo_lib.mechanisms.shift import ShiftChannel, ShiftNoise
from trasgo_lib.mechanisms.smooth_inverse import SmoothInverse

NAME = "staircase"
VERSION = 1


def staircase_noise(size: int, width: int, epsilon: Decimal) -> NDArray[np.uint64]:
    """Weights of the shifts ``-(size-1)..size-1``, tails lumped at both ends.

    Args:
        size: number of codes, at least 2.
        width: first shift of the lower step, 1 to ``size - 1``.
        epsilon: the level over the whole domain, exact.
    """
    reach = size - 1
    with localcontext(CONTEXT):
        low = (-epsilon).exp()
        high = (1 - low) / ((2 * width - 1) + (2 * (reach - width) + 1) * low)
        tail = low * (1 + high) / 2
    upper, lower = to_fixed(high), to_fixed(CONTEXT.multiply(high, low))
    return symmetric_weights([*[upper] * width, *[lower] * (reach - width), to_fixed(tail)])


def read_width(width: object, size: int, claim: Epsilon) -> int:
    """The declared width in code steps; by default the one of least mean absolute error at a level.

    Raises:
        ConfigError: not a whole number from 1 to ``size - 1``.
    """
    if width is None:
        with localcontext(CONTEXT):
            best = Decimal(size - 1) / (1 + (claim.decimal / 2).exp())
            return max(1, int(best.to_integral_value(rounding=ROUND_HALF_EVEN)))
    if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width < size:
        came = repr(width) if isinstance(width, (bool, int)) else type(width).__name__
        raise refused(f"{NAME} width", f"a whole number from 1 to {size - 1}", came, "Leave it out for the default.")
    return width


def _certificate(noise: NDArray[np.uint64]) -> Decimal:
    return pure_epsilon(*shift_extremes(noise))


def certified_level(size: int, width: int, claim: Epsilon) -> Decimal | None:
    """The exact level whose table meets a claim; None where words cannot realise it."""
    levels = () if is_beyond_words(claim) else build_levels(claim)
    return next((level for level in levels if meets(_certificate(staircase_noise(size, width, level)), claim)), None)


def require_dense(size: int) -> None:
    """Refuse domains whose decoder would not fit.

    Raises:
        ConfigError: more than 4096 codes.
    """
    if size > MAX_DENSE_CODES:
        raise refused(
            f"{NAME} domain", f"at most {MAX_DENSE_CODES} codes", f"{size} codes", "Use a coarser step, or laplace."
        )


def solved_level(size: int, width: int, claim: Epsilon) -> Decimal:
    """The exact level whose table meets a claim.

    Raises:
        ConfigError: words cannot realise it.
    """
    level = certified_level(size, width, claim)
    if level is None:
        refuse_claim(NAME, size, claim, lambda trial: certified_level(size, width, trial) is not None)
    return level


def build_staircase(domain: Domain, epsilon: object, *, width: object = None) -> Channel:
    """Clamped staircase noise over a number or date domain.

    Args:
        domain: declared domain of at most 4096 codes.
        epsilon: decimal text.
        width: first shift of the lower step, in code steps; public.

    Raises:
        ConfigError: too many codes, a bad width, or an epsilon that 64-bit weights cannot realise.
    """
    require_dense(domain.size)
    claim = read_epsilon(NAME, epsilon)
    place = read_width(width, domain.size, claim)
    return _assemble(domain.size, claim, place, solved_level(domain.size, place, claim))


def _assemble(size: int, claim: Epsilon, width: int, level: Decimal) -> ShiftChannel:
    noise = staircase_noise(size, width, level)
    facts = ChannelFacts(
        name=NAME,
        version=VERSION,
        inputs=size,
        outputs=size,
        certified_epsilon=require_certified(_certificate(noise), claim, NAME),
        certified_delta=Decimal(0),
        event=loss_event(claim),
        parameters={"epsilon": claim.text, "level": f"{level:f}", "width": width, "codes": size},
    )
    table = ShiftNoise(noise)
    return ShiftChannel(facts, table, SmoothInverse(table), partial(_coarsen, noise))


def _coarsen(noise: NDArray[np.uint64], claim: Epsilon) -> Kernel:
    product = RefreshProduct.of(noise)
    kernel = product.kernel(product.refresh_for(claim.decimal - SLACK))
    if kernel is None:
        raise unreachable_step(NAME, claim)
    return kernel


def rebuild_staircase(domain: Domain, parameters: Mapping[str, Json]) -> Channel:
    """The channel of stored parameters, without a search.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: the weights prove less than the claim.
    """
    stored = StoredParameters(NAME, parameters)
    stored.require_size(domain.size)
    require_dense(domain.size)
    claim, level = read_epsilon(NAME, stored.text("epsilon")), stored.decimal("level")
    width = read_width(stored.integer("width", below=domain.size), domain.size, claim)
    stored.finish()
    return _assemble(domain.size, claim, width, level)
