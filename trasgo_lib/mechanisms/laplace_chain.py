"""The chain of ``laplace``: clamped geometric noise at every level, any domain size.

The ideal matrices satisfy ``K2 R = K1`` (proof in ``geometric_kernel``). Every integer matrix is within a relative
error ``e`` of its ideal, entry by entry, so each entry of the product of those that ran lies within the product of
``1 - e`` and ``1 + e`` of the ideal level, and

    largest log-ratio  <=  exact level  +  sum over matrices of log((1 + e) / (1 - e)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.calibration import build_levels, is_beyond_words, meets, refuse_claim
from trasgo_lib.mechanisms.certificate import rounded_up
from trasgo_lib.mechanisms.channel import Json
from trasgo_lib.mechanisms.coupling import Coupling, Ladder, level_facts, unreachable_step
from trasgo_lib.mechanisms.flag_chain import Sides
from trasgo_lib.mechanisms.geometric_kernel import GeometricKernel, geometric_kernel, rounding_error
from trasgo_lib.mechanisms.laplace import NAME, VERSION, geometric_inverse, geometric_noise
from trasgo_lib.mechanisms.parameters import StoredParameters, refused
from trasgo_lib.mechanisms.shift import ShiftChannel, ShiftNoise


@dataclass(frozen=True, slots=True)
class _Rounding:
    """What integer rounding has added so far.

    Args:
        loss: bound on its share of the largest log-ratio.
        growth: the product of ``(1 + e) / (1 - e)``; entries lie within this factor of the ideal.
    """

    loss: Fraction = Fraction(0)
    growth: Fraction = Fraction(1)

    def with_error(self, error: Fraction) -> _Rounding:
        """One more matrix; ``log((1 + e) / (1 - e)) <= 2 e / (1 - e)``."""
        growth = Fraction(rounded_up(self.growth * (1 + error) / (1 - error)))
        return _Rounding(self.loss + 2 * error / (1 - error), growth)

    def certificate(self, level: Decimal) -> Decimal:
        """Bound on the largest log-ratio of the product at an exact level."""
        with localcontext(Context(prec=60, rounding=ROUND_CEILING)):
            return level + rounded_up(self.loss)


def _levels_for(size: int, ladder: Ladder) -> tuple[Decimal, ...] | None:
    """Exact levels of the tables, the lowest first; None where the top level cannot be met.

    Raises:
        ConfigError: a lower level that cannot be met.
    """
    if is_beyond_words(ladder.top):
        return None
    found: list[Decimal] = []
    rounding = _Rounding()
    for claim in reversed(ladder.claims):
        step = _first_certified(size, claim, found[-1] if found else None, rounding)
        if step is None:
            if not found:
                return None
            raise unreachable_step(NAME, claim)
        level, rounding = step
        found.append(level)
    return tuple(reversed(found))


def _first_certified(
    size: int, claim: Epsilon, above: Decimal | None, rounding: _Rounding
) -> tuple[Decimal, _Rounding] | None:
    for level in build_levels(claim):
        error = _error(size, level, above)
        if error is not None and meets(rounding.with_error(error).certificate(level), claim):
            return level, rounding.with_error(error)
    return None


def _error(size: int, level: Decimal, above: Decimal | None) -> Fraction | None:
    if above is None:
        return rounding_error(geometric_noise(size, level))
    return geometric_kernel(size, above, level).rounding_error if level < above else None


def search_laplace(domain: Domain, ladder: Ladder) -> dict[str, Json]:
    """Parameters of the chain: the exact level of every table.

    Raises:
        ConfigError: a claim that words cannot realise on this domain.
    """
    levels = _levels_for(domain.size, ladder)
    if levels is None:
        refuse_claim(
            NAME, domain.size, ladder.top, lambda trial: _levels_for(domain.size, Ladder((trial,))) is not None
        )
    return {"levels": ladder.texts, "codes": domain.size, "exact": [f"{level:f}" for level in levels]}


def couple_laplace(domain: Domain, parameters: Mapping[str, Json]) -> Coupling:
    """The coupled levels of stored parameters.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: some level's integers prove less than its claim.
    """
    stored = StoredParameters(NAME, parameters)
    ladder, exact = Ladder.read(NAME, stored.texts("levels")), stored.decimals("exact")
    stored.require_size(domain.size)
    stored.finish()
    if len(exact) != len(ladder.claims) or any(low >= high for low, high in pairwise(exact)):
        raise refused(f"{NAME} parameters.exact", "one rising level a claim", "others", "The channel file is damaged.")
    return _couple(domain.size, ladder, exact, parameters)


def laplace_sides(domain: Domain, parameters: Mapping[str, Json], fill: int) -> tuple[Sides, ...]:
    """What every level proves between any two inputs, and between any input and a fill code; lowest level first.

    Ideal weights of two inputs differ by at most ``a`` to the power of their distance, at any output.

    Args:
        domain: declared domain.
        parameters: of the chain of numbers, as ``search_laplace`` gives them.
        fill: the fill code.
    """
    exact = StoredParameters(NAME, parameters).decimals("exact")
    steps, noises = _tables(domain.size, exact)
    reach = domain.size - 1
    share = Fraction(max(fill, reach - fill), reach)
    return tuple(
        Sides(rounding.certificate(level), rounding.certificate(rounded_up(Fraction(level) * share)))
        for level, rounding in zip(exact, _roundings(noises[-1], steps), strict=True)
    )


def _tables(size: int, exact: tuple[Decimal, ...]) -> tuple[tuple[GeometricKernel, ...], list[NDArray[np.uint64]]]:
    steps = tuple(geometric_kernel(size, finer, coarser) for coarser, finer in pairwise(exact))
    return steps, [geometric_noise(size, level) for level in exact]


def _roundings(top: NDArray[np.uint64], steps: tuple[GeometricKernel, ...]) -> tuple[_Rounding, ...]:
    """What rounding has added at every rung, the lowest first."""
    found = [_Rounding().with_error(_known(rounding_error(top)))]
    for step in reversed(steps):
        found.append(found[-1].with_error(_known(step.rounding_error)))
    return tuple(reversed(found))


def _couple(size: int, ladder: Ladder, exact: tuple[Decimal, ...], parameters: Mapping[str, Json]) -> Coupling:
    steps, noises = _tables(size, exact)
    channels: list[ShiftChannel] = []
    for rung, rounding in enumerate(_roundings(noises[-1], steps)):
        own = rounding.with_error(_known(rounding_error(noises[rung]))).growth
        difference = rounded_up(own - 1) if rung < len(steps) else Decimal(0)
        certificate = rounding.certificate(exact[rung])
        facts = level_facts(NAME, VERSION, (size, size), parameters, ladder.claims[rung], certificate, difference)
        channels.append(ShiftChannel(facts, ShiftNoise(noises[rung]), geometric_inverse(size, exact[rung])))
    return Coupling(channels[-1], steps, tuple(channels))


def _known(error: Fraction | None) -> Fraction:
    if error is None:
        raise refused(f"{NAME} parameters.exact", "weights above 2", "smaller ones", "The channel file is damaged.")
    return error
