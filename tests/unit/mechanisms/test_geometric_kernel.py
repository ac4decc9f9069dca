"""The clamped geometric kernel: its identity in fractions, its integers against the formula."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from trasgo_lib.data import NumberDomain
from trasgo_lib.mechanisms import build_chain
from trasgo_lib.mechanisms.geometric_kernel import geometric_kernel, rounding_error
from trasgo_lib.mechanisms.laplace import geometric_noise

PAIRS = [(Fraction(9, 10), Fraction(1, 2)), (Fraction(2, 3), Fraction(13, 20)), (Fraction(99, 100), Fraction(1, 50))]


def ideal_channel(reach: int, a: object) -> list[list[object]]:
    rows = []
    for i in range(reach + 1):
        row = [(1 - a) / (1 + a) * a ** abs(i - y) for y in range(reach + 1)]
        row[0], row[-1] = a**i / (1 + a), a ** (reach - i) / (1 + a)
        rows.append(row)
    return rows


def ideal_kernel(reach: int, a1: object, a2: object) -> list[list[object]]:
    w0 = a2 * (1 - a1) ** 2 / (a1 * (1 - a2) ** 2)
    front = (1 - a2) * (1 + a1)
    end = [(1 - a1 * a2) / front]
    end += [a1 ** (d - 1) * (a1 - a2) * (1 - a1) / front for d in range(1, reach)]
    end.append(a1 ** (reach - 1) * (a1 - a2) / front)
    rows = [end]
    for place in range(1, reach):
        noise = ideal_channel(reach, a1)[place]
        rows.append([(1 - w0) * share + (w0 if y == place else 0) for y, share in enumerate(noise)])
    rows.append(end[::-1])
    return rows


@pytest.mark.parametrize("reach", range(1, 13))
@pytest.mark.parametrize("pair", PAIRS)
def test_the_kernel_turns_one_level_into_the_other_exactly(reach: int, pair: tuple[Fraction, Fraction]) -> None:
    a1, a2 = pair
    finer, coarser, kernel = ideal_channel(reach, a2), ideal_channel(reach, a1), ideal_kernel(reach, a1, a2)
    assert all(sum(row) == 1 and min(row) > 0 for row in kernel)
    for i, row in enumerate(finer):
        assert [sum(row[k] * kernel[k][y] for k in range(reach + 1)) for y in range(reach + 1)] == coarser[i]


@pytest.mark.parametrize("size", [2, 3, 7, 25])
@pytest.mark.parametrize(("finer", "coarser"), [("2", "1"), ("8", "7.9"), ("0.3", "0.001")])
def test_integers_are_within_their_stated_error_of_the_formula(size: int, finer: str, coarser: str) -> None:
    kernel = geometric_kernel(size, Decimal(finer), Decimal(coarser))
    error = kernel.rounding_error
    assert error is not None
    with mpmath.workdps(60):
        a1, a2 = (mpmath.exp(-mpmath.mpf(level) / (size - 1)) for level in (coarser, finer))
        ideal = ideal_kernel(size - 1, a1, a2)
        for code in range(size):
            for weight, share in zip(kernel.weights(code), ideal[code], strict=True):
                bound = share * mpmath.mpf(error.numerator) / error.denominator
                assert abs(weight / mpmath.mpf(2) ** 64 - share) <= bound


def test_the_integer_product_at_sixty_codes_is_within_the_stated_difference() -> None:
    ladder = ("0.25", "1", "3", "8")
    chain = build_chain("laplace", NumberDomain("0", "60", "1"), ladder)
    product = np.array([chain.channel("8").weights(i) for i in range(61)], dtype=object)
    total = 2**64
    for rung in (2, 1, 0):
        step = chain.coupling.steps[rung]
        product = product.dot(np.array([step.weights(i) for i in range(61)], dtype=object))
        total <<= 64
        bound = Fraction(chain.certificate(ladder[rung]).difference)
        nominal = chain.channel(ladder[rung])
        for i in range(61):
            for exact, weight in zip(product[i], nominal.weights(i), strict=True):
                assert abs(Fraction(weight * total, exact * 2**64) - 1) <= bound
        with mpmath.workdps(60):
            proven = max(mpmath.log(mpmath.mpf(max(column)) / min(column)) for column in product.T.tolist())
            assert proven <= mpmath.mpf(ladder[rung]) - mpmath.mpf("0.9e-9")


def test_weights_too_small_to_bound_have_no_rounding_error() -> None:
    assert rounding_error(np.array([2**64 - 4, 2, 2], dtype=np.uint64)) is None
    assert rounding_error(np.array([5, 6, 5], dtype=np.uint64)) is None
    known = rounding_error(geometric_noise(100, Decimal(1)))
    assert known is not None
    assert 0 < known < Fraction(1, 10**12)


@pytest.mark.parametrize("size", [2, 3, 2**16])
def test_the_smallest_and_largest_domains_have_chains(size: int) -> None:
    chain = build_chain("laplace", NumberDomain("0", str(size - 1), "1"), ("0.5", "2", "8"))
    for level in chain.levels:
        assert Decimal("0.999") * level.decimal <= chain.certificate(level).epsilon <= level.decimal
