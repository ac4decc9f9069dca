"""The planar channel as an operator: the same as its integer weights say, and undone on lattices of any size."""

from __future__ import annotations

import numpy as np
import pytest

from trasgo_lib.data import BoxDomain
from trasgo_lib.mechanisms.planar import build_planar_laplace
from trasgo_lib.mechanisms.planar_channel import PlanarChannel
from trasgo_lib.noise import Keystream

SMALL = ("41.80", "-87.75", "41.82", "-87.72")


def channel(step: str, box: tuple[str, str, str, str] = SMALL, epsilon: str = "1.386") -> PlanarChannel:
    """Noise over a box in Chicago."""
    found = build_planar_laplace(BoxDomain(box, "EPSG:32616", step), epsilon, radius_m="200")
    assert isinstance(found, PlanarChannel)
    return found


def values(count: int) -> np.ndarray:
    """Made-up numbers on (0, 1)."""
    return np.asarray(Keystream(bytes(range(32)), "values").words(0, count) * 2.0**-64)


@pytest.mark.parametrize("step", ["100", "200", "500"])
def test_the_operator_is_the_matrix_of_the_integer_weights(step: str) -> None:
    made = channel(step)
    operator, cells = made.operator(), made.outputs
    matrix = np.array([[weight / made.total for weight in made.weights(code)] for code in range(cells)])
    some = values(cells)
    assert operator.expectation(some) == pytest.approx(matrix @ some, abs=1e-14)
    assert operator.outputs(some) == pytest.approx(matrix.T @ some, abs=1e-13)
    assert operator.decoder(some) == pytest.approx(np.linalg.solve(matrix, some), abs=1e-9)
    assert operator.inputs(some) == pytest.approx(np.linalg.solve(matrix.T, some), abs=1e-9)
    assert 0 < operator.least_eigenvalue < 1


def test_the_noise_of_a_large_lattice_is_undone() -> None:
    """150,000 cells at a finer decay than a collection takes (0.1 a cell), and at a usual one."""
    for step, epsilon in (("100", "0.2"), ("100", "1.386")):
        made = channel(step, ("41.64", "-87.94", "42.02", "-87.52"), epsilon)
        operator = made.operator()
        shares = values(made.outputs)
        shares /= shares.sum()
        undone = operator.inputs(operator.outputs(shares))
        assert np.abs(undone - shares).max() < 1e-6 * shares.max()
        assert made.outputs > 140_000


def test_shares_stay_shares_and_constants_stay_constants() -> None:
    operator = channel("200").operator()
    shares = values(operator.cells)
    shares /= shares.sum()
    assert operator.outputs(shares).sum() == pytest.approx(1, abs=1e-12)
    assert operator.inputs(shares).sum() == pytest.approx(1, abs=1e-9)
    assert operator.expectation(np.ones(operator.cells)) == pytest.approx(np.ones(operator.cells), abs=1e-12)
    assert not operator.decoder(np.zeros(operator.cells)).any()


def test_a_part_of_the_lattice_has_the_decoder_of_the_whole_where_nothing_else_matters() -> None:
    made = channel("200", ("41.70", "-87.90", "41.90", "-87.60"))
    rows, columns = (int(str(made.parameters[name])) for name in ("rows", "columns"))
    whole, part = np.zeros((rows, columns)), np.zeros((31, 33))
    whole[50:55, 60:66] = part[13:18, 13:19] = 1.0
    of_whole = made.operator().decoder(whole.ravel()).reshape(rows, columns)[37:68, 47:80]
    of_part = made.operator(31, 33).decoder(part.ravel()).reshape(31, 33)
    assert np.abs(of_whole - of_part).max() < 1e-5 * np.abs(of_whole).max()
    assert np.abs(of_whole).max() > 1, "a decoder of noise leaves 0..1"
