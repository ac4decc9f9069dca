"""What the report says an analyst can expect is what the analysis room gives, and what the best attacker can do."""

from __future__ import annotations

from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest

from trasgo_lib import estimation
from trasgo_lib.amounts import Epsilon
from trasgo_lib.analysis import usefulness
from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.estimation.decoding import transition
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.reporting import column_use
from trasgo_lib.reporting.column_use import PublishedColumn, Question, central_comparison, questions
from trasgo_lib.reporting.strength import belief_after, best_guess

ROWS = 100_000
HOURS = NumberDomain(lower="0", upper="39", step="1", unit="hours")


def _column(mechanism: str, domain=HOURS, **parameters) -> PublishedColumn:  # type: ignore[no-untyped-def]
    return PublishedColumn("hours", "hours", domain, build_channel(mechanism, domain, **{"epsilon": "1", **parameters}))


def test_limits_are_those_of_the_analysis_room() -> None:
    assert column_use.WIDE == usefulness._WIDE
    assert column_use.FEWEST_ROWS == usefulness.FEWEST_ROWS


@pytest.mark.parametrize(
    ("mechanism", "parameters"),
    [("laplace", {}), ("gaussian", {}), ("staircase", {}), ("binned_randomized_response", {"bins": 4})],
)
def test_errors_are_those_of_the_analysis_room_for_values_spread_evenly(mechanism, parameters) -> None:  # type: ignore[no-untyped-def]
    column = _column(mechanism, **parameters)
    counts = np.rint(transition(column.channel).mean(axis=0) * ROWS).astype(np.int64)
    asked = {one.kind: one for one in questions(column, int(counts.sum()))}
    values = HOURS.values.astype(np.float64)
    for kind, ask in (("mean", estimation.mean), ("variance", estimation.variance)):
        found = ask(column.channel, counts, values=values)
        both = sqrt(asked[kind].noise_error ** 2 + asked[kind].draw_error ** 2)
        assert both == pytest.approx(found.standard_error, rel=0.02), kind
        # of bins the room adds how far mean and variance can be off together, a little more or less than each alone
        near = 0.1 if mechanism == "binned_randomized_response" else 0.03
        assert asked[kind].half_width == pytest.approx((found.high - found.low) / 2, rel=near), kind


def test_errors_of_a_share_are_those_of_the_analysis_room() -> None:
    labels = CategoryDomain(["a", "b", "c", "d"])
    column = _column("kary_randomized_response", labels)
    counts = np.full(4, ROWS // 4)
    (share,) = [one for one in questions(column, ROWS) if one.kind == "share"]
    found = estimation.subset_shares(column.channel, counts, np.eye(4, dtype=bool))[0]
    assert share.half_width == pytest.approx((found.high - found.low) / 2, rel=1e-3)
    assert not [one for one in questions(column, ROWS) if one.kind in ("mean", "correlation")]


@pytest.mark.parametrize(
    ("mechanism", "parameters"),
    [("laplace", {}), *(("binned_randomized_response", {"epsilon": "2", "bins": bins}) for bins in (8, 20))],
)
def test_a_correlation_error_is_that_of_two_columns_noised_alike(mechanism, parameters) -> None:  # type: ignore[no-untyped-def]
    column = _column(mechanism, **parameters)
    matrix = transition(column.channel)
    out = matrix.mean(axis=0)
    table = np.rint(np.outer(out, out) * ROWS).astype(np.int64)
    found = estimation.correlation(column.channel, column.channel, table)
    (asked,) = [one for one in questions(column, int(table.sum())) if one.kind == "correlation"]
    assert asked.half_width == pytest.approx((found.high - found.low) / 2, rel=0.05)
    assert not asked.is_hidden_by_bins


def test_few_bins_hide_a_correlation_whatever_the_number_of_rows() -> None:
    column = _column("binned_randomized_response", epsilon="8", bins=4)
    (asked,) = [one for one in questions(column, 10**9) if one.kind == "correlation"]
    out = transition(column.channel).mean(axis=0)
    found = estimation.correlation(column.channel, column.channel, np.rint(np.outer(out, out) * 10**9).astype(np.int64))
    assert (found.low, found.high) == (-1, 1)
    assert asked.verdict == "no" and asked.is_hidden_by_bins


@pytest.mark.parametrize(("half", "verdict"), [(0.1, "yes"), (0.13, "roughly"), (0.49, "roughly"), (0.5, "no")])
def test_wide_answers_come_with_a_warning_and_wider_ones_not_at_all(half: float, verdict: str) -> None:
    assert Question("x", "share", "share", "", 0.0, 0.0, half, 1.0, 30).verdict == verdict


def test_nothing_is_answered_from_fewer_rows_than_the_analysis_room_takes() -> None:
    labels = _column("kary_randomized_response", CategoryDomain(["a", "b"]), epsilon="20")
    assert [{one.verdict for one in questions(labels, rows)} for rows in (29, 1000)] == [{"no"}, {"yes"}]


def test_more_rows_tell_more_and_a_domain_too_large_is_not_asked() -> None:
    few, many = ({one.kind: one for one in questions(_column("laplace"), rows)} for rows in (1000, 4000))
    assert few["mean"].noise_error == pytest.approx(2 * many["mean"].noise_error)
    assert 0 < few["mean"].worth < 1000
    wide = NumberDomain(lower="0", upper="2400", step="1")
    assert list(questions(_column("gaussian", wide), 1000)) == []
    kinds = [one.kind for one in questions(_column("laplace", wide), 1000)]
    assert kinds == ["mean"]


def test_a_central_table_has_the_noise_of_the_laplace_law() -> None:
    (mean,) = [one for one in questions(_column("laplace"), ROWS) if one.kind == "mean"]
    found = central_comparison(mean, Epsilon.parse("1"), ROWS)
    assert found is not None
    assert found.central_error == pytest.approx(sqrt(2) * 39 / ROWS)
    # local noise of one value is about as large as the range: the ratio grows with the root of the rows
    assert found.ratio == pytest.approx(mean.noise_error / found.central_error) and found.ratio > 100
    assert central_comparison(mean, Epsilon(0), ROWS) is None
    (variance,) = [one for one in questions(_column("laplace"), ROWS) if one.kind == "variance"]
    assert central_comparison(variance, Epsilon.parse("1"), ROWS) is None


@pytest.mark.parametrize("codes", [2, 5, 40])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_no_attacker_names_a_value_more_often_than_said_and_k_ary_response_reaches_it(codes: int, epsilon: str) -> None:
    domain = NumberDomain(lower="0", upper=str(codes - 1), step="1")
    labels = CategoryDomain([f"c{number}" for number in range(codes)])
    bound = best_guess(codes, Epsilon.parse(epsilon))

    def best(channel) -> float:  # type: ignore[no-untyped-def]
        return float(transition(channel).max(axis=0).sum()) / codes

    assert best(build_channel("kary_randomized_response", labels, epsilon=epsilon)) == pytest.approx(bound, rel=1e-6)
    for mechanism in ("laplace", "staircase"):
        assert best(build_channel(mechanism, domain, epsilon=epsilon)) <= bound + 1e-9


def test_a_delta_adds_to_what_can_be_named() -> None:
    hours = NumberDomain(lower="0", upper="9", step="1")
    channel = build_channel("gaussian", hours, epsilon="1", delta="0.001")
    named = float(transition(channel).max(axis=0).sum()) / 10
    assert named <= best_guess(10, Epsilon.parse("1"), Fraction(1, 1000)) <= 1
    assert best_guess(2, Epsilon.parse("1"), Fraction(1)) == 1.0


def test_a_belief_follows_bayes_rule() -> None:
    factor = exp(2)
    assert belief_after(0.1, Epsilon.parse("2")) == pytest.approx(0.1 * factor / (0.1 * factor + 0.9))
    assert belief_after(0.5, Epsilon.parse("5000")) == pytest.approx(1.0)
