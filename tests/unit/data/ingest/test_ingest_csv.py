"""CSV sources: one test for each reported fault, named for its row in the list of public reports, and then some."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trasgo_lib.data import BoxDomain, CategoryDomain, DateDomain, NumberDomain
from trasgo_lib.data import source_file as source_file_module
from trasgo_lib.errors import Reason

AGE = NumberDomain("0", "120")
SEX = CategoryDomain(["F", "M"])
TENTHS = NumberDomain("0", "2000", "0.5")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "windows-1252"])
@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
def test_b01_a_byte_order_mark_is_dropped_in_every_encoding(ingest, column, encoding, mark):
    found = ingest(
        mark + b'"age",sex\n30,F\n', column("age", "number", AGE), column("sex", "category", SEX), encoding=encoding
    )
    assert found.codes("age").tolist() == [30]
    assert found.codes("sex").tolist() == [0]
    assert found.report.bom_dropped is bool(mark)


def test_b01_a_mark_in_utf_16_is_dropped_too(ingest, column):
    for encoding, extra in (("utf-16", ""), ("utf-16-le", "\ufeff"), ("utf-16-be", "\ufeff"), ("utf-32", "")):
        found = ingest((extra + "age\n30\n").encode(encoding), column("age", "number", AGE), encoding=encoding)
        assert found.codes("age").tolist() == [30]
        assert found.report.bom_dropped


def test_b02_the_declared_encoding_reads_latin_1(ingest, column, public):
    towns = CategoryDomain(["Paris", "Réunion"])
    found = ingest(b"muni,n\nR\xe9union,3\n", column("muni", "category", towns), public("n"), encoding="latin-1")
    assert found.codes("muni").tolist() == [1]


def test_b02_a_byte_outside_the_encoding_is_an_error_with_its_offset(ingest, public):
    content = b"muni,n\nR\xe9union,3\n"
    error = ingest.refused(content, public("muni"), public("n"))
    assert error.reason is Reason.BAD_ENCODING
    assert f"offset {content.index(0xE9)} " in str(error)
    assert "source.csv.encoding" in str(error)
    assert "latin-1" in str(error)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_b02_the_offset_does_not_depend_on_how_the_file_is_read(ingest, public, monkeypatch, chunk):
    monkeypatch.setattr(source_file_module, "_CHUNK_BYTES", chunk)
    content = b"\xef\xbb\xbfmuni,n\n" + "é€,1\n".encode() * 9 + b"ab\xe2\x82,3\n"
    error = ingest.refused(content, public("muni"), public("n"))
    assert f"offset {content.index(b'ab') + 2} " in str(error)


def test_b02_a_file_cut_inside_a_character_is_an_error(ingest, public):
    error = ingest.refused("a,b\n1,é".encode()[:-1], public("a"), public("b"))
    assert error.reason is Reason.BAD_ENCODING
    assert "offset 6 " in str(error)


def test_an_encoding_that_is_none_is_named(ingest, public):
    for name in ("no-such-encoding", "base64"):
        error = ingest.refused("a\n1\n", public("a"), encoding=name)
        assert error.reason is Reason.BAD_ENCODING
        assert repr(name) in str(error)


def test_b03_decimal_comma_with_dot_thousands(ingest, column, public):
    content = "x;y\n1,5;2\n1.234,50;3\n"
    columns = (column("x", "number", TENTHS), public("y"))
    found = ingest(content, *columns, delimiter=";", decimal=",", thousands=".")
    assert TENTHS.decode(found.codes("x")).tolist() == [1.5, 1234.5]


def test_b03_an_undeclared_thousands_mark_is_a_bad_row(ingest, column, public):
    content = "x;y\n1,5;2\n1.234,50;3\n"
    faults = ingest.faults(content, column("x", "number", TENTHS), public("y"), delimiter=";", decimal=",")
    assert {key: fault.rows for key, fault in faults.items()} == {(Reason.WRONG_TYPE, "x"): 1}


def test_b04_leading_zeros_of_codes_are_kept(ingest, column, public):
    zips = CategoryDomain(["00060", "01001", "1001"])
    content = "zip,same,n\n01001,01001,1\n00060,00060,2\n1001,1001,3\n"
    found = ingest(content, column("zip", "category", zips), public("same"), public("n"))
    assert zips.decode(found.codes("zip")).to_pylist() == ["01001", "00060", "1001"]
    assert found.values("same") == ["01001", "00060", "1001"]


def test_b06_the_declared_type_holds_however_long_the_file_is(ingest, column, public):
    cells = [str(n) for n in range(60_000)] * 2
    cells[70_000] = "None"
    content = "code,n\n" + "".join(f"{cell},{'x' * 80}\n" for cell in cells)  # more than two blocks of the reader
    found = ingest(content, public("code"), public("n"), rows_per_batch=50_000)
    assert found.values("code") == cells
    number = column("code", "number", NumberDomain("0", "60000"))
    faults = ingest.faults(content, number, public("n"))
    assert faults[Reason.WRONG_TYPE, "code"].rows == 1


def test_b07_duplicate_names_are_an_error_with_positions(ingest, public):
    error = ingest.refused("a,a,b\n1,2,3\n", public("a"), public("b"))
    (fault,) = error.faults
    assert (fault.reason, fault.where, fault.came) == (Reason.DUPLICATE_COLUMN, "positions 1 and 2", "'a'")


def test_b10_blanks_around_names_and_cells_do_not_count(ingest, column):
    work = CategoryDomain(["Private", "State-gov"])
    content = "age, workclass\n39, State-gov\n50, ?\n38,Private  \n"
    found = ingest(
        content,
        column("age", "number", AGE),
        column("workclass", "category", work, missing="code", missing_codes=("?",)),
    )
    assert found.codes("workclass").tolist() == [1, work.size, 0]
    assert found.report.column("workclass").missing == 1


def test_b10_without_trimming_blanks_count_but_missing_codes_still_hold(ingest, column):
    work = CategoryDomain(["Private", " Private"])
    declared = column("workclass", "category", work, missing="code", missing_codes=("?",))
    found = ingest("workclass,n\nPrivate,1\n Private,1\n ?,1\n", declared, column("n", "text", role="drop"), trim=False)
    assert found.codes("workclass").tolist() == [0, 1, 2]


def test_b11_days_and_months_are_never_swapped(ingest, column):
    days = DateDomain("2017-01-01", "2017-12-31")
    found = ingest("d\n12/01/2017\n01/02/2017\n", column("d", "date", days, date_format="%d/%m/%Y"))
    assert days.decode(found.codes("d")).astype(str).tolist() == ["2017-01-12", "2017-02-01"]


def test_b11_rows_that_do_not_match_are_counted_and_no_format_is_an_error(ingest, column):
    days = DateDomain("2017-01-01", "2017-12-31")
    content = "d\n12/01/2017\n13/13/2017\n2017-01-12\n31/02/2017\n"
    assert ingest.faults(content, column("d", "date", days, date_format="%d/%m/%Y"))[Reason.WRONG_TYPE, "d"].rows == 3
    assert ingest.faults(content, column("d", "date", days))[Reason.WRONG_TYPE, "d"].rows == 4


@pytest.mark.parametrize("cell", ["9999", "9999.0", " 9999 ", "9.999e3", "+9999"])
def test_b13_missing_codes_are_applied_before_bounds(ingest, column, cell):
    income = column(
        "income", "number", NumberDomain("0", "60"), outside="clip", missing="code", missing_codes=("9999",)
    )
    found = ingest(f"income\n10\n20\n30\n{cell}\n", income)
    assert found.codes("income").tolist() == [10, 20, 30, 61]
    assert found.report.column("income").clipped == 0
    assert found.report.column("income").missing == 1


def test_b13_missing_codes_are_numbers_under_the_declared_marks(ingest, column):
    amount = NumberDomain("0", "60")
    for code in ("9999", "9999,0", "9.999", "9999.0"):
        income = column("x", "number", amount, outside="clip", missing="code", missing_codes=(code,))
        found = ingest("x;y\n9999,00;1\n9.999;1\n9,999;1\n", income, column("y", "text", role="drop"),
                       delimiter=";", decimal=",", thousands=".")  # fmt: skip
        assert found.codes("x").tolist() == [61, 61, 10]


def test_b13_a_missing_code_can_be_replaced_by_a_constant(ingest, column):
    found = ingest('x\n5\n-9\n" "\n', column("x", "number", AGE, missing="replace", fill=42, missing_codes=("-9",)))
    assert found.codes("x").tolist() == [5, 42, 42]


def test_b14_a_column_without_values_is_an_error_unless_declared(ingest, column, public):
    content = "n,d\n1,\n2,\n3,\n"
    faults = ingest.faults(content, public("n"), column("d", "number", AGE))
    assert list(faults) == [(Reason.NO_VALUES, "d")]
    assert "'d' has no values" in faults[Reason.NO_VALUES, "d"].came
    assert ingest(content, public("n"), column("d", "number", AGE, missing="code")).codes("d").tolist() == [121] * 3
    replaced = column("d", "number", AGE, missing="replace", fill=0)
    assert ingest(content, public("n"), replaced).codes("d").tolist() == [0] * 3


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", " \n", "age\n", "age", "age\n\n"])
def test_b18_an_empty_file_is_an_error(ingest, column, content):
    error = ingest.refused(content, column("age", "number", AGE))
    assert Reason.NO_ROWS in {fault.reason for fault in error.faults} or content == "age\n\n"
    assert ingest.refused("age,sex\n\n", column("age", "number", AGE), column("sex", "category", SEX)).reason == (
        Reason.NO_ROWS
    )


def test_b19_missing_values_of_a_column_without_policy_are_counted(ingest, column, public):
    faults = ingest.faults("x,n\n1,1\n,1\n,1\n", column("x", "number", AGE), public("n"))
    assert faults[Reason.NULL_VALUE, "x"].rows == 2


def test_b22_b23_a_mixed_column_is_stopped_with_a_count(ingest, column):
    faults = ingest.faults("x\na\n1\n", column("x", "number", AGE))
    assert faults[Reason.WRONG_TYPE, "x"].rows == 1
    faults = ingest.faults("x\nCV\n46\n", column("x", "number", AGE))
    assert faults[Reason.WRONG_TYPE, "x"].rows == 1


def test_b25_all_missing_and_all_extra_columns_are_named_at_once(ingest, public):
    error = ingest.refused("sex,colour,size\nF,red,4\n", public("age"), public("sex"), public("town"))
    assert [(fault.reason, fault.where, fault.came) for fault in error.faults] == [
        (Reason.MISSING_COLUMN, "age", "no such column in the file"),
        (Reason.MISSING_COLUMN, "town", "no such column in the file"),
        (Reason.EXTRA_COLUMN, "position 2", "a name not shown here"),
        (Reason.EXTRA_COLUMN, "position 3", "a name not shown here"),
    ]
    error = ingest.refused("sex,age,colour\nF,3,red\n", public("age"), public("sex"), public("town"))
    assert [fault.came for fault in error.faults] == ["no such column in the file", "'colour'"]


def test_b26_a_file_without_header_is_an_error_that_shows_no_cell(ingest, column, public):
    content = "39,State-gov\n50,Private\n"
    error = ingest.refused(content, column("age", "number", AGE), public("work"))
    assert error.reason is Reason.NO_HEADER
    assert "39" not in str(error)
    assert "State-gov" not in str(error)


def test_b26_declared_names_are_used_where_the_header_is_declared_absent(ingest, column, public):
    content = "39,State-gov\n50,Private\n"
    found = ingest(content, column("age", "number", AGE), public("work"), header=False)
    assert found.codes("age").tolist() == [39, 50]
    assert found.values("work") == ["State-gov", "Private"]
    error = ingest.refused("age,work\n39,x\n", column("age", "number", AGE), public("work"), header=False)
    assert error.reason is Reason.NO_HEADER


def test_b26_the_number_of_fields_must_be_the_declared_one(ingest, public):
    assert ingest.refused("1,2\n", public("a"), header=False).reason is Reason.EXTRA_COLUMN
    assert ingest.refused("1\n", public("a"), public("b"), header=False).reason is Reason.MISSING_COLUMN


def test_b27_rows_keep_their_order_and_get_no_gaps(ingest, column):
    content = "row,value\n9,90\n4,40\n7,70\n"
    row, value = column("row", "number", AGE), column("value", "number", AGE)
    found = ingest(content, row, value)
    assert found.codes("row").tolist() == [9, 4, 7]
    assert found.codes("value").tolist() == [90, 40, 70]


def test_b28_case_variants_are_outside_the_domain(ingest, column):
    faults = ingest.faults("sex\nM\nF\nm\n", column("sex", "category", SEX))
    assert {key: fault.rows for key, fault in faults.items()} == {(Reason.OUT_OF_DOMAIN, "sex"): 1}


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "nan", "NaN", "1e999", "+INF"])
def test_b30_numbers_that_are_not_finite_are_refused_with_a_count(ingest, column, cell):
    faults = ingest.faults(f"x\n{cell}\n1\n{cell}\n", column("x", "number", AGE, outside="clip", missing="code"))
    assert {key: fault.rows for key, fault in faults.items()} == {(Reason.NON_FINITE, "x"): 2}


def test_b53_a_point_is_missing_when_either_coordinate_is(ingest, column):
    class Square:
        kind, size = "box", 100

        def encode(self, latitude, longitude, *, outside="clip"):
            assert np.isfinite(latitude).all()
            assert np.isfinite(longitude).all()
            return (latitude * 10 + longitude).astype(np.int32)

    content = "lat,lon\n1,2\n,3\n4,\n,\n"
    found = ingest(content, column("p", "point", Square(), sources=("lat", "lon"), missing="code"))
    assert found.codes("p").tolist() == [12, 100, 100, 100]
    assert found.report.column("p").missing == 3
    faults = ingest.faults(
        "lat,lon\n1,2\nx,3\n4,inf\n,y\n", column("p", "point", Square(), sources=("lat", "lon"), missing="code")
    )
    assert {key: fault.rows for key, fault in faults.items()} == {
        (Reason.WRONG_TYPE, "p"): 2,
        (Reason.NON_FINITE, "p"): 1,
    }


def test_b49_latitude_and_longitude_in_the_wrong_order_are_outside_the_box(ingest, column):
    box = BoxDomain(box=["40.4", "-74.3", "41.0", "-73.6"], crs="EPSG:32118", step_m="500")
    content = "lat,lon\n40.7,-74.0\n-74.0,40.7\n"
    faults = ingest.faults(content, column("p", "point", box, sources=("lat", "lon")))
    assert {key: fault.rows for key, fault in faults.items()} == {(Reason.OUT_OF_DOMAIN, "p"): 1}


def test_b86_null_nan_and_infinite_follow_the_declared_policy(ingest, column):
    code = column("x", "number", AGE, missing="code")
    assert ingest("x,y\n1,1\n,1\n", code, column("y", "text", role="drop")).codes("x").tolist() == [1, 121]
    named = column("x", "number", AGE, missing="code", missing_codes=("NaN", "inf"))
    found = ingest("x\nnan\ninf\nInfinity\nNaN\n", named)
    assert found.codes("x").tolist() == [121] * 4


def test_b87_integer_codes_declared_as_categories_are_labels(ingest, column):
    roof = CategoryDomain(["1", "2", "3", "4", "5"], output="integer")
    found = ingest("roof\n5\n1\n3\n", column("roof", "category", roof))
    assert found.codes("roof").tolist() == [4, 0, 2]
    assert roof.decode(found.codes("roof")).dtype == np.int64


def test_all_faults_come_at_once_in_declared_order(ingest, column):
    content = "id,x,sex,d,more\nu,1,F,2017-01-01,1\nu,a,m,01/01/2017,1\nu,inf,,2017-01-02,1\nv,900,M,,\n1,2\n"
    columns = (
        column("id", "text", role="unit"),
        column("x", "number", AGE),
        column("sex", "category", SEX),
        column("d", "date", DateDomain("2017-01-01", "2017-12-31"), date_format="%Y-%m-%d"),
        column("gone", "number", AGE),
    )
    error = ingest.refused(content, *columns, privacy_unit="id", max_rows=2)
    assert [(fault.reason, fault.where, fault.rows) for fault in error.faults] == [
        (Reason.MISSING_COLUMN, "gone", None),
        (Reason.EXTRA_COLUMN, "position 5", None),
        (Reason.RAGGED_ROW, "records", 1),
        (Reason.TOO_MANY_ROWS_PER_UNIT, "id", 3),
        (Reason.WRONG_TYPE, "x", 1),
        (Reason.NON_FINITE, "x", 1),
        (Reason.OUT_OF_DOMAIN, "x", 1),
        (Reason.NULL_VALUE, "sex", 1),
        (Reason.OUT_OF_DOMAIN, "sex", 1),
        (Reason.NULL_VALUE, "d", 1),
        (Reason.WRONG_TYPE, "d", 1),
    ]


def test_values_outside_are_clipped_and_counted_where_declared(ingest, column):
    found = ingest("x\n-5\n0\n121\n60\n", column("x", "number", AGE, outside="clip"))
    assert found.codes("x").tolist() == [0, 0, 120, 60]
    assert found.report.column("x").clipped == 2


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n3\n", 1),
        ("a,b\n1,2\n3,4,5\n,,\n6,7\n", 2),
        ('a,b\n1,"2\n3,4\n', None),
        ('a,b\n"1,2\n3,4\n', 1),
    ],
)
def test_ragged_records_and_open_quotes_are_faults(ingest, public, text, rows):
    error = ingest.refused(text, public("a"), public("b"))
    counted = [fault.rows for fault in error.faults if fault.reason is Reason.RAGGED_ROW]
    assert counted == ([] if rows is None else [rows])
    left_open = [fault for fault in error.faults if fault.reason is Reason.FILE_UNREADABLE]
    assert len(left_open) == ('"' in text)


def test_a_record_longer_than_a_block_is_refused_and_not_quoted(ingest, public):
    error = ingest.refused('a,b\n1,"' + "x" * (9 << 20) + '"\n', public("a"), public("b"))
    assert error.reason is Reason.FILE_UNREADABLE
    assert len(str(error)) < 1000


def test_a_first_field_without_end_is_no_header(ingest, public):
    assert ingest.refused("x" * 200_000 + "\n1\n", public("a")).reason is Reason.NO_HEADER


def test_blank_lines_are_passed_over_and_rows_of_empty_cells_are_not(ingest, public):
    found = ingest("\n  \na,b\n1,2\n\n   \n,\n3,4\n\n\n", public("a"), public("b"))
    assert found.values("a") == ["1", "", "3"]
    assert found.report.blank_lines == 2


def test_blank_lines_in_a_file_of_one_column_are_ambiguous(ingest, column):
    age = column("age", "number", AGE, missing="code")
    assert ingest('age\n1\n""\n" "\n3\n', age).codes("age").tolist() == [1, 121, 121, 3]
    faults = ingest.faults("age\n1\n\n3\n\n", age)
    assert faults[Reason.RAGGED_ROW, "records"].rows == 2


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_every_line_ending_is_read_with_or_without_the_last_one(ingest, column, newline, last):
    text = newline.join(["x,sex", "1,M", "2,F"]) + (newline if last else "")
    found = ingest(text, column("x", "number", AGE), column("sex", "category", SEX))
    assert found.codes("x").tolist() == [1, 2]
    assert found.codes("sex").tolist() == [1, 0]


def test_b45_public_columns_pass_unchanged_and_dropped_ones_are_not_read(ingest, column, public):
    content = 'x,p,d\n1, 007 ,secret\n2,"a,""b\nc",secret\n3,,secret\n'
    found = ingest(content, column("x", "number", AGE), public("p"), column("d", "text", role="drop"))
    assert found.values("p") == [" 007 ", 'a,"b\nc', ""]
    assert [unit.unit for unit in found.table.units] == ["x"]
    assert not any(b"secret" in path.read_bytes() for path in ingest.work.rglob("*.arrow"))


def test_a_file_without_quoting_keeps_its_quotes(ingest, public):
    assert ingest('a,b\n"x,5" tall\n', public("a"), public("b"), quote=None).values("b") == ['5" tall']


def test_a_column_of_the_file_may_have_another_name(ingest, column):
    found = ingest("hours-per-week\n40\n", column("hours", "number", AGE, sources=("hours-per-week",)))
    assert found.codes("hours").tolist() == [40]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x03\x00\ufeff"), max_size=12)


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
    chunk=st.sampled_from([1, 5, 1 << 20]),
)
def test_whatever_a_writer_quotes_comes_back_the_same(ingest, public, monkeypatch, rows, delimiter, encoding, chunk):
    text = StringIO(newline="")
    csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([("a", "b"), *rows])
    monkeypatch.setattr(source_file_module, "_CHUNK_BYTES", chunk)
    found = ingest(text.getvalue().encode(encoding), public("a"), public("b"), delimiter=delimiter, encoding=encoding)
    assert list(zip(found.values("a"), found.values("b"), strict=True)) == rows


def test_the_source_must_be_a_file_that_can_be_opened(ingest, public, tmp_path: Path):
    with pytest.raises(Exception, match="no such file"):
        ingest("a\n1\n", public("a"), path=tmp_path / "absent")
    with pytest.raises(Exception, match="not a regular file"):
        ingest("a\n1\n", public("a"), path=tmp_path)
    with pytest.raises(Exception, match="cannot be opened"):
        ingest("a\n1\n", public("a"), path=tmp_path / ("x" * 300))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "latin-1"])
def test_text_with_nul_is_refused(ingest, column, public, encoding):
    """Behind one, Arrow's parser may not see the end of a record; mostly it is text of another encoding."""
    content = "age,name\n30,a\n" + "31,b\n" * 9 + "32,c\0d\n"
    age = column("age", "number", AGE)
    faults = ingest.faults(content.encode(encoding), age, public("name"), encoding=encoding)
    assert [reason for reason, _ in faults] == [Reason.BAD_ENCODING]
    faults = ingest.faults("age,name\n30,a\n".encode("utf-16-le"), age, public("name"))
    assert [(reason, "utf-16" in fault.fix) for (reason, _), fault in faults.items()] == [(Reason.BAD_ENCODING, True)]


@pytest.mark.parametrize("block", range(64, 80))
def test_a_line_end_within_quotes_is_kept_where_a_block_ends_in_it(ingest, public, monkeypatch, block):
    monkeypatch.setattr("trasgo_lib.data.csv_source._BLOCK_BYTES", block)
    texts = [f"{'x' * (row % 13)}\r\n{row}\r\r\n" for row in range(60)]
    content = "name\r\n" + "".join(f'"{text}"\r\n' for text in texts)
    found = ingest(content, public("name"))
    assert found.values("name") == texts
