"""Chains with a missing code: what they refuse, and why flag and value step down together."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import NumberDomain
from trasgo_lib.errors import ConfigError, VerificationError
from trasgo_lib.mechanisms import build_chain, build_channel, rebuild_chain
from trasgo_lib.noise import Keystream

NUMBERS = NumberDomain("0", "40", "1")
LADDER = ("0.5", "1", "2")


def streams(purpose: str, level: Epsilon) -> Keystream:
    return Keystream(bytes(32), purpose, level.text)


def test_levels_agree_with_single_channels_of_the_same_claim() -> None:
    chain = build_chain("laplace", NUMBERS, LADDER, missing=True)
    for level in LADDER:
        single = build_channel("laplace", NUMBERS, level, missing=True)
        assert abs(Decimal(int(chain.channel(level).parameters["fill"])) - int(single.parameters["fill"])) == 0
        ours, theirs = chain.channel(level).weights(41), single.weights(41)
        assert max(abs(a - b) / b for a, b in zip(ours, theirs, strict=True)) < 1e-8


def test_a_missing_row_can_come_back_as_a_value_and_the_other_way() -> None:
    chain = build_chain("laplace", NUMBERS, LADDER, missing=True)
    codes = np.full(20_000, 41, dtype=np.int32)
    low, high = chain.sample(codes, streams, "0.5"), chain.sample(codes, streams, "2")
    assert ((low == 41) & (high != 41)).any()
    assert ((low != 41) & (high == 41)).any()
    assert (high == 41).mean() > (low == 41).mean() > 0.5


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_fills_that_leave_nothing_to_the_flag_are_refused(name: str) -> None:
    for fill in (0, 40):
        with pytest.raises(ConfigError) as caught:
            build_chain(name, NUMBERS, LADDER, missing=True, fill=fill)
        assert "middle" in str(caught.value)
    with pytest.raises(ConfigError):
        build_chain(name, NUMBERS, LADDER, missing=True, fill=41)
    with pytest.raises(ConfigError) as caught:
        build_chain(name, NumberDomain("0", "1", "1"), LADDER, missing=True)
    assert "category" in str(caught.value)


def test_delta_and_a_missing_code_do_not_go_together() -> None:
    with pytest.raises(ConfigError):
        build_chain("gaussian", NUMBERS, LADDER, missing=True, delta="0.001")


@pytest.mark.parametrize(
    "change", [{"missing": "else"}, {"fill": 41}, {"flips": ["1"]}, {"flips": ["0", "1", "1"]}, {"exact": ["1", "2"]}]
)
def test_damaged_parameters_are_refused(change: Mapping[str, object]) -> None:
    chain = build_chain("laplace", NUMBERS, LADDER, missing=True)
    with pytest.raises(ConfigError):
        rebuild_chain("laplace", NUMBERS, {**chain.parameters, **change})


def test_flags_that_prove_less_than_the_claim_do_not_verify() -> None:
    chain = build_chain("laplace", NUMBERS, LADDER, missing=True)
    flips = [str(int(chain.parameters["flips"][0]) // 2), *chain.parameters["flips"][1:]]
    with pytest.raises(VerificationError):
        rebuild_chain("laplace", NUMBERS, {**chain.parameters, "flips": flips})
