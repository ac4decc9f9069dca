"""CSV files, read in batches of text: no type is guessed and no record is lost without being counted."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, Self

import pyarrow as pa
from pyarrow import csv as arrow_csv

from trasgo_lib.data.header import ColumnMatch, match_header, match_order
from trasgo_lib.data.reading import CsvReading, SourceReading
from trasgo_lib.data.source_file import SourceFile, Utf8Stream
from trasgo_lib.errors import Fault, InputContractError, Reason

_BLOCK_BYTES = 4 << 20
"""One batch; also the longest record, so that an open quote cannot pull a large file into memory."""


class CsvSource:
    """An opened CSV file.

    Args:
        reading: what was declared.
        digest_key: account digest key, 32 secret bytes.

    Raises:
        InputContractError: no readable file, an unknown encoding, or a file without any record.
    """

    def __init__(self, reading: SourceReading, digest_key: bytes) -> None:
        self._csv = reading.csv
        self._name = reading.path.name
        self._file = SourceFile(reading.path, digest_key)
        self._ragged = 0
        self._blank_lines = 0
        self._ends_properly = False
        try:
            first, self._blank_before = self._first_record()
        except InputContractError:
            self._file.close()
            raise
        self._fields = len(first)
        # A quote left open swallows the rest of the file, and this closing record with it: then its absence shows.
        self._end_mark = "\x04" if reading.csv.delimiter == "\x03" else "\x03"
        end_record = reading.csv.delimiter.join([self._end_mark] * self._fields) + "\n"
        self._text = Utf8Stream(self._file, reading.csv.encoding, end_record)
        names = [name.strip() for name in first] if reading.csv.trim else first
        self.match: ColumnMatch = match_header(names, reading) if self._csv.header else match_order(names, reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def text_only(self) -> bool:
        """True: every cell is text and becomes what the column is declared to be."""
        return True

    @property
    def byte_order_mark(self) -> bool:
        """Whether a byte-order mark was dropped."""
        return self._text.byte_order_mark

    @property
    def blank_lines(self) -> int:
        """Lines of nothing but blanks that were passed over; wholly empty lines are not counted."""
        return self._blank_lines

    def column_type(self, _name: str) -> str:
        """What a column's cells are."""
        return "text"

    def batches(self, names: Sequence[str]) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
        """Rows and cells of the named file columns, batch by batch: string[rows] each; private.

        Raises:
            InputContractError: a byte outside the encoding, or text that is no CSV.
        """
        places = {name: str(self.match.positions[name]) for name in names}
        to_drop = 1 + self._blank_before if self._csv.header else 0
        for batch in self._without_end_mark(self._parsed(sorted({*places.values(), "0"}))):
            dropped = min(to_drop, batch.num_rows)
            to_drop -= dropped
            batch = batch.slice(dropped)
            if self._fields == 1:
                self._blank_lines += batch.column(0).null_count
                batch = pa.record_batch([batch.column(0).fill_null("")], names=["0"])
            if batch.num_rows:
                yield batch.num_rows, {name: batch.column(place) for name, place in places.items()}

    def finish(self) -> tuple[str, tuple[Fault, ...]]:
        """Keyed digest of the file (private) and what was wrong with its records; after the last batch.

        Raises:
            InputContractError: when the file changed while it was read.
        """
        faults = []
        if self._ragged:
            faults.append(_ragged(self._fields, self._ragged))
        if not self._ends_properly:
            faults.append(_open_quote())
        if self._fields == 1 and self._blank_lines:
            faults.append(_blank_cells(self._blank_lines))
        return self._file.finish(), tuple(faults)

    def _first_record(self) -> tuple[list[str], int]:
        text = Utf8Stream(self._file, self._csv.encoding)
        try:
            peeked = text.peek()
        except ValueError:
            peeked = ""
        text.raise_for_encoding()
        self._file.rewind()
        record, before = _record_at_start(peeked, self._csv)
        if record is None:
            raise InputContractError.of(
                Reason.NO_ROWS,
                f"source.path {self._name}",
                required="at least one record",
                came="a file without any (0 rows)",
                fix="Check that the file was written completely.",
            )
        return record, before if len(record) == 1 else 0

    def _parsed(self, places: Sequence[str]) -> Iterator[pa.RecordBatch]:
        names = [str(place) for place in range(self._fields)]
        quote: str | bool = self._csv.quote or False
        parse = arrow_csv.ParseOptions(
            delimiter=self._csv.delimiter,
            quote_char=quote,
            newlines_in_values=bool(quote),
            ignore_empty_lines=self._fields > 1,
            invalid_row_handler=self._pass_over,
        )
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=places,
            # In a file of one column only a null tells a blank line from a cell that is "" in quotes.
            strings_can_be_null=self._fields == 1,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        read = arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES)
        try:
            with arrow_csv.open_csv(self._text, read, parse, convert) as reader:
                yield from reader
            return
        except (ValueError, OSError, pa.ArrowException):
            # Arrow quotes the record it stumbles on: its error must neither travel nor be the context of ours.
            pass
        self._text.raise_for_encoding()
        raise InputContractError.of(
            Reason.FILE_UNREADABLE,
            f"source.path {self._name}",
            required=f"CSV records of at most {_BLOCK_BYTES >> 20} MiB",
            came="text that cannot be split into such records",
            fix="Look for a quote that is opened and not closed; check source.csv.quote and delimiter.",
        )

    def _without_end_mark(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: pa.RecordBatch | None = None
        for batch in batches:
            if batch.num_rows:
                if held is not None:
                    yield held
                held = batch
        if held is not None:
            self._ends_properly = held.column("0")[-1].as_py() == self._end_mark
            yield held.slice(0, held.num_rows - 1) if self._ends_properly else held

    def _pass_over(self, row: Any) -> str:
        if row.actual_columns == 1 and not row.text.strip():
            self._blank_lines += 1
        else:
            self._ragged += 1
        return "skip"


def _record_at_start(text: str, form: CsvReading) -> tuple[list[str] | None, int]:
    """The first record that is not blank, and how many blank ones stand before it."""
    reader = csv.reader(
        StringIO(text, newline=""),
        delimiter=form.delimiter,
        quotechar=form.quote,
        quoting=csv.QUOTE_NONE if form.quote is None else csv.QUOTE_MINIMAL,
    )
    before = 0
    try:
        for record in reader:
            if len(record) > 1 or (record and record[0].strip()):
                return record, before
            before += 1
    except csv.Error:
        return [""], 0  # a first field of more than 128 KiB; no declared name will match it
    return None, before


def _ragged(fields: int, rows: int) -> Fault:
    return Fault(
        reason=Reason.RAGGED_ROW,
        where="records",
        required=f"{fields} fields in every record, as in the first one",
        came="records with more or fewer",
        fix="Correct the file; a field that holds the delimiter must be quoted.",
        rows=rows,
    )


def _open_quote() -> Fault:
    return Fault(
        reason=Reason.FILE_UNREADABLE,
        where="records",
        required="every opened quote closed",
        came="a quoted field that goes on to the end of the file",
        fix="Close the quote, or declare the right source.csv.quote.",
    )


def _blank_cells(rows: int) -> Fault:
    return Fault(
        reason=Reason.RAGGED_ROW,
        where="records",
        required="no blank line in a file of one column, since it may be a missing value or nothing",
        came="blank lines",
        fix='Write a missing value as "" in quotes or as a missing code, and remove blank lines.',
        rows=rows,
    )
