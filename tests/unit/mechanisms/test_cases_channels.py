"""Reported faults of mechanisms, on every channel of the registry. Ids name the rows of the list of public reports.

Statistical criteria: 4 standard errors of a normal law under fixed keys, a false alarm in 16,000 keys.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

from trasgo_lib.data import BoxDomain, CategoryDomain, Domain, NumberDomain
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms import Channel, build_channel
from trasgo_lib.noise import Keystream

ROOT = bytes(range(32))
THREE = CategoryDomain(["a", "b", "c"])
TWO = CategoryDomain(["a", "b"])
CHICAGO = BoxDomain(["41.8", "-87.7", "41.9", "-87.6"], "EPSG:3435", "100")
MECHANISMS: dict[str, tuple[Domain, dict[str, Any]]] = {
    "laplace": (NumberDomain("0", "20"), {}),
    "gaussian": (NumberDomain("0", "20"), {}),
    "exponential": (THREE, {"utility": "zero_one"}),
    "randomized_response": (TWO, {}),
    "kary_randomized_response": (THREE, {}),
    "planar_laplace": (CHICAGO, {"radius_m": "200"}),
}


def _channel(name: str, epsilon: Any = "1", **more: Any) -> Channel:
    domain, options = MECHANISMS[name]
    return build_channel(name, domain, epsilon, **{**options, **more})


@pytest.mark.parametrize(
    "epsilon", ["NaN", "inf", "-inf", "0", "-1", "one", "", True, 0.5, float("nan"), None, "5e-324"]
)
@pytest.mark.parametrize("name", MECHANISMS)
def test_b33_b71_no_mechanism_takes_an_epsilon_that_is_none(name: str, epsilon: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        _channel(name, epsilon)
    assert "epsilon" in str(caught.value)


@pytest.mark.parametrize("delta", ["NaN", "inf", "1", "-0.1", "x", True, 0.5])
def test_b36_the_gaussian_takes_no_delta_that_is_none(delta: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        _channel("gaussian", delta=delta)
    assert "delta" in str(caught.value)


@pytest.mark.parametrize("epsilon", ["1.000001", "1.5", "4"])
def test_b35_the_gaussian_is_certified_above_epsilon_one(epsilon: str) -> None:
    for delta in ("0", "0.000001"):
        channel = _channel("gaussian", epsilon, delta=delta)
        assert float(channel.certified_epsilon) <= float(epsilon)
        assert float(channel.certified_delta) <= float(delta)


@pytest.mark.parametrize("name", ["exponential", "kary_randomized_response"])
def test_b39_a_lie_is_never_the_truth(name: str) -> None:
    """Three codes at epsilon 2: the ratio of keeping to each other code is e^2, in the table and in 200,000 draws."""
    channel, rows = _channel(name, "2"), 200_000
    keep, *others = channel.weights(0)
    for other in others:
        assert 1.998 <= math.log(keep / other) <= 2
    drawn = np.bincount(channel.sample(np.zeros(rows, np.int32), Keystream(ROOT, "b39"), 0), minlength=3)
    for other in drawn[1:]:
        error = math.sqrt(1 / drawn[0] + 1 / other)
        assert abs(math.log(drawn[0] / other) - 2) < 4 * error
    assert channel.parameters, "the calibration is published"
    self_included = np.array([keep + others[0], *others])  # the fault: half of the lies come back as the truth
    assert math.log(self_included[0] / self_included[1]) - 2 > 4 * error, "negative control"


@pytest.mark.parametrize("name", MECHANISMS)
def test_b43_every_input_can_give_every_output(name: str) -> None:
    """No output has low-order bits that only one input could have given: the outputs are the same few codes for all."""
    channel = _channel(name)
    for code in {0, channel.inputs // 2, channel.inputs - 1}:
        weights = channel.weights(code)
        assert len(weights) == channel.outputs and min(weights) >= 1
        assert all(isinstance(weight, int) for weight in weights[:10])
    assert channel.sample(np.zeros(10, np.int32), Keystream(ROOT, "b43"), 0).dtype == np.int32


@pytest.mark.parametrize("name", MECHANISMS)
def test_b42_t01_noise_has_its_own_stream_and_ignores_every_other(name: str) -> None:
    """No default seed, no global generator: only key and label decide, whatever was drawn before or beside it."""
    channel = _channel(name)
    codes = (np.arange(500) % channel.inputs).astype(np.int32)

    def drawn(root: bytes, *label: str) -> list[int]:
        return channel.sample(codes, Keystream(root, *label), 0).tolist()

    alone = drawn(ROOT, "draw", "a")
    np.random.seed(42)  # noqa: NPY002 what the reported geo step did
    other = drawn(ROOT, "draw", "b")
    assert drawn(ROOT, "draw", "a") == alone != other
    assert drawn(bytes(32 - len(b"x")) + b"x", "draw", "a") != alone
    np.random.seed(42)  # noqa: NPY002 the global generator, which a draw must leave alone
    state = np.random.get_state()[1].tolist()  # noqa: NPY002 read only
    drawn(ROOT, "draw", "c")
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002 read only


def _python_calls(rows: int) -> int:
    """Calls of Python functions while points are encoded, moved and decoded."""
    channel = _channel("planar_laplace", "1.386")
    generator = np.random.Generator(np.random.PCG64(7))
    latitude, longitude = generator.uniform(41.81, 41.89, rows), generator.uniform(-87.69, -87.61, rows)
    CHICAGO.decode(channel.sample(CHICAGO.encode(latitude[:9], longitude[:9]), Keystream(ROOT, "t04"), 0))
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        moved = channel.sample(CHICAGO.encode(latitude, longitude), Keystream(ROOT, "t04"), 0)
        CHICAGO.decode(moved)
    finally:
        sys.setprofile(None)
    assert len(moved) == rows
    return calls


def test_t04_a_million_points_take_no_python_call_a_row() -> None:
    """Speed itself is in tests/benchmarks/RESULTS.md; here that the work is not done row by row."""
    assert _python_calls(1_000_000) < 2000
