"""Undoing clamped normal noise: the exact inverse is useless, so a stated, small bias buys a usable variance.

The rows of a clamped normal channel are smooth functions of the input. Its singular values fall like a power series;
on 84 codes at epsilon 2 the exactly unbiased decoder has a standard deviation of 5e5 times the range, while one with
a bias of a thousandth of the range stays near the raw noise (1.0 times the range; measured). So components that the
channel damps are weighed against the noise they would cost: ridge for the decoder, cut-off for frequencies. Both are
linear and fixed by the channel alone. Source: Tikhonov 1963; the scaling by the mean row is that of correspondence
analysis, in which the first component carries the total and is undamped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

if TYPE_CHECKING:
    from trasgo_lib.mechanisms.shift import Linear

SCORE_BIAS_SHARE = 1e-3
"""Largest bias of the decoder as a share of the range: below the standard error of a mean over a million rows."""

_LEAST_SINGULAR_VALUE = 1e-2
"""Frequency components damped below this are left out: undoing them would multiply sampling noise by a hundred."""

_COMPONENTS = 32
"""Smooth components looked at; the singular values beyond are far below the cut-off at every epsilon up to 44."""

_BISECTIONS = 200


@dataclass(frozen=True, slots=True)
class _Components:
    """Leading singular triples of the scaled channel: inputs float64[size, r], values float64[r], outputs likewise."""

    inputs: NDArray[np.float64]
    values: NDArray[np.float64]
    outputs: NDArray[np.float64]
    mean_row: NDArray[np.float64]


def _components(noise: Linear) -> _Components:
    size, count = noise.size, min(noise.size, _COMPONENTS)
    places = np.linspace(-1.0, 1.0, size)
    smooth, _ = np.linalg.qr(chebyshev.chebvander(places, count - 1))
    share = 1.0 / size
    mean_row = noise.outputs_of(np.full(size, share))
    # columns of the transposed scaled channel, diag(mean_row)^-1/2 K' diag(share)^1/2, in the smooth basis
    damped = np.stack([noise.outputs_of(column) for column in smooth.T], axis=1)
    damped *= np.sqrt(share) / np.sqrt(mean_row)[:, None]
    outputs, values, rotation = np.linalg.svd(damped, full_matrices=False)
    return _Components(inputs=smooth @ rotation.T, values=values, outputs=outputs, mean_row=mean_row)


@dataclass(frozen=True, slots=True)
class SmoothInverse:
    """Ridge decoder and cut-off frequencies of a smooth shift family."""

    def scores(self, noise: Linear) -> tuple[NDArray[np.float64] | None, float]:
        """The decoder of least mean variance whose bias stays within a thousandth of the range, and that bias."""
        parts = _components(noise)
        places = np.arange(noise.size, dtype=np.float64)
        centre = places.mean()
        wanted = parts.inputs.T @ (places - centre) / np.sqrt(noise.size)
        allowed = SCORE_BIAS_SHARE * noise.reach
        low, high = -80.0, 0.0  # logarithm of the ridge
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            bias = _bias(noise, _ridge(parts, wanted, np.exp(middle)), places - centre)
            low, high = (middle, high) if bias <= allowed else (low, middle)
        scores = _ridge(parts, wanted, np.exp(low))
        return scores + centre, _bias(noise, scores, places - centre)

    def frequencies(self, noise: Linear, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Frequencies in the span of the components the channel lets through; the total is kept exactly."""
        parts = _components(noise)
        kept = parts.values >= _LEAST_SINGULAR_VALUE
        seen = parts.outputs[:, kept].T @ (histogram / np.sqrt(parts.mean_row))
        frequencies: NDArray[np.float64] = parts.inputs[:, kept] @ (seen / parts.values[kept]) / np.sqrt(noise.size)
        return frequencies


def _ridge(parts: _Components, wanted: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    undone = parts.values / (parts.values**2 + ridge) * wanted
    scores: NDArray[np.float64] = parts.outputs @ undone / np.sqrt(parts.mean_row)
    return scores


def _bias(noise: Linear, scores: NDArray[np.float64], places: NDArray[np.float64]) -> float:
    return float(np.abs(noise.expectation(scores) - places).max())
