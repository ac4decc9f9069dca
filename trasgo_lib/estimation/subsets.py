"""Shares of sets of private codes, alone and jointly, and means over the rows that hold codes of such a set.

Only wanted shares are decoded and only their variances formed, so domains and crosstabs can be of any size. Chance is
the draw of the rows from their population and the noise together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.decoding import decode
from trasgo_lib.estimation.estimate import CONFIDENCE, Estimate
from trasgo_lib.estimation.moments import TOO_LARGE
from trasgo_lib.estimation.shares import checked_counts
from trasgo_lib.estimation.together import PairDecoder, SharedNoise
from trasgo_lib.mechanisms import Channel

LEAST_SHARE_SCORE = 4.0
"""A share this many standard errors above 0 can stand in a denominator: the ratio is then near normal."""

HIDDEN_GROUP = "the noise hides how many rows have this value"


def subset_shares(
    channel: Channel, histogram: NDArray[np.integer], members: NDArray[np.bool_], *, confidence: float = CONFIDENCE
) -> tuple[Estimate, ...]:
    """Shares of sets of input codes, unbiased; values and interval ends can be below 0.

    Args:
        channel: the channel of the released codes.
        histogram: counts by output code, int[outputs]; public.
        members: bool[inputs, sets].
        confidence: of the intervals.

    Raises:
        InputContractError: no rows, or counts of another length.
    """
    counts = checked_counts(histogram, (channel.outputs,))
    found = decode(channel, members.astype(np.float64))
    if found is None:
        return (Estimate.none(TOO_LARGE),) * int(members.shape[1])
    shares, rows = counts / counts.sum(), float(counts.sum())
    values, squares = shares @ found.values, shares @ found.values**2
    return _estimates(values, squares, found.bias, rows, confidence)


def joint_subset_shares(
    left: Channel,
    right: Channel,
    table: NDArray[np.integer],
    left_members: NDArray[np.bool_],
    right_members: NDArray[np.bool_],
    *,
    together: SharedNoise | None = None,
    confidence: float = CONFIDENCE,
) -> tuple[Estimate, ...]:
    """Shares of pairs of sets of two columns' codes, unbiased and not cut to 0..1; the right set runs fastest.

    Args:
        left: channel of the left column.
        right: channel of the right column.
        table: counts by output codes, int[left outputs, right outputs]; public.
        left_members: bool[left inputs, sets].
        right_members: bool[right inputs, sets].
        together: for two columns of one group; None where the noise of the two is independent.
        confidence: of the intervals.

    Raises:
        InputContractError: no rows, or a table of another shape.
    """
    counts = checked_counts(table, (left.outputs, right.outputs))
    ours, theirs = decode(left, left_members.astype(np.float64)), decode(right, right_members.astype(np.float64))
    if ours is None or theirs is None:
        return (Estimate.none(TOO_LARGE),) * int(left_members.shape[1] * right_members.shape[1])
    shares, rows = counts / counts.sum(), float(counts.sum())
    pair = PairDecoder.of(ours.values, theirs.values, together)
    seen, fresh = pair.left.T @ shares @ pair.right, np.outer(pair.left_means, pair.right_means)
    values = pair.decoded(seen, fresh)
    squares = pair.squared((pair.left**2).T @ shares @ pair.right**2, seen, fresh)
    bias = ours.bias[:, None] + theirs.bias[None, :] + np.outer(ours.bias, theirs.bias)
    return _estimates(values.ravel(), squares.ravel(), bias.ravel(), rows, confidence)


def _estimates(
    values: NDArray[np.float64],
    squares: NDArray[np.float64],
    bias: NDArray[np.float64],
    rows: float,
    confidence: float,
) -> tuple[Estimate, ...]:
    errors = np.sqrt(np.maximum(0.0, squares - values**2) / max(1.0, rows - 1))
    triples = zip(values.tolist(), errors.tolist(), bias.tolist(), strict=True)
    return tuple(Estimate.of(value, error, bias=off, confidence=confidence) for value, error, off in triples)


def conditional_means(
    column: Channel,
    other: Channel,
    table: NDArray[np.integer],
    functions: NDArray[np.float64],
    counted: NDArray[np.bool_],
    members: NDArray[np.bool_],
    *,
    together: SharedNoise | None = None,
    confidence: float = CONFIDENCE,
) -> tuple[tuple[Estimate, ...], ...]:
    """Means of private functions over the rows whose other column holds a code of a set.

    Ratios of two decoded means, so unbiased to first order; standard errors come from the influence of one row.

    Args:
        column: the channel of the column.
        other: the channel of the other column.
        table: counts by output codes, int[column outputs, other outputs]; public.
        functions: float64[column inputs, m], averaged; 0 where not counted.
        counted: bool[column inputs], the codes whose rows count.
        members: bool[other inputs, sets].
        together: for two columns of one group; None where the noise of the two is independent.
        confidence: of the intervals.

    Returns:
        One tuple a set, one estimate a function in it.

    Raises:
        InputContractError: no rows, or a table of another shape.
    """
    counts = checked_counts(table, (column.outputs, other.outputs))
    ours = decode(column, np.concatenate([counted[:, None].astype(np.float64), functions], axis=1))
    theirs = decode(other, members.astype(np.float64))
    width = int(functions.shape[1])
    if ours is None or theirs is None:
        return ((Estimate.none(TOO_LARGE),) * width,) * int(members.shape[1])
    shares, rows = counts / counts.sum(), float(counts.sum())
    pair = PairDecoder.of(ours.values, theirs.values, together)
    seen = shares @ pair.right, shares @ pair.right**2
    present, counts_as = pair.left[:, 0], pair.left[:, 1:]
    found = []
    for place, off in enumerate(theirs.bias.tolist()):
        first, second = seen[0][:, place], seen[1][:, place]  # decoder of the set, and its square, by released code
        fresh = pair.left_means * pair.right_means[place]
        whole = present @ first
        size = float(pair.decoded(whole, fresh[0]))
        square = float(pair.squared(present**2 @ second, whole, fresh[0]))
        if size <= LEAST_SHARE_SCORE * np.sqrt(max(0.0, square - size**2) / max(1.0, rows - 1)):
            found.append((Estimate.none(HIDDEN_GROUP),) * width)
            continue
        values = pair.decoded(counts_as.T @ first, fresh[1:]) / size
        influence = counts_as - present[:, None] * values
        squares = pair.squared((influence**2).T @ second, influence.T @ first, fresh[1:] - fresh[0] * values)
        errors = np.sqrt(np.maximum(0.0, squares) / max(1.0, rows - 1)) / size
        lost = np.abs(functions - counted[:, None] * values).max(axis=0) * off
        bias = ((ours.bias[1:] + np.abs(values) * ours.bias[0]) * (1 + off) + lost) / size
        triples = zip(values, errors, bias, strict=True)
        found.append(tuple(Estimate.of(*each, bias=moved, confidence=confidence) for *each, moved in triples))
    return tuple(found)
