"""Reported faults of estimates from noised rows. Ids name the rows of the list of public reports."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from published_people import published, release_of

from trasgo_lib.analysis import NoisedColumn, NoiseWarning, Release
from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream

ROOT = bytes(range(32))
DIGIT = NumberDomain("0", "9", "1")
PLACES = CategoryDomain(codes=[f"p{place}" for place in range(500)])
FEW = CategoryDomain(codes=["a", "b", "c", "d", "e", "f"])


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        yield


def _release(**columns: tuple[object, str, np.ndarray]) -> Release:
    """A release of noised columns: domain, epsilon and private codes of each."""
    noised, arrays = {}, {}
    for name, (domain, epsilon, codes) in columns.items():
        mechanism = "laplace" if isinstance(domain, NumberDomain) else "kary_randomized_response"
        noised[name] = NoisedColumn(name, name, domain, build_channel(mechanism, domain, epsilon))  # type: ignore[arg-type]
        released = noised[name].channel.sample(codes.astype(np.int32), Keystream(ROOT, name))
        arrays[name] = published(noised[name], released)
    return release_of(pa.table(arrays), noised)


def test_b40_fifty_reports_over_five_hundred_places_give_a_distribution() -> None:
    """The estimate without bias is withheld here, since it would be noise; the nearest distribution is one."""
    found = _release(place=(PLACES, "0.1", np.zeros(50))).share("place")
    assert len(found.nearest) == 500
    assert min(found.nearest.values()) >= 0 and sum(found.nearest.values()) == pytest.approx(1, abs=1e-9)
    assert {estimate.value for estimate in found.values()} == {None}


def test_b40_the_estimate_without_bias_may_be_negative_and_stands_apart() -> None:
    """3,000 reports of two values of six at epsilon 1: four shares are 0, so some estimates fall below it."""
    found = _release(few=(FEW, "1", np.arange(3000) % 2)).share("few")
    values = [estimate.value for estimate in found.values()]
    assert None not in values and min(values) < 0  # type: ignore[type-var]
    assert sum(values) == pytest.approx(1)  # type: ignore[arg-type]
    nearest = list(found.nearest.values())
    assert min(nearest) == 0 and sum(nearest) == pytest.approx(1) and nearest != values


def test_b57_a_constant_column_has_no_correlation_and_says_why() -> None:
    rows = np.arange(2000)
    found = _release(a=(DIGIT, "8", np.full(2000, 3)), b=(DIGIT, "8", rows % 10))
    for other in ("a", "b"):
        lost = found.correlation("a" if other == "b" else "b", other)
        assert lost.value is None and "spread" in str(lost.reason)
    model = found.regression("b", ["a"])
    assert {(estimate.value, "a spreads" in str(estimate.reason)) for estimate in model.values()} == {(None, True)}


@pytest.mark.parametrize("rows", [1, 2, 29])
def test_b66_a_few_rows_give_nothing_with_a_reason_and_no_crash(rows: int) -> None:
    few = _release(
        a=(DIGIT, "8", np.arange(rows) % 10), b=(DIGIT, "8", np.arange(rows) % 10), c=(FEW, "8", np.zeros(rows))
    )
    found = [few.mean("a"), few.variance("a"), few.quantile("a", 0.5), few.correlation("a", "b"), few.share("c", "a")]
    found += [*few.regression("b", ["a"]).values(), *few.mean("a", by="c").values(), *few.crosstab("a", "c").values()]
    assert {(estimate.value, estimate.reason) for estimate in found} == {(None, "fewer than 30 rows")}


def test_b66_no_trend_is_a_correlation_whose_interval_holds_none() -> None:
    """5,000 rows of all pairs of digits, epsilon 8: the truth is 0, and the interval holds it inside.

    One draw under a fixed key; a sound interval fails one key in 20.
    """
    rows = np.arange(5000)
    found = _release(a=(DIGIT, "8", rows % 10), b=(DIGIT, "8", rows // 10 % 10)).correlation("a", "b")
    assert found.value is not None and math.isfinite(found.value)
    assert found.low < 0 < found.high  # type: ignore[operator]
