"""What the loop may expect of rungs it has not looked at; made from released codes and public priors alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trasgo_lib.amounts import Epsilon
from trasgo_lib.estimation import Estimate


@dataclass(frozen=True, slots=True)
class PredictedLoss:
    """The loss that has a target, at one rung.

    Args:
        level: the rung.
        loss: with a 95 % interval; without value where nothing can be said.
    """

    level: Epsilon
    loss: Estimate


Predictions = Mapping[str, tuple[PredictedLoss, ...]]
"""By noise unit; rungs in any order, rungs left out are unknown."""
