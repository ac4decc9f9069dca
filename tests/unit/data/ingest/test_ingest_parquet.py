"""Parquet sources: types must be the declared ones; indexes, gaps and dictionaries of other programs are understood."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trasgo_lib.data import CategoryDomain, DateDomain, NumberDomain
from trasgo_lib.errors import Reason

AGE = NumberDomain("0", "120")
LABELS = CategoryDomain(["a", "b", "c"])


def test_b15_a_nullable_integer_is_an_integer_with_a_gap(ingest, column):
    for table in (
        pa.table({"x": pa.array([1, 2, None], pa.int64())}),
        pa.Table.from_pandas(pd.DataFrame({"x": pd.array([1, 2, None], dtype="Int64")})),
    ):
        found = ingest(table, column("x", "number", AGE, missing="code"))
        assert found.codes("x").tolist() == [1, 2, 121]
        assert found.report.column("x").missing == 1
        assert ingest.faults(table, column("x", "number", AGE))[Reason.NULL_VALUE, "x"].rows == 1


def test_b16_a_dictionary_column_takes_its_domain_from_the_declaration(ingest, column):
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"])})
    table = pa.Table.from_pandas(frame)
    assert pa.types.is_dictionary(table.schema.field("x").type)
    assert ingest(table, column("x", "category", LABELS)).codes("x").tolist() == [0, 1, 0]
    narrow = column("x", "category", CategoryDomain(["a", "z"]))
    assert ingest.faults(table, narrow)[Reason.OUT_OF_DOMAIN, "x"].rows == 1


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_b17_every_text_type_gives_the_same_codes(ingest, column, kind):
    found = ingest(pa.table({"x": pa.array(["b", "a", "c"]).cast(kind)}), column("x", "category", LABELS))
    assert found.codes("x").tolist() == [1, 0, 2]


def test_b17_pandas_text_types_give_the_same_codes(ingest, column):
    for dtype in ("str", "string", "object"):
        table = pa.Table.from_pandas(pd.DataFrame({"x": pd.Series(["b", "a", "c"], dtype=dtype)}))
        assert ingest(table, column("x", "category", LABELS)).codes("x").tolist() == [1, 0, 2]


def test_b27_rows_keep_their_order_whatever_index_pandas_wrote(ingest, column):
    frame = pd.DataFrame({"x": [90, 40, 70]}, index=[9, 4, 7])
    index = column("__index_level_0__", "text", role="drop")
    found = ingest(pa.Table.from_pandas(frame), column("x", "number", AGE), index)
    assert found.codes("x").tolist() == [90, 40, 70]
    error = ingest.refused(pa.Table.from_pandas(frame), column("x", "number", AGE))
    (fault,) = error.faults
    assert fault.reason is Reason.EXTRA_COLUMN
    assert "index that pandas wrote" in fault.came
    assert "index=False" in fault.fix
    filtered = pd.DataFrame({"x": [1, 2, 3, 4]}).query("x > 2").reset_index(drop=True)
    assert ingest(pa.Table.from_pandas(filtered), column("x", "number", AGE)).codes("x").tolist() == [3, 4]


def test_b27_a_named_index_is_a_column_like_any_other(ingest, column):
    frame = pd.DataFrame({"x": [5, 6, 7]}, index=pd.Index([1, 1, 2], name="person"))
    person = column("person", "text", role="unit")
    found = ingest(pa.Table.from_pandas(frame), column("x", "number", AGE), person, privacy_unit="person", max_rows=2)
    assert found.codes("x").tolist() == [5, 6, 7]
    assert found.report.unit is not None
    assert (found.report.unit.units, found.report.unit.most_rows) == (2, 2)


def test_b30_infinite_values_are_refused_with_a_count(ingest, column):
    table = pa.table({"x": [np.inf, -np.inf, 1.0]})
    faults = ingest.faults(table, column("x", "number", AGE, outside="clip"))
    assert {key: fault.rows for key, fault in faults.items()} == {(Reason.NON_FINITE, "x"): 2}


def test_b29_b86_null_nan_and_infinite_follow_the_declared_policy(ingest, column):
    table = pa.table({"x": pa.array([1.0, None, float("nan")], pa.float64())})
    faults = ingest.faults(table, column("x", "number", AGE, missing="code"))
    assert {key: fault.rows for key, fault in faults.items()} == {(Reason.NON_FINITE, "x"): 1}
    named = column("x", "number", AGE, missing="code", missing_codes=("nan",))
    assert ingest(table, named).codes("x").tolist() == [1, 121, 121]


def test_b13_missing_codes_hold_for_typed_numbers(ingest, column):
    table = pa.table({"x": [10.0, 9999.0, 60.0], "n": pa.array([10, -9, 60], pa.int16())})
    coded = {"missing": "code", "missing_codes": ("9999", "-9.0"), "outside": "clip"}
    found = ingest(table, column("x", "number", AGE, **coded), column("n", "number", AGE, **coded))
    assert found.codes("x").tolist() == [10, 121, 60]
    assert found.codes("n").tolist() == [10, 121, 60]


def test_b87_numbers_declared_as_categories_are_labels(ingest, column):
    codes = CategoryDomain(["1", "2", "3"], output="integer")
    whole = column("x", "category", codes, missing="code")
    assert ingest(pa.table({"x": pa.array([3, 1, 2], pa.int8())}), whole).codes("x").tolist() == [2, 0, 1]
    gaps = pa.table({"x": pa.array([3.0, None, 2.0])})
    assert ingest(gaps, whole).codes("x").tolist() == [2, 3, 1]
    faults = ingest.faults(pa.table({"x": [1.5, float("inf"), 9.0]}), whole)
    assert {key[0]: fault.rows for key, fault in faults.items()} == {
        Reason.WRONG_TYPE: 1,
        Reason.NON_FINITE: 1,
        Reason.OUT_OF_DOMAIN: 1,
    }
    truth = CategoryDomain(["false", "true"])
    assert ingest(pa.table({"x": [True, False]}), column("x", "category", truth)).codes("x").tolist() == [1, 0]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2], pa.uint64()),
        pa.array([1, 2], pa.float16()),
        pa.array([1, 2], pa.float32()),
        pa.array([decimal.Decimal("1.00"), decimal.Decimal("2.00")]),
        pa.array([1, 2], pa.int32()).dictionary_encode(),
    ],
)
def test_every_number_type_is_a_number(ingest, column, values):
    assert ingest(pa.table({"x": values}), column("x", "number", AGE)).codes("x").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "kind", "domain"),
    [
        (["1", "2"], "number", AGE),
        ([True, False], "number", AGE),
        ([[1], [2]], "number", AGE),
        ([[1], [2]], "category", LABELS),
        ([b"a", b"b"], "category", LABELS),
        ([1, 2], "date", DateDomain("2017-01-01", "2017-12-31")),
        (["2017-01-01", "2017-01-02"], "date", DateDomain("2017-01-01", "2017-12-31")),
    ],
)
def test_another_type_is_named_and_counted(ingest, column, values, kind, domain):
    faults = ingest.faults(pa.table({"x": values}), column("x", kind, domain))
    assert list(faults) == [(Reason.WRONG_TYPE, "x")]
    fault = faults[Reason.WRONG_TYPE, "x"]
    assert fault.rows == 2
    assert "Parquet column of type" in fault.came


def test_dates_and_timestamps_are_days(ingest, column):
    days = DateDomain("1960-01-01", "2017-12-31")
    when = datetime.datetime(2017, 1, 12, 23, 30, tzinfo=datetime.UTC)
    before = datetime.datetime(1965, 3, 1, 13, tzinfo=datetime.UTC)
    for values, expected in (
        (pa.array([when.date(), before.date()]), ["2017-01-12", "1965-03-01"]),
        (pa.array([when, before], pa.timestamp("us")), ["2017-01-12", "1965-03-01"]),
        (pa.array([when, before], pa.timestamp("ns", "Europe/Madrid")), ["2017-01-13", "1965-03-01"]),
        (pa.array([when.date(), before.date()], pa.date64()), ["2017-01-12", "1965-03-01"]),
    ):
        found = ingest(pa.table({"d": values}), column("d", "date", days))
        assert days.decode(found.codes("d")).astype(str).tolist() == expected
    coded = column("d", "date", days, missing="code", missing_codes=("1965-03-01",))
    gaps = pa.table({"d": pa.array([when.date(), None, before.date()])})
    assert ingest(gaps, coded).codes("d").tolist()[1:] == [days.size, days.size]
    text = pa.table({"d": ["12/01/2017"]})
    found = ingest(text, column("d", "date", days, date_format="%d/%m/%Y"))
    assert days.decode(found.codes("d")).astype(str).tolist() == ["2017-01-12"]


def test_a_column_without_type_is_missing_throughout(ingest, column):
    table = pa.table({"x": pa.nulls(2), "n": [1, 2]})
    assert ingest(table, column("x", "number", AGE, missing="code"), column("n", "number", AGE)).codes(
        "x"
    ).tolist() == [
        121,
        121,
    ]
    faults = ingest.faults(table, column("x", "category", LABELS), column("n", "number", AGE))
    assert list(faults) == [(Reason.NO_VALUES, "x")]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None], pa.int64()),
        pa.array(["x", None]),
        pa.array([1.5, None]),
        pa.array([True, None]),
        pa.array([datetime.date(2017, 1, 1), None]),
        pa.nulls(2),
    ],
)
def test_b45_public_columns_keep_type_gaps_and_order(ingest, column, public, values):
    found = ingest(pa.table({"p": values, "x": [1, 2]}), public("p"), column("x", "number", AGE), row_order="source")
    assert found.values("p") == values.to_pylist()
    assert found.report.column("p").missing == values.null_count


def test_a_public_column_of_a_nested_type_is_refused(ingest, public):
    faults = ingest.faults(pa.table({"p": [[1], [2]]}), public("p"))
    assert faults[Reason.WRONG_TYPE, "p"].rows == 2


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (pa.array([0.5, 1.5]).cast(pa.float16()), Reason.WRONG_TYPE),
        (pa.array([1, 2]).cast(pa.decimal256(60, 2)), Reason.WRONG_TYPE),
        (pa.array([10**18, -(10**17)], pa.timestamp("us")), Reason.OUT_OF_DOMAIN),
        (pa.array([10**18, -(10**17)], pa.timestamp("us", "Europe/Madrid")), Reason.OUT_OF_DOMAIN),
        (pa.array([10**7, -(10**6)], pa.date32()), Reason.OUT_OF_DOMAIN),
        (pa.array(["a\0b", "\0"]), Reason.OUT_OF_DOMAIN),
    ],
)
def test_public_values_that_no_csv_file_gives_back_are_refused_before_a_charge(ingest, public, values, reason):
    assert ingest.faults(pa.table({"p": values}), public("p"))[reason, "p"].rows == 2


def test_missing_extra_and_duplicated_names_are_all_named(ingest, public):
    table = pa.Table.from_arrays([pa.array([1])] * 4, names=["a", "a", "other", "3"])
    error = ingest.refused(table, public("a"), public("b"))
    assert [(fault.reason, fault.where, fault.came) for fault in error.faults] == [
        (Reason.MISSING_COLUMN, "b", "no such column in the file"),
        (Reason.DUPLICATE_COLUMN, "positions 1 and 2", "'a'"),
        (Reason.EXTRA_COLUMN, "position 3", "'other'"),
        (Reason.EXTRA_COLUMN, "position 4", "a name not shown here"),
    ]
    error = ingest.refused(pa.table({"q": [1]}), public("a"))
    assert [fault.reason for fault in error.faults] == [Reason.MISSING_COLUMN, Reason.EXTRA_COLUMN]


def test_names_with_dots_do_not_mix_up_columns(ingest, column):
    table = pa.table({"a": [1], "a.b": [2], "a.b.c": [3]})
    found = ingest(table, *(column(name, "number", AGE) for name in ("a.b", "a", "a.b.c")))
    assert [found.codes(name).tolist() for name in ("a", "a.b", "a.b.c")] == [[1], [2], [3]]


def test_b18_an_empty_file_is_an_error(ingest, column):
    error = ingest.refused(pa.table({"x": pa.array([], pa.int64())}), column("x", "number", AGE))
    assert error.reason is Reason.NO_ROWS


def test_a_file_that_is_no_parquet_is_refused(ingest, public):
    for content in (b"a,b\n1,2\n", b"", b"PAR1 and then nothing PAR1"):
        assert ingest.refused(content, public("a"), format="parquet").reason is Reason.FILE_UNREADABLE


def test_a_damaged_page_is_refused_without_its_content(ingest, column):
    table = pa.table({"x": [f"secret{n * n}" for n in range(5000)]})
    pq.write_table(table, ingest.path, compression="zstd", use_dictionary=False)
    content = bytearray(ingest.path.read_bytes())
    content[100:400] = bytes(300)
    error = ingest.refused(bytes(content), column("x", "category", LABELS), format="parquet")
    assert error.reason is Reason.FILE_UNREADABLE
    assert "secret" not in str(error)
