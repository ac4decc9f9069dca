"""Margins of a group against the full table of its channel."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms import build_chain, build_channel, chi_square, margin
from trasgo_lib.noise import Keystream

HOURS, AGE = NumberDomain("0", "9", "1"), NumberDomain("0", "4", "1")
GROUP = ProductDomain([("sex", CategoryDomain(["f", "m"]), None), ("hours", HOURS, 3), ("age", AGE, 2, True)])
LADDER = ("0.5", "1", "3")


@pytest.mark.parametrize("name", ["sex", "hours", "age"])
@pytest.mark.parametrize("level", [None, *LADDER])
def test_margins_are_sums_of_the_groups_weights(name: str, level: str | None) -> None:
    if level is None:
        channel = build_channel("kary_randomized_response", GROUP, "2")
    else:
        channel = build_chain("kary_randomized_response", GROUP, LADDER).channel(level)
    alone = margin(channel, GROUP, name)
    place = [part.name for part in GROUP.parts].index(name)
    decoded = GROUP.decode(np.arange(GROUP.size, dtype=np.int32))[place]
    of_codes, representatives = GROUP.tables(name)
    for code in range(alone.inputs):
        summed = [0] * alone.outputs
        combination = int(np.flatnonzero(decoded == representatives[of_codes[code]])[-1])
        for output, weight in zip(decoded.tolist(), channel.weights(combination), strict=True):
            summed[output] += weight
        assert alone.weights(code) == tuple(summed)
    assert Decimal(0) < alone.certified_epsilon <= channel.certified_epsilon
    assert alone.event == channel.event


def test_margins_decode_what_the_group_draws() -> None:
    channel = build_channel("kary_randomized_response", GROUP, "2")
    codes = (np.arange(60_000) % GROUP.size).astype(np.int32)
    released = GROUP.decode(channel.sample(codes, Keystream(bytes(32), "group")))
    for part, private, drawn in zip(GROUP.parts, GROUP.decode(codes), released, strict=True):
        alone = margin(channel, GROUP, part.name)
        assert chi_square(alone, private, drawn) > 1e-6
        shares = alone.invert(np.bincount(drawn, minlength=alone.outputs) / len(drawn))
        assert shares.sum() == pytest.approx(1)
    scores = margin(channel, GROUP, "hours").scores
    assert scores is not None
    assert margin(channel, GROUP, "sex").scores is None


def test_only_the_groups_own_channel_has_margins() -> None:
    other = build_channel("kary_randomized_response", CategoryDomain(["a", "b", "c"]), "1")
    with pytest.raises(ConfigError):
        margin(other, GROUP, "sex")
    with pytest.raises(ConfigError):
        margin(build_channel("kary_randomized_response", GROUP, "1"), GROUP, "nobody")
