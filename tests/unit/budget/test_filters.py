"""Filters spend exactly, all or nothing, and refuse at the first unit above the cap."""

from __future__ import annotations

import pytest

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import (
    ApproximateEvent,
    BasicFilter,
    Cost,
    DiscreteLaplaceEvent,
    GaussianEvent,
    PureEvent,
    RenyiFilter,
    ZcdpFilter,
)
from trasgo_lib.errors import BudgetError, Reason


def _laplace(epsilon: str) -> DiscreteLaplaceEvent:
    return DiscreteLaplaceEvent(Epsilon.parse(epsilon))


def test_a_tenth_three_times_fits_and_a_fourth_is_refused() -> None:
    account = BasicFilter(Cost.of("0.3"))
    for _ in range(3):
        account = account.spend(_laplace("0.1"))
    assert account.spent == account.cap
    with pytest.raises(BudgetError) as caught:
        account.spend(_laplace("0.000001"))
    assert caught.value.reason is Reason.OVER_CAP and caught.value.exit_code == 5
    assert BasicFilter(Cost.of("0.3")).spend(_laplace("0.1"), _laplace("0.2")).spent == Cost.of("0.3")


def test_a_refusal_names_every_component_and_spends_nothing() -> None:
    account = BasicFilter(Cost.of("1", "1e-9"))
    with pytest.raises(BudgetError) as caught:
        account.spend(_laplace("0.5"), ApproximateEvent(Epsilon.parse("0.6"), Delta.parse("2e-9")))
    assert [fault.where for fault in caught.value.faults] == ["epsilon", "delta"]
    assert account.spent == Cost.zero()


def test_concentrated_losses_add_exactly() -> None:
    account = ZcdpFilter(Rho.parse("0.3"))
    for _ in range(3):
        account = account.spend(GaussianEvent(Rho.parse("0.1"), Delta(1)))
    with pytest.raises(BudgetError, match="at most 0 more"):
        account.spend(_laplace("0.00001"))
    half = ZcdpFilter(Rho.parse("0.02")).spend(_laplace("0.1"), PureEvent(Epsilon.parse("0.1")))
    assert half.spent == Rho.parse("0.01")
    assert ZcdpFilter(Rho.parse("1"), max_rows=3).spend(PureEvent(Epsilon.parse("0.1"))).spent == Rho.parse("0.015")
    with pytest.raises(BudgetError, match="whose zero-concentrated loss is known"):
        half.spend(ApproximateEvent(Epsilon(1), Delta(1)))


def test_the_cap_of_a_filter_means_an_epsilon() -> None:
    delta = Delta.parse("1e-6")
    assert float(ZcdpFilter(Rho.parse("0.25")).epsilon(delta).decimal) == pytest.approx(3.5424, abs=1e-3)
    renyi = RenyiFilter(8, Rho.parse("1.8"))
    assert float(renyi.epsilon(delta).decimal) == pytest.approx(3.3432, abs=1e-3)


def test_fifty_laplace_queries_pass_a_renyi_filter_that_basic_composition_would_refuse() -> None:
    account, basic = RenyiFilter(8, Rho.parse("2")), BasicFilter(Cost.of("3.6"))
    for _ in range(50):
        account = account.spend(_laplace("0.1"))
    assert float(account.epsilon(Delta.parse("1e-6")).decimal) < 3.6
    with pytest.raises(BudgetError):
        basic.spend(*[_laplace("0.1")] * 50)
    with pytest.raises(BudgetError):
        account.spend(*[_laplace("0.1")] * 10)
    with pytest.raises(ValueError, match="from 2 on"):
        RenyiFilter(1, Rho(1))
