"""Declared days."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from trasgo_lib.data import DateDomain, domain_from_description
from trasgo_lib.errors import ConfigError, InputContractError, Reason

YEAR = DateDomain("2016-01-01", "2016-12-31")


@pytest.mark.parametrize(
    "values",
    [
        np.array(["2016-02-29", "2016-01-01"], dtype="M8[D]"),
        np.array(["2016-02-29T23:59:59", "2016-01-01T00:00:00"], dtype="M8[ns]"),
        pa.array([date(2016, 2, 29), date(2016, 1, 1)]),
        [date(2016, 2, 29), date(2016, 1, 1)],
        pd.Series(pd.to_datetime(["2016-02-29", "2016-01-01"])),
    ],
)
def test_every_kind_of_day_encodes_alike(values: object) -> None:
    codes = YEAR.encode(values)
    assert codes.dtype == np.int32
    assert codes.tolist() == [59, 0]
    assert YEAR.decode(codes).tolist() == [date(2016, 2, 29), date(2016, 1, 1)]


def test_days_between_grid_days_go_to_the_nearest() -> None:
    weeks = DateDomain("2017-01-01", "2017-01-29", "7")
    days = np.datetime64("2017-01-01") + np.arange(-3, 40)
    codes = weeks.encode(days)
    distance = np.abs(weeks.values[codes] - np.clip(days, days[3], days[31])).astype(int)
    assert distance.max() == 3
    assert codes[[0, -1]].tolist() == [0, 4]
    assert np.array_equal(weeks.encode(weeks.values), np.arange(5))


def test_days_before_1970_decode() -> None:
    domain = DateDomain("1899-12-31", "1900-01-02")
    assert domain.values.astype(str).tolist() == ["1899-12-31", "1900-01-01", "1900-01-02"]


def test_missing_other_and_outside_days_are_refused_with_counts() -> None:
    with pytest.raises(InputContractError) as missing:
        YEAR.encode(np.array(["2016-01-01", "NaT"], dtype="M8[D]"))
    assert (missing.value.reason, missing.value.faults[0].rows) == (Reason.NULL_VALUE, 1)
    with pytest.raises(InputContractError) as outside:
        YEAR.encode(np.array(["2015-12-31", "2016-05-05", "2017-01-01"], dtype="M8[D]"), outside="reject")
    assert (outside.value.reason, outside.value.faults[0].rows) == (Reason.OUT_OF_DOMAIN, 2)
    for values in (["canary"], [1, 2], [object()]):
        with pytest.raises(InputContractError) as other:
            YEAR.encode(values)
        assert other.value.reason is Reason.WRONG_TYPE
        assert "canary" not in str(other.value)
        assert other.value.__context__ is None


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [
        ("2017-01-01", "2017-01-01", "1"),
        ("2017-01-02", "2017-01-01", "1"),
        ("2017-01-01", "2017-01-11", "7"),
        ("2017-01-01", "2017-01-11", "0.5"),
        ("2017-01-01", "2017-01-11", "0"),
        ("01/01/2017", "2017-01-11", "1"),
        ("2017-02-30", "2017-03-11", "1"),
        (20170101, "2017-03-11", "1"),
        ("0001-01-01", "9999-12-31", "1"),
    ],
)
def test_bad_domains_are_config_errors(lower: object, upper: object, step: object) -> None:
    with pytest.raises(ConfigError) as caught:
        DateDomain(lower, upper, step)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.BAD_DOMAIN


def test_a_step_that_does_not_fit_is_told_in_days() -> None:
    with pytest.raises(ConfigError) as caught:
        DateDomain(lower="2025-01-01", upper="2025-06-30", step="7")
    (fault,) = caught.value.faults
    assert fault.came == "7 from 2025-01-01 to 2025-06-30"
    assert fault.fix == "Change the step, or set upper to 2025-06-25 or 2025-07-02."
    for upper in ("2025-06-25", "2025-07-02"):
        assert DateDomain(lower="2025-01-01", upper=upper, step="7").size > 1
    with pytest.raises(ConfigError, match="9999-12-31"):
        DateDomain(lower="9999-12-01", upper="9999-12-31", step="7")


def test_domains_are_values_and_describe_themselves() -> None:
    assert DateDomain("2016-01-01", "2016-12-31", 1) == YEAR
    assert YEAR.describe() == {
        "kind": "date", "lower": "2016-01-01", "upper": "2016-12-31", "step": "1", "unit": "days", "size": 366,
    }  # fmt: skip
    assert domain_from_description(YEAR.describe()) == YEAR


@pytest.mark.parametrize(
    ("upper", "fix"), [("2024-12-31", "Exchange lower and upper."), ("2025-01-01", "A domain needs at least two days.")]
)
def test_days_in_the_wrong_order_are_exchanged(upper: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        DateDomain(lower="2025-01-01", upper=upper, step="1")
    assert caught.value.faults[0].fix == fix
