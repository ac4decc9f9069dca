"""Exact arithmetic, ghost norms and clipping: against gradients of single rows that are made explicitly."""

from __future__ import annotations

import numpy as np
import pytest

from trasgo_lib.noise import Keystream
from trasgo_lib.training.clipping import ROWS_AT_ONCE, SUM_BITS, clipped_errors, clipped_sum, squared_norms
from trasgo_lib.training.descent import first_weights
from trasgo_lib.training.network import (
    LARGEST_WEIGHT,
    MOST_HIDDEN,
    activations,
    errors,
    on_grid,
    shapes,
    shares,
)

KEY = bytes(range(32))
LAYERS = [((), 2), ((), 5), ((7,), 2), ((16, 8), 2), ((9,), 4)]


def _uniform(rows: int, columns: int, label: str) -> np.ndarray:
    words = Keystream(KEY, label).words(0, rows * columns)
    return ((words >> np.uint64(11)).astype(np.float64) / 2.0**53).reshape(rows, columns)


def _network(hidden: tuple[int, ...], labels: int, inputs: int = 12) -> list[np.ndarray]:
    found = first_weights(shapes(inputs, hidden, labels), Keystream(KEY, "start"))
    noise = [_uniform(*layer.shape, f"weights {place}") - 0.5 for place, layer in enumerate(found)]
    return [on_grid(layer + part) for layer, part in zip(found, noise, strict=True)]


def _rows(count: int, labels: int, inputs: int = 12) -> tuple[np.ndarray, np.ndarray]:
    values = np.rint((2 * _uniform(count, inputs, "rows") - 1) * 1024) / 1024
    return values, (Keystream(KEY, "labels").words(0, count) % np.uint64(labels)).astype(np.int64)


def _per_row(entering: list[np.ndarray], found: list[np.ndarray], row: int) -> np.ndarray:
    """The gradient of one row, made: outer products, layer after layer."""
    return np.concatenate([np.outer(a[row], e[row]).ravel() for a, e in zip(entering, found, strict=True)])


@pytest.mark.parametrize(("hidden", "labels"), LAYERS)
def test_the_gradient_is_that_of_the_loss(hidden: tuple[int, ...], labels: int) -> None:
    """Against differences of the log loss; a grid of 2**-8 on scores leaves about 1e-2 of a step of 2**-2."""
    weights = _network(hidden, labels)
    values, codes = _rows(400, labels)
    entering, scores = activations(weights, values)
    found = errors(weights, entering, scores, codes)
    mean = sum(_per_row(entering, found, row) for row in range(400)) / 400
    start = 0
    for place, layer in enumerate(weights):
        step = 2.0**-3
        for spot in ((0, 0), (layer.shape[0] - 1, layer.shape[1] - 1)):
            ends = []
            for move in (step, -step):
                moved = [one.copy() for one in weights]
                moved[place][spot] += move
                share = shares(activations(moved, values)[1])[np.arange(400), codes]
                ends.append(-np.log(share).mean())
            slope = (ends[0] - ends[1]) / (2 * step)
            assert mean[start + spot[0] * layer.shape[1] + spot[1]] == pytest.approx(slope, abs=0.01)
        start += layer.size


@pytest.mark.parametrize(("hidden", "labels"), LAYERS)
def test_ghost_norms_are_those_of_gradients_made_row_by_row(hidden: tuple[int, ...], labels: int) -> None:
    weights = _network(hidden, labels)
    values, codes = _rows(50, labels)
    entering, scores = activations(weights, values)
    found = errors(weights, entering, scores, codes)
    made = [float(_per_row(entering, found, row) @ _per_row(entering, found, row)) for row in range(50)]
    assert squared_norms(entering, found) == pytest.approx(made, rel=1e-12)
    without_bias = sum((a[:, :-1] ** 2).sum(axis=1) * (e**2).sum(axis=1) for a, e in zip(entering, found, strict=True))
    assert not np.allclose(without_bias, made), "a norm without the bias would pass unseen"


@pytest.mark.parametrize(("hidden", "labels"), LAYERS)
def test_the_sum_is_that_of_clipped_rows_and_no_row_is_longer_than_the_norm(
    hidden: tuple[int, ...], labels: int
) -> None:
    weights = _network(hidden, labels)
    values, codes = _rows(60, labels)
    entering, scores = activations(weights, values)
    found = errors(weights, entering, scores, codes)
    kept = clipped_errors(entering, found, 0.3)
    rows = np.array([_per_row(entering, kept, row) for row in range(60)]) * 2**SUM_BITS
    assert bool((rows == np.rint(rows)).all()), "clipped gradients are whole"
    lengths = [sum(int(x) ** 2 for x in row) for row in rows]
    assert max(lengths) <= (2**SUM_BITS) ** 2
    assert max(lengths) >= 0.99 * (2**SUM_BITS) ** 2, "clipping at 0.3 leaves long rows at the norm"
    assert clipped_sum(entering, found, 0.3).tolist() == rows.sum(axis=0).astype(np.int64).tolist()


@pytest.mark.parametrize("scale", [2.0**-18, 1.0, LARGEST_WEIGHT])
def test_extreme_rows_stay_within_the_norm(scale: float) -> None:
    """Weights at their bound, inputs all at theirs, widest layers: exactly below the norm, in whole numbers."""
    weights = [np.full(shape, scale) for shape in shapes(300, (MOST_HIDDEN, MOST_HIDDEN), 3)]
    weights[-1][:, 1] *= -1
    values = np.array([np.ones(300), -np.ones(300), np.zeros(300), np.tile([1.0, -1.0], 150)])
    entering, scores = activations(weights, values)
    found = errors(weights, entering, scores, np.array([1, 0, 2, 1]))
    for clip in (1e-9, 1.0, 1e9):
        kept = clipped_errors(entering, found, clip)
        for row in range(4):
            squares = 0
            for a, e in zip(entering, kept, strict=True):
                whole_a, whole_e = (a[row] * 2**10).astype(np.int64), (e[row] * 2**20).astype(np.int64)
                squares += sum(int(x) ** 2 for x in whole_a) * sum(int(x) ** 2 for x in whole_e)
            assert squares <= 2**60


def test_a_row_adds_the_same_whatever_stands_beside_it() -> None:
    """The sum with a row less the sum without it is that row's own clipped gradient, bit by bit."""
    weights = _network((16, 8), 2)
    values, codes = _rows(257, 2)

    def total(places: np.ndarray) -> np.ndarray:
        entering, scores = activations(weights, values[places])
        return clipped_sum(entering, errors(weights, entering, scores, codes[places]), 0.5)

    everyone = np.arange(257)
    for row in (0, 100, 256):
        alone = total(np.array([row]))
        assert (total(everyone) - total(everyone[everyone != row]) == alone).all()
    assert (total(everyone[::-1]) == total(everyone)).all()


def test_an_empty_batch_adds_nothing_and_too_many_rows_are_refused() -> None:
    weights = _network((), 2)
    entering, scores = activations(weights, np.empty((0, 12)))
    assert (
        clipped_sum(entering, errors(weights, entering, scores, np.empty(0, dtype=np.int64)), 1.0).tolist() == [0] * 13
    )
    with pytest.raises(ValueError, match="at once"):
        clipped_sum([], [np.empty((ROWS_AT_ONCE + 1, 1))], 1.0)
