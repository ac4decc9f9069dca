"""Loss events: what was done, apart from what it costs.

An event holds only the parameters that accounting needs. Events are never removed and never change meaning, since
ledgers outlive versions; an unknown one is refused. What an event costs is in ``trasgo_lib.budget.accounting``.

Events of local draws are *per row*, and a unit of m rows pays m times. Events of central queries are *per privacy
unit*: the sensitivity behind them has counted all rows of a unit already.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from trasgo_lib.amounts import Delta, Epsilon, Geo, Rho
from trasgo_lib.errors import BudgetError, Reason

_MOST_PLACES = 64
"""No rate and no noise multiplier begins further behind the point."""


@dataclass(frozen=True, slots=True)
class PureEvent:
    """One draw of a local channel whose largest log-ratio over inputs is at most ``epsilon``, per row."""

    epsilon: Epsilon


@dataclass(frozen=True, slots=True)
class ApproximateEvent:
    """One draw of a local channel that is (epsilon, delta)-indistinguishable over inputs, per row."""

    epsilon: Epsilon
    delta: Delta


@dataclass(frozen=True, slots=True)
class GeoEvent:
    """One draw of a channel whose log-ratio is at most ``geo`` per kilometre of input distance, per row."""

    geo: Geo


@dataclass(frozen=True, slots=True)
class RevealEvent:
    """A chain of coupled draws looked at up to ``level``, after it had been looked at up to ``before``.

    Coarse levels are made from finer ones without the data, so all that was seen of a chain costs its highest level;
    each reveal adds the difference.

    Args:
        level: highest level looked at now, per row.
        before: highest level looked at before; 0 for the first reveal.
        delta: delta of this level's channel, per row; deltas of all levels looked at add up.
    """

    level: Epsilon
    before: Epsilon
    delta: Delta


@dataclass(frozen=True, slots=True)
class LaplaceEvent:
    """Continuous Laplace noise at sensitivity over scale ``epsilon``; for plans and comparisons, never drawn here."""

    epsilon: Epsilon


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceEvent:
    """Discrete Laplace noise on whole numbers, per privacy unit.

    Args:
        epsilon: L1 sensitivity over scale.
        sensitivity: of a single number, in steps; 1 for a vector, whose bound is then that of any pure mechanism.
    """

    epsilon: Epsilon
    sensitivity: int = 1

    def __post_init__(self) -> None:
        _require_count("sensitivity", self.sensitivity)


@dataclass(frozen=True, slots=True)
class GaussianEvent:
    """A rho-concentrated draw per privacy unit: discrete Gaussian noise, or Gumbel noise on scores.

    Args:
        rho: its concentrated loss.
        delta: the failure probability at which it is charged where costs are epsilon and delta.
    """

    rho: Rho
    delta: Delta

    def __post_init__(self) -> None:
        if not self.rho.units or not self.delta.units:
            raise _bad_event("a rho and a delta above zero", "zero")


@dataclass(frozen=True, slots=True)
class ExponentialMechanismEvent:
    """One choice by the exponential mechanism, of bounded range ``epsilon``, per privacy unit."""

    epsilon: Epsilon


@dataclass(frozen=True, slots=True)
class NoisyMaxEvent:
    """The places of the highest noisy scores, without the scores, per privacy unit."""

    epsilon: Epsilon


@dataclass(frozen=True, slots=True)
class SparseVectorEvent:
    """Answers above or below a threshold until ``cutoff`` were above, without values, per privacy unit."""

    epsilon: Epsilon
    cutoff: int

    def __post_init__(self) -> None:
        _require_count("cutoff", self.cutoff)


@dataclass(frozen=True, slots=True)
class SampledGaussianEvent:
    """Steps of Gaussian noise on sums over Poisson samples of the rows, as DP-SGD makes them.

    Args:
        rate: probability that a row is in a sample, decimal text between 0 and 1.
        noise_multiplier: noise over the clipping norm, decimal text above 0.
        steps: how many.
        delta: the failure probability at which all of them together are charged, for a unit that is replaced.
    """

    rate: str
    noise_multiplier: str
    steps: int
    delta: Delta

    def __post_init__(self) -> None:
        _require_count("steps", self.steps)
        try:
            rate, multiplier = Decimal(self.rate), Decimal(self.noise_multiplier)
            is_sound = 0 < rate <= 1 and 0 < multiplier < 10**6
            # exact fractions are made of them, also by who verifies a package of somebody else
            is_sound = is_sound and min(rate.adjusted(), multiplier.adjusted()) > -_MOST_PLACES
        except (ArithmeticError, TypeError, ValueError):
            is_sound = False
        if not is_sound or not self.delta.units:
            raise _bad_event("a rate in (0, 1], a noise multiplier and a delta above zero", "something else")


@dataclass(frozen=True, slots=True)
class PartitionEvent:
    """Draws from declared disjoint parts of the rows: a row lies in one part, or moves from one to another.

    Args:
        name: the declared partition.
        parts: each part with what was drawn from it.
    """

    name: str
    parts: tuple[tuple[str, tuple[LossEvent, ...]], ...]

    def __post_init__(self) -> None:
        _require_parts(self.parts)


@dataclass(frozen=True, slots=True)
class FixedPartitionEvent:
    """Draws from declared disjoint parts of the units: which parts a unit lies in is public and is never replaced.

    Args:
        name: the declared partition.
        parts_per_unit: most parts in which one unit has rows.
        parts: each part with what was drawn from it.
    """

    name: str
    parts_per_unit: int
    parts: tuple[tuple[str, tuple[LossEvent, ...]], ...]

    def __post_init__(self) -> None:
        _require_count("parts_per_unit", self.parts_per_unit)
        _require_parts(self.parts)
        if any(isinstance(one, PartitionEvent | FixedPartitionEvent) for _, events in self.parts for one in events):
            raise _bad_event("parts of one partition", "a partition within a part")


@dataclass(frozen=True, slots=True)
class DeclaredPlanEvent:
    """Central draws that were all declared before data was opened, charged once for their composed loss.

    Args:
        epsilon: what privacy loss distributions say of all of them at ``delta``; computed when the plan is compiled,
            and again by whoever verifies it.
        delta: the failure probability that is charged.
        events: the draws.
    """

    epsilon: Epsilon
    delta: Delta
    events: tuple[LossEvent, ...]

    def __post_init__(self) -> None:
        known = LaplaceEvent | DiscreteLaplaceEvent | ExponentialMechanismEvent | NoisyMaxEvent | SparseVectorEvent
        if not self.epsilon.units or not self.delta.units or not all(isinstance(one, known) for one in self.events):
            raise _bad_event("an epsilon, a delta, and central draws whose distributions are known", "something else")
        if not self.events:
            raise _bad_event("at least one draw", "none")


LocalEvent = PureEvent | ApproximateEvent | GeoEvent | RevealEvent
"""Draws of local channels: what a release is made of."""

LossEvent = (
    PureEvent
    | ApproximateEvent
    | GeoEvent
    | RevealEvent
    | LaplaceEvent
    | DiscreteLaplaceEvent
    | GaussianEvent
    | ExponentialMechanismEvent
    | NoisyMaxEvent
    | SparseVectorEvent
    | SampledGaussianEvent
    | PartitionEvent
    | FixedPartitionEvent
    | DeclaredPlanEvent
)


def _require_parts(parts: tuple[tuple[str, tuple[LossEvent, ...]], ...]) -> None:
    names = [name for name, _ in parts]
    if not names or len(set(names)) != len(names) or not all(events for _, events in parts):
        raise _bad_event("parts of different names, each with something drawn from it", "something else")


def _require_count(name: str, count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 2**53:
        raise _bad_event(f"a whole {name} from 1 on", "something else")


def _bad_event(required: str, came: str) -> BudgetError:
    return BudgetError.of(
        Reason.BAD_PARAMETER, "loss event", required=required, came=came, fix="Nothing was charged or drawn."
    )
