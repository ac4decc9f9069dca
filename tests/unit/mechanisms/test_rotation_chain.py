"""Chains of randomised response: structured products against full ones, many rungs, awkward ladders."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from trasgo_lib.data import CategoryDomain
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms import build_chain, rebuild_chain
from trasgo_lib.mechanisms.rotation_chain import RotationKernel, RotationProduct

LABELS = CategoryDomain([f"c{place}" for place in range(12)])


@pytest.mark.parametrize("codes", [2, 3, 7])
def test_structured_products_are_the_full_integer_products(codes: int) -> None:
    others = (2**60 // codes, 3**30, 2**50 + 1)
    full = np.eye(codes, dtype=object)
    for other in others:
        rows = [RotationKernel(codes, other).weights(code) for code in range(codes)]
        full = full.dot(np.array(rows, dtype=object))
    product = RotationProduct.of(codes, others)
    assert full[0, 0] == product.other + product.kept
    assert full[0, 1] == full[codes - 1, 0] == product.other
    assert sum(full[0].tolist()) == 2 ** (64 * len(others))


def test_sixteen_rungs_lose_nothing() -> None:
    ladder = tuple(f"{Decimal('0.25') * Decimal('1.25') ** rung:.6f}" for rung in range(16))
    chain = build_chain("kary_randomized_response", LABELS, ladder)
    for level in chain.levels:
        proven = chain.certificate(level)
        assert proven.epsilon == level.decimal
        assert proven.difference < Decimal("1e-17")


def test_neighbouring_micro_levels_differ_and_tiny_levels_work() -> None:
    chain = build_chain("randomized_response", CategoryDomain(["n", "y"]), ("0.000001", "1", "1.000001"))
    assert [step.other for step in chain.coupling.steps] == sorted(
        (step.other for step in chain.coupling.steps), reverse=True
    )
    assert chain.certificate("0.000001").epsilon == Decimal("0.000001")


def test_levels_that_words_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        build_chain("randomized_response", CategoryDomain(["n", "y"]), ("39.999999", "40"))
    assert "39.999999" in str(caught.value)


def test_damaged_weights_are_refused() -> None:
    chain = build_chain("kary_randomized_response", LABELS, ("1", "2"))
    for others in ([], ["1"], ["0", "1"], "12", [str(2**63), "1"]):
        with pytest.raises(ConfigError):
            rebuild_chain(chain.name, LABELS, {**chain.parameters, "others": others})
    with pytest.raises(ConfigError):
        rebuild_chain(chain.name, LABELS, {**chain.parameters, "codes": 11})
    with pytest.raises(ConfigError):
        rebuild_chain("randomized_response", LABELS, dict(chain.parameters))
