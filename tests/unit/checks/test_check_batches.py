"""Every output check passes on sound rows and fails, by name and with a count, on each kind of fault."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from trasgo_lib.checks import CheckReport, ExpectedColumn, ExpectedTable, check_batches, expected_unit
from trasgo_lib.data import CategoryDomain, DateDomain, NumberDomain
from trasgo_lib.errors import CheckFailedError, Reason

CANARY = "canary-1234567"


def with_column(batch: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    return batch.set_column(batch.schema.get_field_index(name), name, values)


def changed(batch: pa.RecordBatch, name: str, *values: object) -> pa.RecordBatch:
    """The batch with its first rows of one column replaced."""
    column = batch.column(name)
    head = pa.array(values, column.type)
    return with_column(batch, name, pa.concat_arrays([head, column.slice(len(values))]))


def failures(report: CheckReport) -> set[tuple[str, str | None]]:
    return {(result.name, result.column) for result in report.failures}


def test_sound_rows_pass_every_check(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    report = check_batches(expected, iter([batch]))
    assert report.failures == ()
    assert report.passed
    report.require()
    names = {result.name for result in report.results}
    assert names == {
        "rows", "columns", "batch_rows", "types", "not_null", "between", "in_set", "on_grid", "share_at_bounds"
    }  # fmt: skip
    assert {result.column for result in report.results if result.name == "not_null"} == {
        "wage", "region", "size", "day", "place_latitude", "place_longitude"
    }  # fmt: skip
    assert {result.column for result in report.results if result.name == "share_at_bounds"} == {"wage", "rate", "day"}


def test_results_merge_over_batches(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    parts = [batch.slice(0, 150), batch.slice(150, 1), batch.slice(151)]
    assert check_batches(expected, iter(parts)).to_json()["passed"] is True
    bad = [changed(batch.slice(0, 150), "wage", -10, -20), batch.slice(150, 50), changed(batch.slice(200), "wage", 5)]
    report = check_batches(expected, bad)
    found = {(result.name, result.column): result.observed for result in report.failures}
    assert found[("between", "wage")] == "2 failing of 400 released rows"
    assert found[("on_grid", "wage")] == "3 off the grid of 400 released rows"
    assert set(found) == {("between", "wage"), ("on_grid", "wage")}


@pytest.mark.parametrize(
    ("column", "values", "checks"),
    [
        ("wage", [2010], {"between", "on_grid"}),
        ("wage", [5], {"on_grid"}),
        ("wage", [None, None], {"not_null"}),
        ("rate", [1.1], {"between", "on_grid"}),
        ("rate", [0.30000000000000004], {"on_grid"}),
        ("rate", [float("inf")], {"between", "on_grid"}),
        ("rate", [float("nan")], {"on_grid"}),
        ("region", ["north "], {"in_set"}),
        ("region", [None], {"not_null"}),
        ("size", [4, 0], {"in_set"}),
        ("day", [date(2018, 1, 1)], {"between", "on_grid"}),
    ],
)
def test_a_value_outside_its_declaration_fails(
    expected: ExpectedTable, batch: pa.RecordBatch, column: str, values: list[object], checks: set[str]
) -> None:
    report = check_batches(expected, [changed(batch, column, *values)])
    assert failures(report) == {(name, column) for name in checks}
    for failure in report.failures:
        assert failure.observed.startswith(f"{len(values)} ")
        assert failure.limit in failure.detail


def test_a_null_is_allowed_where_missing_is_a_code(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    assert check_batches(expected, [changed(batch, "rate", None, None)]).passed


def test_half_a_point_off_its_lattice_fails(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    latitudes = batch.column("place_latitude")
    report = check_batches(expected, [changed(batch, "place_latitude", latitudes[1].as_py())])
    assert failures(report) == {("on_grid", "place")}


@pytest.mark.parametrize("rows", [399, 401])
def test_another_number_of_rows_fails(batch: pa.RecordBatch, rows: int, expected: ExpectedTable) -> None:
    report = check_batches(ExpectedTable(expected.columns, rows), [batch])
    assert ("rows", None) in failures(report)


def test_no_rows_at_all_fail(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    # B18: an empty file passes range, set and null checks of every validator, so it must fail here
    for nothing in ([], [batch.slice(0, 0)]):
        for rows in (0, 400):
            report = check_batches(ExpectedTable(expected.columns, rows), nothing)
            assert ("rows", None) in failures(report)
    assert not check_batches(expected, []).passed


def test_order_names_and_extra_columns_are_checked(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    swapped = batch.select([batch.schema.names[1], batch.schema.names[0], *batch.schema.names[2:]])
    assert failures(check_batches(expected, [swapped])) == {("columns", None)}
    # T02: a helper column such as the true distance moved must never slip through
    extra = pa.record_batch([*batch.columns, pa.array(np.zeros(400))], names=[*batch.schema.names, "radius_m"])
    assert failures(check_batches(expected, [extra])) == {("columns", None)}


def test_an_absent_column_fails_plainly(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    absent = batch.select([name for name in batch.schema.names if name != "wage"])
    report = check_batches(expected, [absent])
    assert {("columns", None), ("types", "wage"), ("not_null", "wage"), ("on_grid", "wage")} <= failures(report)
    assert next(result for result in report.failures if result.name == "types").observed == "no such column"


def test_types_are_those_of_the_declaration(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    report = check_batches(expected, [with_column(batch, "wage", batch.column("wage").cast(pa.int32()))])
    assert ("types", "wage") in failures(report)
    fault = next(result for result in report.failures if result.name == "types")
    assert (fault.observed, fault.limit) == ("int32", "int64")
    # B22, B23: text among numbers is a type fault with its column, not a crash at write time
    text = with_column(batch, "wage", batch.column("wage").cast(pa.string()))
    assert {("types", "wage"), ("between", "wage"), ("on_grid", "wage")} <= failures(check_batches(expected, [text]))


def test_a_category_published_as_dictionary_is_another_type(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    encoded = with_column(batch, "region", batch.column("region").dictionary_encode())
    assert ("types", "region") in failures(check_batches(expected, [encoded]))


def test_share_at_bounds(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    # T10: noise as wide as the range puts most values on a bound
    at_bounds = [0] * 150 + [2000] * 131
    report = check_batches(expected, [changed(batch, "wage", *at_bounds)])
    assert failures(report) == {("share_at_bounds", "wage")}
    (failure,) = report.failures
    assert "of 400 released values at a bound, a share of 0.7" in failure.observed
    assert failure.limit == "a share of at most 0.7"
    assert check_batches(expected, [changed(batch, "wage", *at_bounds[:270])]).passed


def test_share_at_bounds_counts_values_and_not_nulls(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    report = check_batches(expected, [changed(batch, "rate", *([None] * 200 + [0.0, 1.0] * 100))])
    assert failures(report) == {("share_at_bounds", "rate")}
    assert "200 of 200 released values" in report.failures[0].observed


def test_a_share_of_a_few_values_fails_nothing(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    report = check_batches(expected, [changed(batch, "rate", *([None] * 398 + [0.0, 1.0]))])
    assert report.passed
    (share,) = [found for found in report.results if found.name == "share_at_bounds" and found.column == "rate"]
    assert "not judged on fewer than 100 values" in share.limit, "passed, and says that nothing was judged"


@pytest.mark.parametrize("domain", [NumberDomain("0", "1"), NumberDomain("0", "8"), CategoryDomain(["a", "b"])])
def test_share_at_bounds_is_not_judged_where_it_says_nothing(domain: NumberDomain | CategoryDomain) -> None:
    (column,) = expected_unit("x", ["x"], domain, nullable=False, max_share_at_bounds="0.7")
    assert column.max_share_at_bounds is None


def test_dates_are_compared_with_dates() -> None:
    # B24: a set or range check that never matches dates would fail sound rows or pass unsound ones
    columns = expected_unit("day", ["day"], DateDomain("2020-02-01", "2020-02-29"), nullable=False)
    table = ExpectedTable(columns, 3)
    sound = pa.record_batch([pa.array([date(2020, 2, 1), date(2020, 2, 29), date(2020, 2, 10)])], names=["day"])
    late = pa.record_batch([pa.array([date(2020, 2, 1), date(2020, 3, 1), date(2020, 2, 10)])], names=["day"])
    assert check_batches(table, [sound]).passed
    assert failures(check_batches(table, [late])) == {("between", "day"), ("on_grid", "day")}


def test_nulls_are_counted_and_not_ignored() -> None:
    # B19: set and range checks ignore nulls, so the null check must count them
    columns = expected_unit("x", ["x"], NumberDomain("0", "1", "0.5"), nullable=False)
    values = pa.array([0.5, None, None], pa.float64())
    report = check_batches(ExpectedTable(columns, 3), [pa.record_batch([values], names=["x"])])
    assert {(result.name, result.observed) for result in report.failures} == {
        ("not_null", "2 failing of 3 released rows")
    }


def test_nan_in_a_column_without_nulls_fails() -> None:
    columns = expected_unit("x", ["x"], NumberDomain("0", "1", "0.5"), nullable=False)
    values = pa.array([0.5, float("nan"), 1.0])
    report = check_batches(ExpectedTable(columns, 3), [pa.record_batch([values], names=["x"])])
    assert failures(report) == {("not_null", "x"), ("on_grid", "x")}


def test_a_failing_value_is_in_no_result(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    # B20: were noise missing, a failing value would be a private one
    report = check_batches(expected, [changed(changed(batch, "region", CANARY), "wage", 987654321)])
    text = json.dumps(report.to_json(), allow_nan=False) + repr(report)
    with pytest.raises(CheckFailedError) as caught:
        report.require()
    text += str(caught.value) + repr(caught.value)
    assert CANARY not in text
    assert "987654321" not in text
    assert "in_set of region" in text


def test_an_error_names_column_check_observation_and_limit(expected: ExpectedTable, batch: pa.RecordBatch) -> None:
    with pytest.raises(CheckFailedError) as caught:
        check_batches(expected, [changed(batch, "wage", 2010)]).require()
    faults = {fault.where: fault for fault in caught.value.faults}
    fault = faults["between of wage"]
    assert fault.reason is Reason.CHECK_FAILED
    assert (fault.required, fault.came) == ("between 0 and 2000", "1 failing of 400 released rows")
    assert caught.value.exit_code == 7


def test_a_report_without_checks_does_not_pass() -> None:
    assert not CheckReport(()).passed
    with pytest.raises(CheckFailedError, match="at least one check"):
        CheckReport(()).require()


def test_public_columns_are_checked_for_type_only(batch: pa.RecordBatch) -> None:
    table = ExpectedTable((ExpectedColumn("note", pa.string(), nullable=True),), 400)
    assert check_batches(table, [batch.select(["note"])]).passed
    other = pa.record_batch([pa.array(np.arange(400))], names=["note"])
    assert failures(check_batches(table, [other])) == {("types", "note")}


def test_no_value_reaches_a_log(
    expected: ExpectedTable, batch: pa.RecordBatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    # B81: a column of the wrong type makes the validator raise inside; what it says must not travel
    caplog.set_level("DEBUG")
    text = with_column(batch, "wage", pa.array([CANARY] * 400))
    report = check_batches(expected, [text])
    assert ("types", "wage") in failures(report)
    out, err = capfd.readouterr()
    assert CANARY not in caplog.text + out + err + json.dumps(report.to_json())
