"""The ready-made database of the embedded orchestrator: what its migrations leave, put only where it would make one."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import prefect
import pytest
from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL, PREFECT_API_URL, PREFECT_HOME, temporary_settings

import flows.orchestrator_database as ready_made

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "flows" / "orchestrator_database.sql"
MIGRATIONS = prefect.__module_path__ / "server" / "database" / "_migrations" / "versions" / "sqlite"


def test_it_stands_at_the_newest_migration_of_the_installed_orchestrator() -> None:
    """Where another Prefect is locked, the file is written anew; until then that one's own migrations do the rest."""
    texts = [path.read_text(encoding="utf-8") for path in MIGRATIONS.glob("*.py")]
    made, built_on = (
        {found[1] for text in texts if (found := re.search(rf'^{name}[^=]*= "(\w+)"', text, re.MULTILINE))}
        for name in ("revision", "down_revision")
    )
    assert len(made) > 100
    assert made - built_on == {ready_made.revision_of(TABLES.read_text(encoding="utf-8"))}


@pytest.mark.long
def test_it_is_what_the_migrations_of_the_installed_orchestrator_leave() -> None:
    command = [sys.executable, "-m", "flows.orchestrator_database"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert _statements(found.stdout) == _statements(TABLES.read_text(encoding="utf-8"))


def _statements(text: str) -> list[list[str]]:
    """Each statement as its parts, in an order of their own: migrations copy constraints in no fixed one."""
    return sorted(
        sorted(re.split(r", (?=CONSTRAINT )", line.removesuffix(";").removesuffix(" )"))) for line in text.splitlines()
    )


@pytest.mark.parametrize("case", ["new home", "a server", "another database", "one is there", "an older orchestrator"])
def test_it_is_put_where_the_orchestrator_would_make_one_and_nowhere_else(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "prefect.db"
    url = f"sqlite+aiosqlite:///{place if case != 'another database' else tmp_path / 'other.db'}"
    server = "http://127.0.0.1:4200/api" if case == "a server" else None
    if case == "one is there":
        place.write_bytes(b"")
    if case == "an older orchestrator":
        text = TABLES.read_text(encoding="utf-8").replace(ready_made.revision_of(TABLES.read_text()), "0123456789ab")
        monkeypatch.setattr(ready_made, "_TABLES", tmp_path.parent / f"{tmp_path.name}.sql")
        ready_made._TABLES.write_text(text, encoding="utf-8")
    with temporary_settings(
        {PREFECT_HOME: tmp_path, PREFECT_API_URL: server, PREFECT_API_DATABASE_CONNECTION_URL: url}
    ):
        ready_made.make_ready()
    assert sorted(path.name for path in tmp_path.iterdir()) == (
        ["prefect.db"] if case in ("new home", "one is there") else []
    )
    if case == "new home":
        assert ready_made.tables_of(place) == TABLES.read_text(encoding="utf-8")
        with closing(sqlite3.connect(place)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    elif case == "one is there":
        assert place.read_bytes() == b""
