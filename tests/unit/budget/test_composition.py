"""What the same events cost by every rule."""

from __future__ import annotations

import json
import math

import pytest

from trasgo_lib.amounts import Delta, Epsilon, Geo, Rho
from trasgo_lib.budget import (
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    GaussianEvent,
    GeoEvent,
    LaplaceEvent,
    NoisyMaxEvent,
    PureEvent,
    SparseVectorEvent,
)
from trasgo_lib.budget.composition import compositions

DELTA = Delta.parse("1e-6")
TENTH = Epsilon.parse("0.1")


def test_fifty_laplace_queries() -> None:
    report = compositions([LaplaceEvent(TENTH)] * 50, DELTA)
    assert report.basic == "5" and report.basic_delta == "0"
    assert report.advanced == pytest.approx(4.24, abs=0.01)
    assert report.renyi == pytest.approx(3.30, abs=0.01)
    assert report.pld == pytest.approx(3.12, abs=0.01)
    json.dumps(report.to_json(), allow_nan=False)


def test_whole_numbers_of_one_step_cost_more_than_continuous_noise_says() -> None:
    """Discrete Laplace noise on a count is randomised response; accounting it as continuous would understate it."""
    one = compositions([DiscreteLaplaceEvent(TENTH, 1)] * 50, DELTA)
    pure = compositions([PureEvent(TENTH)] * 50, DELTA)
    many = compositions([DiscreteLaplaceEvent(TENTH, 400)] * 50, DELTA)
    assert one.renyi is not None and one.pld is not None and many.pld is not None and many.renyi is not None
    assert one.renyi == pure.renyi == pytest.approx(3.356, abs=0.002)
    assert one.pld == pytest.approx(pure.pld, abs=0.01) == pytest.approx(3.173, abs=0.002)
    assert many.renyi == pytest.approx(3.30, abs=0.01) and many.pld == pytest.approx(3.12, abs=0.01)


def test_randomised_response_is_composed_exactly() -> None:
    """The composition of k binary responses has a closed form: a binomial number of them tells the truth."""
    k, epsilon = 20, 0.5
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def delta_at(total: float) -> float:
        losses = [(math.comb(k, i) * keep**i * (1 - keep) ** (k - i), epsilon * (2 * i - k)) for i in range(k + 1)]
        return sum(mass * max(0.0, 1 - math.exp(total - loss)) for mass, loss in losses)

    report = compositions([DiscreteLaplaceEvent(Epsilon.parse("0.5"))] * k, DELTA)
    assert report.pld is not None
    assert delta_at(report.pld) <= 1e-6 <= delta_at(report.pld - 0.01)


def test_what_a_rule_does_not_know_is_null_and_the_rest_stands() -> None:
    mixed = compositions([GaussianEvent(Rho.parse("0.01"), Delta(5)), NoisyMaxEvent(TENTH)], DELTA)
    assert mixed.pld is None and mixed.advanced is None
    assert mixed.rho == "0.015" and mixed.zcdp is not None and mixed.renyi is not None
    assert mixed.basic_delta == "0.000000000000005"
    points = compositions([GeoEvent(Geo.parse("1"))], DELTA)
    assert (points.zcdp, points.renyi, points.pld, points.advanced) == (None, None, None, None)
    huge = compositions([PureEvent(Epsilon.parse("501"))], DELTA)
    assert huge.advanced is None


def test_every_pure_event_has_a_figure_by_every_rule() -> None:
    events = [ExponentialMechanismEvent(TENTH), SparseVectorEvent(TENTH, 2), NoisyMaxEvent(TENTH)]
    wide = DiscreteLaplaceEvent(TENTH, 2**20)
    report = compositions([*events, wide], DELTA)
    assert None not in report.to_json().values()
    assert report.pld is not None and report.pld <= 0.4001
