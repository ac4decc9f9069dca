"""PostgreSQL: what it refuses whoever writes, which rights a run needs, and what is said when it fails."""

from __future__ import annotations

import logging
import os
import re
import socket
import subprocess
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from trasgo_lib.budget import Cost
from trasgo_lib.errors import BudgetError, ConfigError, Reason, StoreError
from trasgo_lib.records import PublicationTerms, Records, guards, ledger, migrate, package_digest
from trasgo_lib.records.database import Database
from trasgo_lib.records.tables import METADATA

RUNBOOK = Path(__file__).resolve().parents[3] / "deployments" / "README.md"
SECRET = "canary-" + "s3cret"
_ENTRY = (
    "INSERT INTO entries (account, seq, kind, epsilon, delta, geo, prev, hash, document) "
    "SELECT name, seq + 1, 'charge', {}, {}, {}, head, 'x', '{{}}' FROM accounts"
)


@pytest.fixture
def offices(postgres_offices: Any) -> Any:
    """Offices on the server only: this module is about PostgreSQL."""
    return postgres_offices


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + str(error.__context__)


# --- guards -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET document = document",
        "UPDATE entries SET epsilon = 0",
        "DELETE FROM entries",
        "TRUNCATE entries",
        "TRUNCATE accounts CASCADE",
        "TRUNCATE events",
        "TRUNCATE versions CASCADE",
        "INSERT INTO entries SELECT * FROM entries ON CONFLICT (account, seq) DO UPDATE SET epsilon = 0",
        "INSERT INTO entries SELECT * FROM entries ON CONFLICT DO NOTHING",
        "UPDATE events SET state = 'published'",
        "DELETE FROM events WHERE seq = 2",
        "DELETE FROM accounts",
        "DELETE FROM versions",
        "UPDATE accounts SET spent_epsilon = 0",
        "UPDATE accounts SET cap_epsilon = cap_epsilon + 1",
        "UPDATE accounts SET cap_rho = cap_rho + 1",
        "UPDATE accounts SET partitions = '[]'",
        "UPDATE accounts SET composition = 'zcdp, delta 0.1'",
        "UPDATE accounts SET seq = seq + 1",
        "UPDATE accounts SET seq = seq + 1, head = 'x', spent_epsilon = 0",
        r"UPDATE accounts SET wrapped_digest_key = '\x00'",
        r"UPDATE versions SET wrapped_root = '\x00'",
        "UPDATE versions SET seq = seq - 1",
        "INSERT INTO accounts SELECT 'b', population, unit, max_rows, composition, cap_epsilon, cap_delta, cap_geo, "
        "wrapped_digest_key, seq, head, 0, 0, 0, cap_rho, 0, partitions FROM accounts",
        "INSERT INTO accounts SELECT 'b', population, unit, max_rows, composition, cap_epsilon, cap_delta, cap_geo, "
        "wrapped_digest_key, 0, repeat('0', 64), 1, 0, 0, cap_rho, 0, partitions FROM accounts",
        "INSERT INTO versions SELECT dataset, '2', account, commitment, wrapped_root, 0, repeat('0', 64) FROM versions",
        _ENTRY.format(-1, 0, 0),
        _ENTRY.format(0, 0, "0, 1").replace("geo,", "geo, rho,"),
        _ENTRY.format(1_000_001, 0, 0),
        _ENTRY.format(0, 10**12 + 1, 0),
        _ENTRY.format(0, 0, 5_000_001),
        _ENTRY.format(2**63 - 1, 0, 0),
        _ENTRY.format(1, 0, 0).replace("seq + 1", "seq + 2"),
        _ENTRY.format(1, 0, 0).replace(", head,", ", 'y',"),
    ],
    ids=str,
)
def test_history_cannot_be_rewritten_even_by_the_owner(office: Any, statement: str) -> None:
    office.charge("0.25")
    before = office.everything()
    with pytest.raises(psycopg.IntegrityError):
        office.tamper(statement, guarded=True)
    assert office.everything() == before
    assert office.records.check_chain().ok


def test_the_last_unit_below_the_cap_is_accepted(office: Any) -> None:
    """The control: the same statement within the cap goes through, and the total moves with it."""
    office.tamper(_ENTRY.format(1_000_000, 10**12, 5_000_000), guarded=True)
    assert office.records.account("cps").spent == office.terms.cap


def test_the_check_on_the_account_holds_without_the_triggers(office: Any) -> None:
    statements = ("SET session_replication_role = replica", "UPDATE accounts SET spent_epsilon = cap_epsilon + 1")
    with pytest.raises(psycopg.errors.CheckViolation):
        office.tamper(*statements, guarded=True)


def test_a_library_that_forgot_to_check_the_cap_is_stopped(office: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_check_cap", lambda holder, charged: None)
    office.charge("0.75")
    with pytest.raises(StoreError, match="23000") as caught:
        office.charge("0.5", attempt=2)
    assert caught.value.reason is Reason.CHAIN_BROKEN
    assert office.records.check_chain().ok


def test_a_temporary_table_does_not_take_the_place_of_ours(office: Any) -> None:
    """Else whoever may make one could lead the guards to an account without a cap."""
    statement = _ENTRY.format(1_000_001, 0, 0).replace("FROM accounts", "FROM public.accounts")
    fake = (
        "CREATE TEMPORARY TABLE accounts AS SELECT name, seq, head, 2^62::bigint AS cap_epsilon, 0 AS spent_epsilon, "
    )
    fake += "0 AS cap_delta, 0 AS spent_delta, 0 AS cap_geo, 0 AS spent_geo FROM accounts"
    with pytest.raises(psycopg.IntegrityError, match="over the cap"):
        office.tamper(fake, statement.replace("INTO entries", "INTO public.entries"), guarded=True)


@pytest.mark.parametrize("offices", ["sqlite_offices", "postgres_offices"])
def test_the_list_of_guards_is_that_of_a_fresh_database(
    offices: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    office = request.getfixturevalue(offices).new(tmp_path / "ledger.db")
    kind = "sqlite" if office.server is None else "postgresql"
    query = {"sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'"}.get(
        kind, "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    )
    assert {name for (name,) in office.rows(query)} == guards.GUARDS[kind]


def test_migrations_make_the_tables_that_queries_see(postgres_server: Any, postgres_database: str) -> None:
    Records.open(postgres_server.url(postgres_database))
    engine = sa.create_engine(postgres_server.url(postgres_database))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


# --- roles, as the runbook makes them -----------------------------------------------------------------------


def grants() -> list[str]:
    """The statements of the runbook by which the application's role gets its rights."""
    block = re.search(r"```sql\n-- as trasgo_owner.*?\n(.*?)```", RUNBOOK.read_text(encoding="utf-8"), re.S)
    assert block is not None, "the runbook has no grants"
    return [line for line in block.group(1).splitlines() if line.strip()]


@pytest.fixture
def worker(office: Any) -> Iterator[Records]:
    """The same records, opened by the application's role."""
    server = office.server
    server.execute("DROP ROLE IF EXISTS trasgo_app", "CREATE ROLE trasgo_app LOGIN")
    office.tamper(*grants(), guarded=True)
    yield Records.open(server.url(office.database, "trasgo_app"))
    server.execute("DROP OWNED BY trasgo_app", database=office.database)
    server.execute("DROP ROLE trasgo_app")


def test_the_applications_role_can_do_all_that_a_run_does(office: Any, worker: Records) -> None:
    with worker.lease("cps1988", "1", "a") as held:
        held.renew()
        entry = worker.reserve(office.ask("0.25"), office.at)
        worker.create_version("cps1988", "2", "cps", b"wrapped", "e" * 64, "ana", office.at)
        worker.freeze("cps1988", "2", "2" * 64, "1" * 64, "ana", office.at)
        worker.transition("cps1988", "1", "validated", "ana", "", {}, office.at)
    assert worker.check_chain().ok
    assert office.records.account("cps").spent == Cost.of("0.25") == entry.spent


def test_the_applications_role_packages_approves_and_publishes_but_changes_no_key(office: Any, worker: Records) -> None:
    terms = PublicationTerms(1, public="/srv/public")
    worker.freeze("cps1988", "1", "2" * 64, "1" * 64, "ana", office.at, terms)
    for state in ("validated", "drawn", "checked"):
        worker.transition("cps1988", "1", state, "ana", "", {}, office.at)
    salt, manifest = "a" * 64, "3" * 64
    package = package_digest(salt, manifest)
    worker.record_package("cps1988", "1", package, "ana", office.at)
    worker.approve("cps1988", "1", package, "eva", "looked", {}, office.at)
    proof = {"manifest_digest": manifest, "package": package, "package_salt": salt}
    worker.publish("cps1988", "1", proof, None, "ana", office.at)
    assert worker.check_chain().ok
    for change in (
        lambda: worker.rewrap(lambda record: b"WRAPPED", lambda account: b"WRAPPED DIGEST KEY", "ana", "x", office.at),
        lambda: worker.destroy_root("cps1988", "1", "ana", "x", office.at),
    ):
        with pytest.raises(StoreError, match="owner's role"):
            change()
    assert worker.version("cps1988", "1").wrapped_root == b"wrapped"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE versions SET wrapped_root = ''",
        "UPDATE accounts SET wrapped_digest_key = ''",
        "UPDATE accounts SET name = name",
        "UPDATE entries SET kind = kind",
        "DELETE FROM entries",
        "TRUNCATE entries",
        "UPDATE versions SET seq = seq",
        "DELETE FROM events",
        "INSERT INTO accounts SELECT * FROM accounts",
        "INSERT INTO relocation VALUES (1, 'moved', 'x', 'y', 'z')",
        "DROP TRIGGER entries_no_update ON entries",
        "ALTER TABLE entries DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "UPDATE alembic_version SET version_num = '0001'",
        "CREATE TABLE public.more (a int)",
        "CREATE OR REPLACE FUNCTION public.trasgo_refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
    ],
)
def test_the_applications_role_can_do_no_more(office: Any, worker: Records, statement: str) -> None:
    with (
        closing(office.server.connect(office.database, "trasgo_app")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)


def test_a_role_without_the_right_is_told_so(office: Any, worker: Records) -> None:
    with pytest.raises(StoreError, match=r"accounts opened .* by the owner's role") as caught:
        worker.open_account(replace(office.terms, name="b"), b"k", "ana", office.at)
    assert caught.value.exit_code == 10
    assert "INSERT" not in str(caught.value)


# --- passwords ----------------------------------------------------------------------------------------------


@pytest.fixture
def guarded_url(office: Any) -> Iterator[str]:
    """The address of an office for a role that has to give a password."""
    role = f"locked_{os.getpid()}"
    office.server.execute(f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD '{SECRET}' IN ROLE with_password")
    yield office.server.url(office.database, role)
    office.server.execute(f"DROP ROLE {role}")


def test_the_password_comes_from_above_or_from_the_environment(
    guarded_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert Records.open(guarded_url, password=lambda: SECRET).account("cps")
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert Records.open(guarded_url).account("cps")
    monkeypatch.delenv("PGPASSWORD")
    passfile = tmp_path / "pgpass"
    passfile.write_text(f"*:*:*:*:{SECRET}\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    assert Records.open(guarded_url).account("cps")


@pytest.mark.parametrize(("given", "said"), [("wrong-" + SECRET, "a wrong password"), (None, "no password, and")])
def test_a_wrong_password_is_named_and_not_shown(
    guarded_url: str, given: str | None, said: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    with pytest.raises(StoreError, match=said) as caught:
        Records.open(guarded_url, password=lambda: given)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.DATABASE_UNREACHABLE, 10)
    assert SECRET not in shown(caught.value) + caplog.text


def test_nothing_that_can_be_printed_holds_the_password(guarded_url: str) -> None:
    database = Database.open(guarded_url, password=lambda: SECRET)
    parts = (
        database,
        database._backend,
        database._reader,
        database._reader.url,
        database.address,
        database.address.url,
    )
    assert SECRET not in "".join(map(repr, parts))


# --- failures -----------------------------------------------------------------------------------------------


def failing(place: str) -> StoreError:
    with pytest.raises(StoreError) as caught:
        Records.open(place)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.DATABASE_UNREACHABLE, 10)
    assert "FATAL" not in shown(caught.value) and "127.0.0.1" not in str(caught.value)
    return caught.value


def test_servers_and_databases_that_are_not_there(postgres_server: Any) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        assert "nobody who listens there" in str(failing(postgres_server.url("ledger", port=port)))
    assert "no such database or role" in str(failing(postgres_server.url("absent")))
    assert "no such database or role" in str(failing(postgres_server.url("postgres", user="nobody_here")))


def test_a_server_that_never_answers(postgres_server: Any) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = postgres_server.url("ledger", port=silent.getsockname()[1])
        assert "no answer in time" in str(failing(f"{url}?connect_timeout=2&sslmode=disable"))


def test_a_database_in_another_encoding_is_refused(postgres_server: Any) -> None:
    postgres_server.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    try:
        assert "the encoding LATIN1" in str(failing(postgres_server.url("latin")))
    finally:
        postgres_server.drop("latin")


def test_a_schema_of_a_newer_version_is_left_alone(office: Any) -> None:
    office.tamper("UPDATE alembic_version SET version_num = '9999'", guarded=True)
    assert "newer version of trasgo" in str(failing(office.server.url(office.database)))


def test_a_schema_of_an_older_version_is_upgraded_by_its_owner_and_named_to_others(
    postgres_server: Any, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.url(postgres_database)
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "HEAD_REVISION", "0001")
        Database.open(url)
    postgres_server.execute("CREATE ROLE reader LOGIN")
    statements = ("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",)
    postgres_server.execute(*statements, database=postgres_database)
    try:
        assert "a role with the right to do this" in str(failing(postgres_server.url(postgres_database, "reader")))
        assert Database.unprepared(url).revision() == "0001"
        assert Records.open(url).check_chain().ok
        assert Database.unprepared(url).revision() == migrate.HEAD_REVISION
    finally:
        postgres_server.execute("DROP OWNED BY reader", database=postgres_database)
        postgres_server.execute("DROP ROLE reader")


def test_a_failed_migration_leaves_nothing(
    postgres_server: Any, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "HEAD_REVISION", "0000")
    with pytest.raises(Exception, match="0000"):
        Records.open(postgres_server.url(postgres_database))
    assert Database.unprepared(postgres_server.url(postgres_database)).revision() is None


def test_openers_at_once_make_one_schema(postgres_server: Any, postgres_database: str) -> None:
    url, errors = postgres_server.url(postgres_database), []

    def work() -> None:
        try:
            Records.open(url)
        except Exception as error:  # noqa: BLE001 - shown below
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert Records.open(url).check_chain().ok


def test_a_record_that_another_holds_is_waited_for_and_then_named(office: Any) -> None:
    with closing(office.server.connect(office.database)) as other, other.transaction():
        other.execute("SELECT * FROM accounts FOR UPDATE")
        with pytest.raises(StoreError, match="another writer that holds the record") as caught:
            office.charge()
        assert office.records.account("cps").spent.is_zero  # readers are not kept waiting
    assert caught.value.exit_code == 10
    office.charge()


def test_two_accounts_do_not_wait_for_each_other(office: Any) -> None:
    office.records.open_account(replace(office.terms, name="other"), b"k", "ana", office.at)
    office.new_version("o", "e" * 64, account="other")
    with closing(office.server.connect(office.database)) as other, other.transaction():
        other.execute("SELECT * FROM accounts WHERE name = 'cps' FOR UPDATE")
        office.charge("0.5", account="other", version="o", commitment="e" * 64)
    assert office.records.account("other").spent == Cost.of("0.5")


def test_a_standby_or_read_only_server_is_named(office: Any) -> None:
    office.tamper(f"ALTER DATABASE {office.database} SET default_transaction_read_only = on", guarded=True)
    with pytest.raises(StoreError, match="takes no writes"):
        office.charge()


def test_no_parameter_of_a_statement_reaches_an_error_or_a_log(office: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    canary = "canary-" + "4711"
    office.tamper("DROP TABLE entries CASCADE")
    with pytest.raises(StoreError, match="42P01") as caught:
        office.charge(unit=canary)
    assert canary not in shown(caught.value) + caplog.text
    assert "SELECT" not in str(caught.value)


# --- a connection that is lost on the way -------------------------------------------------------------------


@contextmanager
def cutting_proxy(port: int, cut: Callable[[bytes], str | None]) -> Iterator[int]:
    """A way to the server that is cut at a message: ``before`` the server hears it, or ``after``, its answer lost."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_relay, args=(client, port, cut), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


def _relay(client: socket.socket, port: int, cut: Callable[[bytes], str | None]) -> None:
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        answers = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
        answers.start()
        while data := client.recv(65536):
            when = cut(data)
            if when == "after":
                client.shutdown(socket.SHUT_WR)  # the answer is lost
            if when != "before":
                server.sendall(data)
            if when is not None:
                server.shutdown(socket.SHUT_WR)
                break
        answers.join(5)


def _pass_on(server: socket.socket, client: socket.socket) -> None:
    try:
        while data := server.recv(65536):
            client.sendall(data)
    except OSError:
        while server.recv(65536):
            continue


@pytest.mark.parametrize(
    ("word", "when", "recorded"),
    [
        (b"trasgo_lock_account", "before", False),
        (b"INSERT INTO entries", "before", False),
        (b"INSERT INTO entries", "after", False),
        (b"COMMIT", "before", False),
        (b"COMMIT", "after", True),
    ],
)
def test_a_charge_whose_outcome_is_unknown_is_asked_for_again_and_charged_once(
    office: Any, word: bytes, when: str, recorded: bool
) -> None:
    armed = threading.Event()

    def cut(data: bytes) -> str | None:
        if armed.is_set() and word in data:
            armed.clear()
            return when
        return None

    with cutting_proxy(office.server.port, cut) as port:
        records = Records.open(office.server.url(office.database, port=port) + "?sslmode=disable&gssencmode=disable")
        armed.set()
        with pytest.raises(StoreError, match=r"lost on the way.*not charged twice") as caught:
            records.reserve(office.ask("0.25"), office.at)
        assert not armed.is_set(), "the connection was never cut"
        assert (caught.value.reason, caught.value.exit_code) == (Reason.DATABASE_UNREACHABLE, 10)
        entry = records.reserve(office.ask("0.25"), office.at)
        if recorded:
            assert office.records.entries("cps")[1:] == (entry,)
    assert office.records.account("cps").spent == Cost.of("0.25")
    assert office.count("entries") == 2
    assert office.records.check_chain().ok


def test_a_server_that_stops_a_session_leaves_nothing_half_written(office: Any) -> None:
    database = Database.open(office.server.url(office.database))
    with pytest.raises(StoreError, match="lost on the way"), database.write() as connection:
        ledger.reserve(connection, (office.ask("0.25"),), office.at)
        number = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        office.server.execute(f"SELECT pg_terminate_backend({number}, 5000)")
        ledger.reserve(connection, (office.ask("0.25", attempt=2),), office.at)
    assert office.count("entries") == 1
    office.charge("1")
    with pytest.raises(BudgetError):
        office.charge("0.25", attempt=2)


def test_an_error_of_the_caller_rolls_back(office: Any) -> None:
    database = Database.open(office.server.url(office.database))
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        connection.exec_driver_sql("INSERT INTO leases VALUES ('a', 'b', 'c', 'd', 'e')")
        raise ZeroDivisionError
    assert office.count("leases") == 0


def test_a_read_is_one_snapshot_and_writes_nothing(office: Any) -> None:
    database = Database.open(office.server.url(office.database))
    with database.read() as connection:
        before = ledger.account(connection, "cps")
        office.charge("0.5")
        assert ledger.account(connection, "cps") == before
    with pytest.raises(StoreError, match="takes no writes"), database.read() as connection:
        connection.exec_driver_sql("INSERT INTO leases VALUES ('a', 'b', 'c', 'd', 'e')")


def test_a_url_that_is_no_address_is_refused(office: Any) -> None:
    with pytest.raises(ConfigError):
        Records.open("postgresql://ana:canary@db/ledger")


def test_a_dump_restored_elsewhere_is_whole_and_goes_on(
    office: Any, postgres_server: Any, postgres_database: str
) -> None:
    """The backup of the runbook: documents, totals and guards come back, and the next charge extends the chain."""
    office.charge("0.25")
    office.tamper("DROP SCHEMA kept CASCADE", guarded=True)  # the tests' own
    where = ("-h", "127.0.0.1", "-p", str(postgres_server.port), "-U", "postgres")
    binaries = postgres_server.binaries
    dump = subprocess.run(
        [binaries / "pg_dump", *where, "-Fc", "-d", office.database], check=True, capture_output=True
    ).stdout
    subprocess.run(
        [binaries / "pg_restore", *where, "--exit-on-error", "-d", postgres_database],
        check=True, capture_output=True, input=dump,
    )  # fmt: skip
    restored = Records.open(postgres_server.url(postgres_database))
    assert restored.check_chain() == office.records.check_chain()
    assert restored.check_chain().ok
    entry = restored.reserve(office.ask("0.25", attempt=2), office.at)
    assert entry.prev == office.records.account("cps").head
    with pytest.raises(psycopg.IntegrityError), postgres_server.connect(postgres_database) as connection:
        connection.execute("DELETE FROM entries")
