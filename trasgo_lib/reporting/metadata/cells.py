"""Published cells as catalogues and tools read them: one table of a fixed shape, and the same as GeoJSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trasgo_lib.reporting.markdown import bullets, cell, section, table
from trasgo_lib.reporting.metadata.codebook import identity_rows
from trasgo_lib.reporting.metadata.csvw import table_group
from trasgo_lib.reporting.metadata.data_package import package_head
from trasgo_lib.reporting.metadata.description import PublishedFile, SharedWords

if TYPE_CHECKING:
    from trasgo_lib.config import ReleaseInfo

_FIELDS = (
    ("resolution", "integer", "H3 resolution of the cell"),
    (
        "cell",
        "string",
        "H3 index of the cell, hexadecimal; `other`: all other places; `nobody`: a slot no device is in",
    ),
    ("share", "number", "Estimated share of the devices that reported; unbiased, so it can be below 0"),
    ("standard_error", "number", "Standard error of the share: the noise of the devices"),
    ("low", "number", "Lower end of the interval of the share; not clipped"),
    ("high", "number", "Upper end of the interval of the share; not clipped"),
    ("share_on_map", "number", "The same share made at least 0 and 1 in all, for maps; biased"),
    ("shown", "boolean", "Whether the share clears its error; a cell that does not may have devices in it"),
)
"""Columns of the table: name, type and what it holds; every row has all of them."""

_CSVW = {"integer": "integer", "string": "string", "number": "double", "boolean": "boolean"}
_MEDIA = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "geojson": "application/geo+json",
}
_HOLDS = {
    "csv": "Estimated shares of cells, CSV",
    "parquet": "Estimated shares of cells, Parquet",
    "geojson": "Cells with their outlines, GeoJSON",
    "json": "Counts of noised reports, from which every estimate follows",
}
_TABLES = ("csv", "parquet")


@dataclass(frozen=True)
class CellsDescription(SharedWords):
    """A published window, as its metadata see it. All public.

    Args:
        info: what the collection file says of the release; its time is the window.
        dataset: name of the collection.
        version: the window and the version of the collection file.
        created: when the window was closed, ISO 8601.
        rows: number of reports.
        data: the staged data files.
        privacy_in_words: what a device paid, and the guarantee.
    """

    info: ReleaseInfo
    dataset: str
    version: str
    created: str
    rows: int
    data: Sequence[PublishedFile]
    privacy_in_words: str
    content_words: str = "Estimated shares of cells"
    kind_words: str = "Estimates from noised reports of devices"
    pages: tuple[str, ...] = ("codebook.md", "report.md", "map.html")


def cells_csvw(description: CellsDescription) -> dict[str, Any]:
    """``csvw.json`` of the table of cells."""
    return table_group(description, cells_tables(description.data))


def cells_tables(data: Sequence[PublishedFile]) -> list[dict[str, Any]]:
    """What ``csvw.json`` says of the tables, of reports and of points, which follows from the files alone.

    Args:
        data: the data files.
    """
    return [_table(file) for file in sorted(data, key=lambda file: file.key) if _kind(file) == "csv"]


def _table(file: PublishedFile) -> dict[str, Any]:
    columns = [
        {"name": name, "titles": name, "dc:description": told, "datatype": _CSVW[kind], "required": True}
        for name, kind, told in _FIELDS
    ]
    return {
        "url": file.key,
        "schema:sha256": file.sha256,
        "schema:contentSize": str(file.bytes),
        "tableSchema": {"columns": columns, "primaryKey": ["resolution", "cell"]},
    }


def cells_data_package(description: CellsDescription) -> dict[str, Any]:
    """``datapackage.json`` of a window: two forms of each table, cells as GeoJSON, and the counts."""
    return {**package_head(description), "resources": cells_resources(description.data, description.dataset)}


def cells_resources(data: Sequence[PublishedFile], dataset: str) -> list[dict[str, Any]]:
    """What ``datapackage.json`` says of the files, which follows from them alone.

    Args:
        data: the data files.
        dataset: name of the collection.
    """
    return [_resource(file, of_points=file.key.startswith(f"data/{dataset}-points")) for file in data]


def _resource(file: PublishedFile, *, of_points: bool) -> dict[str, Any]:
    kind = _kind(file)
    shape: dict[str, Any] = {
        "name": file.key.removeprefix("data/").replace("/", "-").lower(),
        "path": file.key,
        "title": f"{_HOLDS[kind]}, from noised points" if of_points else _HOLDS[kind],
        "format": kind,
        "mediatype": _MEDIA[kind],
        **({} if kind == "parquet" else {"encoding": "utf-8"}),
        "bytes": file.bytes,
        "hash": f"sha256:{file.sha256}",
    }
    if kind in _TABLES:
        fields = [
            {"name": name, "type": type_of, "description": told, "constraints": {"required": True}}
            for name, type_of, told in _FIELDS
        ]
        shape |= {"type": "table", "schema": {"fields": fields, "primaryKey": ["resolution", "cell"]}}
    return shape


def cells_codebook(description: CellsDescription, statement: dict[str, Any]) -> bytes:
    """``codebook.md``: what devices were asked, through which channels, and what the table's columns hold.

    Args:
        description: the package.
        statement: the content of ``statement.json``.
    """
    info = description.info
    lines = [f"# Codebook: {cell(info.title)}", ""]
    if info.description:
        lines += [cell(info.description), ""]
    lines += table(("", ""), ((_ROWS.get(name, name), told) for name, told in identity_rows(description)))
    return ("\n".join(lines) + "\n").encode() + cells_sections(statement, description.privacy_in_words).encode()


def cells_sections(statement: dict[str, Any], privacy_in_words: str) -> str:
    """The sections of ``codebook.md``, which follow from the statement, so that whoever verifies can write them again.

    Args:
        statement: the content of ``statement.json``.
        privacy_in_words: what a device paid, and the guarantee.
    """
    lines = section("How the estimates were made", cell(privacy_in_words))
    lines += section("What devices answered")
    if statement["versions"]:
        lines += table(
            ("resolution", "slots", "mechanism", "epsilon a report", "reports", "alphabet"), _versions(statement)
        )
    lines += _points(statement)
    lines += section(f"Columns of {' and '.join(_files(statement))}")
    lines += table(("column", "type", "holds"), _FIELDS)
    lines += section("Reading the values")
    lines += bullets((cell(statement["caution"]), f"Intervals: {cell(statement['interval'])}."))
    return "\n".join(lines).rstrip() + "\n"


_ROWS = {"rows": "reports"}
"""What an entry of a package of rows is called here."""


def _versions(statement: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    for one in statement["versions"]:
        place = f"alphabets/{one['alphabet']}.json"
        told = (one["resolution"], one["slots"], one["mechanism"], one["epsilon_per_report"], one["reports"])
        yield (*told, place)


def _points(statement: dict[str, Any]) -> list[str]:
    point = statement.get("point")
    if point is None or point.get("estimates") is None:
        return []
    estimates = point["estimates"]
    told = (
        f"{estimates['reports']} points of {point['mechanism']}, epsilon {point['certified_epsilon']} for two lattice "
        f"cells {point['radius_m']} m apart; shares of {estimates['cells']} cells of resolution "
        f"{estimates['linkage']['resolution']}, and of all other places."
    )
    return bullets((told, point["words"]))


def _files(statement: dict[str, Any]) -> Iterator[str]:
    """The tables that a window has."""
    dataset = statement["dataset"]
    if statement["versions"]:
        yield f"data/{dataset}.csv and .parquet"
    if (statement.get("point") or {}).get("estimates") is not None:
        yield f"data/{dataset}-points.csv and .parquet"


def _kind(file: PublishedFile) -> str:
    return file.key.rpartition(".")[2]
