"""When an answer would be noise: what is refused, what is given with a warning.

Every rule looks at the standard error and at counts, hardly at the value, so that what is given keeps its coverage.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from trasgo_lib.estimation import NORMAL_95, Estimate

FEWEST_ROWS = 30
"""Below this an interval from the normal law covers less than it says."""

FEWEST_OF_A_VALUE = 20
"""Released rows with a value; with fewer their number is too skewed for a normal interval."""

_WIDE = 0.25
"""An interval that takes up this part of everything possible is given with a warning."""


_USER = 4
"""How far above the user's own line usually stands."""


class NoiseWarning(UserWarning):
    """The answer is mostly noise: its interval covers a large part of what was possible beforehand."""


@dataclass(frozen=True, slots=True)
class Possible:
    """What could be said without any data: the range of the quantity, in its unit.

    Args:
        low: its least value.
        high: its largest value.
    """

    low: float
    high: float

    def judge(self, estimate: Estimate, what: str) -> Estimate:
        """The estimate, none where its interval says nothing, a warning where it says little.

        The value stays as it is, so that it is unbiased; the interval is cut to the range, but never shorter than a
        standard error.

        Args:
            estimate: what the estimator gave.
            what: the quantity in words, for the warning.
        """
        value, error, width = estimate.value, estimate.standard_error, self.high - self.low
        if value is None or error is None or estimate.low is None or estimate.high is None:
            return estimate
        # of estimates that come clipped (variances, correlations) one end still has the whole reach
        reach = max(NORMAL_95 * error, estimate.high - value, value - estimate.low)
        if 2 * reach >= width:
            return Estimate.none("the noise leaves an interval as wide as everything possible")
        if 2 * reach > _WIDE * width:
            message = f"{what}: the 95 % interval covers {2 * reach / width:.0%} of everything possible"
            warnings.warn(message, NoiseWarning, stacklevel=_USER)
        # a value past an end of the range would leave an interval of no length: a certainty that nobody has
        low = max(min(estimate.low, self.high - error), self.low)
        high = min(max(estimate.high, self.low + error), self.high)
        return Estimate(value, low, high, error)


def too_few(rows: int) -> Estimate | None:
    """No estimate, where there are too few rows for any; else None."""
    if rows >= FEWEST_ROWS:
        return None
    return Estimate.none(f"fewer than {FEWEST_ROWS} rows")


def too_rare(released: int, rows: int) -> Estimate | None:
    """No estimate, where too few published rows hold a value, or hold another one; else None."""
    if min(released, rows - released) >= FEWEST_OF_A_VALUE:
        return None
    return Estimate.none(f"fewer than {FEWEST_OF_A_VALUE} published rows tell it from the others")
