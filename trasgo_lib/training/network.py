"""A small network whose arithmetic is exact: the gradient of a row depends on that row and the weights alone.

Floating-point sums depend on their order, and matrix products order them by the size of a batch. One row more or less
would then move the last bits of *other* rows' gradients, which no sensitivity covers. So inputs, weights, activations
and errors are multiples of powers of two, small enough that every product sum stays below 2**53: float64 holds it
exactly, in whatever order it is made. The rest is elementwise and correctly rounded, or looked up. Training gives the
same bits on every machine.

A network without hidden layers is logistic regression. Hidden layers are rectified linear, cut at ``HIGHEST``; the last
layer is logistic for two labels and softmax for more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

WEIGHT_BITS = 18
"""Weights are multiples of 2**-18 ..."""

LARGEST_WEIGHT = 64
"""... of at most this size."""

ACTIVATION_BITS = 10
"""Inputs and activations are multiples of 2**-10; inputs are at most 1 in size."""

HIGHEST = 16
"""Activations of hidden layers and scores of the last one are cut at this size."""

MOST_INPUTS = 4096
MOST_HIDDEN = 256
MOST_LABELS = 64
"""With these sizes every product sum stays below 2**53 units."""

_SCORE_BITS = 8
_OUTPUT_ERROR_BITS = 20
_ERROR_BITS = 16
_LARGEST_ERROR = 16


def shapes(inputs: int, hidden: Sequence[int], labels: int) -> tuple[tuple[int, int], ...]:
    """Rows and columns of each layer's weights; the last row of each is the bias."""
    widths = (inputs, *hidden, 1 if labels == 2 else labels)
    return tuple((before + 1, after) for before, after in pairwise(widths))


def on_grid(weights: Matrix) -> Matrix:
    """Weights as the network uses them: rounded and cut; any change of weights is post-processing of what was paid."""
    return _rounded(np.clip(weights, -LARGEST_WEIGHT, LARGEST_WEIGHT), WEIGHT_BITS)


def activations(weights: Sequence[Matrix], inputs: Matrix) -> tuple[list[Matrix], Matrix]:
    """The forward pass.

    Args:
        weights: of each layer, on the grid: float64[inputs + 1, outputs].
        inputs: float64[rows, inputs], multiples of 2**-10 of at most 1 in size.

    Returns:
        What goes into each layer, a last column of ones included; and the scores, float64[rows, outputs].
    """
    entering = [_with_ones(inputs)]
    for layer in weights[:-1]:
        entering.append(_with_ones(_rounded(np.clip(entering[-1] @ layer, 0, HIGHEST), ACTIVATION_BITS)))
    return entering, _rounded(np.clip(entering[-1] @ weights[-1], -HIGHEST, HIGHEST), _SCORE_BITS)


def errors(
    weights: Sequence[Matrix], entering: Sequence[Matrix], scores: Matrix, labels: NDArray[np.int64]
) -> list[Matrix]:
    """The backward pass: derivative of each row's loss by the sums of each layer, float64[rows, outputs].

    The gradient of a row is, layer by layer, the outer product of what enters and this error.

    Args:
        weights: as in ``activations``.
        entering: as ``activations`` gave it.
        scores: likewise.
        labels: int64[rows], codes of the target.
    """
    found = [_output_errors(scores, labels)]
    for layer, values in zip(reversed(weights[1:]), reversed(entering[1:]), strict=True):
        hidden = values[:, :-1]
        passed = found[0] @ layer[:-1].T * ((hidden > 0) & (hidden < HIGHEST))
        found.insert(0, _rounded(np.clip(passed, -_LARGEST_ERROR, _LARGEST_ERROR), _ERROR_BITS))
    return found


def shares(scores: Matrix) -> Matrix:
    """Probabilities of the labels from scores: float64[rows, outputs] -> float64[rows, labels]."""
    if scores.shape[1] == 1:
        second = _logistic()[_place(scores[:, 0])]
        return np.stack([1 - second, second], axis=1)
    powers = _powers()[_place(scores - scores.max(axis=1, keepdims=True), lowest=-2 * HIGHEST)]
    found: Matrix = powers / powers.sum(axis=1, keepdims=True)
    return found


def _output_errors(scores: Matrix, labels: NDArray[np.int64]) -> Matrix:
    found = _rounded(shares(scores), _OUTPUT_ERROR_BITS)
    if scores.shape[1] == 1:
        second: Matrix = found[:, 1:] - (labels == 1)[:, None]
        return second
    found[np.arange(len(labels)), labels] -= 1
    return found


def _rounded(values: Matrix, bits: int) -> Matrix:
    return np.rint(values * 2.0**bits) / 2.0**bits


def _with_ones(values: Matrix) -> Matrix:
    return np.concatenate([values, np.ones((len(values), 1))], axis=1)


def _place(scores: Matrix, lowest: int = -HIGHEST) -> NDArray[np.int64]:
    places: NDArray[np.int64] = ((scores - lowest) * 2**_SCORE_BITS).astype(np.int64)
    return places


@cache
def _logistic() -> Matrix:
    """``1 / (1 + exp(-score))`` for every score that can occur: one value a score, wherever a row stands in a batch."""
    scores = range(-HIGHEST * 2**_SCORE_BITS, HIGHEST * 2**_SCORE_BITS + 1)
    found = np.array([1 / (1 + math.exp(-score / 2**_SCORE_BITS)) for score in scores])
    return _rounded(found, _OUTPUT_ERROR_BITS)


@cache
def _powers() -> Matrix:
    """``exp(score)`` for scores of at most 0, on a grid, so that their sum is exact."""
    scores = range(-2 * HIGHEST * 2**_SCORE_BITS, 1)
    return _rounded(np.array([math.exp(score / 2**_SCORE_BITS) for score in scores]), 2 * _OUTPUT_ERROR_BITS)
