"""Chi-square of a million draws of every mechanism at every level, cell by cell.

Each test rejects a correct sampler with probability 1e-6, all of them together with 1e-4; keys are fixed. Power: a
weight of 1/20 that is off by 4 % is found in more than 99 % of keys (last test).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, NumberDomain
from trasgo_lib.mechanisms import MECHANISMS, Channel, build_channel
from trasgo_lib.noise import AliasTable, Keystream

ROWS = 1_000_000
FALSE_ALARM = 1e-6
FEWEST_EXPECTED = 10.0
KEY = bytes(range(32))
EPSILONS = ("0.5", "1", "2", "4", "8")

NUMBERS = NumberDomain(lower="0", upper="83", step="1")
WIDE = NumberDomain(lower="0", upper="2000", step="1")
LABELS = CategoryDomain(["a", "b", "c", "d", "e"])
PAIR = CategoryDomain(["no", "yes"])
BOX = BoxDomain(["41.880", "-87.640", "41.886", "-87.632"], "EPSG:3435", "100")
CELLS = CellsDomain(["8a2664c1a81ffff", "8a2664c1a88ffff", "8a2664c1a8affff", "8a2664c1a8c7fff", "8a2664c1a8d7fff"])

CASES: Mapping[str, tuple[str, Any, dict[str, Any]]] = {
    "laplace": ("laplace", NUMBERS, {}),
    "laplace-wide": ("laplace", WIDE, {}),
    "laplace-missing": ("laplace", NUMBERS, {"missing": True}),
    "gaussian": ("gaussian", NUMBERS, {}),
    "gaussian-delta": ("gaussian", NUMBERS, {"delta": "0.001"}),
    "gaussian-missing": ("gaussian", NUMBERS, {"missing": True}),
    "exponential": ("exponential", LABELS, {}),
    "exponential-ordinal": ("exponential", NUMBERS, {"utility": "ordinal"}),
    "binary": ("randomized_response", PAIR, {}),
    "kary": ("kary_randomized_response", LABELS, {}),
    "kary-missing": ("kary_randomized_response", LABELS, {"missing": True}),
    "binned": ("binned_randomized_response", NUMBERS, {"bins": 6}),
    "staircase": ("staircase", NUMBERS, {}),
    "planar-box": ("planar_laplace", BOX, {"radius_m": "200"}),
    "planar-cells": ("planar_laplace", CELLS, {"radius_m": "200"}),
}


@lru_cache(maxsize=128)
def channel_of(name: str, epsilon: str) -> Channel:
    mechanism, domain, parameters = CASES[name]
    return build_channel(mechanism, domain, epsilon, **parameters)


def p_value(channel: Channel, codes: np.ndarray, released: np.ndarray) -> float:
    """Pearson over the cells of each input; cells that expect fewer than ten rows are one."""
    statistic, freedom = 0.0, 0
    for code in np.unique(codes):
        drawn = np.bincount(released[codes == code], minlength=channel.outputs)
        expected = np.array(channel.weights(int(code)), dtype=np.float64) * (drawn.sum() / channel.total)
        large = expected >= FEWEST_EXPECTED
        observed, wanted = drawn[large].tolist(), expected[large].tolist()
        if (~large).any():
            observed, wanted = [*observed, drawn[~large].sum()], [*wanted, expected[~large].sum()]
        if wanted[-1] < FEWEST_EXPECTED and len(wanted) > 1:
            last = (observed.pop(), wanted.pop())
            observed[-1], wanted[-1] = observed[-1] + last[0], wanted[-1] + last[1]
        statistic += sum((seen - want) ** 2 / want for seen, want in zip(observed, wanted, strict=True))
        freedom += len(wanted) - 1
    return float(chi2.sf(statistic, freedom))


def inputs_of(channel: Channel) -> np.ndarray:
    """A million rows over the ends, the middle and two codes between."""
    last = channel.inputs - 1
    codes = sorted({0, last // 3, last // 2, max(last - 1, 0), last})
    return np.resize(np.array(codes, dtype=np.int32), ROWS)


def test_every_mechanism_is_sampled() -> None:
    assert {mechanism for mechanism, _, _ in CASES.values()} == set(MECHANISMS)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", CASES)
def test_a_million_draws_follow_the_weights(name: str, epsilon: str) -> None:
    channel = channel_of(name, epsilon)
    codes = inputs_of(channel)
    released = channel.sample(codes, Keystream(KEY, "chi-square", name, epsilon))
    assert p_value(channel, codes, released) > FALSE_ALARM


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", CASES)
def test_noise_switched_off_is_caught(name: str, epsilon: str) -> None:
    channel = channel_of(name, epsilon)
    codes = inputs_of(channel)
    assert p_value(channel, codes, codes) < FALSE_ALARM


def test_a_weight_off_by_four_percent_is_found() -> None:
    even = 2**64 // 20
    honest = [even] * 19 + [2**64 - 19 * even]
    bent = honest.copy()
    bent[3] += even // 25
    bent[7] -= even // 25
    codes = np.zeros(ROWS, dtype=np.int32)

    class Table:
        outputs, total = 20, 2**64

        def weights(self, _: int) -> list[int]:
            return honest

    def found(weights: list[int]) -> int:
        rejected = 0
        for key in range(20):
            out = np.empty(ROWS, dtype=np.int32)
            AliasTable(weights).draw(Keystream(KEY, "bent", key).words(0, ROWS), out)
            rejected += p_value(Table(), codes, out) < FALSE_ALARM  # type: ignore[arg-type]
        return rejected

    assert found(honest) == 0
    # 4 % of 50,000 rows twice: non-centrality 160 on 19 degrees, where 1e-6 lies at 62
    assert found(bent) >= 19
