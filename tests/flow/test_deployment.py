"""The runbook's trial, run as it stands: server, worker, a schedule, a release in buckets, its ledger on PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from postgresql_server import PostgresServer
from s3_server import CLOSED_BUCKET, OPEN_BUCKET, S3Server, access_of

from trasgo_lib.storage import open_store

ROOT = Path(__file__).resolve().parents[2]
RUNBOOK = (ROOT / "deployments" / "README.md").read_text(encoding="utf-8")
_LIMIT_SECONDS = 900


def _blocks(section: str, language: str) -> list[str]:
    text = RUNBOOK[RUNBOOK.index(f"## {section}\n") :]
    text = text[: text.index("\n## ", 4)] if "\n## " in text[4:] else text
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Path]:
    """The trial's folder; whatever is left running of it is ended by its number."""
    yield tmp_path
    for name in ("worker.pid", "server.pid"):
        with suppress(OSError, ValueError):
            os.kill(int((tmp_path / name).read_text()), 9)


@pytest.fixture
def ledger(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """The server with the roles and the database that the runbook makes."""
    made, _ = _blocks("The ledger on PostgreSQL", "sql")
    statements = [part.strip() for part in re.sub(r"--.*", "", made).split(";") if part.strip()]
    taken = [name for name in ("trasgo_owner", "trasgo_app") if _has_role(postgres_server, name)]
    postgres_server.execute(*(part for part in statements if not any(f"ROLE {name} " in part for name in taken)))
    yield postgres_server
    postgres_server.drop("ledger")
    for name in {"trasgo_owner", "trasgo_app"} - set(taken):
        postgres_server.execute(f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def _has_role(server: PostgresServer, name: str) -> bool:
    with server.connect() as connection:
        return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone() is not None


def _environment(trial: Path, server: S3Server, ledger: PostgresServer) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "HOME", "PYTHONPATH") if name in os.environ}
    binaries = str(Path(sys.executable).parent)
    return {
        **kept,
        **server.publisher.environment("TRASGO_PUBLIC"),
        **server.keeper.environment("TRASGO_CLOSED"),
        **server.reader.environment("AWS"),
        "AWS_ENDPOINT_URL_S3": server.endpoint,
        "PATH": f"{trial / 'bin'}:{binaries}:{os.defpath}",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(ledger.port),
        "PORT": str(_free_port()),
        "TRIAL": str(trial),
    }


def _run(script: str, environment: dict[str, str], log: Path) -> None:
    with log.open("wb") as stream:
        done = subprocess.run(
            ["bash", "-ec", script], cwd=ROOT, env=environment, stdout=stream, stderr=subprocess.STDOUT,
            timeout=_LIMIT_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert done.returncode == 0, log.read_text()[-4000:]


@pytest.mark.long
def test_the_trial_of_the_runbook_publishes_on_schedule(
    trial: Path, s3_server: S3Server, ledger: PostgresServer
) -> None:
    """Two scripts, since the grants stand between them; each begins with the settings, as a new terminal does."""
    environment = _environment(trial, s3_server, ledger)
    (trial / "bin").mkdir()
    command = trial / "bin" / "trasgo"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from flows.cli import main; main()" "$@"\n')
    command.chmod(0o755)
    settings, start, account, schedule, look, stop = _blocks("A trial on one machine, as run", "sh")
    _run("\n".join((settings, start, account)), environment, trial / "first.log")
    _, granted = _blocks("The ledger on PostgreSQL", "sql")
    for statement in re.sub(r"--.*", "", granted).split(";"):
        if statement.strip():
            ledger.execute(f"SET ROLE trasgo_owner; {statement}", database="ledger")
    _run("\n".join((settings, schedule, look, stop)), environment, trial / "second.log")

    said = (trial / "second.log").read_text()
    assert "Signed by the given key" in said and "the same codes, the same rows" in said
    again = json.loads((trial / "again.json").read_text())
    assert again["already_published"] and again["public"] == f"s3://{OPEN_BUCKET}/trial/trial/1"
    reader = access_of(s3_server, s3_server.reader)
    public = open_store(f"s3://{OPEN_BUCKET}/trial", access=reader)
    assert public.exists("trial/1/manifest.json")
    assert open_store(f"s3://{CLOSED_BUCKET}/trial", access=reader).exists("trial/1/losses.json")
    with ledger.connect("ledger") as connection:
        actors = connection.execute("SELECT DISTINCT document::json->>'actor' FROM events").fetchall()
        assert ("scheduler",) in actors
    _require_artifacts(trial / "prefect" / "prefect.db", again["rounds"])
    for name in ("worker.pid", "server.pid"):
        _require_end(int((trial / name).read_text()))


def _require_artifacts(database: Path, rounds: int) -> None:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        states = dict(connection.execute("SELECT state_type, count(*) FROM flow_run GROUP BY state_type").fetchall())
        found = dict(connection.execute("SELECT key, data FROM artifact").fetchall())
    assert states.get("COMPLETED", 0) >= 2 and "FAILED" not in states, states
    assert set(found) == {"progress-trial-1", "rounds-trial-1", "release-trial-1"}
    assert float(found["progress-trial-1"]) == 100
    assert f"s3://{OPEN_BUCKET}/trial/trial/1" in found["release-trial-1"]
    rows = json.loads(json.loads(found["rounds-trial-1"]))
    assert max(row["round"] for row in rows) == rounds
    assert all(row["low"] <= row["loss"] <= row["high"] for row in rows if row["loss"] is not None)


def _require_end(pid: int) -> None:
    """It has ended, or only its entry is left where nobody collects those of orphans."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        with suppress(OSError):
            if "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
                time.sleep(0.5)
                continue
        return
    pytest.fail(f"process {pid} did not end")
