"""One suite over every mechanism: what the channel protocol promises, checked against brute force.

A mechanism that is added to the table without a case here fails the first test.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise, permutations
from typing import Any

import mpmath
import numpy as np
import pytest

from trasgo_lib.budget.events import ApproximateEvent, GeoEvent, PureEvent
from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, DateDomain, NumberDomain, ProductDomain
from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.mechanisms import MECHANISMS, Channel, build_channel, chi_square, probe_codes, rebuild_channel
from trasgo_lib.noise import Keystream

EPSILONS = ("0.5", "1", "2", "4", "8")
KEY = bytes(range(32))
STEP = Decimal("1e-6")
BIAS_OF_NORMAL = 1.001e-3
"""Clamped normal noise has no usable exact decoder; its bias is bounded by this share of the range instead."""

NUMBERS = NumberDomain(lower="0", upper="23", step="1")
DAYS = DateDomain(lower="2020-01-01", upper="2020-01-15", step="1")
LABELS = CategoryDomain(["a", "b", "c", "d", "e"])
GRADES = CategoryDomain(["low", "middle", "high"], ordered=True)
GROUP = ProductDomain([("label", CategoryDomain(["x", "y", "z"]), None), ("number", NUMBERS, 2)])
PAIR = CategoryDomain(["no", "yes"])
BOX = BoxDomain(["41.880", "-87.640", "41.885", "-87.634"], "EPSG:3435", "100")
CELLS = CellsDomain(["8a2664c1a81ffff", "8a2664c1a88ffff", "8a2664c1a8affff", "8a2664c1a8c7fff", "8a2664c1a8d7fff"])
MATRIX = (("3", "1", "0"), ("1.5", "2", "1"), ("0", "0.25", "1"))


@dataclass(frozen=True)
class Case:
    mechanism: str
    domain: Any
    parameters: Mapping[str, Any] = field(default_factory=dict)
    scored: bool = True
    exact_inverse: bool = True


CASES = {
    "laplace": Case("laplace", NUMBERS),
    "laplace-dates": Case("laplace", DAYS),
    "laplace-missing": Case("laplace", NUMBERS, {"missing": True}),
    "laplace-missing-fill": Case("laplace", NUMBERS, {"missing": True, "fill": 8}),
    "gaussian": Case("gaussian", NUMBERS, exact_inverse=False),
    "gaussian-delta": Case("gaussian", NUMBERS, {"delta": "0.001"}, exact_inverse=False),
    "gaussian-missing": Case("gaussian", NUMBERS, {"missing": True}, exact_inverse=False),
    "exponential": Case("exponential", LABELS, scored=False),
    "exponential-ordinal": Case("exponential", NUMBERS, {"utility": "ordinal"}),
    "exponential-ordinal-missing": Case("exponential", NUMBERS, {"utility": "ordinal", "missing": True}),
    "exponential-matrix": Case("exponential", GRADES, {"utility": MATRIX}),
    "binary": Case("randomized_response", PAIR, scored=False),
    "binary-missing": Case("randomized_response", PAIR, {"missing": True}, scored=False),
    "kary": Case("kary_randomized_response", LABELS, scored=False),
    "kary-missing": Case("kary_randomized_response", LABELS, {"missing": True}, scored=False),
    "kary-numbers": Case("kary_randomized_response", NUMBERS),
    "group": Case("kary_randomized_response", GROUP, scored=False),
    "kary-numbers-missing": Case("kary_randomized_response", NUMBERS, {"missing": True}),
    "binned": Case("binned_randomized_response", NUMBERS, {"bins": 5}, exact_inverse=False),
    "binned-missing": Case("binned_randomized_response", NUMBERS, {"bins": 4, "missing": True}, exact_inverse=False),
    "binned-dates": Case("binned_randomized_response", DAYS, {"bins": 15}),
    "staircase": Case("staircase", NUMBERS, exact_inverse=False),
    "staircase-width": Case("staircase", DAYS, {"width": 3}, exact_inverse=False),
    "planar-box": Case("planar_laplace", BOX, {"radius_m": "200"}, scored=False),
    "planar-cells": Case("planar_laplace", CELLS, {"radius_m": "200"}, scored=False),
}


@lru_cache(maxsize=256)
def channel_of(name: str, epsilon: str) -> Channel:
    case = CASES[name]
    return build_channel(case.mechanism, case.domain, epsilon, **case.parameters)


@lru_cache(maxsize=256)
def matrix_of(name: str, epsilon: str) -> tuple[tuple[int, ...], ...]:
    channel = channel_of(name, epsilon)
    return tuple(channel.weights(code) for code in range(channel.inputs))


def shares_of(name: str, epsilon: str) -> np.ndarray:
    total = channel_of(name, epsilon).total
    return np.array([[weight / total for weight in row] for row in matrix_of(name, epsilon)])


def values_of(name: str) -> int:
    return CASES[name].domain.size


every_case = pytest.mark.parametrize("name", CASES)
every_epsilon = pytest.mark.parametrize("epsilon", EPSILONS)


def test_every_mechanism_has_a_case() -> None:
    assert {case.mechanism for case in CASES.values()} == set(MECHANISMS)
    assert all(name == entry.name for name, entry in MECHANISMS.items())


@every_case
@every_epsilon
def test_rows_are_whole_positive_and_sum_to_the_total(name: str, epsilon: str) -> None:
    channel, case = channel_of(name, epsilon), CASES[name]
    assert channel.name == case.mechanism
    assert channel.total == 2 ** (64 * channel.words_per_row)
    assert channel.inputs == case.domain.size + bool(case.parameters.get("missing"))
    support = list(channel.support)
    for row in matrix_of(name, epsilon):
        assert len(row) == channel.outputs
        assert all(type(weight) is int for weight in row)
        assert [code for code, weight in enumerate(row) if weight] == support
        assert min(row) >= 0
        assert sum(row) == channel.total


@every_case
@every_epsilon
def test_the_certificate_uses_the_claim_and_never_passes_it(name: str, epsilon: str) -> None:
    channel = channel_of(name, epsilon)
    assert Decimal("0.999") * Decimal(epsilon) <= channel.certified_epsilon <= Decimal(epsilon)
    assert channel.certified_epsilon == channel.certified_epsilon.quantize(STEP)
    assert channel.certified_delta == Decimal(CASES[name].parameters.get("delta", "0"))


@every_case
@every_epsilon
def test_the_certificate_agrees_with_brute_force(name: str, epsilon: str) -> None:
    channel, rows = channel_of(name, epsilon), matrix_of(name, epsilon)
    with mpmath.workdps(40):
        if channel.certified_delta:
            found = _least_epsilon(rows, channel)
        elif isinstance(channel.event, GeoEvent):
            found = _geo_epsilon(rows, CASES[name])
        else:
            found = max(
                mpmath.log(max(column)) - mpmath.log(min(column)) for column in zip(*rows, strict=True) if any(column)
            )
        certified = mpmath.mpf(str(channel.certified_epsilon))
        assert found <= certified
        # a geo certificate is a bound with a proof; the others are the least value, rounded up
        assert certified - found <= (5e-2 if isinstance(channel.event, GeoEvent) else 1.0001e-6)


def _least_epsilon(rows: tuple[tuple[int, ...], ...], channel: Channel) -> mpmath.mpf:
    """Over all pairs and all sets: sort outputs by likelihood ratio, take the worst prefix."""
    delta, total, worst = mpmath.mpf(str(channel.certified_delta)), channel.total, mpmath.mpf(0)
    for first, second in permutations(rows, 2):
        order = sorted(range(len(first)), key=lambda y: mpmath.mpf(first[y]) / second[y], reverse=True)
        near = far = 0
        for y in order:
            near, far = near + first[y], far + second[y]
            excess = near - delta * total
            if excess > far:
                worst = max(worst, mpmath.log(excess / far))
    return worst


def _geo_epsilon(rows: tuple[tuple[int, ...], ...], case: Case) -> mpmath.mpf:
    radius, worst = float(case.parameters["radius_m"]), mpmath.mpf(0)
    logs = [[mpmath.log(weight) for weight in row] for row in rows]
    for i, j in permutations(range(len(rows)), 2):
        gap = max(a - b for a, b in zip(logs[i], logs[j], strict=True))
        worst = max(worst, gap * radius / _distance_m(case.domain, i, j))
    return worst


def _distance_m(domain: Any, i: int, j: int) -> mpmath.mpf:
    if isinstance(domain, CellsDomain):
        return mpmath.mpf(float(domain.distance_m[i, j]))
    across, along = i % domain.columns - j % domain.columns, i // domain.columns - j // domain.columns
    return mpmath.sqrt(across**2 + along**2) * int(domain.step_m)


@every_case
def test_the_event_states_the_claim(name: str) -> None:
    event, delta = channel_of(name, "2").event, CASES[name].parameters.get("delta")
    if CASES[name].mechanism == "planar_laplace":
        assert isinstance(event, GeoEvent)
        assert event.geo.text == "10"  # 2 at 200 m, per km
    elif delta:
        assert isinstance(event, ApproximateEvent)
        assert (event.epsilon.text, event.delta.text) == ("2", delta)
    else:
        assert event == PureEvent(event.epsilon)
        assert event.epsilon.text == "2"


@every_case
@pytest.mark.parametrize("epsilon", ["0.5", "8"])
def test_bits_do_not_depend_on_batches_or_threads(name: str, epsilon: str) -> None:
    channel, keystream = channel_of(name, epsilon), Keystream(KEY, "batches", name)
    codes = (np.arange(70_001) * 7 % channel.inputs).astype(np.int32)
    whole = channel.sample(codes, keystream, first_row=5)
    cuts = [0, 1, 2, 1000, 32_768, 32_769, 65_537, 70_001]

    def part(bounds: tuple[int, int]) -> np.ndarray:
        start, stop = bounds
        return channel.sample(codes[start:stop], keystream, first_row=5 + start)

    pieces = list(pairwise(cuts))
    with ThreadPoolExecutor(max_workers=4) as pool:
        threaded = list(pool.map(part, pieces))
    assert whole.dtype == np.int32
    assert np.array_equal(np.concatenate([part(piece) for piece in pieces]), whole)
    assert np.array_equal(np.concatenate(threaded), whole)
    assert not np.array_equal(channel.sample(codes, keystream, first_row=6), whole)
    assert not np.array_equal(channel.sample(codes, Keystream(KEY, "other", name), first_row=5), whole)


@every_case
def test_sampling_leaves_its_input_alone_and_takes_empty_batches(name: str) -> None:
    channel, keystream = channel_of(name, "1"), Keystream(KEY, "input")
    codes = np.arange(channel.inputs, dtype=np.int32)
    codes.setflags(write=False)
    released = channel.sample(codes, keystream)
    assert np.array_equal(codes, np.arange(channel.inputs))
    assert released.min() >= 0
    assert released.max() < channel.outputs
    assert channel.sample(codes[:0], keystream).shape == (0,)


@every_case
def test_codes_outside_the_inputs_are_refused_with_a_count_and_no_value(name: str) -> None:
    channel = channel_of(name, "1")
    codes = np.zeros(40_000, dtype=np.int32)
    codes[[3, 39_999]] = (-1, channel.inputs)
    with pytest.raises(InputContractError) as caught:
        channel.sample(codes, Keystream(KEY, "bad"))
    assert caught.value.reason is Reason.OUT_OF_DOMAIN
    assert caught.value.faults[0].rows == 2
    assert "-1" not in str(caught.value)
    for wrong in (codes.astype(np.float64), codes.astype(bool), codes.reshape(2, -1)):
        with pytest.raises(InputContractError) as caught:
            channel.sample(wrong, Keystream(KEY, "bad"))
        assert caught.value.reason is Reason.WRONG_TYPE
    with pytest.raises(IndexError):
        channel.weights(channel.inputs)
    with pytest.raises(IndexError):
        channel.weights(-1)


@every_case
@every_epsilon
def test_scores_decode_without_bias_and_moments_are_those_of_the_weights(name: str, epsilon: str) -> None:
    channel, size = channel_of(name, epsilon), values_of(name)
    scores, moments = channel.scores, channel.moments
    if not CASES[name].scored:
        assert scores is None
        assert moments is None
        return
    assert scores is not None
    assert moments is not None
    shares = shares_of(name, epsilon)[:, :size]
    shares = shares / shares.sum(axis=1, keepdims=True)  # given that a value is released
    assert scores.shape == (channel.outputs,)
    assert np.isnan(scores[size:]).all()
    known = scores[:size]
    mean = shares @ known
    bias = np.abs(mean[:size] - np.arange(size)).max()
    scale = max(1.0, float(np.abs(known).max()))
    if CASES[name].mechanism == "binned_randomized_response":
        assert bias <= (size - 1) / 4  # half a bin; the mean of the scores is the representative
        assert channel.score_bias == pytest.approx(bias, abs=1e-9 * scale)
    elif CASES[name].mechanism in ("gaussian", "staircase"):
        assert bias <= BIAS_OF_NORMAL * (size - 1)
        assert channel.score_bias == pytest.approx(bias, abs=1e-9 * scale)
    else:
        assert bias <= 1e-9 * scale
        assert channel.score_bias <= 1e-9 * scale
    assert moments.mean == pytest.approx(mean, abs=1e-9 * scale)
    assert moments.variance == pytest.approx(shares @ known**2 - mean**2, rel=1e-6, abs=1e-9 * scale**2)


@every_case
@every_epsilon
def test_invert_undoes_the_channel(name: str, epsilon: str) -> None:
    channel, shares = channel_of(name, epsilon), shares_of(name, epsilon)
    recovered = np.array([channel.invert(row) for row in shares])
    assert recovered.sum(axis=1) == pytest.approx(np.ones(channel.inputs), abs=1e-8)
    if CASES[name].exact_inverse:
        assert recovered == pytest.approx(np.eye(channel.inputs), abs=1e-6)
    else:
        # smooth frequencies come back: what the channel lets through is undone
        smooth = np.linspace(1, 2, channel.inputs) / channel.inputs
        assert shares.T @ channel.invert(smooth @ shares) == pytest.approx(smooth @ shares, abs=2e-3)
    mixed = 3 * shares[0] + 2 * shares[-1]
    assert channel.invert(mixed) == pytest.approx(3 * recovered[0] + 2 * recovered[-1], abs=1e-6)


@every_case
@every_epsilon
def test_a_channel_is_rebuilt_from_its_published_parameters(name: str, epsilon: str) -> None:
    channel = channel_of(name, epsilon)
    stored = json.loads(json.dumps(channel.parameters, allow_nan=False))
    again = rebuild_channel(channel.name, CASES[name].domain, stored)
    assert again.digest == channel.digest
    assert again.parameters == channel.parameters
    assert again.event == channel.event
    assert again.certified_epsilon == channel.certified_epsilon
    assert all(again.weights(code) == row for code, row in enumerate(matrix_of(name, epsilon)))


@every_case
def test_digests_tell_channels_apart(name: str) -> None:
    digests = {channel_of(name, epsilon).digest for epsilon in EPSILONS}
    assert len(digests) == len(EPSILONS)
    assert all(len(digest) == 64 for digest in digests)


@every_case
def test_parameters_hold_no_float(name: str) -> None:
    def walk(value: object) -> None:
        assert not isinstance(value, float)
        if isinstance(value, dict):
            for inner in value.values():
                walk(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                walk(inner)

    walk(channel_of(name, "1").parameters)


@every_case
@pytest.mark.parametrize("epsilon", ["0.5", "8"])
def test_the_probe_passes_the_sampler_and_fails_noise_switched_off(name: str, epsilon: str) -> None:
    # false alarm of each: 1e-6, fixed key
    channel = channel_of(name, epsilon)
    codes = probe_codes(channel, 200_000)
    assert set(codes.tolist()) == set(range(channel.inputs))
    assert chi_square(channel, codes, channel.sample(codes, Keystream(KEY, "probe", name))) > 1e-6
    assert chi_square(channel, codes, codes) < 1e-12
