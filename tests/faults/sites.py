"""Offices on every kind of database and store, under fixed keys: what tests of killed and failing runs work on."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
from forked_command import started
from killed import arm
from office import Office
from postgresql_server import PostgresServer
from s3_server import CLOSED_BUCKET, OPEN_BUCKET, S3Server, access_of

from trasgo_lib.config import ledger_address
from trasgo_lib.records import Records
from trasgo_lib.storage import ObjectStore, open_store

ROWS = 240


class Site(Office):
    """An office with a database and a store of a kind, and a reader of its roots.

    Args:
        folder: its folder.
        home: folder with the keys, which is copied.
        url: its ledger.
        s3: the server of its two roots; None for folders.
    """

    def __init__(self, folder: Path, home: Path, url: str, s3: S3Server | None) -> None:
        super().__init__(folder)
        source = (folder / "people.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "people.csv").write_text("".join(source[: ROWS + 1]), encoding="utf-8")
        for name in ("sex", "region"):
            self.column(name)["target"] = {"tvd": "0.4"}
        self.release["loop"] |= {"loss_from": "released", "composition": "chain", "start": "2"}
        shutil.copytree(home, self.home)
        self.url, self.name = url, secrets.token_hex(4)
        self.release["ledger"] = {"url": url}
        self.release["publish"] = {"public": str(folder / "public"), "restricted": str(folder / "closed")}
        self.environment: dict[str, str] = {}
        self._reader: ObjectStore | None = None
        if s3 is not None:
            self.environment = s3.publisher.environment("OFFICE_PUBLIC") | s3.keeper.environment("OFFICE_CLOSED")
            self.release["publish"] = {
                "public": f"s3://{OPEN_BUCKET}/{self.name}",
                "restricted": f"s3://{CLOSED_BUCKET}/{self.name}",
                "public_s3": {"endpoint": s3.endpoint, "credentials": "OFFICE_PUBLIC"},
                "restricted_s3": {"endpoint": s3.endpoint, "credentials": "OFFICE_CLOSED"},
            }
            self._reader = open_store(f"s3://{OPEN_BUCKET}/{self.name}", access=access_of(s3, s3.reader))

    def reader(self) -> ObjectStore:
        """The public root as a data user sees it."""
        return self._reader or open_store(self.folder / "public", create=False)

    def files(self) -> dict[str, bytes]:
        """Every public file."""
        store = self.reader()
        return {key: store.get(key) for key in store.list() if not key.startswith(".trasgo")}

    def charges(self) -> list[tuple[str, str, str, str]]:
        """What was charged, entry by entry."""
        records = Records.open(ledger_address(self.url, self.folder), create=False)
        entries = records.charges_of("people", "1")
        assert records.check_chain().ok
        return [(e.reservation.unit, e.reservation.level, str(e.cost), e.hash) for e in entries if e.reservation]

    def run_killed(self, point: str, verb: str = "run") -> None:
        """``trasgo run``, ``query`` or ``train`` in a process of its own, up to the point."""
        run = self.started(point, verb)
        run.join(timeout=900)
        assert run.exitcode == -signal.SIGKILL, (self.folder / "killed.log").read_text()

    def started(self, point: str, verb: str) -> ForkServerProcess:
        """The same, while it runs."""
        environment = {"TRASGO_HOME": str(self.home), "TRASGO_ACTOR": "tester", **self.environment}
        arm_it = partial(arm, point, verb)
        return started([verb, str(self.config), "--quiet"], environment, self.folder / "killed.log", arm_it)


class Places:
    """Makes offices of every kind, and remembers what an uninterrupted run gave.

    Args:
        home: folder with the keys.
        folder: where the offices go.
        request: asks for servers when they are needed.
    """

    def __init__(self, home: Path, folder: Path, request: pytest.FixtureRequest) -> None:
        self._home, self._folder, self._request = home, folder, request
        self._whole: dict[str, tuple[dict[str, bytes], list[tuple[str, str, str, str]]]] = {}

    def office(self, database: str, store: str, **caps: str) -> Site:
        """A fresh office with its account open; caps beside epsilon as the command names them."""
        folder = self._folder / secrets.token_hex(4)
        folder.mkdir()
        url = "sqlite:///ledger.db"
        if database == "postgresql":
            server: PostgresServer = self._request.getfixturevalue("postgres_server")
            url = server.url(server.new_database())
        s3 = self._request.getfixturevalue("s3_server") if store == "s3" else None
        office = Site(folder, self._home, url, s3)
        os.environ.update(office.environment)
        office.open(**caps)
        return office

    def whole(self) -> tuple[dict[str, bytes], list[tuple[str, str, str, str]]]:
        """Public files and charges of a run that was not interrupted; the same wherever it ran."""
        if "whole" not in self._whole:
            office = self.office("sqlite", "folder")
            answer = office.run("--quiet")
            assert answer.exit_code == 0, answer.text
            self._whole["whole"] = office.files(), office.charges()
        return self._whole["whole"]
