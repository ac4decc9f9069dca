"""Shares of devices by slot, undone from counts, with the error that the noise leaves.

With ``c`` reports of ``n`` that name a slot, ``f = (c / n - q) / (p - q)`` is unbiased for the share of devices whose
own slot it is. Each of those devices names it with probability p, each other one with q, so its variance over the noise
is ``q (1 - q) / (n (p - q)**2) + f (1 - p - q) / (n (p - q))``; the first part is that of an empty slot. Where the
devices themselves count as a sample, ``f (1 - f) / n`` comes on top. Source: Wang, Blocki, Li and Jha (2017),
Theorem 2; Wang and others, NDSS 2020 (norm-sub).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.collection.channels import ReportChannel
from trasgo_lib.collection.counting import ReportCounts
from trasgo_lib.collection.reports import Tag
from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.estimation.estimate import TargetKind, normal_point
from trasgo_lib.estimation.shares import project_simplex

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Estimated shares of the slots of one alphabet.

    Args:
        reports: how many reports they come from.
        shares: float64[slots], unbiased; entries can be negative and need not sum to 1.
        standard_error: float64[slots], plug-in: with the clipped raw share.
        low: float64[slots], lower ends of intervals, not clipped.
        high: float64[slots], upper ends.
        adjusted: float64[slots], the nearest shares that are at least 0 and sum to 1 (norm-sub); for maps. The errors
            are not theirs.
        null_error: float64[slots], standard error of a slot nobody is in.
        weights: by tag, the weight of each version where several were combined; else the one tag with 1.
    """

    reports: int
    shares: Floats = field(repr=False)
    standard_error: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    adjusted: Floats = field(repr=False)
    null_error: Floats = field(repr=False)
    weights: Mapping[Tag, float] = field(default_factory=dict)

    def shown(self, level: float) -> NDArray[np.bool_]:
        """Which slots are shown: those whose share clears ``z(1 - level / slots)`` errors of an empty slot.

        So with probability ``1 - level`` at least no slot that nobody is in is shown. It reads noised counts only.
        """
        return self.shares > self.floor(level)

    def floor(self, level: float) -> Floats:
        """The least share that is shown, by slot: float64[slots].

        Args:
            level: probability that any empty slot is shown.
        """
        return NormalDist().inv_cdf(1 - level / len(self.shares)) * self.null_error


def null_variance(channel: ReportChannel, reports: int) -> float:
    """Variance of the share of a slot nobody is in."""
    p, q = float(channel.p), float(channel.q)
    return q * (1 - q) / (reports * (p - q) ** 2)


def noise_variance(channel: ReportChannel, reports: int, shares: Floats) -> Floats:
    """Variance over the noise of estimated shares whose true values are ``shares``."""
    p, q = float(channel.p), float(channel.q)
    return null_variance(channel, reports) + shares * (1 - p - q) / (reports * (p - q))


def estimate(
    channel: ReportChannel,
    counted: ReportCounts,
    *,
    tag: Tag | None = None,
    confidence: float = 0.95,
    target: TargetKind = "file",
) -> Frequencies:
    """Estimate the shares of all slots from the counts of one version and one window.

    Windows of memoised answers share the permanent noise of their devices: estimate them one by one, never from counts
    that were added over windows.

    Args:
        channel: what the reports went through.
        counted: their counts; public once noised.
        tag: versions of alphabet and channel, for the weights.
        confidence: of the intervals.
        target: ``file``: shares among the devices that reported; ``population``: those devices are a sample of it.

    Raises:
        InputContractError: no reports, or counts over other slots.
    """
    if counted.reports < 1 or len(counted.counts) != channel.slots or counted.kind != channel.kind:
        raise InputContractError.of(
            Reason.BAD_PARAMETER,
            "counts",
            required=f"{channel.slots} counts of {channel.kind} reports, of at least one report",
            came=f"{len(counted.counts)} of {counted.kind}, {counted.reports} reports",
            fix="Count the reports of this version.",
        )
    p, q = float(channel.p), float(channel.q)
    shares = (counted.counts / counted.reports - q) / (p - q)
    plugged = np.clip(shares, 0.0, 1.0)
    variance = noise_variance(channel, counted.reports, plugged)
    null = np.full(channel.slots, np.sqrt(null_variance(channel, counted.reports)))
    if target == "population":
        variance = variance + plugged * (1 - plugged) / counted.reports
    return _frequencies(counted.reports, shares, np.sqrt(variance), null, {tag: 1.0} if tag else {}, confidence)


def combine(parts: Sequence[Frequencies], *, confidence: float = 0.95) -> Frequencies:
    """One estimate from several versions of one alphabet, each with the inverse of its variance as weight.

    Weights come from the variance of an empty slot, which the channels and the numbers of reports decide, so that they
    do not lean towards what the noise made large or small. They are stated in ``weights``.

    Args:
        parts: estimates over the same slots, from different reports, each of one tag.
        confidence: of the intervals.

    Raises:
        InputContractError: none, or over different slots.
    """
    if not parts or len({len(part.shares) for part in parts}) > 1:
        raise InputContractError.of(
            Reason.BAD_PARAMETER,
            "versions",
            required="one estimate or more over the same slots",
            came="none, or over others",
            fix="Combine the versions of one alphabet.",
        )
    if len(parts) == 1:
        return parts[0]
    precision = np.array([1 / float(part.null_error[0]) ** 2 for part in parts])
    weight = precision / precision.sum()
    shares = sum((w * part.shares for w, part in zip(weight, parts, strict=True)), np.zeros_like(parts[0].shares))
    error = np.sqrt(sum((w * part.standard_error) ** 2 for w, part in zip(weight, parts, strict=True)))
    null = np.sqrt(sum((w * part.null_error) ** 2 for w, part in zip(weight, parts, strict=True)))
    weights = {tag: float(w) for w, part in zip(weight, parts, strict=True) for tag in part.weights}
    return _frequencies(sum(part.reports for part in parts), shares, error, null, weights, confidence)


def _frequencies(
    reports: int, shares: Floats, error: Floats, null: Floats, weights: Mapping[Tag, float], confidence: float
) -> Frequencies:
    reach = normal_point(confidence) * error
    return Frequencies(reports, shares, error, shares - reach, shares + reach, project_simplex(shares), null, weights)
