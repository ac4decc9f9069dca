"""A draft release file: what the data file says of its form, and ``undecided`` wherever a person must decide.

Nothing of a cell gets into it: no value, no end of a range, no code, no count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trasgo_lib.config import is_column_name
from trasgo_lib.drafting.dialect import CsvDialect, read_sample
from trasgo_lib.drafting.draft_entries import entry_lines
from trasgo_lib.drafting.draft_texts import COLUMNS, CSV, HEAD, NAMELESS, PARQUET, PRIVACY, PUBLISH, RELEASE, SOURCE
from trasgo_lib.drafting.guesses import ColumnGuess, guess_kind, point_pairs
from trasgo_lib.drafting.parquet_schema import parquet_columns
from trasgo_lib.drafting.prefix import PARQUET_MAGIC, decode_prefix, read_prefix
from trasgo_lib.drafting.scalars import scalar
from trasgo_lib.errors import ConfigError, InputContractError, Reason

_SLUG_CHARACTERS = re.compile(r"[^a-z0-9_-]+")
_LONGEST_SLUG = 63


@dataclass(frozen=True, slots=True)
class FileForm:
    """What a draft takes from a data file. Public: column names are, by declaration.

    Args:
        path: the file, as the release file will name it.
        dialect: how it is written; None for Parquet.
        has_header: whether its first record holds the names; True for Parquet.
        columns: its columns, in order.
    """

    path: str
    dialect: CsvDialect | None
    has_header: bool
    columns: tuple[ColumnGuess, ...]


def read_form(path: Path, *, header: bool | None = None) -> FileForm:
    """Look at the start of a data file.

    Args:
        path: a CSV or Parquet file.
        header: whether its first record holds the names, where the person says so; None: as it looks.

    Raises:
        InputContractError: nothing that can be read as CSV or Parquet, or a first record that may be names or a row.
    """
    data, is_whole = read_prefix(path)
    if data.startswith(PARQUET_MAGIC):
        return FileForm(str(path), None, True, parquet_columns(path))
    if path.suffix.lower() == ".parquet":
        raise _unusable_parquet(path)
    sample = read_sample(decode_prefix(data, path, is_whole=is_whole), path)
    if header is None and sample.header == "unclear":
        raise _unclear(path)
    named = sample.header == "names" if header is None else header
    first = sample.records[0]
    columns = tuple(
        ColumnGuess(name, guess_kind(name, sample.cells(place, named=named), sample.dialect), place + 1)
        for place, name in enumerate(first if named else [""] * len(first))
    )
    return FileForm(str(path), sample.dialect, named, columns)


def draft_text(form: FileForm, dataset: str) -> str:
    """The draft, as YAML with comments.

    Args:
        form: from ``read_form``.
        dataset: name of the data set.
    """
    pairs = point_pairs(form.columns)
    parts = [
        HEAD.format(file=scalar(Path(form.path).name)),
        RELEASE.format(dataset=scalar(dataset)),
        SOURCE.format(path=scalar(form.path), format="parquet" if form.dialect is None else "csv"),
        PARQUET if form.dialect is None else _csv_text(form.dialect, has_header=form.has_header),
        PRIVACY.format(geo=_GEO_TOTAL if pairs else ""),
        COLUMNS.format(nameless="" if form.has_header else NAMELESS),
        "\n".join(_column_lines(form.columns, pairs)) + "\n",
        PUBLISH,
    ]
    return "".join(parts)


_GEO_TOTAL = "  geo_total: undecided     # most geo epsilon of this version, per kilometre; for places\n"


def dataset_name(name: str | None, path: Path) -> str:
    """The name of the data set: as given, else made of the file's name.

    Raises:
        ConfigError: a given name that is none, or a file name that none can be made of.
    """
    slug = _SLUG_CHARACTERS.sub("-", path.stem.lower()).strip("-_")[:_LONGEST_SLUG] if name is None else name
    if not slug or len(slug) > _LONGEST_SLUG or _SLUG_CHARACTERS.search(slug) or slug[0] in "-_":
        required = "a name of a-z, 0-9, _ and -, beginning with a letter or digit"
        came = repr(name) if name is not None else f"a file name that holds none, {path.name!r}"
        fix = "Write it as in --dataset cps1988."
        raise ConfigError.of(Reason.BAD_PARAMETER, "--dataset", required=required, came=came, fix=fix)
    return slug


def _csv_text(dialect: CsvDialect, *, has_header: bool) -> str:
    return CSV.format(
        encoding=scalar(dialect.encoding),
        delimiter=scalar(dialect.delimiter),
        decimal=scalar(dialect.decimal),
        thousands="" if dialect.thousands is None else f"    thousands: {scalar(dialect.thousands)}\n",
        header=str(has_header).lower(),
    )


def _column_lines(
    columns: Sequence[ColumnGuess], pairs: dict[int, tuple[ColumnGuess, ColumnGuess, str]]
) -> Iterator[str]:
    taken = {column.name for column in columns}
    used: set[str] = set()
    for column in columns:
        pair = pairs.get(column.position)
        if pair is None:
            release_name = _release_name(column, taken, used)
            yield from entry_lines(
                column, release_name, again=bool(column.name) and column.name in used, is_named=bool(column.name)
            )
            used |= {column.name, release_name}
        elif column is pair[0]:
            stem = _free(pair[2], taken | used)
            used.add(stem)
            yield from entry_lines(column, stem, pair=pair)


def _release_name(column: ColumnGuess, taken: set[str], used: set[str]) -> str:
    """The column's own name where it can be one in a release and is the first of its kind, else one by its place."""
    if column.name and column.name not in used and is_column_name(column.name):
        return column.name
    return _free(f"column_{column.position}", taken | used)


def _free(name: str, taken: set[str]) -> str:
    return next(name + "_" * more for more in range(len(taken) + 1) if name + "_" * more not in taken)


def _unusable_parquet(path: Path) -> InputContractError:
    return InputContractError.of(
        Reason.FILE_UNREADABLE,
        str(path),
        required="a Parquet file, as its name says",
        came="a file that does not begin as one",
        fix="Write it anew; if it holds CSV text, name it so.",
    )


def _unclear(path: Path) -> InputContractError:
    return InputContractError.of(
        Reason.NO_HEADER,
        str(path),
        required="a first record that can be told from a row of data, since a draft may show names and never a cell",
        came="one that may be either",
        fix="Look at the file, then say --header (the first record holds the column names) or --no-header.",
    )
