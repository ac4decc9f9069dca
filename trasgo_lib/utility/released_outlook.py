"""Correlations that pairs with a column of a group will have in a release at another rung of the group.

The group's channel keeps a share of the rows and draws the others afresh, so every mean over released rows of a
function of its combination is ``kept * private + (1 - kept) * fresh``. Means at one rung therefore give those at any
other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.pairs import PairMoments
from trasgo_lib.utility.released_noise import Floats


@dataclass(frozen=True, slots=True)
class GroupOutlook:
    """What released correlations of a group's columns follow from.

    Args:
        kept: share of the rows whose combination is kept at the rung looked at.
        pairs: int[n], which pairs have a column of the group.
        seen: float64[n, 3, 3], released means of products of powers 0 to 2 at that rung.
        fresh: float64[n, 3, 3], the same where the group's combination is always drawn afresh.
    """

    kept: float
    pairs: NDArray[np.intp]
    seen: Floats = field(repr=False)
    fresh: Floats = field(repr=False)

    def at(self, kept: float) -> tuple[Floats, Floats] | None:
        """Released correlations at another rung, and how much more they follow what is decoded at this one.

        Args:
            kept: the share kept there.

        Returns:
            float64[n] each, or None where a released column would be constant.
        """
        private = (self.seen - (1 - self.kept) * self.fresh) / self.kept
        found, slopes = [], []
        for seen, moments in zip(self.seen, kept * private + (1 - kept) * self.fresh):
            before, after = PairMoments.of(seen), PairMoments.of(moments)
            if before is None or after is None or after.correlation is None or min(before.squares) <= 0:
                return None
            found.append(after.correlation)
            wider = before.squares[0] * before.squares[1] / (after.squares[0] * after.squares[1])
            slopes.append(kept / self.kept * float(np.sqrt(wider)))
        return np.array(found), np.array(slopes)
