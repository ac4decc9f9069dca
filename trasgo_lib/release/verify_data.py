"""Verification of the data: types, rows and values as the channel file declares them, CSV equal to Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trasgo_lib.checks import (
    PublishedPart,
    csv_equals_parquet,
    domain_types,
    grid_of,
    published_labels,
    published_parts,
)
from trasgo_lib.data import CategoryDomain, domain_from_description
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release.package import data_key
from trasgo_lib.release.stored import is_out_of_reach, on_disk, open_stored
from trasgo_lib.release.verification import VerificationResult, failed, judge
from trasgo_lib.storage import ObjectStore


def verify_data(
    store: ObjectStore,
    prefix: str,
    manifest: dict[str, Any],
    statement: dict[str, Any],
    channel_file: dict[str, Any],
) -> Iterator[VerificationResult]:
    """Check the published rows against the declarations beside them.

    Args:
        store: where the release stands.
        prefix: its prefix; empty when the store's root is the release.
        manifest: the parsed manifest.
        statement: the parsed statement.
        channel_file: the parsed channel file.
    """
    parquet, csv = (data_key(manifest["dataset"], kind) for kind in ("parquet", "csv"))
    try:
        with pq.ParquetFile(_open(store, prefix, parquet)) as file:
            yield from _verify_schema(file, manifest, statement, channel_file)
            yield judge("rows", parquet, manifest["rows"], file.metadata.num_rows, Reason.SCHEMA_VIOLATION)
            for unit in channel_file["units"]:
                parts = _parts(unit)
                yield _verify_types(file.schema_arrow, unit, parts)
                for part in parts:
                    yield _verify_values(file, part)
    except (TrasgoError, pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        if is_out_of_reach(error, store):
            raise
        came = f"{type(error).__name__} while reading it"
        yield failed("data", parquet, "a Parquet file with the declared columns", came, Reason.SCHEMA_VIOLATION)
        return
    if csv in {entry["path"] for entry in manifest["files"]}:
        yield _verify_csv(store, prefix, csv, parquet)


def _open(store: ObjectStore, prefix: str, path: str) -> pa.NativeFile:
    return open_stored(store, f"{prefix}/{path}" if prefix else path)


def _verify_schema(
    file: pq.ParquetFile, manifest: dict[str, Any], statement: dict[str, Any], channel_file: dict[str, Any]
) -> Iterator[VerificationResult]:
    schema = file.schema_arrow
    yield judge("columns", "data", manifest["columns"], schema.names, Reason.SCHEMA_VIOLATION)
    noised = {column["name"]: column["type"] for unit in channel_file["units"] for column in unit["columns"]}
    declared = sorted([*noised, *statement["public_columns"]])
    yield judge("every column declared", "data", declared, sorted(schema.names), Reason.SCHEMA_VIOLATION)
    yield judge("no further metadata", "data", None, schema.metadata, Reason.SCHEMA_VIOLATION)


def _parts(unit: dict[str, Any]) -> tuple[PublishedPart, ...]:
    columns = [column["name"] for column in unit["columns"]]
    nullable = unit["missing"]["policy"] == "code"
    return published_parts(unit["name"], columns, domain_from_description(unit["domain"]), nullable)


def _verify_types(schema: pa.Schema, unit: dict[str, Any], parts: tuple[PublishedPart, ...]) -> VerificationResult:
    kinds = [str(kind) for part in parts for kind in domain_types(part.domain)]
    stated = [column["type"] for column in unit["columns"]]
    found = [str(schema.field(column["name"]).type) for column in unit["columns"]]
    return judge("types", unit["name"], (kinds, kinds), (stated, found), Reason.WRONG_TYPE)


def _verify_values(file: pq.ParquetFile, part: PublishedPart) -> VerificationResult:
    names, domain, nullable = list(part.columns), part.domain, part.nullable
    grid = grid_of(domain)
    labels = _label_array(published_labels(domain)) if isinstance(domain, CategoryDomain) else None
    outside = nulls = 0
    for batch in file.iter_batches(columns=names):
        columns = tuple(batch.column(name) for name in names)
        nulls += max(column.null_count for column in columns)
        outside += grid.off_grid(columns) if grid is not None else _not_among(columns[0], labels)
    came = f"{outside} rows outside it" + ("" if nullable else f", {nulls} nulls")
    required = "0 rows outside it" + ("" if nullable else ", 0 nulls")
    return judge("values in domain", part.name, required, came, Reason.OUT_OF_DOMAIN)


def _not_among(column: pa.Array, labels: pa.Array) -> int:
    known = pc.sum(pc.is_in(column, value_set=labels)).as_py() or 0
    return len(column) - int(column.null_count) - int(known)


def _label_array(labels: tuple[str, ...] | tuple[int, ...]) -> pa.Array:
    """The labels as Arrow values, built from buffers: ``pyarrow.array`` would import pandas where it is installed."""
    if isinstance(labels[0], int):
        values = np.array(labels, dtype=np.int64)
        return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])
    encoded = [str(label).encode() for label in labels]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def _verify_csv(store: ObjectStore, prefix: str, csv: str, parquet: str) -> VerificationResult:
    with on_disk(store, f"{prefix}/{csv}" if prefix else csv) as path:
        result = csv_equals_parquet(path, _open(store, prefix, parquet))
    return VerificationResult(
        "CSV equals Parquet", csv, result.passed, result.limit, result.observed, Reason.CHECK_FAILED
    )
