"""Shares of a column's codes, and of two columns' codes jointly, from released counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.estimation.decoding import MOST_CODES, transition
from trasgo_lib.estimation.estimate import Estimate, TargetKind
from trasgo_lib.mechanisms import Channel

_FLOAT_BIAS = 1e-6
"""Less than this is what float64 leaves of an exact inverse."""


@dataclass(frozen=True, slots=True)
class ShareEstimates:
    """Shares by inversion: unbiased but for ``bias``; entries can be negative, and they sum to 1.

    Args:
        values: float64[cells]; for two columns the right code runs fastest.
        covariance: float64[cells, cells], of the values.
        bias: float64[cells], the most each can be off on average; above 0 for smooth noise only, whose exact inverse is
            useless.
        rows: number of rows they come from.
        shape: number of codes, one entry a column.
    """

    values: NDArray[np.float64] = field(repr=False)
    covariance: NDArray[np.float64] = field(repr=False)
    bias: NDArray[np.float64] = field(repr=False)
    rows: int
    shape: tuple[int, ...]

    def estimate(self, *codes: int) -> Estimate:
        """The share of one code, or of one pair of codes, with its interval clipped to 0..1."""
        place = int(np.ravel_multi_index(codes, self.shape))
        error = float(np.sqrt(max(0.0, float(self.covariance[place, place]))))
        return Estimate.of(float(self.values[place]), error, bias=float(self.bias[place]), within=(0.0, 1.0))

    def combined(self, weights: NDArray[np.float64]) -> Estimate:
        """A weighted sum of shares, as for a union of codes or a contrast.

        Args:
            weights: float64[cells].
        """
        variance = max(0.0, float(weights @ self.covariance @ weights))
        bias = float(np.abs(weights) @ self.bias)
        return Estimate.of(float(weights @ self.values), float(np.sqrt(variance)), bias=bias)


def shares(channel: Channel, histogram: NDArray[np.integer], *, target: TargetKind = "population") -> ShareEstimates:
    """Shares of the input codes.

    Args:
        channel: the channel of the released codes.
        histogram: counts by output code, int[outputs]; public.
        target: whether the rows themselves count as drawn at random.

    Raises:
        InputContractError: no rows, a wrong length, or more than 4096 codes, for which a covariance is not formed.
    """
    counts = checked_counts(histogram, (channel.outputs,))
    rows = int(counts.sum())
    observed = counts / rows
    inverse = inverse_matrix(channel)
    values = channel.invert(observed)
    covariance = inverse @ _output_covariance(observed, rows) @ inverse.T
    if target == "file":
        covariance = _noise_covariance(inverse, transition(channel), project_simplex(values), rows)
    return ShareEstimates(values, covariance, inverse_bias(channel, inverse), rows, (channel.inputs,))


def joint_shares(
    left: Channel, right: Channel, table: NDArray[np.integer], *, target: TargetKind = "population"
) -> ShareEstimates:
    """Joint shares of two columns' input codes; their noise is independent.

    Args:
        left: channel of the left column.
        right: channel of the right column.
        table: counts by output codes, int[left outputs, right outputs]; public.
        target: whether the rows themselves count as drawn at random.

    Raises:
        InputContractError: no rows, a wrong shape, or more than 4096 cells, for which a covariance is not formed.
    """
    counts = checked_counts(table, (left.outputs, right.outputs))
    if counts.size > MOST_CODES:
        raise _refused(f"at most {MOST_CODES} cells", f"{counts.size}", "Combine codes first.")
    rows = int(counts.sum())
    observed = (counts / rows).ravel()
    ours, theirs = inverse_matrix(left), inverse_matrix(right)
    inverse = np.kron(ours, theirs).astype(np.float64, copy=False)
    values = inverse @ observed
    covariance = inverse @ _output_covariance(observed, rows) @ inverse.T
    if target == "file":
        rows_of_both = np.kron(transition(left), transition(right)).astype(np.float64, copy=False)
        covariance = _noise_covariance(inverse, rows_of_both, project_simplex(values), rows)
    left_bias, right_bias = inverse_bias(left, ours)[:, None], inverse_bias(right, theirs)[None, :]
    bias = (left_bias + right_bias + left_bias * right_bias).ravel()
    return ShareEstimates(values, covariance, bias, rows, (left.inputs, right.inputs))


def inverse_matrix(channel: Channel) -> NDArray[np.float64]:
    """The channel's inverse as a matrix: float64[inputs, outputs].

    Raises:
        InputContractError: more than 4096 output codes.
    """
    if channel.outputs > MOST_CODES:
        raise _refused(f"at most {MOST_CODES} codes", f"{channel.outputs}", "Combine codes first.")
    return np.stack([channel.invert(unit) for unit in np.eye(channel.outputs)], axis=1)


def inverse_bias(channel: Channel, inverse: NDArray[np.float64]) -> NDArray[np.float64]:
    """By input code, the most that an inverted share is off on average, whatever the distribution: float64[inputs]."""
    bias = np.abs(inverse @ transition(channel).T - np.eye(channel.inputs)).max(axis=1)
    return np.where(bias > _FLOAT_BIAS, bias, 0.0)


def checked_counts(counts: NDArray[np.integer], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Counts as float64 of the right shape, with at least one row.

    Raises:
        InputContractError: otherwise.
    """
    array = np.asarray(counts)
    if array.shape != shape or array.size == 0 or array.min() < 0 or array.sum() < 1:
        raise _refused(
            f"counts of the shape {shape} with at least one row",
            f"the shape {array.shape}" if array.shape != shape else "no rows, or a count below 0",
            "Count the released codes of this channel, the missing code included.",
        )
    return array.astype(np.float64)


def project_simplex(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest distribution: entries at least 0, summing to 1.

    Args:
        values: float64[..., cells]; the last axis is projected.

    Source:
        Duchi, Shalev-Shwartz, Singer and Chandra (2008), Efficient Projections onto the l1-Ball, algorithm 1.
    """
    falling = -np.sort(-values, axis=-1)
    excess = np.cumsum(falling, axis=-1) - 1.0
    place = np.arange(1, values.shape[-1] + 1)
    kept = np.count_nonzero(falling * place > excess, axis=-1)[..., None]
    shift = np.take_along_axis(excess, kept - 1, axis=-1) / kept
    projected: NDArray[np.float64] = np.maximum(values - shift, 0.0)
    return projected


def _output_covariance(observed: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    spread: NDArray[np.float64] = np.diag(observed) - np.outer(observed, observed)
    return spread / max(1, rows - 1)


def _noise_covariance(
    inverse: NDArray[np.float64], outputs: NDArray[np.float64], inputs: NDArray[np.float64], rows: int
) -> NDArray[np.float64]:
    """Covariance over the noise alone: rows of one input code are multinomial, and rows are independent."""
    mean = inputs @ outputs
    spread = np.diag(mean) - (outputs.T * inputs) @ outputs
    covariance: NDArray[np.float64] = inverse @ spread @ inverse.T / rows
    return covariance


def _refused(required: str, came: str, fix: str) -> InputContractError:
    return InputContractError.of(Reason.BAD_PARAMETER, "counts", required=required, came=came, fix=fix)
