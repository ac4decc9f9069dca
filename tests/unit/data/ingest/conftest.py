"""What the ingest tests share: fixed keys, short declarations, one call that reads a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from trasgo_lib.data import (
    ColumnReading,
    CsvReading,
    InputReport,
    PrivateTable,
    SourceReading,
    read_codes,
    read_source,
    read_value_batches,
)
from trasgo_lib.errors import Fault, InputContractError, Reason
from trasgo_lib.noise import Keystream

KEY = bytes(range(32))


@dataclass(frozen=True)
class Ingested:
    """A source that passed."""

    table: PrivateTable
    report: InputReport

    def codes(self, name: str) -> NDArray[np.int32]:
        unit = self.table.unit(name)
        assert unit is not None
        return read_codes(unit, KEY)

    def values(self, name: str) -> list[Any]:
        column = next(public for public in self.table.public if public.column == name)
        return pa.concat_arrays(list(read_value_batches(column, KEY))).to_pylist()


class Ingest:
    """Writes a source, reads it, and gives what came out or what was refused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.path = folder / "source"

    def __call__(self, content: bytes | str | pa.Table, *columns: ColumnReading, **options: Any) -> Ingested:
        return Ingested(*read_source(self.reading(content, columns, options), **self.arguments(options)))

    def refused(self, content: bytes | str | pa.Table, *columns: ColumnReading, **options: Any) -> InputContractError:
        work = self.folder / "never made"
        with pytest.raises(InputContractError) as caught:
            self(content, *columns, work=work, **options)
        assert not work.exists(), "nothing is stored of a source with faults"
        return caught.value

    def faults(self, *args: Any, **options: Any) -> dict[tuple[Reason, str], Fault]:
        return {(fault.reason, fault.where): fault for fault in self.refused(*args, **options).faults}

    def reading(
        self, content: bytes | str | pa.Table, columns: Sequence[ColumnReading], options: dict[str, Any]
    ) -> SourceReading:
        if isinstance(content, pa.Table):
            import pyarrow.parquet as pq

            pq.write_table(content, self.path)
        else:
            self.path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        csv = {name: options.pop(name) for name in tuple(options) if name in CsvReading.__slots__}
        shape = {name: options.pop(name) for name in tuple(options) if name in SourceReading.__slots__}
        return SourceReading(
            **{
                "path": self.path,
                "format": "parquet" if isinstance(content, pa.Table) else "csv",
                "columns": tuple(columns),
                "csv": CsvReading(**csv),
                "row_order": "source",
                **shape,
            }
        )

    def arguments(self, options: dict[str, Any]) -> dict[str, Any]:
        return {
            "digest_key": KEY,
            "permutation": lambda digest: Keystream(KEY, "permute", digest),
            "work": self.work,
            "rows_per_batch": 1000,
            **options,
        }


@pytest.fixture
def ingest(tmp_path: Path) -> Ingest:
    """Reads a source written into a fresh folder."""
    return Ingest(tmp_path)


@pytest.fixture
def column() -> Callable[..., ColumnReading]:
    """A declared column whose file column has the same name."""

    def declare(name: str, kind: str, domain: Any = None, **options: Any) -> ColumnReading:
        return ColumnReading(name, options.pop("sources", (name,)), kind, domain, **options)  # type: ignore[arg-type]

    return declare


@pytest.fixture
def public() -> Callable[[str], ColumnReading]:
    """A public column."""
    return lambda name: ColumnReading(name, (name,), "text", role="public")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public files beside the checkout; tests skip where it is absent."""
    folder = Path(__file__).resolve().parents[4].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data are absent")
    return folder
