"""Quantiles of private numbers, by inverting a test of the decoded distribution function (Woodruff's interval).

The q-quantile is above a value t exactly when the share up to t is below q, and ``E[1{x <= t} - q]`` is linear in the
law of the rows, so no ratio and no density is estimated. Under noise on a scale a sharp step costs too much: the step
is replaced by a ramp of a width that follows from the channel and the number of rows alone. A ramp lies between two
steps, so the interval covers at least what it says, whatever the distribution.

Source:
    Woodruff (1952), Confidence Intervals for Medians and Other Position Measures, JASA 47.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.estimation.decoding import decode, expectation
from trasgo_lib.estimation.estimate import CONFIDENCE, normal_point
from trasgo_lib.estimation.moments import TOO_LARGE
from trasgo_lib.estimation.shares import checked_counts
from trasgo_lib.estimation.together import PairDecoder, SharedNoise
from trasgo_lib.mechanisms import Channel

MOST_CUTS = 256
"""Cuts at which the distribution function is looked at; between them intervals go out to the next one."""

_CUTS_A_RAMP = 8
"""Cuts closer than this part of a ramp narrow an interval by less than a tenth."""

_MOST_DECODED = 2**21
"""Entries of all decoders of one quantile: 16 MB, and a second for their check."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a quantile stands among the places of a column, in their order.

    Args:
        value: on the scale of the edges of places: place p reaches from p to p + 1.
        low: the first place of the interval.
        high: its last place.
    """

    value: float
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Cuts:
    """Steps or ramps, less q where a value is present: float64[inputs, cuts].

    Args:
        starts: int64[cuts], the last place that counts whole, in rising order.
        width: places over which a ramp falls to 0; 1 is a step.
        places: number of places.
        functions: float64[inputs, cuts]; 0 where missing.
    """

    starts: NDArray[np.int64] = field(repr=False)
    width: int
    places: int
    functions: Floats = field(repr=False)


def quantile(
    channel: Channel,
    histogram: NDArray[np.integer],
    q: float,
    *,
    places: NDArray[np.integer],
    steps_only: bool = False,
    confidence: float = CONFIDENCE,
) -> Position | str:
    """A quantile of a column over the rows that are not missing.

    Args:
        channel: the channel of the released codes.
        histogram: counts by output code, int[outputs]; public.
        q: share of the values at or below it, between 0 and 1.
        places: int[inputs], the place of each input code in rising order, -1 for missing; codes that the noise does not
            tell apart share one.
        steps_only: whether ramps are of no use, as for noise that keeps or replaces values whole.
        confidence: of the interval, which covers at least that.

    Returns:
        The quantile, or the reason why there is none.

    Raises:
        InputContractError: no rows, counts of another length, or q or confidence out of range.
    """
    counts = checked_counts(histogram, (channel.outputs,))
    rows = float(counts.sum())
    cuts = _cuts(channel, places, q, rows, steps_only, confidence)
    found = None if cuts is None else decode(channel, cuts.functions)
    if cuts is None or found is None:
        return TOO_LARGE
    means = counts @ found.values / rows
    squares = counts @ found.values**2 / rows
    return _position(cuts, means, _reach(means, squares, rows, confidence) + found.bias, q)


def conditional_quantiles(
    column: Channel,
    other: Channel,
    table: NDArray[np.integer],
    q: float,
    members: NDArray[np.bool_],
    *,
    places: NDArray[np.integer],
    steps_only: bool = False,
    together: SharedNoise | None = None,
    confidence: float = CONFIDENCE,
) -> tuple[Position | str, ...]:
    """Quantiles over the rows whose other column holds a code of a set.

    Args:
        column: the channel of the column.
        other: the channel of the other column.
        table: counts by output codes, int[column outputs, other outputs]; public.
        q: share of the values at or below it, between 0 and 1.
        members: bool[other inputs, sets].
        places: int[column inputs]; see ``quantile``.
        steps_only: see ``quantile``.
        together: for two columns of one group; None where the noise of the two is independent.
        confidence: of the intervals.

    Raises:
        InputContractError: no rows, a table of another shape, or q or confidence out of range.
    """
    counts = checked_counts(table, (column.outputs, other.outputs))
    rows, sets = float(counts.sum()), int(members.shape[1])
    cuts = _cuts(column, places, q, rows / sets, steps_only, confidence)
    ours = None if cuts is None else decode(column, cuts.functions)
    theirs = decode(other, members.astype(np.float64))
    if cuts is None or ours is None or theirs is None:
        return (TOO_LARGE,) * sets
    pair = PairDecoder.of(ours.values, theirs.values, together)
    shares = counts / rows
    seen, fresh = pair.left.T @ shares @ pair.right, np.outer(pair.left_means, pair.right_means)
    means = pair.decoded(seen, fresh)
    squares = pair.squared((pair.left**2).T @ shares @ pair.right**2, seen, fresh)
    bias = ours.bias[:, None] + theirs.bias[None, :] + np.outer(ours.bias, theirs.bias)
    reach = _reach(means, squares, rows, confidence) + bias
    return tuple(_position(cuts, means[:, place], reach[:, place], q) for place in range(sets))


def _cuts(
    channel: Channel, places: NDArray[np.integer], q: float, rows: float, steps_only: bool, confidence: float
) -> Cuts | None:
    if not (isinstance(q, (int, float)) and 0 < q < 1):
        raise InputContractError.of(
            Reason.BAD_PARAMETER, "q", required="a share between 0 and 1", came=f"{q}", fix="0.5 is the median."
        )
    count = int(places.max()) + 1
    width = 1 if steps_only else _ramp_width(channel, places, q, rows, confidence)
    if width is None:
        return None
    most = max(16, min(MOST_CUTS, _MOST_DECODED // len(places)))
    stride = max(-(-(count + width) // most), width // _CUTS_A_RAMP)
    starts = np.arange(1 - width, count - 1 + stride, stride, dtype=np.int64)
    return Cuts(starts, width, count, _ramps(places, starts, width, q))


def _ramps(places: NDArray[np.integer], starts: NDArray[np.int64], width: int | NDArray[np.int64], q: float) -> Floats:
    """1 up to a start, falling by a cubic to 0 within the width, less q; 0 where missing: float64[inputs, cuts]."""
    along = np.clip((places[:, None] - starts[None, :]) / width, 0.0, 1.0)
    ramps: Floats = np.where(places[:, None] < 0, 0.0, 1.0 - along**2 * (3.0 - 2.0 * along) - q)
    return ramps


def _ramp_width(channel: Channel, places: NDArray[np.integer], q: float, rows: float, confidence: float) -> int | None:
    """The width of the least expected interval if values were spread evenly: nothing of the released rows enters."""
    count = int(places.max()) + 1
    widths = np.unique(np.rint(2 ** np.arange(0, np.log2(count) + 0.5, 0.5)).astype(np.int64))
    found = decode(channel, _ramps(places, (count - widths) // 2, widths, q))
    if found is None:
        return None
    here = places >= 0
    mean, square = (expectation(channel, found.values**power)[here].mean(axis=0) for power in (1, 2))
    errors = np.sqrt(np.maximum(0.0, square - mean**2) / max(1.0, rows - 1))
    expected = widths - 1 + 2 * count * (normal_point(confidence) * errors + found.bias)
    return int(widths[np.argmin(expected)])


def _reach(means: Floats, squares: Floats, rows: float, confidence: float) -> Floats:
    reach: Floats = normal_point(confidence) * np.sqrt(np.maximum(0.0, squares - means**2) / max(1.0, rows - 1))
    return reach


def _position(cuts: Cuts, means: Floats, reach: Floats, q: float) -> Position:
    """The places that the test does not rule out; each end hangs on one cut, so looking at many costs nothing."""
    below = means + reach < 0  # the share up to the start is below q
    above = means - reach >= 0  # the share up to the end of the ramp is q or more
    first = int(np.argmin(below)) if not below.all() else len(below)
    last = len(above) - int(np.argmin(above[::-1])) if not above.all() else 0
    low = int(cuts.starts[first - 1]) + 1 if first else 0
    high = int(cuts.starts[last]) + cuts.width - 1 if last < len(above) else cuts.places - 1
    low, high = max(0, min(low, cuts.places - 1)), max(0, min(high, cuts.places - 1))
    high = max(low, high)
    rising = (np.maximum.accumulate(means) + np.minimum.accumulate(means[::-1])[::-1]) / 2
    after = int(np.searchsorted(rising, 0.0, side="left"))
    edges = cuts.starts + (cuts.width + 1) / 2  # where a ramp stands for a step, on the scale of edges
    if after in (0, len(rising)):
        value = float(edges[min(after, len(rising) - 1)])
    else:
        before, behind = rising[after - 1], rising[after]
        share = -before / (behind - before)
        value = float(edges[after - 1] + share * (edges[after] - edges[after - 1]))
    return Position(float(np.clip(value, low, high + 1)), low, high)
