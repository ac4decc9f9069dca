"""One office for many small releases: each case brings its own rows and columns, and all share key and account."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from office import RELEASE, Answer, Office

Column = dict[str, Any]


def number(name: str, lower: str, upper: str, step: str = "1", **more: Any) -> Column:
    """A number column with Laplace noise at epsilon 1."""
    domain = {"lower": lower, "upper": upper, "step": step}
    return {"name": name, "type": "number", "domain": domain, "mechanism": "laplace", "epsilon": "1", **more}


def category(name: str, codes: list[str], **more: Any) -> Column:
    """A category with k-ary randomised response at epsilon 1."""
    rest = {"mechanism": "kary_randomized_response", "epsilon": "1", **more}
    return {"name": name, "type": "category", "domain": {"codes": codes}, **rest}


def date(name: str, **more: Any) -> Column:
    """A day of 2017, written day/month/year."""
    domain = {"lower": "2017-01-01", "upper": "2017-12-31"}
    rest = {"format": "%d/%m/%Y", "mechanism": "laplace", "epsilon": "1", **more}
    return {"name": name, "type": "date", "domain": domain, **rest}


def point(name: str, **more: Any) -> Column:
    """A place in New York at 10 per km, from the columns lat and lon."""
    domain = {"box": ["40.4", "-74.3", "41.0", "-73.6"], "crs": "EPSG:32118", "step_m": "500"}
    rest = {"mechanism": "planar_laplace", "geo": {"epsilon": "10", "radius_m": "1000"}, **more}
    return {
        "name": name,
        "type": "point",
        "columns": {"latitude": "lat", "longitude": "lon"},
        "domain": domain,
        **rest,
    }


def public(name: str) -> Column:
    """A column that is published as it is."""
    return {"name": name, "role": "public"}


def drop(name: str) -> Column:
    """A column that is not published."""
    return {"name": name, "role": "drop"}


class Desk(Office):
    """An office whose releases all draw from one account."""

    def declare(self, dataset: str, columns: list[Column], version: str = "1", **csv: Any) -> None:
        """Write a release file for the given columns; source options go in by name."""
        geo = {"geo_total": "10"} if any(column.get("type") == "point" for column in columns) else {}
        self.release["release"] = {"dataset": dataset, "version": version, "title": "A case"}
        self.release["source"] = {"path": "source.csv", "format": "csv", **({"csv": csv} if csv else {})}
        self.release["privacy"] = {"epsilon_total": "200", **geo, "account": "cases", "row_order": "source"}
        self.release["columns"] = columns
        self.release["loop"] = dict(RELEASE["loop"])
        self.write()

    def ask(self, dataset: str, columns: list[Column], queries: list[dict[str, Any]], version: str = "1") -> None:
        """Write a statistics file over the given columns, which lose what only noise of their own needs."""
        self.declare(dataset, columns, version)
        for column in columns:
            column.pop("mechanism", None)
            column.pop("epsilon", None)
        for key in ("loop", "checks"):
            self.release.pop(key, None)
        self.release["privacy"] = {"epsilon_total": "1", "account": "cases"}
        self.release["queries"] = queries
        self.write()

    def bring(self, content: str | bytes | pa.Table) -> None:
        """Put the source file; a table becomes Parquet, and the release file is told so."""
        if isinstance(content, pa.Table):
            pq.write_table(content, self.folder / "source.parquet")
            self.release["source"] = {"path": "source.parquet", "format": "parquet"}
            self.write()
        else:
            data = content.encode() if isinstance(content, str) else content
            (self.folder / "source.csv").write_bytes(data)

    def published(self, dataset: str, version: str = "1") -> Path:
        """Public folder of a release."""
        return self.folder / "store" / "public" / dataset / version

    def evidence(self, dataset: str, version: str = "1") -> Path:
        """Restricted folder of a release."""
        return self.folder / "store" / "restricted" / dataset / version

    def open_account(self, **caps: str) -> None:
        """Key and account, once."""
        self.declare("opening", [category("a", ["x", "y"])])
        self.open(**{"epsilon": "4000", **caps})


def places_with(needle: str, desk: Office, answer: Answer, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Where a text can be seen outside the source: files, Prefect's database, terminal, logs, tracebacks."""
    folders = (desk.folder, Path(os.environ["PREFECT_HOME"]))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.stem != "source"]
    found = [str(path) for path in files if needle.encode() in path.read_bytes()]
    found += ["terminal"] if needle in answer.text else []
    found += [f"log {record.name}" for record in caplog.records if needle in _shown(record)]
    return found


def _shown(record: logging.LogRecord) -> str:
    return record.getMessage() + (record.exc_text or "")
