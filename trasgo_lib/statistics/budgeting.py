"""From the budget of a query to the noise of its parts, and to the one loss event it is charged as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import (
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    GaussianEvent,
    LossEvent,
    NoisyMaxEvent,
    SparseVectorEvent,
    rho_within,
)
from trasgo_lib.noise import (
    concentrated_selection_scale,
    gaussian_half_width,
    gaussian_scale,
    laplace_half_width,
    laplace_scale,
    selection_scale,
    selection_shortfall,
)
from trasgo_lib.statistics.answering import halves, threshold_scale
from trasgo_lib.statistics.model import Measure, Part, Sensitivity

SHARE_OUTSIDE = 0.05
"""Intervals hold the statistic with probability 95 %; parts that are read together share the rest equally."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one query may cost a privacy unit.

    Args:
        epsilon: when the query is pure or approximate, else None.
        delta: failure probability; zero for pure queries.
        rho: when it is concentrated, else None.
    """

    epsilon: Epsilon | None
    delta: Delta
    rho: Rho | None

    @property
    def is_concentrated(self) -> bool:
        """Whether noise is Gaussian (or Gumbel), and charged at a delta."""
        return self.delta.units > 0

    def concentrated(self) -> Rho:
        """The rho that may be spent: as declared, or the largest within epsilon and delta."""
        if self.rho is not None:
            return self.rho
        return Rho(0) if self.epsilon is None else rho_within(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A part before it has noise: its name, what a row adds, its sensitivity, and how many numbers it has."""

    name: str
    measure: Measure
    sensitivity: Sensitivity
    counts: int


def additive(wanted: tuple[Wanted, ...], budget: Budget) -> tuple[tuple[Part, ...], LossEvent]:
    """Sums and counts, each with an equal part of the budget, charged as one.

    Returns:
        The parts, and one event: a single number as discrete Laplace noise of its sensitivity, everything else as any
        pure mechanism of that epsilon (``sensitivity`` 1).

    Raises:
        ValueError: the budget is too small to be split.
    """
    share = SHARE_OUTSIDE / len(wanted)
    if budget.is_concentrated:
        rho = budget.concentrated()
        each = Rho(rho.units // len(wanted))
        if not each.units:
            raise ValueError("too small a budget")
        parts = tuple(_gaussian(one, each, share) for one in wanted)
        return parts, GaussianEvent(Rho(each.units * len(wanted)), budget.delta)
    epsilon = budget.epsilon or Epsilon(0)
    each_epsilon = Epsilon(epsilon.units // len(wanted))
    if not each_epsilon.units:
        raise ValueError("too small a budget")
    parts = tuple(_laplace(one, each_epsilon, share) for one in wanted)
    is_single = len(wanted) == 1 and wanted[0].counts == 1
    steps = wanted[0].sensitivity.l1 if is_single else 1
    return parts, DiscreteLaplaceEvent(Epsilon(each_epsilon.units * len(wanted)), steps)


def choice(
    name: str,
    sensitivity: Sensitivity,
    budget: Budget,
    candidates: int,
    best: int,
    law: Literal["exponential", "noisy_max"],
) -> tuple[tuple[Part, ...], LossEvent]:
    """A choice of places: by the exponential mechanism, or by report noisy max for the best few.

    Raises:
        ValueError: the budget is too small to be split.
    """
    if budget.rho is not None:
        each = Rho(budget.rho.units // best)
        if not each.units:
            raise ValueError("too small a budget")
        scale = concentrated_selection_scale(sensitivity.linf, each)
        total = Rho(each.units * best)
        part = Part(name, "rows", sensitivity, "gumbel", scale, total, _shortfall(scale, candidates, best), best)
        return (part,), GaussianEvent(total, budget.delta)
    epsilon = budget.epsilon or Epsilon(0)
    single = Epsilon(epsilon.units // best)
    if not single.units:
        raise ValueError("too small a budget")
    scale, total_epsilon = selection_scale(sensitivity.linf, single), Epsilon(single.units * best)
    part = Part(name, "rows", sensitivity, law, scale, total_epsilon, _shortfall(scale, candidates, best), best)
    if law == "exponential":
        return (part,), ExponentialMechanismEvent(total_epsilon)
    return (part,), NoisyMaxEvent(total_epsilon)


def thresholds(
    name: str, sensitivity: Sensitivity, epsilon: Epsilon, questions: int, cutoff: int
) -> tuple[tuple[Part, ...], LossEvent]:
    """Sparse vector: half of epsilon on the threshold, half on the counts, at ``2 * cutoff`` times the sensitivity.

    Raises:
        ValueError: the budget is too small to be split.
    """
    first, second = halves(epsilon)
    if not first.units:
        raise ValueError("too small a budget")
    scale = laplace_scale(2 * cutoff * sensitivity.linf, second)
    bare = Part(name, "rows", sensitivity, "sparse_vector", scale, epsilon, 0, questions)
    # threshold and every count within their widths at once, so that no answer is off by more than both together
    threshold = laplace_half_width(threshold_scale(bare, cutoff), SHARE_OUTSIDE / 2)
    width = threshold + laplace_half_width(scale, SHARE_OUTSIDE / 2 / questions)
    part = Part(name, "rows", sensitivity, "sparse_vector", scale, epsilon, width, questions)
    return (part,), SparseVectorEvent(epsilon, cutoff)


def _shortfall(scale: float, candidates: int, best: int) -> int:
    return selection_shortfall(scale, candidates, SHARE_OUTSIDE / best)


def _laplace(one: Wanted, epsilon: Epsilon, share: float) -> Part:
    scale = laplace_scale(one.sensitivity.l1, epsilon)
    width = laplace_half_width(scale, share)
    return Part(one.name, one.measure, one.sensitivity, "laplace", scale, epsilon, width, one.counts)


def _gaussian(one: Wanted, rho: Rho, share: float) -> Part:
    scale = gaussian_scale(one.sensitivity.l2_squared, rho)
    width = gaussian_half_width(scale, share)
    return Part(one.name, one.measure, one.sensitivity, "gaussian", scale, rho, width, one.counts)
