"""Scheduled flows that fail on marked values: no mark is in Prefect's database or results, buckets, ledger or logs.

What an orchestrator keeps may be pickled, in base64, or compressed into a column, so each place is unpacked first and
searched for the mark in several spellings. The source alone may hold one, and the restricted work files, which are
private and end with the run.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from office import source_text
from postgresql_server import PostgresServer
from s3_server import CLOSED_BUCKET, OPEN_BUCKET, S3Server, access_of
from sites import Places, Site

import tasks.draw
import tasks.ingest
import tasks.measure
import tasks.publish
from flows.scheduled import scheduled_release
from trasgo_lib.errors import TrasgoError
from trasgo_lib.storage import open_store

NUMBER, TEXT = "8264019753", "MARKEDxq8264019753"
PLANTED_NUMBER, PLANTED_TEXT = "6150938274", "PLANTEDxq6150938274"
"""Marks of their own: other tests of this session search the same orchestrator for theirs."""

Change = Callable[[str], str]


def _cell(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new, 1)


REFUSED: dict[str, Change] = {
    "number outside a rejecting domain": _cell("\n18,", f"\n{NUMBER},"),
    "text in a number": _cell("\n18,", f"\n{TEXT},"),
    "category outside the domain": _cell(",f,", f",{TEXT},"),
    "ragged row": lambda text: text + f"{NUMBER},f,north,2026-1,n,{TEXT}\n",
    "headerless": lambda text: f"{NUMBER},f,{TEXT},2026-1,x\n" + text.split("\n", 1)[1],
}

EXPLODING = {
    "ingest": (tasks.ingest, "read_source"),
    "draw": (tasks.draw, "reveal_codes"),
    "measure": (tasks.measure, "estimate_losses"),
    "publish": (tasks.publish, "stage_package"),
}
"""What raises an error whose text and arguments hold a mark, by stage."""


def _spellings(mark: str) -> list[bytes]:
    """The mark as text, in UTF-16, in hex, and in base64 at each of the three offsets."""
    plain = mark.encode()
    whole = [base64.b64encode(b"\0" * offset + plain)[4 if offset else 0 : -4] for offset in range(3)]
    return [plain, mark.encode("utf-16-le"), plain.hex().encode(), *whole]


class Search:
    """Every place where something of a run may be kept.

    Args:
        site: the office.
        server: its S3 server.
        ledger: its database server.
        caplog: what was logged, at every level.
    """

    def __init__(self, site: Site, server: S3Server, ledger: PostgresServer, caplog: pytest.LogCaptureFixture) -> None:
        self._site, self._server, self._ledger, self._caplog = site, server, ledger, caplog
        self.said: list[str] = []

    def places(self) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of each place."""
        yield from self._orchestrator()
        for bucket in (OPEN_BUCKET, CLOSED_BUCKET):
            access = access_of(self._server, self._server.reader)
            store = open_store(f"s3://{bucket}/{self._site.name}", access=access)
            for key in store.list():
                yield f"{bucket}/{key}", store.get(key)
        with self._ledger.connect(self._site.url.rsplit("/", 1)[1]) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            for (table,) in tables:
                rows = connection.execute(f"SELECT t::text FROM {table} AS t").fetchall()  # type: ignore[arg-type]
                yield f"table {table}", "\n".join(row for (row,) in rows).encode()
        log = self._ledger.folder / "server.log"
        yield "log of the database", log.read_bytes()
        for record in self._caplog.records:
            yield f"log {record.name}", f"{record.getMessage()} {record.args} {record.exc_text}".encode()
        yield from ((f"answer {number}", text.encode()) for number, text in enumerate(self.said))
        for path in self._site.home.rglob("*"):
            if path.is_file():
                yield str(path), path.read_bytes()

    def _orchestrator(self) -> Iterator[tuple[str, bytes]]:
        """Prefect's database as a file and as rows, and its result store with what is pickled in it."""
        home = Path(os.environ["PREFECT_HOME"])
        for path in home.rglob("*"):
            if path.is_file():
                body = path.read_bytes()
                yield str(path), body
                if "storage" in path.parts:
                    yield f"{path} unpacked", _unpacked(body)
        with closing(sqlite3.connect(f"file:{home / 'prefect.db'}?mode=ro", uri=True)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in names:
                rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
                yield f"Prefect's table {name}", repr(rows).encode()

    def found(self, mark: str) -> list[str]:
        """The places that hold a mark."""
        spellings = _spellings(mark)
        return [name for name, body in self.places() if any(spelling in body for spelling in spellings)]


def _unpacked(body: bytes) -> bytes:
    try:
        return base64.decodebytes(body)
    except ValueError:
        document = json.loads(body)
        return base64.b64decode(document.get("result", "") if isinstance(document, dict) else "")


@pytest.fixture
def site(places: Places) -> Site:
    """An office on PostgreSQL and S3."""
    made = places.office("postgresql", "s3")
    made.column("age")["outside"] = "reject"
    made.write()
    return made


@pytest.fixture
def search(
    site: Site,
    s3_server: S3Server,
    postgres_server: PostgresServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> Search:
    """A search of everything of that office; its scheduled flow finds its state folder."""
    caplog.set_level(logging.DEBUG)
    # a worker logs warnings and sends them to its server; the tests' own settings would keep it quiet
    for name in ("prefect", "prefect.flow_runs", "prefect.task_runs"):
        caplog.set_level(logging.DEBUG, logger=name)
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    monkeypatch.setenv("TRASGO_HOME", str(site.home))
    monkeypatch.setenv("TRASGO_ACTOR", "scheduler")
    return Search(site, s3_server, postgres_server, caplog)


def _fail(site: Site, search: Search) -> TrasgoError:
    with pytest.raises(TrasgoError) as caught:
        scheduled_release(str(site.config))
    search.said.append(str(caught.value))
    assert caught.value.__cause__ is None and all(fault.rows is None for fault in caught.value.faults)
    return caught.value


def test_marked_cells_of_refused_sources_are_nowhere(site: Site, search: Search) -> None:
    for change in REFUSED.values():
        (site.folder / "people.csv").write_text(change(source_text()))
        assert _fail(site, search).exit_code == 3
    assert site.spent() == "0"
    assert search.found(TEXT) == [] and search.found(NUMBER) == []


def test_marked_texts_of_unexpected_errors_are_nowhere(
    site: Site, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every stage fails once after another, each on a mark; then the release is finished and holds none either."""

    def explode(*arguments: object, **names: object) -> None:
        raise KeyError(f"bad cell {TEXT}", {"value": NUMBER})

    (site.folder / "people.csv").write_text(
        source_text(240).replace(",n17\n", f",{TEXT}\n").replace(",n18\n", f",{NUMBER}\n")
    )
    for module, name in EXPLODING.values():
        with monkeypatch.context() as patch:
            patch.setattr(module, name, explode)
            error = _fail(site, search)
        assert "KeyError" in str(error) and error.exit_code == 1
    assert search.found(TEXT) == [] and search.found(NUMBER) == []
    assert scheduled_release(str(site.config)) == "published"
    assert search.found(TEXT) == [] and search.found(NUMBER) == []


def test_a_planted_mark_is_found_in_every_kind_of_place(
    site: Site, search: Search, postgres_server: PostgresServer, s3_server: S3Server
) -> None:
    """Negative control: an error that is not cleaned is kept by Prefect in its result store, in base64."""
    from prefect import flow

    @flow(persist_result=False)
    def leaking(config: str) -> None:
        raise ValueError(f"bad cell {PLANTED_TEXT}")

    storage = Path(os.environ["PREFECT_HOME"]) / "storage"
    before = set(storage.rglob("*"))
    with pytest.raises(ValueError, match="bad cell"):
        leaking(str(site.config))
    assert (
        s3_server.request("PUT", f"/{CLOSED_BUCKET}/{site.name}/leak.json", body=f'"{PLANTED_NUMBER}"'.encode())[0]
        == 200
    )
    database = site.url.rsplit("/", 1)[1]
    postgres_server.execute(f"CREATE TABLE leak AS SELECT '{PLANTED_NUMBER}' AS cell", database=database)
    found = " ".join(search.found(PLANTED_TEXT))
    assert "unpacked" in found and "prefect.db" in found and "table flow_run_state" in found and "log prefect" in found
    assert {f"{CLOSED_BUCKET}/leak.json", "table leak"} <= set(search.found(PLANTED_NUMBER))
    for path in set(storage.rglob("*")) - before:  # another test asks for what is kept there by the product's own flows
        path.unlink()
