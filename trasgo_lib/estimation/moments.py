"""Means and variances of private values, from released counts alone.

Every one is a smooth function of a few means of private functions, each the mean of its decoder over the released
rows. Its standard error comes from the influence of one row. Over the draw of the rows and the noise, that is the
variance of the influence; over the noise alone, what the private values explain of it is taken off, itself decoded.
Missing values are left out.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.decoding import decode, expectation, present_codes
from trasgo_lib.estimation.estimate import CONFIDENCE, Estimate, TargetKind
from trasgo_lib.estimation.shares import checked_counts
from trasgo_lib.mechanisms import Channel

LABELS = "labels and points have no place on a scale"
TOO_LARGE = "the domain is too large to undo this noise"
CONSTANT = "the noise hides how far the values spread"

_DEGREES = 5
"""Functions decoded of each column: present, x, ..., x**4; noise variances of second moments take the fourth power."""


@dataclass(frozen=True, slots=True)
class Powers:
    """Decoders of the powers of a column's standardised values, 0 where missing.

    Args:
        decoded: float64[outputs, 5], decoders of the powers 0 to 4; power 0 says "not missing".
        inputs: float64[inputs, 5], the powers themselves.
        centre: what was subtracted from the values.
        scale: what they were divided by afterwards, so that powers stay near 1.
        bias: float64[5], largest bias of each decoder.
    """

    decoded: NDArray[np.float64] = field(repr=False)
    inputs: NDArray[np.float64] = field(repr=False)
    centre: float
    scale: float
    bias: NDArray[np.float64] = field(repr=False)


def powers(channel: Channel, values: NDArray[np.float64] | None = None) -> Powers | str:
    """Decoders of the powers of a column's values; those of codes are kept for channels used again.

    Args:
        channel: the channel of the released codes.
        values: float64[inputs], what each input code counts as, NaN for missing; None: codes of numbers.

    Returns:
        The decoders, or the reason why there are none.
    """
    if values is None:
        return _powers_of_codes(cast(Hashable, channel))
    return _powers(channel, np.asarray(values, dtype=np.float64))


@lru_cache(maxsize=16)
def _powers_of_codes(key: Hashable) -> Powers | str:
    channel = cast(Channel, key)
    places = present_codes(channel)
    if places is None:
        return LABELS
    found = _powers(channel, places)
    return found if isinstance(found, str) else _with_own_decoder(channel, found)


def _powers(channel: Channel, places: NDArray[np.float64]) -> Powers | str:
    here = ~np.isnan(places)
    low, high = float(places[here].min()), float(places[here].max())
    centre, scale = (low + high) / 2, (high - low) / 2 or 1.0
    standard = np.where(here, (np.where(here, places, centre) - centre) / scale, 0.0)
    inputs = np.where(here[:, None], standard[:, None] ** np.arange(_DEGREES), 0.0)
    found = decode(channel, inputs)
    if found is None:
        return TOO_LARGE
    return Powers(found.values, inputs, centre, scale, found.bias)


def _with_own_decoder(channel: Channel, found: Powers) -> Powers:
    """For smooth noise the channel's own decoder of codes has the better balance of bias and variance."""
    scores = channel.scores
    if scores is None or not 0 < channel.score_bias / found.scale < found.bias[1]:
        return found
    decoded = found.decoded.copy()
    decoded[:, 1] = np.where(np.isnan(scores), 0.0, (scores - found.centre) / found.scale)
    return replace(found, decoded=decoded, bias=np.abs(expectation(channel, decoded) - found.inputs).max(axis=0))


def mean(
    channel: Channel,
    histogram: NDArray[np.integer],
    *,
    values: NDArray[np.float64] | None = None,
    target: TargetKind = "population",
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Mean of a column over the rows that are not missing.

    Args:
        channel: the channel of the released codes.
        histogram: counts by output code, int[outputs]; public.
        values: float64[inputs], what each input code counts as, NaN for missing; None: code steps.
        target: whether the rows themselves count as drawn at random.
        confidence: of the interval.

    Raises:
        InputContractError: no rows, or counts of another length.
    """
    counts = checked_counts(histogram, (channel.outputs,))
    found = powers(channel, values)
    if isinstance(found, str):
        return Estimate.none(found)
    rows, shares = counts.sum(), counts / counts.sum()
    present, total = shares @ found.decoded[:, :2]
    if present <= 0:
        return Estimate.none("the noise hides whether any value is present")
    value = total / present
    weights = np.array([-value, 1.0]) / present
    error = np.sqrt(_variance(channel, shares, found, weights, target) / max(1.0, rows - 1))
    bias = found.scale * float(np.abs(weights) @ found.bias[:2])
    return Estimate.of(found.centre + found.scale * value, found.scale * float(error), bias=bias, confidence=confidence)


def variance(
    channel: Channel,
    histogram: NDArray[np.integer],
    *,
    values: NDArray[np.float64] | None = None,
    target: TargetKind = "population",
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Variance of a column over the rows that are not missing, divided by their number.

    Args:
        channel: the channel of the released codes.
        histogram: counts by output code, int[outputs]; public.
        values: float64[inputs], what each input code counts as, NaN for missing; None: code steps.
        target: whether the rows themselves count as drawn at random.
        confidence: of the interval.

    Raises:
        InputContractError: no rows, or counts of another length.
    """
    counts = checked_counts(histogram, (channel.outputs,))
    found = powers(channel, values)
    if isinstance(found, str):
        return Estimate.none(found)
    rows, shares = counts.sum(), counts / counts.sum()
    present, total, squares = shares @ found.decoded[:, :3]
    if present <= 0:
        return Estimate.none("the noise hides whether any value is present")
    place, spread = total / present, squares / present - (total / present) ** 2
    weights = np.array([place**2 - spread, -2 * place, 1.0]) / present
    of_row = _variance(channel, shares, found, weights, target)
    # the square of an estimated mean is too large by the variance of that estimate
    of_mean = _variance(channel, shares, found, np.array([-place, 1.0]) / present, target)
    square = found.scale**2
    return Estimate.of(
        square * (spread + of_mean / rows),
        square * float(np.sqrt(of_row / max(1.0, rows - 1))),
        bias=square * float(np.abs(weights) @ found.bias[:3]),
        within=(0.0, np.inf),
        confidence=confidence,
    )


def _variance(
    channel: Channel, shares: NDArray[np.float64], found: Powers, weights: NDArray[np.float64], target: TargetKind
) -> float:
    """Variance of one row's influence, float64[outputs] = decoders times weights."""
    used = len(weights)
    influence = found.decoded[:, :used] @ weights
    spread = float(shares @ influence**2 - (shares @ influence) ** 2)
    if target == "population":
        return max(0.0, spread)
    noise = expectation(channel, (influence**2)[:, None])[:, 0] - expectation(channel, influence[:, None])[:, 0] ** 2
    # the squared polynomial has degree 2 * (used - 1) <= 4, so the decoders at hand suffice, and missing stays 0
    coefficients = np.convolve(weights, weights)
    decoded_square = found.decoded[:, : len(coefficients)] @ coefficients
    known = float(shares @ (influence**2 - decoded_square))
    return float(np.clip(known, noise.min(), noise.max()))
