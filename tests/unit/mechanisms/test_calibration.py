"""The scale search: the last certified multiple before the first that is not, on any monotone certificate."""

from __future__ import annotations

from decimal import Decimal

import pytest

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget.events import ApproximateEvent, PureEvent
from trasgo_lib.errors import ConfigError, Reason, VerificationError
from trasgo_lib.mechanisms.calibration import (
    ScaleSearch,
    build_levels,
    is_beyond_words,
    loss_event,
    meets,
    refuse_claim,
    require_certified,
)


class Counted:
    def __init__(self, curve: object) -> None:
        self.curve, self.calls = curve, 0

    def __call__(self, scale: Decimal) -> Decimal:
        self.calls += 1
        return self.curve(scale)  # type: ignore[operator]


RISING = {
    "straight": lambda x: 2 * x,
    "square": lambda x: x * x,
    "steep": lambda x: x**8,
    "root": lambda x: x.sqrt(),
    "negative first": lambda x: x - 1,
}


@pytest.mark.parametrize("curve", RISING)
@pytest.mark.parametrize("start", [0.01, 0.9, 3.0, 70.0])
def test_a_rising_family_stops_just_below_the_target(curve: str, start: float) -> None:
    certificate = Counted(RISING[curve])
    scale = ScaleSearch(certificate, Decimal("1.7"), start, rising=True).find()
    assert scale is not None
    unit = Decimal(1).scaleb(Decimal(repr(start)).adjusted() - 9)
    assert RISING[curve](scale) <= Decimal("1.7") < RISING[curve](scale + unit)
    assert scale % unit == 0
    assert certificate.calls < 60


@pytest.mark.parametrize("start", [0.01, 0.9, 3.0, 70.0])
def test_a_falling_family_stops_at_the_least_noise(start: float) -> None:
    scale = ScaleSearch(lambda x: 3 / x, Decimal("1.7"), start, rising=False).find()
    assert scale is not None
    unit = Decimal(1).scaleb(Decimal(repr(start)).adjusted() - 9)
    assert 3 / scale <= Decimal("1.7") < 3 / (scale - unit)


def test_the_start_does_not_move_the_answer() -> None:
    found = {
        ScaleSearch(lambda x: 3 / x, Decimal("1.7"), start, rising=False).find() for start in (1.1, 1.7, 1.76, 9.0)
    }
    assert len(found) == 1


@pytest.mark.parametrize("level", [Decimal(0), Decimal(5)])
def test_a_family_that_never_crosses_the_target_gives_nothing(level: Decimal) -> None:
    assert ScaleSearch(lambda _: level, Decimal(2), 1.0, rising=True).find() is None
    assert ScaleSearch(lambda _: level, Decimal(2), 1.0, rising=False).find() is None


def test_levels_start_a_billionth_below_the_claim_and_fall() -> None:
    levels = build_levels(Epsilon.parse("2"))
    assert levels[0] == Decimal("1.999999999")
    assert list(levels) == sorted(levels, reverse=True)
    assert min(levels) >= Decimal("0.999") * 2
    assert all(level > 0 for level in build_levels(Epsilon(1)))


@pytest.mark.parametrize(
    ("certificate", "met"),
    [("1", True), ("0.9999995", True), ("1.0000000001", False), ("0.999", True), ("0.9989", False), ("-1", False)],
)
def test_a_claim_is_met_from_below_only(certificate: str, met: bool) -> None:
    assert meets(Decimal(certificate), Epsilon.parse("1")) is met


def test_a_certificate_above_the_claim_fails_verification() -> None:
    assert require_certified(Decimal("0.4999999"), Epsilon.parse("0.5"), "x") == Decimal("0.5")
    with pytest.raises(VerificationError) as caught:
        require_certified(Decimal("0.5000001"), Epsilon.parse("0.5"), "x")
    assert caught.value.reason is Reason.CLAIM_NOT_CERTIFIED


@pytest.mark.parametrize(("claim", "limit", "named"), [("100", 37.25, "37.2"), ("9", 5.0, "5"), ("3", 0.15, "0.1")])
def test_a_refused_claim_names_the_largest_that_works(claim: str, limit: float, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_claim("laplace", 5, Epsilon.parse(claim), lambda trial: float(trial.decimal) <= limit)
    assert f"at most {named} for 5 codes" in caught.value.faults[0].required
    assert caught.value.faults[0].came == claim


def test_a_claim_too_small_for_the_domain_says_so() -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_claim("laplace", 5, Epsilon.parse("0.05"), lambda _: False)
    assert "Raise epsilon" in caught.value.faults[0].fix


def test_events_and_limits() -> None:
    claim = Epsilon.parse("1")
    assert loss_event(claim) == loss_event(claim, Delta(0)) == PureEvent(claim)
    assert loss_event(claim, Delta(5)) == ApproximateEvent(claim, Delta(5))
    assert not is_beyond_words(Epsilon.parse("44"))
    assert is_beyond_words(Epsilon.parse("44.000001"))
