"""A lower bound on epsilon from draws alone, and known-bad samplers that it must catch.

Each side draws 500,000 outputs of one input. Half of them rank the outputs by likelihood ratio; the other half tests 24
nested sets in both directions with Clopper-Pearson bounds at a joint level of 99.9 %. So a correct sampler exceeds its
claim in at most one of a thousand keys; keys are fixed. Source: the audit of Jagielski, Ullman and Oprea 2020, with
sets chosen on held-out draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, NumberDomain
from trasgo_lib.mechanisms import Channel, build_channel
from trasgo_lib.noise import Keystream

DRAWS = 500_000
"""Per side; half of them choose the sets, half test them."""

LEVEL = 1e-3
SETS = 24
KEY = bytes(range(32))
POWER = {"0.5": 0.9, "1": 0.95, "2": 0.95, "4": 0.95, "8": 0.85}
"""Least share of the claim that the bound must reach."""

NUMBERS = NumberDomain(lower="0", upper="83", step="1")
LABELS = CategoryDomain(["a", "b", "c", "d", "e"])
PAIR = CategoryDomain(["no", "yes"])
BOX = BoxDomain(["41.880", "-87.640", "41.886", "-87.632"], "EPSG:3435", "100")
CELLS = CellsDomain(["8a2664c1a81ffff", "8a2664c1a88ffff", "8a2664c1a8affff", "8a2664c1a8c7fff", "8a2664c1a8d7fff"])

CASES: Mapping[str, tuple[str, Any, dict[str, Any]]] = {
    "laplace": ("laplace", NUMBERS, {}),
    "laplace-missing": ("laplace", NUMBERS, {"missing": True}),
    "gaussian": ("gaussian", NUMBERS, {}),
    "gaussian-delta": ("gaussian", NUMBERS, {"delta": "0.0001"}),
    "gaussian-missing": ("gaussian", NUMBERS, {"missing": True}),
    "exponential": ("exponential", LABELS, {}),
    "exponential-ordinal": ("exponential", NumberDomain(lower="0", upper="9", step="1"), {"utility": "ordinal"}),
    "binary": ("randomized_response", PAIR, {}),
    "kary": ("kary_randomized_response", LABELS, {}),
    "kary-missing": ("kary_randomized_response", LABELS, {"missing": True}),
}

Draw = Callable[[int, int], np.ndarray]
"""``draw(side, key)``: outputs of one of the two inputs."""


@lru_cache(maxsize=64)
def channel_of(name: str, epsilon: str) -> Channel:
    mechanism, domain, parameters = CASES[name]
    return build_channel(mechanism, domain, epsilon, **parameters)


def lower_bound(first: np.ndarray, second: np.ndarray, outputs: int, delta: float = 0.0) -> float:
    """The largest epsilon that the draws refute, at joint level ``LEVEL``."""
    half = len(first) // 2
    train = [np.bincount(side[:half], minlength=outputs) for side in (first, second)]
    test = [np.bincount(side[half:], minlength=outputs) for side in (first, second)]
    best = 0.0
    for near, far in ((0, 1), (1, 0)):
        ranked = np.argsort(-np.log((train[near] + 0.5) / (train[far] + 0.5)), kind="stable")
        sizes = np.unique(np.rint(np.geomspace(1, outputs, SETS)).astype(int))
        hits = [np.cumsum(test[side][ranked])[sizes - 1] for side in (near, far)]
        low = beta.ppf(LEVEL / (4 * SETS), hits[0], half - hits[0] + 1)
        high = beta.ppf(1 - LEVEL / (4 * SETS), hits[1] + 1, half - hits[1])
        gains = (np.nan_to_num(low) - delta) / np.nan_to_num(high, nan=1.0)
        best = max(best, log(max(float(gains.max()), 1.0)))
    return best


def worst_pair(channel: Channel) -> tuple[int, int]:
    """Two inputs whose ratio at some output is the certificate, that output as likely as possible."""
    rows = np.array([channel.weights(code) for code in range(channel.inputs)], dtype=np.float64)
    gaps = np.log(rows.max(axis=0) / rows.min(axis=0))
    likely = np.where(gaps >= 0.999 * gaps.max(), rows.min(axis=0), 0.0)
    output = int(likely.argmax())
    return int(rows[:, output].argmax()), int(rows[:, output].argmin())


def sampled(channel: Channel, pair: tuple[int, int], *label: str) -> Draw:
    def draw(side: int, key: int) -> np.ndarray:
        codes = np.full(DRAWS, pair[side], dtype=np.int32)
        return channel.sample(codes, Keystream(KEY, "black box", *label, key), first_row=side * DRAWS)

    return draw


@pytest.mark.parametrize("epsilon", POWER)
@pytest.mark.parametrize("name", CASES)
def test_the_bound_is_close_to_the_claim_and_below_it(name: str, epsilon: str) -> None:
    channel = channel_of(name, epsilon)
    draw = sampled(channel, worst_pair(channel), name, epsilon)
    found = lower_bound(draw(0, 0), draw(1, 0), channel.outputs, float(channel.certified_delta))
    assert POWER[epsilon] * float(epsilon) <= found <= float(epsilon)


@pytest.mark.parametrize("epsilon", POWER)
@pytest.mark.parametrize("name", CASES)
def test_noise_switched_off_is_caught(name: str, epsilon: str) -> None:
    channel = channel_of(name, epsilon)
    first, second = (np.full(DRAWS, code, dtype=np.int32) for code in worst_pair(channel))
    assert lower_bound(first, second, channel.outputs, float(channel.certified_delta)) > float(epsilon)


@pytest.mark.parametrize("epsilon", ["1", "2", "4", "8"])
@pytest.mark.parametrize("domain", [BOX, CELLS], ids=["box", "cells"])
def test_points_are_audited_at_their_distance(domain: Any, epsilon: str) -> None:
    """Claim: epsilon times distance over the declared radius.

    Few outputs of a plane lie in the line of two cells, so the box is audited over 400 m at the smallest epsilon and
    over 200 m otherwise. Declared cells use the whole claim for the pair whose normalisers differ most.
    """
    channel = build_channel("planar_laplace", domain, epsilon, radius_m="200")
    if domain is BOX:
        pair, distance = ((54, 22), 400.0) if epsilon == "1" else ((54, 38), 200.0)
    else:
        pair = {"1": (0, 2), "2": (3, 4)}.get(epsilon, (1, 2))
        distance = float(CELLS.distance_m[pair])
    claim = float(epsilon) * distance / 200
    draw = sampled(channel, pair, "points", epsilon)
    found = lower_bound(draw(0, 0), draw(1, 0), channel.outputs)
    assert POWER[epsilon] * claim <= found <= claim
    first, second = (np.full(DRAWS, code, dtype=np.int32) for code in pair)
    assert lower_bound(first, second, channel.outputs) > claim


def rejections(draw: Draw, outputs: int, claim: float) -> int:
    return sum(lower_bound(draw(0, key), draw(1, key), outputs) > claim for key in range(20))


def test_a_tenth_above_the_claim_is_caught() -> None:
    for name in ("laplace", "kary", "gaussian"):
        channel = channel_of(name, "1")
        stronger = build_channel(*CASES[name][:2], "1.1", **CASES[name][2])
        assert rejections(sampled(stronger, worst_pair(channel), name, "1.1"), channel.outputs, 1.0) >= 19


def test_half_the_scale_is_caught() -> None:
    pair, sharper = worst_pair(channel_of("laplace", "1")), channel_of("laplace", "2")
    middle = np.full(DRAWS, 41, dtype=np.int32)

    def half_scale(side: int, key: int) -> np.ndarray:
        noise = sharper.sample(middle, Keystream(KEY, "half", key), side * DRAWS) - middle
        return np.clip(pair[side] + noise, 0, 83).astype(np.int32)

    assert rejections(sampled(sharper, (0, 83), "half"), 84, 1.0) >= 19
    assert rejections(half_scale, 84, 1.0) >= 19


@pytest.mark.parametrize(("claim", "codes"), [("1", 4), ("2", 4), ("1", 3)])
def test_keeping_and_drawing_oneself_again_is_caught(claim: str, codes: int) -> None:
    """Keep with the right probability, else draw from all codes, the true one too (opendp issue 480)."""
    keep = exp(float(claim)) / (exp(float(claim)) + codes - 1)

    def keep_plus_self(side: int, key: int) -> np.ndarray:
        words = Keystream(KEY, "self", claim, codes, key).words(2 * side * DRAWS, 2 * DRAWS)
        uniform = (words >> np.uint64(11)).astype(np.float64) / 2**53
        return np.where(uniform[::2] < keep, side, (uniform[1::2] * codes).astype(np.int64)).astype(np.int32)

    assert rejections(keep_plus_self, codes, float(claim)) >= 19


def test_two_levels_from_the_same_uniforms_are_caught() -> None:
    """Levels 1 and 2 of one column: fresh draws cost 3 in all; from one word they cost far more."""
    coarse, fine = (build_channel("kary_randomized_response", LABELS, epsilon) for epsilon in ("1", "2"))

    def joint(shared: bool) -> Draw:
        def draw(side: int, key: int) -> np.ndarray:
            codes = np.full(DRAWS, side, dtype=np.int32)
            first = coarse.sample(codes, Keystream(KEY, "level", "one", key), side * DRAWS)
            label = "one" if shared else "two"
            return 5 * first + fine.sample(codes, Keystream(KEY, "level", label, key), side * DRAWS)

        return draw

    assert rejections(joint(shared=True), 25, 3.0) >= 19
    assert rejections(joint(shared=False), 25, 3.0) == 0
    # but fresh draws do not cost only the highest level
    assert rejections(joint(shared=False), 25, 2.0) >= 19
