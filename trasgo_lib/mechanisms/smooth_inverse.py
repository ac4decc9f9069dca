"""Undoing clamped normal noise: the exact inverse is useless, so a stated, small bias buys a usable variance.

The rows of a clamped normal channel are smooth functions of the input. Its singular values fall like a power series;
on 84 codes at epsilon 2 the exactly unbiased decoder has a standard deviation of 5e5 times the range, while one with
a bias of a thousandth of the range stays near the raw noise (1.0 times the range; measured). So components that the
channel damps are weighed against the noise they would cost: ridge for the decoder, cut-off for frequencies. Both are
linear and fixed by the channel alone. Source: Tikhonov 1963; the scaling by the mean row is that of correspondence
analysis, in which the first component carries the total and is undamped.
"""

from __future__ import annotations

from functools import cached_property
from math import exp, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

if TYPE_CHECKING:
    from trasgo_lib.mechanisms.shift import Linear

SCORE_BIAS_SHARE = 1e-3
"""Bias of the decoder as a share of the range: about the standard error of a mean over 100,000 rows."""

_LARGER_BIAS_SHARES = (2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1)
"""Taken where the first costs far more: a level coarsened many times, at epsilon 1 under a ladder of ten, has a decoder
with a standard deviation of 3e11 times the range at a bias of a thousandth, and of 1.4 times at five hundredths."""

_CLEARLY_LESS = 0.25
"""A larger bias must cut bias and error together to a quarter, so that near ties fall alike on every machine."""

_ROWS_OF_A_MEAN = 100_000
_TWO_ERRORS = 2.0

_LEAST_SINGULAR_VALUE = 1e-2
"""Frequency components damped below this are left out: undoing them would multiply sampling noise by a hundred."""

_COMPONENTS = 32
"""Smooth components looked at; the singular values beyond are far below the cut-off at every epsilon up to 44."""

_LEAST_LOG_RIDGE, _LARGEST_LOG_RIDGE = -80.0, 0.0
_BISECTIONS = 60


class SmoothInverse:
    """Ridge decoder and cut-off frequencies of a smooth shift family.

    Args:
        noise: its table.
    """

    def __init__(self, noise: Linear) -> None:
        self._noise = noise

    @cached_property
    def _mean_row(self) -> NDArray[np.float64]:
        """Output frequencies when every input is equally frequent."""
        return self._noise.outputs_of(np.full(self._noise.size, 1 / self._noise.size))

    @cached_property
    def _components(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Leading singular triples of the scaled channel: inputs float64[size, r], values [r], outputs [size, r]."""
        size = self._noise.size
        smooth, _ = np.linalg.qr(chebyshev.chebvander(np.linspace(-1.0, 1.0, size), min(size, _COMPONENTS) - 1))
        # the transposed scaled channel, diag(mean_row)**-1/2 K' diag(1/size)**1/2, on the smooth basis
        damped = np.stack([self._noise.outputs_of(column) for column in smooth.T], axis=1)
        damped /= np.sqrt(size * self._mean_row)[:, None]
        outputs, values, rotation = np.linalg.svd(damped, full_matrices=False)
        return smooth @ rotation.T, values, outputs

    def scores(self) -> tuple[NDArray[np.float64], float]:
        """The decoder that serves a mean over 100,000 rows, and its bias, in code steps.

        Of each largest bias it is the decoder of least mean variance; the smallest bias is taken unless a larger one
        clearly pays.
        """
        found = [self._scores_within(share) for share in (SCORE_BIAS_SHARE, *_LARGER_BIAS_SHARES)]
        costs = [self._cost(*each) for each in found]
        best = int(np.argmin(costs))
        return found[best] if costs[best] < _CLEARLY_LESS * costs[0] else found[0]

    def _cost(self, scores: NDArray[np.float64], bias: float) -> float:
        """Bias and two standard errors of a mean, together, at the input where the noise is largest."""
        images = self._noise.expectation(scores)
        variance = float((self._noise.expectation(scores**2) - images**2).max())
        return bias + _TWO_ERRORS * sqrt(max(0.0, variance) / _ROWS_OF_A_MEAN)

    @cached_property
    def _decoders(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Decoders of the components, and what each input expects of them: both float64[size, r]."""
        decoders = self._components[2] / np.sqrt(self._mean_row)[:, None]
        return decoders, np.stack([self._noise.expectation(decoder) for decoder in decoders.T], axis=1)

    def _scores_within(self, share: float) -> tuple[NDArray[np.float64], float]:
        """The decoder of least mean variance whose bias stays within a share of the range, and that bias."""
        inputs, values, _ = self._components
        decoders, images = self._decoders
        places = np.arange(self._noise.size, dtype=np.float64)
        offsets = places - places.mean()
        wanted = inputs.T @ offsets / np.sqrt(self._noise.size)

        def undone(log_ridge: float) -> NDArray[np.float64]:
            shares: NDArray[np.float64] = values / (values**2 + exp(log_ridge)) * wanted
            return shares

        low, high = _LEAST_LOG_RIDGE, _LARGEST_LOG_RIDGE
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            bias = float(np.abs(images @ undone(middle) - offsets).max())
            low, high = (middle, high) if bias <= share * self._noise.reach else (low, middle)
        scores = decoders @ undone(low) + places.mean()
        return scores, float(np.abs(self._noise.expectation(scores) - places).max())

    def frequencies(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Frequencies in the span of the components the channel lets through; the total is kept exactly."""
        inputs, values, outputs = self._components
        kept = values >= _LEAST_SINGULAR_VALUE
        seen = outputs[:, kept].T @ (histogram / np.sqrt(self._mean_row))
        frequencies: NDArray[np.float64] = inputs[:, kept] @ (seen / values[kept]) / np.sqrt(self._noise.size)
        return frequencies
