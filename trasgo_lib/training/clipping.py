"""Clipped gradients of rows, summed exactly, without ever making the gradient of one row.

The gradient of a row is, in each layer, the outer product of what enters (``a``) and the error (``e``), so its squared
norm is the sum over layers of ``|a|**2 |e|**2`` ("ghost norm"; the bias is the last entry of ``a``, which is 1).
Clipping scales the errors; they are then cut towards zero to a grid, which makes no norm larger, and the sum of the
outer products is a sum of whole numbers that float64 holds exactly.

Source: Goodfellow, "Efficient per-example gradient computations" (2015); Li, Tramer, Liang, Hashimoto, "Large language
models can be strong differentially private learners" (2022), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.training.network import ACTIVATION_BITS, Matrix

_ERROR_BITS = 20
SUM_BITS = ACTIVATION_BITS + _ERROR_BITS
"""Sums of clipped gradients are whole multiples of 2**-30 of the clipping norm."""

ROWS_AT_ONCE = 2**16
"""A row adds at most 2**30 units to a number, so 2**23 rows fit below 2**53; fewer keep the working memory small."""

_INWARD = 1 - 2.0**-40
"""Covers the roundings of norm, quotient and product, each of one part in 2**53."""


def squared_norms(entering: Sequence[Matrix], errors: Sequence[Matrix]) -> Matrix:
    """Squared norm of each row's gradient over all layers, biases included: float64[rows]."""
    total = np.zeros(len(errors[0]))
    for values, error in zip(entering, errors, strict=True):
        total += np.einsum("ij,ij->i", values, values) * np.einsum("ij,ij->i", error, error)
    return total


def clipped_errors(entering: Sequence[Matrix], errors: Sequence[Matrix], clip_norm: float) -> list[Matrix]:
    """Errors scaled so that no row's gradient is longer than the clipping norm, in units of it, on a grid of 2**-20.

    Args:
        entering: what goes into each layer, float64[rows, inputs + 1].
        errors: of each layer, float64[rows, outputs].
        clip_norm: largest norm that a row keeps.
    """
    norms = np.sqrt(squared_norms(entering, errors))
    scale = _INWARD / np.maximum(norms, clip_norm)
    return [np.trunc(error * scale[:, None] * 2.0**_ERROR_BITS) / 2.0**_ERROR_BITS for error in errors]


def clipped_sum(entering: Sequence[Matrix], errors: Sequence[Matrix], clip_norm: float) -> NDArray[np.int64]:
    """The sum of the clipped gradients of at most ``ROWS_AT_ONCE`` rows, int64[parameters], layer after layer.

    Returns:
        Multiples of 2**-30 of the clipping norm. A row that is added or taken out moves it by at most 2**30 in the
        Euclidean norm, exactly.
    """
    if len(errors[0]) > ROWS_AT_ONCE:
        raise ValueError(f"at most {ROWS_AT_ONCE} rows at once")
    kept = clipped_errors(entering, errors, clip_norm)
    sums = [(values.T @ error).reshape(-1) for values, error in zip(entering, kept, strict=True)]
    return (np.concatenate(sums) * 2.0**SUM_BITS).astype(np.int64)
