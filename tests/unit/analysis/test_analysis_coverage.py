"""Answers against a known population over fixed keys: rows are drawn anew, and noised anew, for every key.

Coverage over K keys is held to an exact two-sided binomial test at 1e-4; with K = 300 a true coverage of 87 % is found
with a power of 0.9, with K = 2000 one of 92 %. Means of estimates are held to four standard errors of their mean, and
to a tenth of one estimate's deviation more for ratios, which are unbiased to first order only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from published_people import LAW, WAVES, make_release
from scipy.stats import binomtest

from trasgo_lib.analysis import MISSING, Estimate, NoiseWarning, Release

KEYS = 300
YEARS = 2.0 * np.arange(19)
BY_YEARS = LAW.sum(axis=(1, 2, 3))
WITH_GRADE = LAW.sum(axis=(2, 3))
WITH_WAVE = LAW.sum(axis=(1, 3))
GRADES = WITH_GRADE.sum(axis=0)
MEAN = float(BY_YEARS @ YEARS)
SPREAD = float(BY_YEARS @ YEARS**2) - MEAN**2
GRADE_MEAN = float(GRADES @ np.arange(3))
GRADE_SPREAD = float(GRADES @ np.arange(3) ** 2) - GRADE_MEAN**2
COVARIANCE = float(YEARS @ WITH_GRADE @ np.arange(3)) - MEAN * GRADE_MEAN
HERE = LAW[..., 0].sum(axis=(1, 2)) / LAW[..., 0].sum()

QUESTIONS: dict[str, tuple[float, Callable[[Release], Estimate]]] = {
    "share": (GRADES[1], lambda r: r.share("grade", "middle")),
    "share of a number": (BY_YEARS[0], lambda r: r.share("years")[0]),
    "share of a range": (BY_YEARS[:6].sum(), lambda r: r.share("years", range(0, 12, 2))),
    "share of missing": (LAW[..., 1].sum(), lambda r: r.share("gaps", MISSING)),
    "share of a bin": (BY_YEARS[5:10].sum(), lambda r: r.share("binned")[14]),
    "share by public": (
        LAW[:, 2, 1].sum() / LAW[:, :, 1].sum(),
        lambda r: r.share("grade", "high", by="wave")[WAVES[1]],
    ),
    "share by noised": (
        LAW[:, 0, :, 1].sum() / GRADES[0],
        lambda r: r.share("gaps", MISSING, by="grade")["low"],
    ),
    "crosstab": (WITH_GRADE[5:10, 1].sum(), lambda r: r.crosstab("binned", "grade")[14, "middle"]),
    "crosstab with a number": (WITH_GRADE[8, 1], lambda r: r.crosstab("years", "grade")[16, "middle"]),
    "mean": (MEAN, lambda r: r.mean("years")),
    "mean past missing": (float(HERE @ YEARS), lambda r: r.mean("gaps")),
    "mean by public": (
        float(WITH_WAVE[:, 0] @ YEARS / WITH_WAVE[:, 0].sum()),
        lambda r: r.mean("years", by="wave")[WAVES[0]],
    ),
    "mean by noised": (
        float(WITH_GRADE[:, 2] @ YEARS / GRADES[2]),
        lambda r: r.mean("years", by="grade")["high"],
    ),
    "variance": (SPREAD, lambda r: r.variance("years")),
    "correlation": (COVARIANCE / np.sqrt(SPREAD * GRADE_SPREAD), lambda r: r.correlation("years", "grade")),
}
RATIOS = {"share by noised", "mean by noised", "mean past missing", "correlation"}

NEAR_AN_END = {"crosstab with a number"}
"""Less than two standard errors from what is possible: cut intervals cover more than 95 %, uncut ones just that."""

Answers = dict[str, list[Estimate]]


def ask(keys: range) -> Answers:
    answers: Answers = {name: [] for name in QUESTIONS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        for key in keys:
            release = make_release(key)
            for name, (_, question) in QUESTIONS.items():
                answers[name].append(question(release))
    return answers


def judge(name: str, answers: Answers) -> None:
    truth, estimates = QUESTIONS[name][0], answers[name]
    assert all(estimate.reason is None for estimate in estimates), name
    covered = sum(estimate.covers(truth) for estimate in estimates)
    assert binomtest(covered, len(estimates), 0.95, "less").pvalue > 1e-4, (name, covered)
    if name in NEAR_AN_END:
        covered = sum(abs(one.value - truth) <= 1.96 * one.standard_error for one in estimates)
    assert binomtest(covered, len(estimates), 0.95).pvalue > 1e-4, (name, covered)
    values = np.array([estimate.value for estimate in estimates])
    slack = 0.1 * values.std() if name in RATIOS else 0.0
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(len(values)) + slack, (name, values.mean(), truth)
    errors = np.array([estimate.standard_error for estimate in estimates])
    assert np.mean(errors) == pytest.approx(values.std(), rel=0.2), name


@pytest.fixture(scope="module")
def answers() -> Answers:
    return ask(range(KEYS))


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_unbiased_and_cover(name: str, answers: Answers) -> None:
    judge(name, answers)


@pytest.mark.parametrize("name", QUESTIONS)
def test_narrower_intervals_would_be_found(name: str, answers: Answers) -> None:
    """Negative control: with 0.6 of the standard error the same test rejects."""
    truth = QUESTIONS[name][0]
    near = [abs(one.value - truth) <= 0.6 * 1.96 * one.standard_error for one in answers[name]]
    assert binomtest(sum(near), KEYS, 0.95).pvalue < 1e-4


def test_reading_the_noised_rows_as_they_are_would_be_found(answers: Answers) -> None:
    """Negative control: correlations and shares of the published rows themselves miss the population for every key."""
    for key in range(20):
        release = make_release(key)
        table = release.data.count_pairs(release.noised["years"], release.noised["grade"])
        years, grade = np.repeat(np.indices(table.shape).reshape(2, -1), table.ravel(), axis=1)
        correlation = answers["correlation"][key]
        truth, naive = QUESTIONS["correlation"][0], float(np.corrcoef(years, grade)[0, 1])
        assert abs(naive - truth) > 1.96 * (1 - naive**2) / np.sqrt(release.rows)
        assert correlation.value > naive
        held = release.data.count(release.noised["region"]) / release.rows
        assert held[3] > 10 * np.sqrt(held[3] * (1 - held[3]) / release.rows), "nobody lives in the west"


@pytest.mark.long
def test_answers_cover_over_two_thousand_keys() -> None:
    answers = ask(range(1000, 3000))
    for name in QUESTIONS:
        judge(name, answers)
