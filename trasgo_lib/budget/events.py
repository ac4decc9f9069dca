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


LossEvent = PureEvent | ApproximateEvent | GeoEvent | RevealEvent
