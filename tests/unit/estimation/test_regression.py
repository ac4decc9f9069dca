"""Decoded products, least squares on them, and moments within groups: exact on small domains, then compared."""

from __future__ import annotations

import numpy as np
import pytest
from fixed_people import GRADES, YEARS, joint, stream

from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain, ProductPart
from trasgo_lib.estimation import (
    CodeRows,
    Factor,
    Products,
    SharedNoise,
    correlation,
    correlation_within,
    least_squares,
    variance,
    variance_within,
)
from trasgo_lib.estimation.fieller import BINNED, fieller
from trasgo_lib.mechanisms import build_channel, kept_share, margin

GROUP = ProductDomain(
    [
        ProductPart("sex", CategoryDomain(["f", "m"])),
        ProductPart("age", NumberDomain("0", "4", "1"), None, True),
        ProductPart("grade", GRADES),
    ]
)
TENTHS = np.arange(19.0)


def number(channel, values) -> Factor:
    found = Factor.of_number(channel, values)
    assert isinstance(found, Factor)
    return found


def dummies(channel) -> Factor:
    codes = np.arange(channel.inputs)
    found = Factor.of_sets(channel, codes >= 0, codes[:, None] == np.arange(1, channel.inputs))
    assert isinstance(found, Factor)
    return found


def all_rows(codes: np.ndarray) -> CodeRows:
    return CodeRows(codes, np.ones(len(codes)))


def test_products_are_decoded_without_bias() -> None:
    """Exact: the expectation over all that can be released is the product of the private functions, for every row.

    Three columns of a group, one of them with a missing code, and a number of its own.
    """
    whole = build_channel("kary_randomized_response", GROUP, "3")
    small = NumberDomain("0", "3", "1")
    alone = build_channel("laplace", small, "2")
    margins = {name: margin(whole, GROUP, name) for name in ("sex", "age", "grade")}
    ages = np.append(np.arange(5.0), np.nan)
    plain = [dummies(margins["sex"]), number(margins["age"], ages), dummies(margins["grade"])]
    noise = [SharedNoise(kept_share(whole), margins[name].support, ()) for name in margins]
    factors = [factor.in_group("together", one) for factor, one in zip(plain, noise, strict=True)]
    products = Products(
        (*factors, number(alone, np.arange(4.0)).in_group("alone", None)),
        CodeRows(np.zeros((1, 4), dtype=int), np.ones(1)),
    )
    places = np.stack(GROUP.decode(np.arange(GROUP.size, dtype=np.int32)), axis=1)
    released = np.concatenate([np.repeat(places, 4, axis=0), np.tile(np.arange(4), GROUP.size)[:, None]], axis=1)
    of_group = np.array([whole.weights(code) for code in range(GROUP.size)], dtype=np.float64) / 2.0**64
    of_number = np.array([alone.weights(code) for code in range(4)], dtype=np.float64) / 2.0**64
    for private in range(0, GROUP.size, 5):
        for own in range(4):
            law = np.outer(of_group[private], of_number[own]).ravel()
            found = Products(products.factors, CodeRows(released, law)).moments()
            sex, age, grade = places[private]
            here = age < 5
            functions = np.array([1, sex == 1, (age - 2) / 2, grade == 1, grade == 2, (own - 1.5) / 1.5]) * here
            assert found == pytest.approx(np.outer(functions, functions), abs=1e-9)
    # negative control: decoded as if they were noised apart, products of columns of the group are off
    apart = Products(
        (*(factor.in_group(str(place), None) for place, factor in enumerate(plain)), products.factors[3]),
        CodeRows(released, np.outer(of_group[1], of_number[0]).ravel()),
    )
    assert abs(apart.moments()[1, 3] - 0.0) > 0.01 or abs(apart.moments()[2, 3] - 0.0) > 0.01


def test_next_to_no_noise_leaves_least_squares_with_the_sandwich(people, channels) -> None:
    years, grades = (
        channels("kary_randomized_response", YEARS, "40"),
        channels("kary_randomized_response", GRADES, "40"),
    )
    outcome = np.clip(people["years"] + people["grades"] - np.arange(2000) % 3, 0, 18)
    codes = np.stack([people["grades"], people["years"], outcome], axis=1)
    names = ("grades", "years", "outcome")
    factors = [dummies(grades), number(years, 10 * TENTHS), number(years, 3 * TENTHS + 5)]
    products = Products(tuple(one.in_group(name, None) for one, name in zip(factors, names)), all_rows(codes))
    found = least_squares(products, ("middle", "high", "years"))
    design = np.stack([np.ones(2000), codes[:, 0] == 1, codes[:, 0] == 2, 10.0 * codes[:, 1]], axis=1)
    y = 3.0 * outcome + 5
    beta, inverse = np.linalg.lstsq(design, y, rcond=None)[0], np.linalg.inv(design.T @ design)
    scores = design * (y - design @ beta)[:, None]
    errors = np.sqrt(np.diag(inverse @ scores.T @ scores @ inverse))
    assert [one.value for one in found.coefficients] == pytest.approx(beta, rel=1e-6, abs=1e-6)
    assert [one.standard_error for one in found.coefficients] == pytest.approx(errors, rel=1e-3)
    for one in found.coefficients:
        assert one.high - one.low == pytest.approx(2 * 1.96 * one.standard_error, rel=0.02)
    wide = least_squares(products, ("middle", "high", "years"), 0.99).coefficients[3]
    assert wide.high - wide.low == pytest.approx(2 * 2.576 * errors[3], rel=0.02)
    r = np.corrcoef(design[:, 1:], rowvar=False)
    assert found.condition == pytest.approx(np.linalg.cond(r), rel=1e-4)


def test_one_covariate_is_the_textbook_correction(people, channels) -> None:
    """Slope = covariance over (released variance - mean noise variance); released values alone are biased to 0."""
    channel = channels("laplace", YEARS, "8")
    drawn = [channel.sample(people[name], stream("slope", name)) for name in ("years", "years")]
    drawn[1] = channel.sample(people["years"], stream("slope", "again"))
    factor = number(channel, TENTHS)
    products = Products((factor.in_group("x", None), factor.in_group("y", None)), all_rows(np.stack(drawn, axis=1)))
    (_, slope), scores = least_squares(products, ("years",)).coefficients, channel.scores
    x, y = scores[drawn[0]], scores[drawn[1]]
    assert slope.covers(1.0)
    naive = np.cov(x, y)[0, 1] / np.var(x)
    noise = 1 - naive / slope.value
    assert 0.3 < noise < 0.9
    assert abs(slope.value - 1) < abs(naive - 1)


def test_covariates_that_noise_or_nature_hides_are_refused(people, channels) -> None:
    strong = channels("laplace", YEARS, "0.5")
    drawn = strong.sample(people["years"], stream("strong"))
    factor = number(strong, TENTHS).in_group("x", None)
    clear = number(channels("kary_randomized_response", YEARS, "40"), TENTHS)
    codes = np.stack([drawn, people["years"]], axis=1)
    found = least_squares(Products((factor, clear.in_group("y", None)), all_rows(codes)), ("years",))
    assert {one.reason for one in found.coefficients} == {"the noise hides how far years spreads"}
    assert found.condition is None
    # one value only: no spread at all
    same = np.stack([np.full(2000, 7), people["years"]], axis=1)
    products = Products((clear.in_group("x", None), clear.in_group("y", None)), all_rows(same))
    assert least_squares(products, ("x",)).coefficients[1].reason == "the noise hides how far x spreads"
    # the same column twice
    twice = np.stack([people["years"], people["years"], people["years"]], axis=1)
    three = Products(tuple(clear.in_group(name, None) for name in "abc"), all_rows(twice))
    assert "apart from each other" in least_squares(three, ("a", "b")).coefficients[0].reason


def test_hidden_rows_are_said(people, channels) -> None:
    grades = channels("kary_randomized_response", GRADES, "0.1")
    member = Factor.of_sets(grades, np.array([True, False, False]), np.zeros((3, 0), dtype=bool))
    clear = number(channels("kary_randomized_response", YEARS, "40"), TENTHS)
    drawn = grades.sample(people["grades"], stream("hidden"))
    rows = all_rows(np.stack([drawn, people["years"], people["years"]], axis=1))
    products = Products((member.in_group("g", None), clear.in_group("x", None), clear.in_group("y", None)), rows)
    reasons = {
        least_squares(products, ("x",)).coefficients[0].reason,
        correlation_within(products).reason,
        variance_within(Products(products.factors[:2], CodeRows(rows.codes[:, :2], rows.counts))).reason,
    }
    assert reasons <= {"the noise hides how many rows count", "the noise hides how far x spreads"}
    assert "the noise hides how many rows count" in reasons


@pytest.mark.parametrize("epsilon", ["3", "8"])
def test_moments_of_products_are_those_of_tables(epsilon: str, people, channels) -> None:
    """Two ways to the same figures: from a table of two columns, and row by row."""
    left, right = channels("laplace", YEARS, epsilon, missing=True), channels("laplace", YEARS, epsilon)
    drawn = left.sample(people["gaps"], stream("l", epsilon)), right.sample(people["years"], stream("r", epsilon))
    values = np.append(TENTHS, np.nan)
    factors = number(left, values).in_group("left", None), number(right, TENTHS).in_group("right", None)
    rows = all_rows(np.stack(drawn, axis=1))
    table = joint(*drawn, (20, 19))
    expected = correlation(left, right, table, left_values=values, right_values=TENTHS)
    found = correlation_within(Products(factors, rows))
    assert found.reason == expected.reason
    if expected.value is not None:
        for name in ("value", "low", "high", "standard_error"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-6)
    spread = variance(left, table.sum(axis=1), values=values)
    alone = variance_within(Products(factors[:1], CodeRows(rows.codes[:, :1], rows.counts)))
    for name in ("value", "low", "high", "standard_error"):
        assert getattr(alone, name) == pytest.approx(getattr(spread, name), rel=1e-5)  # rows - 1 for rows


def test_fiellers_interval_is_where_the_score_stays_within_its_noise() -> None:
    covariance = np.array([[0.04, 0.01], [0.01, 0.02]])
    found = fieller(2.0, 1.5, covariance, point=2.0, hidden="hidden")
    for end in (found.low, found.high):
        away = end - 2.0
        noise = covariance[0, 0] - 2 * away * covariance[0, 1] + away**2 * covariance[1, 1]
        assert abs(away) * 1.5 == pytest.approx(2.0 * np.sqrt(noise))
    assert found.standard_error == pytest.approx(0.2 / 1.5)
    biased = fieller(2.0, 1.5, covariance, point=2.0, hidden="hidden", biases=(0.1, 0.05))
    for end, sign in ((biased.low, -1), (biased.high, 1)):
        away = end - 2.0
        noise = covariance[0, 0] - 2 * away * covariance[0, 1] + away**2 * covariance[1, 1]
        assert sign * away * 1.45 - 0.1 == pytest.approx(2.0 * np.sqrt(noise))
    assert fieller(2.0, 0.5, covariance, point=2.0, hidden="hidden").reason == "hidden"
    assert fieller(2.0, float("nan"), covariance, point=2.0, hidden="hidden").reason == "hidden"
    assert fieller(2.0, 1.5, covariance, point=2.0, hidden="hidden", biases=(0.0, 1.4)).reason == BINNED


def test_large_domains_say_that_they_cannot_be_undone() -> None:
    smooth = build_channel("gaussian", NumberDomain("0", "8000", "1"), "2")
    assert Factor.of_number(smooth, np.arange(8001.0)) == "the domain is too large to undo this noise"
    members = np.ones((8001, 1), dtype=bool)
    assert Factor.of_sets(smooth, members[:, 0], members) == "the domain is too large to undo this noise"
