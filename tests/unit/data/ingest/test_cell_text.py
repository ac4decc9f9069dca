"""Numbers, dates and missing codes written as text."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.data import DateFormat
from trasgo_lib.data.missing import MissingCodes
from trasgo_lib.data.numbers import NumberFormat
from trasgo_lib.errors import ConfigError, Reason


def _parsed(form: NumberFormat, *cells: str | None) -> list[float | None]:
    values, wrong = form.parse(pa.array(cells, pa.string()))
    return [None if bad else value for value, bad in zip(values.tolist(), wrong.tolist(), strict=True)]


def test_plain_numbers():
    good = ["0", "-1", "+1.5", ".5", "5.", "1e3", "-1.5E-2", "00012", "1" * 30]
    assert _parsed(NumberFormat(), *good) == [float(cell) for cell in good]


@pytest.mark.parametrize(
    "cell",
    [
        "",
        " ",
        "1 ",
        " 1",
        "1,5",
        "1.2.3",
        "1_000",
        "0x10",
        "1f",
        "e5",
        "1e",
        "--1",
        "1-",
        "٣",
        "1\n",
        "$1",
        "nan(1)",
        "-",
        ".",
    ],
)
def test_what_is_no_number_is_never_repaired(cell):
    assert _parsed(NumberFormat(), cell) == [None]


def test_null_cells_are_neither_numbers_nor_wrong():
    values, wrong = NumberFormat().parse(pa.array(["1", None, "x"], pa.string()))
    assert values.tolist() == [1.0, 0.0, 0.0]
    assert wrong.tolist() == [False, False, True]


@pytest.mark.parametrize("mark", [",", " ", "'", "\u00a0", "\u202f", "."])
def test_thousands_groups_must_be_well_formed(mark):
    form = NumberFormat("," if mark == "." else ".", mark)
    point = form.decimal
    good = {"1M234": 1234.0, "-12M345M678P9": -12345678.9, "1234": 1234.0, "123P5": 123.5, "1M000P": 1000.0}
    for pattern, value in good.items():
        assert _parsed(form, pattern.replace("M", mark).replace("P", point)) == [value]
    for pattern in ("1M23", "12M34", "1M2345", "M123", "1M", "1MM234", "1234M567", "0P1M234", "1M23P4"):
        assert _parsed(form, pattern.replace("M", mark).replace("P", point)) == [None], pattern


def test_a_point_is_no_decimal_mark_where_a_comma_is_declared():
    assert _parsed(NumberFormat(","), "1.5", "1,5", "1.234,5") == [None, 1.5, None]


@settings(max_examples=200, derandomize=True, deadline=None)
@given(value=st.floats(allow_nan=False, allow_infinity=False), decimal=st.sampled_from([".", ","]))
def test_every_float_comes_back_exactly(value, decimal):
    assert _parsed(NumberFormat(decimal), repr(value).replace(".", decimal)) == [value]


@settings(max_examples=200, derandomize=True, deadline=None)
@given(value=st.integers(-(10**12), 10**12), cents=st.integers(0, 99))
def test_european_amounts_come_back_exactly(value, cents):
    cell = f"{value:,}".replace(",", ".") + f",{cents:02d}"
    assert _parsed(NumberFormat(",", "."), cell) == [float(f"{value}.{cents:02d}")]


def test_missing_codes_are_text_and_numbers():
    codes = MissingCodes.of((" NA ", "9999", "-9", "NA"), NumberFormat())
    assert codes.texts == ("NA", "9999", "-9")
    assert codes.among_text(pa.array(["NA", "9999", "9999.0", "na", None])).tolist() == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert codes.among_numbers(np.array([9999.0, -9.0, 9.0])).tolist() == [True, True, False]
    assert codes.among_numbers(np.array([9999, -9, 9])).tolist() == [True, True, False]
    assert MissingCodes.of((), NumberFormat()).among_text(pa.array(["a"])).tolist() == [False]


def test_missing_codes_take_the_declared_marks_first():
    form = NumberFormat(",", ".")
    assert MissingCodes.of(("9.999", "9999,5", "1.5", "9999.0"), form).numbers == (9999.0, 9999.5, 1.5, 9999.0)


def _days(form: str, *cells: str | None) -> list[str | None]:
    days, wrong = DateFormat(form).parse(pa.array(cells, pa.string()))
    shown = days.astype(str).tolist()
    return ["wrong" if bad else None if day == "NaT" else day for day, bad in zip(shown, wrong.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("form", "cell", "day"),
    [
        ("%d/%m/%Y", "12/01/2017", "2017-01-12"),
        ("%d/%m/%Y", "1/2/2017", "2017-02-01"),
        ("%m/%d/%Y", "12/01/2017", "2017-12-01"),
        ("%Y%m%d", "20170112", "2017-01-12"),
        ("%Y-%j", "2016-366", "2016-12-31"),
        ("%d %b %Y", "3 Mar 1999", "1999-03-03"),
        ("%d-%B-%y", "03-december-68", "2068-12-03"),
        ("%d.%m.%y", "03.12.69", "1969-12-03"),
        ("%Y-%m-%d %H:%M:%S", "2016-02-29 23:59:59", "2016-02-29"),
        ("%Y-%m-%dT%H:%M:%S.%f", "2016-02-29T00:00:00.123456", "2016-02-29"),
        ("%e %b %Y", " 3 Mar 1999", "1999-03-03"),
        ("%F %T", "2016-02-29 01:02:03", "2016-02-29"),
        ("%D", "02/29/16", "2016-02-29"),
        ("100%% %Y+%m+%d", "100% 2016+02+29", "2016-02-29"),
    ],
)
def test_dates_are_read_as_declared(form, cell, day):
    assert _days(form, cell, None) == [day, None]


@pytest.mark.parametrize(
    ("form", "cell"),
    [
        ("%d/%m/%Y", "31/02/2017"),
        ("%d/%m/%Y", "29/02/2017"),
        ("%d/%m/%Y", "00/01/2017"),
        ("%d/%m/%Y", "12/13/2017"),
        ("%d/%m/%Y", "12/00/2017"),
        ("%d/%m/%Y", "12/01/17"),
        ("%d/%m/%Y", "12/01/2017 "),
        ("%d/%m/%Y", "x12/01/2017"),
        ("%d/%m/%Y", "12-01-2017"),
        ("%Y%m%d", "2017112"),
        ("%Y-%j", "2017-366"),
        ("%Y-%j", "2017-0"),
        ("%d %b %Y", "3 Mrz 1999"),
        ("%Y-%m-%d %H:%M", "2017-01-01 24:00"),
        ("%Y.%m.%d", "2017x01x01"),
    ],
)
def test_what_does_not_fit_the_format_is_wrong(form, cell):
    assert _days(form, cell, None) == ["wrong", None]


def test_a_column_without_any_date_has_none():
    assert _days("%d/%m/%Y", None, None) == [None, None]
    assert _days("%d/%m/%Y") == []


@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    day=st.dates(datetime.date(1000, 1, 1)),
    form=st.sampled_from(["%d/%m/%Y", "%Y%m%d", "%Y-%j", "%d %B %Y", "%b %d, %Y"]),
)
def test_every_day_that_python_writes_is_read_back(day, form):
    assert _days(form, day.strftime(form)) == [day.isoformat()]


@pytest.mark.parametrize(
    "form",
    [
        "",
        "%d/%m",
        "%Y-%m",
        "%Y-%m-%d-%j",
        "%Y-%m-%m",
        "%Y-%y-%m-%d",
        "%Y-%m-%b-%d",
        "%Q",
        "%c",
        "%Y-%m-%d%",
        "%Y-%m-%d %Z",
    ],
)
def test_a_format_that_fixes_no_day_is_refused(form):
    with pytest.raises(ConfigError) as caught:
        DateFormat(form)
    assert caught.value.reason is Reason.BAD_PARAMETER
