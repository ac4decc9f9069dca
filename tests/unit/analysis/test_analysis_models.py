"""Quantiles, regressions and moments by group as they are asked of a release: groups, refusals, warnings, print."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from published_people import REGIONS, WAVES, YEARS, columns, published, release_of

from trasgo_lib.analysis import MISSING, Estimate, NoisedColumn, NoiseWarning, Release, counting, open_release
from trasgo_lib.data import CategoryDomain, DateDomain, NumberDomain, ProductDomain
from trasgo_lib.errors import InputContractError
from trasgo_lib.mechanisms import build_channel, kept_share, margin
from trasgo_lib.noise import Keystream

ROWS = 3000


@pytest.fixture
def quiet() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        yield


def drawn(name: str, mechanism: str, domain: object, epsilon: str, private: np.ndarray, **more: object):  # type: ignore[no-untyped-def]
    """A column with its released values."""
    channel = build_channel(mechanism, domain, epsilon, **more)  # type: ignore[arg-type]
    column = NoisedColumn(name, name, domain, channel)  # type: ignore[arg-type]
    return column, published(column, channel.sample(private.astype(np.int32), Keystream(bytes(32), "models", name)))


def release(*parts: tuple[NoisedColumn, pa.Array], **public: pa.Array) -> Release:
    arrays = {column.name: values for column, values in parts}
    return release_of(pa.table({**arrays, **public}), {column.name: column for column, _ in parts})


def clear(name: str, private: np.ndarray, domain: NumberDomain = YEARS) -> tuple[NoisedColumn, pa.Array]:
    """A column with next to no noise."""
    return drawn(name, "kary_randomized_response", domain, "36", private)


def test_a_published_release_answers_all_of_them(golden: Path, quiet: object) -> None:
    opened = open_release(golden)
    assert opened.quantile("rate").value is not None or opened.quantile("rate").reason
    table = opened.regression("hours", ["region", "rate"])
    assert list(table) == ["(intercept)", "region=mid, west", 'region=so"uth', "rate"]
    assert repr(table).startswith("regression of hours on region, rate, from 200 rows, with 95 % intervals\n")
    assert set(opened.variance("wage", by="region")) == {"north", "mid, west", 'so"uth'}


def test_a_quantile_is_a_value_of_the_column(people: Callable[[int], Release], quiet: object) -> None:
    opened = people(3)
    median = opened.quantile("years")
    assert {median.value, median.low, median.high} <= set(range(0, 37, 2))
    assert median == opened.quantile("years", 0.5) and median.note is None
    upper = opened.quantile("years", 0.9)
    assert upper.low > median.low and upper.high >= median.high
    assert median.standard_error == pytest.approx((median.high - median.low) / 2 / 1.96, rel=1e-3)
    by_wave, by_grade = opened.quantile("gaps", by="wave"), opened.quantile("years", 0.5, "grade")
    assert tuple(by_wave) == WAVES and by_wave[WAVES[0]].value < by_wave[WAVES[1]].value
    assert by_grade["low"].value < by_grade["high"].value
    assert repr(by_grade).startswith("quantile 0.5 of years by grade, from 2,000 rows")


def test_a_quantile_of_bins_is_interpolated_and_says_so(people: Callable[[int], Release], quiet: object) -> None:
    found = people(3).quantile("binned")
    edges_low, edges_high = {0, 10, 20, 30}, {8, 18, 28, 36}
    assert found.low in edges_low and found.high in edges_high and found.low <= found.value <= found.high
    assert "interpolated" in str(found) and "whole bins" in str(found.note)


def test_quantiles_of_dates_whole_number_labels_and_few_rows(quiet: object) -> None:
    days = DateDomain(lower="2017-01-01", upper="2017-01-31")
    sizes = CategoryDomain(["5", "1", "2"], output="integer")
    rows = np.arange(ROWS)
    opened = release(
        drawn("day", "laplace", days, "30", rows % 11),
        drawn("size", "kary_randomized_response", sizes, "8", rows % 3, missing=True),
        kind=pa.array(["many"] * (ROWS - 9) + ["few"] * 9),
    )
    middle = (datetime.date(2017, 1, 6) - datetime.date(1970, 1, 1)).days
    assert opened.quantile("day").covers(middle)
    assert opened.quantile("size").value == 2 and opened.quantile("size", 0.9).value == 5
    assert opened.quantile("day", by="kind")["few"].reason == "fewer than 30 rows"


def test_a_quantile_that_would_be_noise_is_withheld(quiet: object) -> None:
    opened = release(drawn("years", "laplace", YEARS, "0.2", np.arange(200) % 19))
    assert opened.quantile("years").reason == "the noise leaves an interval as wide as everything possible"
    smooth = release(drawn("wide", "gaussian", NumberDomain("0", "8000", "1"), "2", np.arange(200)))
    assert smooth.quantile("wide").reason == "the domain is too large to undo this noise"


def test_a_wide_quantile_comes_with_a_warning(people: Callable[[int], Release]) -> None:
    with pytest.warns(NoiseWarning, match="quantile 0.5 of years where grade is low: the 95 % interval covers") as said:
        people(3).quantile("years", by="grade")
    assert said[0].filename == __file__, "it points at the line that asked"


def test_regression_is_least_squares_where_there_is_next_to_no_noise(quiet: object) -> None:
    rows = np.arange(ROWS)
    x, region = rows % 19, rows // 19 % 4
    y = np.clip(2 + x // 2 + region + rows % 3, 0, 18)
    opened = release(clear("y", y), clear("x", x), drawn("region", "kary_randomized_response", REGIONS, "36", region))
    found = opened.regression("y", ["x", "region"])
    design = np.stack([np.ones(ROWS), 2.0 * x, *(region == code for code in (1, 2, 3))], axis=1)
    expected = np.linalg.lstsq(design, 2.0 * y, rcond=None)[0]
    assert list(found) == ["(intercept)", "x", "region=east", "region=south", "region=west"]
    assert [one.value for one in found.values()] == pytest.approx(expected, rel=1e-6)
    wider = opened.regression("y", ["x", "region"], confidence=0.99)
    assert "with 99 % intervals" in repr(wider)
    assert wider["x"].high - wider["x"].low == pytest.approx(
        (found["x"].high - found["x"].low) * 2.5758 / 1.96, rel=1e-3
    )
    flag = drawn("flag", "randomized_response", CategoryDomain(["no", "yes"]), "20", (x > 9).astype(int))
    linear = release(flag, clear("x", x)).regression("flag", "x")
    assert linear["x"].value == pytest.approx(np.polyfit(2.0 * x, x > 9, 1)[0], rel=1e-3)


def test_regressions_by_group_are_those_of_the_groups(quiet: object) -> None:
    rows = np.arange(ROWS)
    x, region = rows % 19, rows // 19 % 2
    y = np.clip(np.where(region == 1, x, 18 - x) // 2 + rows % 2, 0, 18)
    halves = drawn("half", "randomized_response", CategoryDomain(["a", "b"]), "36", region)
    public = pa.array([None if one else "a" for one in region])
    opened = release(clear("y", y), clear("x", x), halves, wave=public)
    by_noised, by_public = opened.regression("y", "x", by="half"), opened.regression("y", "x", "wave")
    for (noised, known), code in zip((("a", "a"), ("b", MISSING)), (0, 1)):
        expected = np.polyfit(2.0 * x[region == code], 2.0 * y[region == code], 1)[0]
        assert by_noised[noised, "x"].value == pytest.approx(expected, rel=1e-4)
        assert by_public[known, "x"].value == pytest.approx(expected, rel=1e-6)
        spread = opened.variance("y", by="half")[noised].value
        assert spread == pytest.approx(np.var(2.0 * y[region == code]), rel=1e-3)
        linear = opened.correlation("y", "x", by="wave")[known].value
        assert linear == pytest.approx(np.corrcoef(x[region == code], y[region == code])[0, 1], rel=1e-4)
    assert repr(by_public).startswith("regression of y on x by wave")


def test_columns_of_a_group_may_be_covariates_outcome_and_group(quiet: object) -> None:
    grade = CategoryDomain(["low", "high"])
    domain = ProductDomain([("grade", grade, None), ("hours", NumberDomain("0", "9", "1"), None)])
    channel = build_channel("kary_randomized_response", domain, "4")
    rows = np.arange(30_000)
    private = rows % 2, np.clip(rows // 2 % 7 + 2 * (rows % 2), 0, 9)
    released = domain.decode(channel.sample(domain.encode(*private), Keystream(bytes(32), "both")))
    both = {
        name: NoisedColumn(name, "both", domain.part(name).domain, margin(channel, domain, name), kept_share(channel))
        for name in ("grade", "hours")
    }
    parts = [(both[name], published(both[name], codes)) for name, codes in zip(both, released)]
    alone = drawn("pay", "laplace", YEARS, "12", private[1] + 3 * private[0])
    opened = release(*parts, alone)
    assert opened.regression("hours", "grade")["grade=high"].covers(2.0)
    assert opened.regression("pay", ["grade", "hours"])["grade=high"].covers(6.0)
    assert opened.regression("pay", "hours", by="grade")["high", "hours"].covers(2.0)
    assert opened.variance("hours", by="grade")["low"].covers(4.0)
    assert opened.correlation("hours", "pay", by="grade")["low"].covers(1.0)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.quantile("region"), "Ask for shares"),
        (lambda r: r.quantile("years", 1.5), "a share between 0 and 1"),
        (lambda r: r.quantile("years", by="years"), "the same column twice"),
        (lambda r: r.quantile("years", by="nobody"), "no such column"),
        (lambda r: r.variance("years", by="years"), "the same column twice"),
        (lambda r: r.correlation("years", "grade", by="grade"), "the same column twice"),
        (lambda r: r.correlation("years", "grade", method="spearman"), "no decoder of single rows undoes"),
        (lambda r: r.correlation("years", "grade", method="kendall"), "ask for a crosstab"),
        (lambda r: r.regression("years", []), "came none"),
        (lambda r: r.regression("years", "years"), "the same column twice"),
        (lambda r: r.regression("years", ["grade", "grade"]), "the same column twice"),
        (lambda r: r.regression("years", "grade", by="grade"), "the same column twice"),
        (lambda r: r.regression("region", "years"), "an outcome of numbers, dates or two labels"),
        (lambda r: r.regression("years", "wave"), "a public one"),
        (lambda r: r.mean("years", confidence=1.0), "from 0.5 to 0.9999"),
    ],
)
def test_questions_without_an_answer_are_refused(
    people: Callable[[int], Release], ask: Callable[[Release], object], words: str
) -> None:
    with pytest.raises(InputContractError) as caught:
        ask(people(0))
    assert words in str(caught.value)


def test_models_that_are_too_large_or_have_too_few_rows(quiet: object) -> None:
    wide = CategoryDomain([str(code) + "x" for code in range(62)])
    opened = release(clear("x", np.arange(35) % 19), drawn("wide", "kary_randomized_response", wide, "8", np.zeros(35)))
    with pytest.raises(InputContractError, match="at most 60 coefficients"):
        opened.regression("x", "wide")
    few = release(*(clear(name, np.arange(35) % 19) for name in "abcd"))
    assert {one.reason for one in few.regression("a", ["b", "c", "d"]).values()} == {"fewer than 40 rows"}
    tiny = release(*(clear(name, np.arange(20) % 19) for name in "ab"), wave=pa.array(["x"] * 20))
    assert tiny.variance("a", by="wave")["x"].reason == "fewer than 30 rows"
    smooth = NumberDomain("0", "8000", "1")
    hidden = release(drawn("wide", "gaussian", smooth, "2", np.arange(200)), clear("x", np.arange(200) % 19),
                     drawn("half", "randomized_response", CategoryDomain(["a", "b"]), "4", np.arange(200) % 2),
                     wave=pa.array(["x"] * 200))  # fmt: skip
    reason = {"the domain is too large to undo this noise"}
    assert {one.reason for one in hidden.regression("x", "wide").values()} == reason
    assert {one.reason for one in hidden.regression("x", "wide", by="half").values()} == reason
    assert {one.reason for one in hidden.variance("wide", by="wave").values()} == reason


def test_models_that_are_mostly_noise_come_with_a_warning() -> None:
    rows = np.arange(ROWS)
    x = rows % 19
    near = np.where(rows % 9 == 0, 18 - x, x)
    alike = release(clear("y", x), clear("x", x), clear("z", np.where(rows % 50 == 0, 18 - x, x)))
    with pytest.warns(NoiseWarning, match="regression of y on x, z: the covariates are hardly told apart"):
        alike.regression("y", ["x", "z"])
    noisy = release(drawn("x", "laplace", YEARS, "1.75", x), clear("y", near))
    with pytest.warns(NoiseWarning, match=r"regression of y on x: the noise leaves a standard error of \d+% on how"):
        noisy.regression("y", "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(clear("x", x), clear("y", near)).regression("y", "x")


def test_rows_of_many_columns_are_counted_in_any_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(ROWS)
    names = [f"c{place}" for place in range(16)]
    opened = release(*(clear(name, (rows * (place + 1)) % 19) for place, name in enumerate(names)))
    asked = [opened.noised[name] for name in names]
    few = opened.data.rows_of(asked[:2])
    monkeypatch.setattr(counting, "_MERGE_AFTER", 10)
    assert opened.data.rows_of(asked[:2]).counts.tolist() == few.counts.tolist()
    assert len(few.counts) < ROWS and few.rows == ROWS
    every = opened.data.rows_of(asked)  # more combinations than whole numbers of 64 bits
    assert len(every.counts) == ROWS and every.rows == ROWS
    table = opened.data.count_pairs(*asked[:2])
    assert table[few.codes[:, 0], few.codes[:, 1]].tolist() == few.counts.tolist()


def test_every_answer_takes_a_confidence(people: Callable[[int], Release], quiet: object) -> None:
    opened = people(4)
    asks: list[Callable[[float], Estimate]] = [
        lambda c: opened.share("grade", "low", confidence=c),
        lambda c: opened.share("grade", confidence=c)["low"],
        lambda c: opened.share("grade", "low", by="wave", confidence=c)[WAVES[0]],
        lambda c: opened.crosstab("grade", "region", confidence=c)["low", "north"],
        lambda c: opened.mean("years", confidence=c),
        lambda c: opened.mean("years", by="grade", confidence=c)["low"],
        lambda c: opened.variance("years", confidence=c),
        lambda c: opened.correlation("years", "grade", confidence=c),
        lambda c: opened.regression("years", "grade", confidence=c)["grade=high"],
    ]
    for ask in asks:
        narrow, usual = ask(0.5), ask(0.95)
        assert narrow.value == usual.value
        assert narrow.high - narrow.low == pytest.approx((usual.high - usual.low) * 0.6745 / 1.96, rel=0.15)
    assert "with 50 % intervals" in repr(opened.share("grade", confidence=0.5))
    assert columns()["years"].channel is opened.noised["years"].channel
