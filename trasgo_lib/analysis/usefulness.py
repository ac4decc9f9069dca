"""When an answer would be noise: what is refused, what is given with a warning.

Every rule looks at the standard error and at counts, hardly at the value, so that what is given keeps its coverage.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from types import FrameType

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.estimation import CONFIDENCE, Estimate, normal_point

FEWEST_ROWS = 30
"""Below this an interval from the normal law covers less than it says."""

FEWEST_OF_A_VALUE = 20
"""Released rows with a value; with fewer their number is too skewed for a normal interval."""

_WIDE = 0.25
"""An interval that takes up this part of everything possible is given with a warning."""


_LIBRARY = __name__.partition(".")[0] + "."


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

    def judge(self, estimate: Estimate, what: str, confidence: float = CONFIDENCE) -> Estimate:
        """The estimate, none where its interval says nothing, a warning where it says little.

        The value stays as it is, so that it is unbiased; the interval is cut to the range, but never shorter than a
        standard error.

        Args:
            estimate: what the estimator gave.
            what: the quantity in words, for the warning.
            confidence: of its interval.
        """
        value, error, width = estimate.value, estimate.standard_error, self.high - self.low
        if value is None or error is None or estimate.low is None or estimate.high is None:
            return estimate
        # of estimates that come clipped (variances, correlations) one end still has the whole reach
        reach = max(normal_point(confidence) * error, estimate.high - value, value - estimate.low)
        if 2 * reach >= width:
            return Estimate.none("the noise leaves an interval as wide as everything possible")
        if 2 * reach > _WIDE * width:
            warn(f"{what}: the {percent(confidence)} interval covers {2 * reach / width:.0%} of everything possible")
        # a value past an end of the range would leave an interval of no length: a certainty that nobody has
        low = max(min(estimate.low, self.high - error), self.low)
        high = min(max(estimate.high, self.low + error), self.high)
        return replace(estimate, low=low, high=high)


def percent(confidence: float) -> str:
    """A confidence as it stands in sentences: ``95 %``."""
    return f"{100 * confidence:.4g} %"


def warn(message: str) -> None:
    """Say that an answer is mostly noise, at the line of the user that asked for it."""
    warnings.warn(message, NoiseWarning, stacklevel=_lines_up())


def _lines_up() -> int:
    """How far above ``warn`` the first line outside this library stands."""
    frame: FrameType | None = sys._getframe(1)
    lines = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_LIBRARY):
        frame, lines = frame.f_back, lines + 1
    return lines


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


FLAT = "the noise hides how far the values spread"


def judged_variance(found: Estimate, what: str, possible: Possible, confidence: float) -> Estimate:
    """A variance, none where it is not above 0: the one rule on a value, since no one can use such a variance.

    Args:
        found: what the estimator gave.
        what: the quantity in words, for the warning.
        possible: the range of the values.
        confidence: of the interval.
    """
    if found.value is not None and found.value <= 0:
        return Estimate.none(FLAT)
    return Possible(0.0, (possible.high - possible.low) ** 2 / 4).judge(found, what, confidence)


def require_confidence(confidence: float) -> None:
    """A confidence that an interval can have, also where the answer would be withheld.

    Args:
        confidence: with what probability an interval is to hold the truth.

    Raises:
        InputContractError: not between 0.5 and 0.9999.
    """
    normal_point(confidence)


def require_pearson(method: str) -> None:
    """Refuse correlations of ranks.

    Raises:
        InputContractError: another method than ``pearson``.
    """
    if method != "pearson":
        raise InputContractError.of(
            Reason.BAD_PARAMETER,
            "method",
            required="pearson",
            came=method,
            fix="Noise moves every rank by an amount that depends on all rows, which no decoder of single rows undoes:"
            " ask for a crosstab, or for Pearson's correlation.",
        )
