"""Noisy gradient descent on Poisson samples (DP-SGD): the only place where a model touches private rows.

Each step draws every row by itself with the sampling rate, adds the clipped gradients of what was drawn, rounds the
sum to the grid of the noise, adds discrete Gaussian noise whether or not any row was drawn, and divides by the
*expected* number of rows. How many rows were drawn shows in nothing that leaves a step but that sum.

The sampled Gaussian mechanism is charged, whose noise is continuous. The discrete one costs no more: its moments
``E[(P/Q)**k]`` are at most those of the continuous one (Canonne, Kamath, Steinke 2020, Proposition 5, for vectors too),
which is all that the upper direction of the bound uses; the other direction is no larger since turning the whole-number
lattice about the middle of two centres swaps them (Mironov, Talwar, Zhang 2019, Theorem 5).

Source: Abadi et al., "Deep learning with differential privacy" (2016), Algorithm 1; for the sampling that the
accountant assumes, Chua et al., "How private are DP-SGD implementations?" (2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.noise.discrete_gaussian import GaussianTable, gaussian_table
from trasgo_lib.noise.keystream import Keystream
from trasgo_lib.training.clipping import ROWS_AT_ONCE, SUM_BITS, clipped_sum
from trasgo_lib.training.network import WEIGHT_BITS, Matrix, activations, errors, on_grid

RATE_BITS = 32
"""Sampling rates are multiples of 2**-32: the upper half of a keyed word is compared with a whole number."""

Inputs = Callable[[NDArray[np.int64]], Matrix]
"""Gives the inputs of the rows at some places: int64[rows] -> float64[rows, inputs]; private."""


@dataclass(frozen=True, slots=True)
class Descent:
    """Everything that fixes the law of a training; public.

    Args:
        shapes: rows and columns of each layer's weights.
        rate_units: a row is in a sample with probability ``rate_units / 2**32``.
        steps: how many; fixed.
        clip_norm: largest norm of a row's gradient.
        grid_bits: the noise is on multiples of ``clip_norm / 2**grid_bits``.
        variance: of the noise, in squared steps of that grid.
        expected_rows: number of rows that a sample is expected to have: the rate times the declared number of rows.
        learning_rate: of each step.
        averaged: share of the steps at the end over which weights are averaged; 0 for the last weights.
    """

    shapes: tuple[tuple[int, int], ...]
    rate_units: int
    steps: int
    clip_norm: float
    grid_bits: int
    variance: Fraction
    expected_rows: float
    learning_rate: float
    averaged: float = 0.0

    @property
    def parameters(self) -> int:
        """How many weights there are."""
        return sum(rows * columns for rows, columns in self.shapes)


def descend(
    law: Descent,
    rows: int,
    inputs: Inputs,
    labels: NDArray[np.int64],
    samples: Keystream,
    noise: Keystream,
    start: Keystream,
    each_step: Callable[[int], None] = lambda step: None,
) -> tuple[Matrix, ...]:
    """Train from the first step to the last.

    Args:
        law: of the training.
        rows: number of private rows.
        inputs: of rows; private.
        labels: int64[rows]; private.
        samples: which rows are in which sample.
        noise: of every step.
        start: the first weights of hidden layers, which need to differ from each other.
        each_step: told of every finished step, for progress and to keep a lease.

    Returns:
        The weights of each layer, multiples of 2**-18: float64[inputs + 1, outputs].
    """
    table = gaussian_table(law.variance)
    weights = first_weights(law.shapes, start)
    total, kept_from = [np.zeros_like(layer) for layer in weights], round(law.steps * (1 - law.averaged))
    for step in range(law.steps):
        drawn = sample(law, rows, step, samples)
        noisy = noisy_sum(law, _gradient_sum(law, weights, drawn, inputs, labels), step, table, noise)
        moved = noisy.astype(np.float64) * (law.learning_rate * law.clip_norm / 2.0**law.grid_bits / law.expected_rows)
        weights = [layer - part for layer, part in zip(weights, _layers(moved, law.shapes), strict=True)]
        if step >= kept_from:
            total = [layer + now for layer, now in zip(total, weights, strict=True)]
        each_step(step)
    if law.averaged:
        weights = [layer / (law.steps - kept_from) for layer in total]
    return tuple(on_grid(layer) for layer in weights)


def sample(law: Descent, rows: int, step: int, samples: Keystream) -> NDArray[np.int64]:
    """Places of the rows of one step's sample, each in it by itself with the same probability: int64[drawn]."""
    words = samples.words(step * rows, rows)
    return np.flatnonzero((words >> np.uint64(64 - RATE_BITS)) < np.uint64(law.rate_units))


def noisy_sum(
    law: Descent, exact: NDArray[np.int64], step: int, table: GaussianTable, noise: Keystream
) -> NDArray[np.int64]:
    """A sum of clipped gradients, rounded to the grid of the noise and noised: int64[parameters].

    Args:
        law: of the training.
        exact: multiples of 2**-30 of the clipping norm; private.
        step: which step.
        table: of the noise.
        noise: keyed words.
    """
    shift = SUM_BITS - law.grid_bits
    rounded = (exact + (1 << shift >> 1)) >> shift
    return rounded + table.draw(noise, step * law.parameters, law.parameters)


def first_weights(shapes: Sequence[tuple[int, int]], start: Keystream) -> list[Matrix]:
    """Zero for the last layer and all biases; for hidden layers uniform of the usual variance (He et al. 2015)."""
    found, word = [], 0
    for place, (rows, columns) in enumerate(shapes):
        layer = np.zeros((rows, columns))
        if place < len(shapes) - 1:
            count = (rows - 1) * columns
            uniform = (start.words(word, count) >> np.uint64(11)).astype(np.float64) / 2.0**53
            layer[:-1] = ((2 * uniform - 1) * np.sqrt(6 / rows)).reshape(rows - 1, columns)
            word += count
        found.append(layer)
    return found


def _gradient_sum(
    law: Descent, weights: Sequence[Matrix], drawn: NDArray[np.int64], inputs: Inputs, labels: NDArray[np.int64]
) -> NDArray[np.int64]:
    exact = np.zeros(law.parameters, dtype=np.int64)
    used = [on_grid(layer) for layer in weights]
    for start in range(0, len(drawn), ROWS_AT_ONCE):
        places = drawn[start : start + ROWS_AT_ONCE]
        entering, scores = activations(used, inputs(places))
        exact += clipped_sum(entering, errors(used, entering, scores, labels[places]), law.clip_norm)
    return exact


def _layers(flat: Matrix, shapes: Sequence[tuple[int, int]]) -> list[Matrix]:
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]


__all__ = ["RATE_BITS", "WEIGHT_BITS", "Descent", "Inputs", "descend", "first_weights", "noisy_sum", "sample"]
