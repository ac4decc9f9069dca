"""Opening, migrating and losing the database."""

from __future__ import annotations

import importlib
import logging
import os
import pkgutil
import sqlite3
import stat
import subprocess
import sys
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.records import Records, migrate
from trasgo_lib.records.database import Database
from trasgo_lib.records.migrations import versions
from trasgo_lib.records.tables import METADATA


@pytest.fixture
def offices(sqlite_offices: Any) -> Any:
    """Offices in files only: this module is about SQLite."""
    return sqlite_offices


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "restricted" / ".trasgo" / "ledger.db"
    before = os.umask(umask)
    try:
        database = Database.open(f"sqlite:///{path}")
        with database.write() as connection:
            connection.exec_driver_sql("INSERT INTO leases VALUES ('a', 'b', 'c', 'd', 'e')")
            made = {file.name: mode(file) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert made == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
    assert (mode(path.parent), mode(path.parent.parent)) == (0o700, 0o700)


def test_a_database_open_to_others_is_closed_to_them(office: Any) -> None:
    office.path.chmod(0o644)
    Records.open(office.path)
    assert mode(office.path) == 0o600


def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Records.open(tmp_path / "ledger.db")
    assert mode(tmp_path) == 0o755


def test_charges_survive_a_power_loss_as_far_as_sqlite_can_promise(office: Any) -> None:
    database = Database.open(office.path)
    with database.read() as connection:
        asked = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
        }
    assert asked == {"journal_mode": "wal", "synchronous": 2}


def test_opening_again_changes_nothing(office: Any) -> None:
    before = office.path.read_bytes()
    again = Records.open(office.path)
    assert again.account("cps") == office.records.account("cps")
    assert again.path == office.path
    assert office.path.read_bytes() == before


def test_the_library_works_with_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", "trasgo_lib.records:migrations")
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [migrate.HEAD_REVISION]


def test_migrations_make_the_tables_that_queries_see(office: Any) -> None:
    engine = sa.create_engine(f"sqlite:///{office.path}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


def test_whoever_waited_for_another_opener_finds_nothing_to_do(office: Any) -> None:
    before = office.path.read_bytes()
    with Database.open(office.path).write() as connection:
        migrate.upgrade(connection)
    assert office.path.read_bytes() == before


def test_a_revision_has_no_way_back() -> None:
    names = [module.name for module in pkgutil.iter_modules(versions.__path__)]
    assert len(names) >= 4
    for name in names:
        revision = importlib.import_module(f"{versions.__name__}.{name}")
        with pytest.raises(NotImplementedError):  # alembic asks for the function; records only go forward
            revision.downgrade()


def test_a_failed_migration_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trasgo_lib.records.migrations.versions import revision_0001

    monkeypatch.setattr(migrate, "HEAD_REVISION", "0000")
    with pytest.raises(Exception, match="0000"):
        Records.open(tmp_path / "ledger.db")
    assert revision_0001.down_revision is None
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_a_database_of_a_newer_version_is_left_alone(office: Any) -> None:
    office.tamper("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="newer version") as caught:
        Records.open(office.path)
    assert caught.value.reason is Reason.DATABASE_UNREACHABLE


def test_a_path_with_marks_that_mean_something_in_urls(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=ro#c%20" / "ledger.db"
    Records.open(path)
    assert Records.open(path, create=False).accounts() == ()
    assert path.is_file()


def test_a_reader_makes_no_database(tmp_path: Path) -> None:
    for path in (tmp_path / "ledger.db", tmp_path / "absent" / "ledger.db"):
        with pytest.raises(StoreError) as caught:
            Records.open(path, create=False)
        assert (caught.value.reason, caught.value.exit_code) == (Reason.DATABASE_UNREACHABLE, 10)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_place_of_the_file_or_the_reverse(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "folder", tmp_path / "file" / "ledger.db"):
        with pytest.raises(StoreError) as caught:
            Records.open(path)
        assert caught.value.reason is Reason.DATABASE_UNREACHABLE


def test_a_database_that_vanished_is_not_made_anew(office: Any) -> None:
    office.path.unlink()
    with pytest.raises(StoreError, match="SQLITE_CANTOPEN") as caught:
        office.charge()
    assert caught.value.reason is Reason.DATABASE_UNREACHABLE
    assert not office.path.exists()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"canary " * 1000)
    with pytest.raises(StoreError, match="SQLITE_NOTADB"):
        Records.open(path)
    assert path.read_bytes() == b"canary " * 1000


def test_a_damaged_database(office: Any) -> None:
    office.charge("0.25")
    body = bytearray(office.path.read_bytes())
    body[4096:] = b"\xff" * (len(body) - 4096)
    office.path.write_bytes(bytes(body))
    for operation in (lambda: office.records.account("cps"), lambda: office.charge(attempt=2)):
        with pytest.raises(StoreError) as caught:
            operation()
        assert caught.value.reason is Reason.DATABASE_UNREACHABLE


def test_a_database_another_program_holds(office: Any) -> None:
    with closing(sqlite3.connect(office.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="SQLITE_BUSY") as caught:
            office.charge()
        assert office.records.account("cps").spent.is_zero  # readers are not kept waiting
        other.rollback()
    assert caught.value.exit_code == 10
    office.charge()


def test_a_disk_without_a_write_ahead_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlite3.connect

    class Stubborn(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            return super().execute("SELECT 'delete'" if "journal_mode" in sql else sql, *args)

    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: real(*args, factory=Stubborn, **options))
    with pytest.raises(StoreError, match="write-ahead log"):
        Records.open(tmp_path / "ledger.db")


def test_no_parameter_of_a_statement_reaches_an_error_or_a_log(office: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    canary = "canary-" + "4711"  # in two pieces, since tracebacks show the lines of this test
    office.tamper("DROP TABLE entries")
    with pytest.raises(StoreError) as caught:
        office.charge(unit=canary)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert canary not in shown
    assert canary not in str(caught.value.__context__)
    assert "INSERT" not in str(caught.value) and "SELECT" not in str(caught.value)


def test_an_error_of_the_caller_rolls_back(office: Any) -> None:
    database = Database.open(office.path)
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        connection.exec_driver_sql("INSERT INTO leases VALUES ('a', 'b', 'c', 'd', 'e')")
        raise ZeroDivisionError
    assert office.count("leases") == 0


def test_using_an_existing_database_does_not_import_alembic(office: Any) -> None:
    program = (
        "import sys; from trasgo_lib.records import Records; "
        "Records.open(sys.argv[1]).check_chain(); sys.exit('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(office.path)], check=False)
    assert done.returncode == 0
