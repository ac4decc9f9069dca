"""A lower bound on epsilon from trainings of neighbouring files, below the charge; and wrong trainings that it catches.

The files hold one row, the canary, whose gradient has the clipping norm and points one way or the other. An observer
sees the noisy sums, or the weights. Half of what each side shows chooses sets of it; the other half tests them by
Clopper-Pearson bounds at a joint level of 99.9 % (``test_black_box_bound``), so a right training passes its charge
under at most one set of keys in a thousand. The charge is made at a delta of 0.01, where a few thousand draws see it;
the delta a release is charged at is a matter of the same law's tails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_black_box_bound import lower_bound

from trasgo_lib.amounts import Delta
from trasgo_lib.budget import SampledGaussianEvent, cost
from trasgo_lib.noise import Keystream
from trasgo_lib.training import clipping, descent
from trasgo_lib.training.descent import Descent, descend

KEY = bytes(range(32))
DELTA = "0.01"
GRID_BITS = 6
SENSITIVITY = 2**GRID_BITS + 2
CLIP = 0.25
CELLS = 64
FEW, TRAININGS, MANY = 3000, 8000, 20_000
"""Trainings, and steps of a long one, per side."""


def _law(multiplier: int, rate: Fraction = Fraction(1)) -> Descent:
    """One step; its length makes one step of the noise's grid four of the weights'."""
    return Descent(
        shapes=((2, 1),),
        rate_units=int(rate * 2**32),
        steps=1,
        clip_norm=CLIP,
        grid_bits=GRID_BITS,
        variance=Fraction(multiplier * SENSITIVITY) ** 2,
        expected_rows=0.5,
        learning_rate=0.5 * 2.0 ** (GRID_BITS - 16) / CLIP,
    )


WHOLE = _law(2)
"""Every row in the sample: what noise and clipping have to do."""

SAMPLED = _law(1, Fraction(1, 16))
"""Few rows in it: what the sample has to do."""


def _charge(law: Descent) -> float:
    multiplier = round(float(law.variance) ** 0.5 / SENSITIVITY)
    event = SampledGaussianEvent(str(law.rate_units / 2**32), str(multiplier), 1, Delta.parse(DELTA))
    return float(cost(event).epsilon.decimal)


def _cell(value: float, law: Descent) -> int:
    """A number with the noise of two weights as one of 64 cells, six of them a standard deviation."""
    steps = value * 2.0**16
    return int(min(max(steps // (float(law.variance * 2) ** 0.5 / 6) + CELLS // 2, 0), CELLS - 1))


def _streams(*label: int) -> list[Keystream]:
    return [Keystream(KEY, what, *label) for what in ("sample", "noise", "start")]


def _bound(law: Descent, draws: int = MANY) -> float:
    """The bound from the noisy sums of one training of very many steps, so short that weights stay what they are."""
    sides = []
    for label in (0, 1):
        seen: list[int] = []
        shipped = descent.noisy_sum

        def watched(*arguments: Any, keep: list[int] = seen, inner: Any = shipped) -> np.ndarray:
            noisy = inner(*arguments)
            keep.append(_cell(float(noisy.sum()) / 2.0**16, law))
            return noisy

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(descent, "noisy_sum", watched)
            short = replace(law, steps=draws, learning_rate=2.0**-60)
            descend(short, 1, lambda at: np.ones((len(at), 1)), np.array([label]), *_streams(label))
        sides.append(np.array(seen))
    return lower_bound(sides[0], sides[1], CELLS, float(DELTA))


def test_neighbouring_files_show_no_more_than_the_charge_and_half_the_noise_does() -> None:
    found = _bound(WHOLE)
    assert 0.3 * _charge(WHOLE) < found <= _charge(WHOLE)
    assert _bound(replace(WHOLE, variance=WHOLE.variance / 4)) > _charge(WHOLE)


@pytest.mark.long
def test_a_sampled_training_shows_no_more_than_its_charge() -> None:
    assert _bound(SAMPLED) <= _charge(SAMPLED)


def _not_clipped(patch: pytest.MonkeyPatch) -> Descent:
    def scaled(entering: Any, errors: list[np.ndarray], clip_norm: float) -> list[np.ndarray]:
        return [np.trunc(error / clip_norm * 2.0**20) / 2.0**20 for error in errors]

    patch.setattr(clipping, "clipped_errors", scaled)
    return WHOLE


def _in_turn(patch: pytest.MonkeyPatch) -> Descent:
    """Rows taken in turn: the canary is in the first batch of every epoch, and the observer knows it."""
    patch.setattr(descent, "sample", lambda law, rows, step, samples: np.arange(rows))
    return SAMPLED


def _silent_when_empty(patch: pytest.MonkeyPatch) -> Descent:
    """No noise where nothing was drawn: a file whose canary has a gradient of zero always looks so, the other not."""
    shipped = descent.noisy_sum

    def sometimes(law: Descent, exact: np.ndarray, *rest: Any) -> np.ndarray:
        return shipped(law, exact, *rest) if exact.any() else exact

    patch.setattr(descent, "noisy_sum", sometimes)
    return _law(4, Fraction(1, 2))


WRONG: dict[str, Callable[[pytest.MonkeyPatch], Descent]] = {"no clipping": _not_clipped, "rows in turn": _in_turn}


@pytest.mark.long
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_training_is_caught(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law = WRONG[wrong](monkeypatch)
    assert _bound(law) > _charge(law)


def _with_or_without_the_canary(law: Descent, expected: Callable[[int], float]) -> float:
    """The bound for files of one row and of two; nothing but the size of the noise can tell them apart.

    Gradients lie in the bias alone and are a ninth of the noise; the weight that is looked at has noise only.
    """
    found = []
    for rows in (1, 2):
        one = replace(law, expected_rows=expected(rows))
        cells = []
        for k in range(TRAININGS):
            weights = descend(one, rows, lambda at: np.zeros((len(at), 1)), np.arange(rows) % 2, *_streams(rows, k))
            cells.append(_cell(float(weights[0][0, 0]), law))
        found.append(np.array(cells))
    return lower_bound(found[0], found[1], CELLS, float(DELTA))


@pytest.mark.long
def test_division_by_the_size_of_the_batch_is_caught() -> None:
    law = _law(9)
    assert _with_or_without_the_canary(law, lambda rows: 0.5) <= _charge(law)
    assert _with_or_without_the_canary(law, lambda rows: rows / 2) > _charge(law)


@pytest.mark.long
def test_noise_left_out_of_empty_batches_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    law = _silent_when_empty(monkeypatch)

    def seen(rate: int, k: int) -> int:
        one = replace(law, rate_units=law.rate_units if rate else 0)
        weights = descend(one, 1, lambda at: np.ones((len(at), 1)), np.array([1]), *_streams(rate, k))
        return int(weights[0].any())

    sides = [np.array([seen(rate, k) for k in range(FEW)]) for rate in (0, 1)]
    assert lower_bound(sides[0], sides[1], 2, float(DELTA)) > _charge(law)
