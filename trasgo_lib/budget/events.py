"""Loss events: what was done, apart from what it costs.

An event holds only the parameters that accounting needs. Events are never removed and never change meaning, since
ledgers outlive versions; an unknown one is refused. What an event costs is in ``trasgo_lib.budget.accounting``.
"""

from __future__ import annotations

from dataclasses import dataclass

from trasgo_lib.amounts import Delta, Epsilon, Geo


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


LossEvent = PureEvent | ApproximateEvent | GeoEvent
