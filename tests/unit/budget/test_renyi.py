"""Renyi and concentrated losses against independent sums and dp-accounting."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import logsumexp

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import (
    ApproximateEvent,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    GaussianEvent,
    LaplaceEvent,
    NoisyMaxEvent,
    PureEvent,
    RevealEvent,
    SampledGaussianEvent,
    epsilon_of_rho,
    rho_within,
    sampled_gaussian_within,
)
from trasgo_lib.budget.composition import pld_epsilon_of_sampled_gaussian
from trasgo_lib.budget.renyi import _one_sampled_step, epsilon_of_sampled_gaussian, renyi_loss, rho_of
from trasgo_lib.errors import BudgetError

mp.dps = 40


def _divergence(shift: int, epsilon: str, order: int) -> float:
    """Renyi divergence of two discrete Laplace laws ``shift`` apart, summed outcome by outcome."""
    a = mp.exp(-mpf(epsilon) / shift)
    c = (1 - a) / (1 + a)
    reach = math.ceil(60 * shift / float(epsilon)) + shift
    terms = ((c * a ** abs(y)) ** order * (c * a ** abs(y - shift)) ** (1 - order) for y in range(-reach, reach))
    return float(mp.log(mp.fsum(terms)) / (order - 1))


@pytest.mark.parametrize("shift", [1, 2, 5, 30])
@pytest.mark.parametrize("order", [2, 3, 8])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_discrete_laplace_is_the_sum_over_its_outcomes(shift: int, order: int, epsilon: str) -> None:
    loss = renyi_loss(DiscreteLaplaceEvent(Epsilon.parse(epsilon), shift), order)
    assert loss is not None
    assert float(loss) == pytest.approx(_divergence(shift, epsilon, order), rel=1e-9)


def test_one_step_is_randomised_response_and_many_steps_are_continuous() -> None:
    epsilon = Epsilon.parse("0.7")
    one, many = (renyi_loss(DiscreteLaplaceEvent(epsilon, steps), 5) for steps in (1, 10**6))
    pure, smooth = renyi_loss(PureEvent(epsilon), 5), renyi_loss(LaplaceEvent(epsilon), 5)
    assert one == pure and many is not None and smooth is not None and pure is not None
    assert float(many) == pytest.approx(float(smooth), rel=1e-9)
    assert pure > many * 2 / 2 and float(pure) > float(smooth)


def test_local_draws_count_the_rows_of_a_unit_and_central_ones_do_not() -> None:
    """Rows are drawn independently, so divergences add over the rows; epsilons would be squared after adding."""
    one, three = (
        renyi_loss(NoisyMaxEvent(Epsilon.parse("0.2")), 4, 9),
        renyi_loss(PureEvent(Epsilon.parse("0.2")), 4, 3),
    )
    assert one is not None and three is not None
    assert float(three) == pytest.approx(3 * float(one), rel=1e-12)
    assert rho_of(PureEvent(Epsilon.parse("0.2")), 3) == Rho.parse("0.06")
    joint = renyi_loss(PureEvent(Epsilon.parse("0.6")), 4)
    assert joint is not None and three < joint  # what a unit's rows cost as one pure draw is more


def _response_rows(epsilon: float, rows: int, order: int) -> float:
    """Renyi divergence of the joint law of several independently randomised rows, outcome by outcome."""
    kept = math.exp(epsilon) / (1 + math.exp(epsilon))
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=rows):
        ones = sum(outcome)
        p, q = kept**ones * (1 - kept) ** (rows - ones), kept ** (rows - ones) * (1 - kept) ** ones
        total += p**order * q ** (1 - order)
    return math.log(total) / (order - 1)


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("order", [2, 5, 16])
def test_the_rows_of_a_unit_lose_no_more_than_is_counted(rows: int, order: int) -> None:
    loss = renyi_loss(PureEvent(Epsilon.parse("0.7")), order, rows)
    assert loss is not None and float(loss) == pytest.approx(_response_rows(0.7, rows, order), rel=1e-9)
    rho = rho_of(PureEvent(Epsilon.parse("0.7")), rows)
    assert rho is not None and float(rho.decimal) * order >= _response_rows(0.7, rows, order)


def _conditional(high: float, low: float, order: int) -> float:
    """Largest divergence, over what was seen before, of the finer level of a binary chain given its coarser one."""
    beta = [math.tanh(level / 2) for level in (low, high)]
    share = beta[0] / beta[1]
    coarse_given_fine = [[(1 + share) / 2, (1 - share) / 2], [(1 - share) / 2, (1 + share) / 2]]
    fine = [[(1 + beta[1]) / 2, (1 - beta[1]) / 2], [(1 - beta[1]) / 2, (1 + beta[1]) / 2]]
    worst = 0.0
    for seen in (0, 1):
        joint = [[fine[x][y] * coarse_given_fine[y][seen] for y in (0, 1)] for x in (0, 1)]
        laws = [[mass / sum(row) for mass in row] for row in joint]
        for p, q in (laws, laws[::-1]):
            total = sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))
            worst = max(worst, math.log(total) / (order - 1))
    return worst


@pytest.mark.parametrize("order", [2, 4, 32])
@pytest.mark.parametrize(("low", "high"), [("0.25", "0.3125"), ("0.5", "1"), ("1", "4"), ("3.2", "4")])
def test_a_further_reveal_costs_its_whole_level_and_the_difference_would_not_do(
    low: str, high: str, order: int
) -> None:
    event = RevealEvent(Epsilon.parse(high), Epsilon.parse(low), Delta(0))
    rho, loss = rho_of(event), renyi_loss(event, order)
    assert rho is not None and loss is not None
    truth = _conditional(float(high), float(low), order)
    assert truth <= float(loss) * (1 + 1e-9) and float(loss) == pytest.approx(float(rho.decimal) * order)
    # negative control: the increment of the squares, as basic accounts charge the increment of the levels
    increment = (float(high) ** 2 - float(low) ** 2) / 2 * order
    assert increment < float(loss)
    if (low, high) in (("3.2", "4"), ("0.25", "0.3125")) and order == 2:
        assert increment < truth


def test_a_choice_of_bounded_range_costs_a_quarter_of_a_pure_one() -> None:
    epsilon = Epsilon.parse("0.4")
    assert rho_of(ExponentialMechanismEvent(epsilon)) == Rho.parse("0.02")
    assert rho_of(NoisyMaxEvent(epsilon)) == Rho.parse("0.08")
    chosen = renyi_loss(ExponentialMechanismEvent(epsilon), 2)
    assert chosen is not None and float(chosen) == pytest.approx(0.04, rel=1e-12)


def test_what_is_not_known_is_said() -> None:
    event = ApproximateEvent(Epsilon.parse("1"), Delta.parse("1e-9"))
    assert rho_of(event) is None and renyi_loss(event, 3) is None
    assert rho_of(RevealEvent(Epsilon(2), Epsilon(1), Delta(1))) is None
    assert rho_of(SampledGaussianEvent("0.5", "2", 1, Delta.parse("1e-6"))) is None


def _sampled_pair(rate: float, noise: float, order: int, far: float) -> float:
    """Renyi divergence of two sampled laws on a grid: a row that is at 1 against one at ``far``; None of it is ours."""
    y = np.linspace(-40 * noise, 40 * noise, 40001)
    logs = [
        np.logaddexp(math.log1p(-rate) - y**2 / (2 * noise**2), math.log(rate) - (y - at) ** 2 / (2 * noise**2))
        for at in (1.0, far)
    ]
    terms = order * logs[0] + (1 - order) * logs[1] - math.log(noise * math.sqrt(2 * math.pi))
    return float((logsumexp(terms) + math.log(y[1] - y[0])) / (order - 1))


@pytest.mark.parametrize("order", [2, 3, 16])
@pytest.mark.parametrize(("rate", "noise"), [("0.01", "1"), ("0.3", "2"), ("0.02", "4")])
def test_sampled_steps_cover_a_replaced_row(rate: str, noise: str, order: int) -> None:
    """A replaced row lies as far on the other side of the others; one that is only taken out is counted for less."""
    loss = renyi_loss(SampledGaussianEvent(rate, noise, 10, Delta.parse("1e-6")), order)
    assert loss is not None
    replaced = _sampled_pair(float(rate), float(noise), order, -1.0)
    taken_out = _one_sampled_step(rate, noise, order)
    assert float(taken_out) == pytest.approx(max(_taken_out(rate, noise, order)), rel=1e-6)
    assert float(loss) >= 10 * replaced
    assert 10 * float(taken_out) < 10 * replaced  # negative control: the curve of one row taken out would not do


def _taken_out(rate: str, noise: str, order: int) -> tuple[float, float]:
    q, s = float(rate), float(noise)
    y = np.linspace(-40 * s, 40 * s, 40001)
    mixed = np.logaddexp(math.log1p(-q) - y**2 / (2 * s**2), math.log(q) - (y - 1) ** 2 / (2 * s**2))
    bare, unit = -(y**2) / (2 * s**2), math.log(s * math.sqrt(2 * math.pi)) - math.log(y[1] - y[0])
    found = [logsumexp(order * p + (1 - order) * b) - unit for p, b in ((mixed, bare), (bare, mixed))]
    return float(found[0] / (order - 1)), float(found[1] / (order - 1))


def test_steps_without_sampling_are_those_of_a_sum_that_moves_twice_as_far() -> None:
    steps = SampledGaussianEvent("1", "2", 3, Delta.parse("1e-6"))
    loss = renyi_loss(steps, 8)
    assert loss is not None
    exact = 3 * 8 * 2**2 / (2 * 2**2)
    assert exact <= float(loss) < 1.1 * exact


def test_sampled_steps_agree_with_dp_accounting_for_one_row_taken_out() -> None:
    from dp_accounting.rdp.rdp_privacy_accountant import _compute_rdp_poisson_subsampled_gaussian

    for rate, noise in ((0.01, 1.0), (0.2, 3.0)):
        for order in (2, 17, 128):
            ours = float(_one_sampled_step(str(rate), str(noise), order))
            theirs = float(_compute_rdp_poisson_subsampled_gaussian(rate, noise, [order])[0])
            assert ours == pytest.approx(theirs, rel=1e-6)


def test_the_least_noise_that_keeps_a_budget_is_found() -> None:
    epsilon, delta = Epsilon.parse("1"), Delta.parse("1e-5")
    event = sampled_gaussian_within(epsilon, delta, "0.05", 40)
    assert epsilon_of_sampled_gaussian(event) <= epsilon
    less = f"{float(event.noise_multiplier) - 0.001:.3f}"
    assert epsilon_of_sampled_gaussian(replace(event, noise_multiplier=less)) > epsilon
    assert epsilon_of_sampled_gaussian(event, 2) > epsilon
    with pytest.raises(BudgetError, match="noise multiplier of at most 1000"):
        sampled_gaussian_within(Epsilon(1), Delta(1), "0.5", 10)


def test_distributions_confirm_the_charge_of_sampled_steps() -> None:
    event = sampled_gaussian_within(Epsilon.parse("1"), Delta.parse("1e-5"), "0.05", 40)
    confirmed = pld_epsilon_of_sampled_gaussian(event)
    assert 0.85 < confirmed <= 1
    noisier = replace(event, noise_multiplier=f"{float(event.noise_multiplier) / 2:.3f}")
    assert pld_epsilon_of_sampled_gaussian(noisier) > 1.5


@pytest.mark.parametrize(("rho", "delta"), [("0.01", "1e-6"), ("0.5", "1e-9"), ("3", "1e-12"), ("0.000001", "1e-6")])
def test_epsilon_of_rho_is_never_below_the_least_and_within_a_part_in_a_thousand(rho: str, delta: str) -> None:
    r, d = mpf(rho), mpf(delta)

    def at(alpha: mpf) -> mpf:
        return r * alpha + mp.log((alpha - 1) / alpha) - (mp.log(d) + mp.log(alpha)) / (alpha - 1)

    start = 1 + mp.sqrt(-mp.log(d) / r)
    least = min(at(1 + (start - 1) * mpf(k) / 2000) for k in range(200, 6000))
    found = float(epsilon_of_rho(Rho.parse(rho), Delta.parse(delta)).decimal)
    assert float(max(0, least)) * (1 - 1e-6) <= found <= float(max(0, least)) * 1.001 + 2e-6


def test_rho_within_is_the_largest_that_fits() -> None:
    epsilon, delta = Epsilon.parse("1"), Delta.parse("1e-6")
    rho = rho_within(epsilon, delta)
    assert epsilon_of_rho(rho, delta) <= epsilon < epsilon_of_rho(Rho(rho.units + 1), delta)
    assert epsilon_of_rho(GaussianEvent(rho, delta).rho, delta) <= epsilon
