"""The missing code of numbers: how much of the claim the flag gets, and what it does to estimates."""

from __future__ import annotations

from decimal import Decimal
from math import log

import numpy as np
import pytest

from trasgo_lib.data import NumberDomain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream

WORD = 2**64
NUMBERS = NumberDomain("0", "100", "1")


def flag_epsilon(parameters: object) -> float:
    flip = int(str(parameters["flip"]))  # type: ignore[index]
    return log((WORD - flip) / flip)


@pytest.mark.parametrize("epsilon", ["0.5", "2", "8"])
def test_laplace_filled_in_the_middle_gives_the_flag_half(epsilon: str) -> None:
    channel = build_channel("laplace", NUMBERS, epsilon, missing=True)
    assert channel.parameters["fill"] == 50
    assert flag_epsilon(channel.parameters) == pytest.approx(float(epsilon) / 2, abs=1e-8)
    assert channel.certified_epsilon <= Decimal(epsilon)


def test_the_flag_is_as_truthful_as_the_claim_allows() -> None:
    """One weight less of a lie and the certificate passes the claim."""
    from trasgo_lib.amounts import Epsilon
    from trasgo_lib.errors import VerificationError
    from trasgo_lib.mechanisms.missing import Flag

    value = build_channel("laplace", NUMBERS, "2")
    best = build_channel("laplace", NUMBERS, "2", missing=True)
    flip, claim = int(str(best.parameters["flip"])), Epsilon.parse("2")
    assert Flag(flip, 50).attach(value, claim).digest == best.digest  # type: ignore[arg-type]
    with pytest.raises(VerificationError):
        Flag(flip - flip // 10**8, 50).attach(value, claim)  # type: ignore[arg-type]


def test_a_fill_off_the_middle_costs_the_flag() -> None:
    shares = [
        flag_epsilon(build_channel("laplace", NUMBERS, "2", missing=True, fill=fill).parameters)
        for fill in (50, 30, 10)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[2] == pytest.approx(0.2, abs=1e-6)


def test_gaussian_leaves_the_flag_what_its_rows_leave() -> None:
    channel = build_channel("gaussian", NUMBERS, "2", missing=True)
    assert 0.5 < flag_epsilon(channel.parameters) < 1.6
    assert Decimal("1.998") <= channel.certified_epsilon <= 2


@pytest.mark.parametrize(
    ("fill", "said"), [(0, "middle"), (101, "0 to 100"), (-1, "0 to 100"), (True, "0 to 100"), ("5", "0 to 100")]
)
def test_fills_that_cannot_be_are_refused(fill: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        build_channel("laplace", NUMBERS, "1", missing=True, fill=fill)
    assert caught.value.reason is Reason.BAD_PARAMETER


def test_two_numbers_are_sent_to_a_category() -> None:
    with pytest.raises(ConfigError, match="category"):
        build_channel("laplace", NumberDomain("0", "1", "1"), "1", missing=True)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_missing_rows_are_counted_and_do_not_bend_the_values(name: str) -> None:
    # four standard errors at a fixed key: false alarm about 1e-4 in all
    channel = build_channel(name, NUMBERS, "4", missing=True)
    rows = 200_000
    codes = np.full(rows, 20, dtype=np.int32)
    codes[: rows // 4] = 101
    released = channel.sample(codes, Keystream(bytes(32), "missing", name))
    estimate = channel.invert(np.bincount(released, minlength=102).astype(float) / rows)
    assert estimate[-1] == pytest.approx(0.25, abs=0.02)
    assert estimate.sum() == pytest.approx(1.0)
    mean = float(estimate[:-1] @ np.arange(101) / estimate[:-1].sum())
    assert mean == pytest.approx(20, abs=2)


def test_a_flag_that_always_tells_the_truth_is_seen() -> None:
    channel = build_channel("laplace", NUMBERS, "1", missing=True)
    truth, lie = channel.weights(101)[101], channel.weights(3)[101]
    assert 1 < truth / lie < 2.72
    assert channel.moments is not None
    assert channel.moments.mean[101] == pytest.approx(50)
