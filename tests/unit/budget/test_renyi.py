"""Renyi and concentrated losses against independent sums and dp-accounting."""

from __future__ import annotations

import math

import pytest
from mpmath import mp, mpf

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import (
    ApproximateEvent,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    GaussianEvent,
    LaplaceEvent,
    NoisyMaxEvent,
    PureEvent,
    RenyiFilter,
    SampledGaussianEvent,
    epsilon_of_rho,
    rho_within,
)
from trasgo_lib.budget.renyi import epsilon_of_sampled_gaussian, renyi_loss, rho_of
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
    assert renyi_loss(PureEvent(Epsilon.parse("0.2")), 4, 3) == renyi_loss(NoisyMaxEvent(Epsilon.parse("0.6")), 4, 9)
    assert rho_of(PureEvent(Epsilon.parse("0.2")), 3) == Rho.parse("0.18")


def test_a_choice_of_bounded_range_costs_a_quarter_of_a_pure_one() -> None:
    epsilon = Epsilon.parse("0.4")
    assert rho_of(ExponentialMechanismEvent(epsilon)) == Rho.parse("0.02")
    assert rho_of(NoisyMaxEvent(epsilon)) == Rho.parse("0.08")
    chosen = renyi_loss(ExponentialMechanismEvent(epsilon), 2)
    assert chosen is not None and float(chosen) == pytest.approx(0.04, rel=1e-12)


def test_what_is_not_known_is_said() -> None:
    event = ApproximateEvent(Epsilon.parse("1"), Delta.parse("1e-9"))
    assert rho_of(event) is None and renyi_loss(event, 3) is None
    # known for one row added or taken out only; a replaced unit moves a sum twice as far for each of its rows
    steps = SampledGaussianEvent("1", "2", 1, Delta.parse("1e-6"))
    assert rho_of(steps) is None and renyi_loss(steps, 3) is None
    with pytest.raises(BudgetError):
        RenyiFilter(3, Rho.parse("100")).spend(steps)


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


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "delta"),
    [("0.01", "1", 2000, "1e-5"), ("0.02", "2.239", 500, "1e-5"), ("1", "20", 5, "1e-6")],
)
def test_sampled_gaussian_agrees_with_dp_accounting(rate: str, noise: str, steps: int, delta: str) -> None:
    import dp_accounting
    from dp_accounting import rdp

    event = dp_accounting.PoissonSampledDpEvent(float(rate), dp_accounting.GaussianDpEvent(float(noise)))
    accountant = rdp.RdpAccountant().compose(dp_accounting.SelfComposedDpEvent(event, steps))
    theirs = accountant.get_epsilon(float(delta))
    ours = float(epsilon_of_sampled_gaussian(rate, noise, steps, Delta.parse(delta)).decimal)
    assert theirs <= ours * (1 + 1e-6) and ours <= theirs * 1.02
