"""Central noise: certified by the map of what is drawn, exact in law, refused above the claim."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from scipy.stats import chisquare

from trasgo_lib.amounts import Epsilon, Rho
from trasgo_lib.errors import BudgetError, Reason
from trasgo_lib.noise import (
    concentrated_selection_scale,
    gaussian_half_width,
    gaussian_scale,
    laplace_half_width,
    laplace_scale,
    selection_scale,
    selection_shortfall,
)
from trasgo_lib.noise.central import add_gaussian, add_laplace, concentrated_choice, exponential_choice, noisy_max
from trasgo_lib.noise.scales import l2_above

FALSE_ALARM = 1e-4
DRAWS = 20_000
EPSILONS = ("0.000001", "0.1", "0.3", "1", "2.718281", "8", "20")
SENSITIVITIES = (1, 2, 3, 7, 99_999, 2**40)


@pytest.mark.parametrize("text", EPSILONS)
@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
def test_every_scale_is_certified_and_wastes_less_than_a_part_in_1e12(text: str, sensitivity: int) -> None:
    epsilon = Epsilon.parse(text)
    scale = laplace_scale(sensitivity, epsilon)
    assert len(add_laplace([5, -5], scale, sensitivity, epsilon)) == 2
    assert Fraction(scale) * epsilon.fraction / sensitivity < 1 + Fraction(1, 10**12)
    choice = selection_scale(sensitivity, epsilon)
    assert exponential_choice([0, 0], choice, sensitivity, epsilon) in (0, 1)
    assert noisy_max([0, 0], choice, sensitivity, epsilon)[0] in (0, 1)
    twice = selection_scale(sensitivity, Epsilon(epsilon.units))
    assert set(noisy_max([0, 0], twice, sensitivity, epsilon.times(2), best=2)) == {0, 1}


@pytest.mark.parametrize("units", [1, 10**6, 5 * 10**8, 7 * 10**9])
@pytest.mark.parametrize("squared", [1, 2, 3, 18, 2**40 + 1])
def test_every_gaussian_scale_is_certified(units: int, squared: int) -> None:
    rho = Rho(units)
    scale = gaussian_scale(squared, rho)
    assert len(add_gaussian([0, 1, 2], scale, squared, rho)) == 3
    assert Fraction(scale) ** 2 * 2 * rho.fraction / squared < 1 + Fraction(1, 10**12)
    assert Fraction(l2_above(squared)) ** 2 >= squared
    choice = concentrated_selection_scale(7, rho)
    assert set(concentrated_choice([1, 2], choice, 7, rho.times(2), best=2)) == {0, 1}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: add_laplace([0], laplace_scale(1, Epsilon.parse("1")) / 2, 1, Epsilon.parse("1")),
        lambda: add_laplace([0], laplace_scale(1, Epsilon.parse("1")), 2, Epsilon.parse("1")),
        lambda: add_gaussian([0], gaussian_scale(1, Rho.parse("0.5")), 2, Rho.parse("0.5")),
        lambda: noisy_max([0, 1], selection_scale(1, Epsilon.parse("1")), 1, Epsilon.parse("1"), best=2),
        lambda: exponential_choice([0, 1], selection_scale(1, Epsilon.parse("1")) / 2, 1, Epsilon.parse("1")),
        lambda: concentrated_choice([0, 1], concentrated_selection_scale(1, Rho(10**9)), 2, Rho(10**9)),
    ],
    ids=["half scale", "twice the sensitivity", "root two", "two for the price of one", "half choice", "gumbel"],
)
def test_nothing_is_drawn_above_the_claim(draw: object) -> None:
    with pytest.raises(BudgetError) as caught:
        draw()  # type: ignore[operator]
    assert caught.value.reason is Reason.CLAIM_NOT_CERTIFIED


def test_numbers_beyond_the_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"2\*\*62"):
        add_laplace([2**62 + 1], 1.0, 1, Epsilon.parse("2"))


def _p_value(drawn: list[int], law: dict[int, float]) -> float:
    """Chi-square of draws against a law; cells with an expectation below 10 are taken together."""
    counts = Counter(drawn)
    kept = [value for value, mass in law.items() if mass * len(drawn) >= 10]
    seen = [counts[value] for value in kept]
    want = [law[value] * len(drawn) for value in kept]
    if len(drawn) - sum(want) > 1e-6:
        seen.append(len(drawn) - sum(seen))
        want.append(len(drawn) - sum(want))
    return float(chisquare(seen, want).pvalue)


def _laplace(scale: float) -> dict[int, float]:
    a = math.exp(-1 / scale)
    return {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-200, 201)}


def _gaussian(sigma: float) -> dict[int, float]:
    mass = {z: math.exp(-(z * z) / (2 * sigma * sigma)) for z in range(-200, 201)}
    return {z: one / sum(mass.values()) for z, one in mass.items()}


def test_draws_follow_the_laws_that_are_claimed() -> None:
    """Each p-value is below 1e-4 with that probability; the controls are off by a tenth of the scale."""
    laplace = list(add_laplace([0] * DRAWS, 3.0, 3, Epsilon.parse("1.000001")))
    gaussian = list(add_gaussian([0] * DRAWS, 3.0, 18, Rho.parse("1.000001")))
    assert _p_value(laplace, _laplace(3.0)) > FALSE_ALARM
    assert _p_value(gaussian, _gaussian(3.0)) > FALSE_ALARM
    assert _p_value(laplace, _laplace(3.3)) < FALSE_ALARM
    assert _p_value(gaussian, _gaussian(3.3)) < FALSE_ALARM
    assert _p_value(gaussian, _laplace(3.0)) < FALSE_ALARM


def test_choices_follow_the_exponential_law_and_permute_and_flip() -> None:
    scores, scale, epsilon = [0, 1, 2], 2.0, Epsilon.parse("1.000001")
    weights = [math.exp(score / scale) for score in scores]
    exponential = {place: weight / sum(weights) for place, weight in enumerate(weights)}
    chosen = [exponential_choice(scores, scale, 1, epsilon) for _ in range(2000)]
    flipped = [noisy_max(scores, scale, 1, epsilon)[0] for _ in range(2000)]
    assert _p_value(chosen, exponential) > FALSE_ALARM
    assert _p_value(flipped, _permute_and_flip(scores, scale)) > FALSE_ALARM
    assert _p_value(flipped, exponential) < FALSE_ALARM


def _permute_and_flip(scores: list[int], scale: float) -> dict[int, float]:
    """P(place) by summing over the orders in which places are tried (McKenna, Sheldon 2020, Algorithm 1)."""
    from itertools import permutations

    keep = [math.exp((score - max(scores)) / scale) for score in scores]
    law = dict.fromkeys(range(len(scores)), 0.0)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for place in order:
            law[place] += left * keep[place] / len(orders)
            left *= 1 - keep[place]
    return law


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.7, 400.0])
def test_half_widths_are_the_least_that_hold(scale: float) -> None:
    a = math.exp(-1 / scale)

    def tail(h: int) -> float:
        return 2 * a ** (h + 1) / (1 + a)

    width = laplace_half_width(scale)
    assert tail(width) <= 0.05 and (width == 0 or tail(width - 1) > 0.05)
    mass = [math.exp(-((z / scale) ** 2) / 2) for z in range(math.ceil(20 * scale) + 2)]
    whole = mass[0] + 2 * sum(mass[1:])
    sigma = gaussian_half_width(scale)
    assert 2 * sum(mass[sigma + 1 :]) / whole <= 0.05 + 1e-12
    assert sigma == 0 or 2 * sum(mass[sigma:]) / whole > 0.05


def test_the_normal_tail_takes_over_without_a_jump() -> None:
    assert gaussian_half_width(500.0) == gaussian_half_width(500.0001) == 980
    assert selection_shortfall(2.0, 10) == math.ceil(2 * math.log(200))
