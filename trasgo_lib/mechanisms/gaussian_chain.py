"""The chain of ``gaussian``: more clamped normal noise at every step, each level certified on the exact product.

Clamped normal noise is not closed under clamped addition, so a coarse level is not the ``gaussian`` of its epsilon but
a little wider; the width of each step is solved on the certificate of the product (``shift_chain``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel
from trasgo_lib.mechanisms.calibration import ScaleSearch, build_levels, meets
from trasgo_lib.mechanisms.certificate import has_monotone_ratios, log_ratio
from trasgo_lib.mechanisms.channel import Json
from trasgo_lib.mechanisms.coarse_channel import CoarseChannel
from trasgo_lib.mechanisms.coupling import Coupling, Ladder, level_facts, unreachable_step
from trasgo_lib.mechanisms.fixed_point import BITS, symmetric_weights
from trasgo_lib.mechanisms.flag_chain import Sides
from trasgo_lib.mechanisms.gaussian import NAME, VERSION, build_gaussian, normal_noise, normal_shares, sigma_guess
from trasgo_lib.mechanisms.parameters import StoredParameters, read_delta, refused
from trasgo_lib.mechanisms.shift import ShiftChannel, ShiftNoise
from trasgo_lib.mechanisms.shift_chain import (
    ShiftKernel,
    ShiftLaw,
    prefix_epsilon,
    published_difference,
    truncated,
)
from trasgo_lib.mechanisms.shift_rows import clamped_row
from trasgo_lib.mechanisms.smooth_inverse import SmoothInverse

MAX_CHAIN_CODES = 4096
"""Rows of the product grow by a word a rung and are multiplied exactly; more codes would take minutes."""

_LEAST_SHARE = 1 << (BITS - 28)
"""Shifts with less than this share are left out of a kernel: rounding smaller weights would break log-concavity."""

_SEARCH_BITS = 192
"""Bits of the finer row while a width is sought; the width found is certified on the whole row."""


def normal_kernel(size: int, width: Decimal) -> NDArray[np.uint64]:
    """Weights of the shifts ``-(size-1)..size-1`` of a step, far shifts of weight 0 where they are negligible.

    Args:
        size: number of codes, at least 2.
        width: standard deviation in code steps, exact.
    """
    shares = normal_shares(size, width)  # of |z| = 0..N-1, then the tail
    kept = next((place for place, share in enumerate(shares[:-1]) if share < _LEAST_SHARE), None)
    if kept is None:
        return symmetric_weights(shares)
    inside = shares[0] + 2 * sum(shares[1:kept])
    half = inside >> 1
    up = [((share << 64) + half) // inside for share in shares[1:kept]]
    up += [0] * (size - 1 - len(up))
    return np.array([*reversed(up), (1 << 64) - 2 * sum(up), *up], dtype=np.uint64)


def _certificate(row: Sequence[int], delta: Fraction, size: int, width: Decimal) -> Decimal:
    kernel = ShiftKernel(normal_kernel(size, width))
    if delta:
        return prefix_epsilon(kernel.push(row), delta)
    low, high = kernel.ends(row)
    return prefix_epsilon((low, high), delta) if high else Decimal(10**6)


def step_width(row: Sequence[int], above: Epsilon, claim: Epsilon, delta: Delta) -> Decimal | None:
    """The least width of a step that brings a product to a lower claim; None where none is certified.

    Args:
        row: row 0 of the product above, whole numbers.
        above: claim of the level above.
        claim: the lower claim.
        delta: of the lower level.
    """
    size, short = len(row), truncated(row, _SEARCH_BITS)
    for level in build_levels(claim):
        finer, coarser = (sigma_guess(size, float(e), float(delta.fraction)) for e in (above.decimal, level))
        start = sqrt(max(coarser**2 - finer**2, 1e-4))
        search = ScaleSearch(partial(_certificate, short, delta.fraction, size), level, start, rising=False)
        width = search.find()
        if width is not None and meets(_certificate(row, delta.fraction, size, width), claim):
            return width
    return None


def coarsening_kernel(channel: ShiftChannel, claim: Epsilon) -> ShiftKernel:
    """The kernel from a built ``gaussian`` channel to a lower claim at the same delta.

    Raises:
        ConfigError: too many codes, or a claim that no step meets.
    """
    _require_small(channel.inputs)
    above, delta = channel.event.epsilon, Delta.floor(channel.certified_delta)  # type: ignore[union-attr]
    width = step_width(channel.weights(0), above, claim, delta)
    kernel = None if width is None else ShiftKernel(normal_kernel(channel.inputs, width))
    if kernel is None or not has_monotone_ratios(kernel.noise.weights):
        raise unreachable_step(NAME, claim)
    return kernel


def search_gaussian(domain: Domain, ladder: Ladder, *, delta: object = "0") -> dict[str, Json]:
    """Parameters of the chain: the sigma of the top level and the width of every step, in the order in which they run.

    Raises:
        ConfigError: too many codes, or a claim that cannot be realised on this domain.
    """
    _require_small(domain.size)
    failure = read_delta(NAME, delta)
    top = build_gaussian(domain, ladder.top, delta=failure)
    row: Sequence[int] = top.weights(0)
    above, widths = ladder.top, list[Json]()
    for claim in ladder.falling:
        width = step_width(row, above, claim, failure)
        if width is None:
            raise unreachable_step(NAME, claim)
        row, above = ShiftKernel(normal_kernel(domain.size, width)).push(row), claim
        widths.append(f"{width:f}")
    return {
        "levels": ladder.texts,
        "codes": domain.size,
        "delta": failure.text,
        "sigma": top.parameters["sigma"],
        "widths": widths,
    }


def couple_gaussian(domain: Domain, parameters: Mapping[str, Json]) -> Coupling:
    """The coupled levels of stored parameters.

    Raises:
        ConfigError: damaged parameters.
        VerificationError: some level's integers prove less than its claim.
    """
    stored = StoredParameters(NAME, parameters)
    ladder, delta = Ladder.read(NAME, stored.texts("levels")), read_delta(NAME, stored.text("delta"))
    stored.require_size(domain.size)
    _require_small(domain.size)
    sigma, widths = stored.decimal("sigma"), stored.decimals("widths", empty=True)
    stored.finish()
    if len(widths) != len(ladder.falling):
        raise refused(f"{NAME} parameters.widths", "one width a step", str(len(widths)), "The channel file is damaged.")
    kernels = [ShiftKernel(normal_kernel(domain.size, width)) for width in widths]
    channels = _channels(normal_noise(domain.size, sigma), kernels, ladder, delta, parameters)
    top = channels[-1]
    return Coupling(top, tuple(reversed(kernels)), channels)


def _channels(
    noise: NDArray[np.uint64],
    kernels: Sequence[ShiftKernel],
    ladder: Ladder,
    delta: Delta,
    parameters: Mapping[str, Json],
) -> tuple[TableChannel, ...]:
    size, tables = len(noise) // 2 + 1, [noise, *(kernel.noise.weights for kernel in kernels)]
    if not all(has_monotone_ratios(table) for table in tables):
        raise refused(
            f"{NAME} levels",
            "steps whose likelihood ratios are monotone, on which the certificate rests",
            f"steps on {size} codes where rounding breaks them",
            "Set the levels further apart, use a coarser domain or another mechanism.",
        )

    def facts_of(claim: Epsilon, row: Sequence[int], difference: Decimal) -> ChannelFacts:
        certificate = prefix_epsilon(row, delta.fraction)
        return level_facts(NAME, VERSION, (size, size), parameters, claim, certificate, difference, delta)

    shifts: list[int] = noise.tolist()
    row: Sequence[int] = clamped_row(shifts, 0)
    table = ShiftNoise(noise)
    top = ShiftChannel(facts_of(ladder.top, row, Decimal(0)), table, SmoothInverse(table))
    channels: list[TableChannel] = [top]
    for place, claim in enumerate(ladder.falling, start=1):
        row = kernels[place - 1].push(row)
        difference = published_difference(row)
        if difference is None:
            raise unreachable_step(NAME, claim)
        law = ShiftLaw(top, kernels[:place])
        channels.append(CoarseChannel(facts_of(claim, row, difference), law, SmoothInverse))
    return tuple(reversed(channels))


def gaussian_sides(domain: Domain, parameters: Mapping[str, Json], fill: int) -> tuple[Sides, ...]:
    """What every level proves between any two inputs, and between any input and a fill code; lowest level first.

    In a totally positive product the extremes stand at the end outputs, against the end inputs.

    Args:
        domain: declared domain.
        parameters: of the chain of numbers, as ``search_gaussian`` gives them.
        fill: the fill code.

    Raises:
        ConfigError: a delta above 0, for which the pair of flag and value has no certificate yet.
    """
    stored = StoredParameters(NAME, parameters)
    if read_delta(NAME, stored.text("delta")).units:
        raise refused(f"{NAME} delta", "0 where a missing value is a code", "more", "Use delta 0.")
    shifts: list[int] = normal_noise(domain.size, stored.decimal("sigma")).tolist()
    kernels = [ShiftKernel(normal_kernel(domain.size, width)) for width in stored.decimals("widths", empty=True)]
    end: Sequence[int] = clamped_row(shifts, 0)
    middle: Sequence[int] = clamped_row(shifts, fill)
    found = [_sides(end, middle)]
    for kernel in kernels:
        end, middle = kernel.push(end), kernel.push(middle)
        found.append(_sides(end, middle))
    return tuple(reversed(found))


def _sides(end: Sequence[int], middle: Sequence[int]) -> Sides:
    near, far = end[0], end[-1]
    ratios = [(near, middle[0]), (near, middle[-1]), (middle[0], far), (middle[-1], far)]
    return Sides(log_ratio(near, far), max(log_ratio(*ratio) for ratio in ratios))


def _require_small(size: int) -> None:
    if size > MAX_CHAIN_CODES:
        raise refused(
            f"{NAME} domain",
            f"at most {MAX_CHAIN_CODES} codes under composition: chain",
            f"{size} codes",
            "Use a coarser step, laplace, or composition: sequential.",
        )
