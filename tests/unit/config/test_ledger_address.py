"""What a ledger URL names, and that none with a password is taken or shown."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from trasgo_lib.config import PostgresDatabase, SqliteFile, ledger_address
from trasgo_lib.errors import ConfigError, Reason


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://ana:canary@db/ledger", Reason.BAD_PARAMETER),
        ("postgresql+psycopg://ana:canary@db/ledger", Reason.BAD_PARAMETER),
        ("postgresql://ana:@db/ledger", Reason.BAD_PARAMETER),
        ("postgresql://db/ledger?user=ana&password=canary", Reason.BAD_PARAMETER),
        ("postgresql://db/ledger?sslpassword=canary", Reason.BAD_PARAMETER),
        ("host=db dbname=ledger password=canary", Reason.BAD_PARAMETER),
        ("postgresql+psycopg2://ana:canary@db/ledger", Reason.UNKNOWN_NAME),
        ("mysql://ana:canary@db/ledger", Reason.UNKNOWN_NAME),
        ("postgresql://db/ledger?options=-cfsync%3Dcanary", Reason.UNKNOWN_NAME),
        ("postgresql://db/ledger?host=a&host=canary", Reason.UNKNOWN_NAME),
        ("postgresql://db/ledger?host=canary", Reason.UNKNOWN_NAME),
        ("postgresql://db/ledger?canary", Reason.BAD_SHAPE),
        ("postgresql://db:canary/ledger", Reason.BAD_SHAPE),
        ("postgresql://db", Reason.BAD_SHAPE),
        ("postgresql://db/canary/ledger", Reason.BAD_SHAPE),
        ("postgresql://db/ledger#canary", Reason.BAD_SHAPE),
        ("sqlite://", Reason.BAD_SHAPE),
        ("sqlite:///", Reason.BAD_SHAPE),
        ("sqlite:///:memory:", Reason.BAD_SHAPE),
        ("sqlite:///canary.db?mode=ro", Reason.BAD_SHAPE),
        ("sqlite://canary/x.db", Reason.BAD_SHAPE),
        ("://canary", Reason.BAD_SHAPE),
    ],
)
def test_what_is_refused_is_not_shown(url: str, reason: Reason) -> None:
    with pytest.raises(ConfigError) as caught:
        ledger_address(url)
    assert (caught.value.reason, caught.value.exit_code) == (reason, 2)
    assert "canary" not in "".join(traceback.format_exception(caught.value)) + str(caught.value.__context__)


def test_a_password_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"change it.*PGPASSWORD, PGPASSFILE, or `password_env"):
        ledger_address("postgresql+psycopg://ana:x@db/ledger")


def test_urls_and_paths_name_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ledger_address("sqlite:///a/b.db") == SqliteFile(tmp_path / "a" / "b.db")
    assert ledger_address("sqlite:///a/b.db", tmp_path / "c") == SqliteFile(tmp_path / "c" / "a" / "b.db")
    assert ledger_address(f"sqlite:///{tmp_path}/b.db") == SqliteFile(tmp_path / "b.db")
    assert ledger_address("b.db") == ledger_address(Path("b.db")) == SqliteFile(tmp_path / "b.db")
    assert ledger_address(SqliteFile(tmp_path / "b.db").url) == SqliteFile(tmp_path / "b.db")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("postgresql://db/ledger", PostgresDatabase("db", None, None, "ledger")),
        ("postgresql+psycopg://ana@db:5433/ledger", PostgresDatabase("db", 5433, "ana", "ledger")),
        ("postgresql:///ledger", PostgresDatabase(None, None, None, "ledger")),
        ("postgresql://a%40b@[::1]/x%20y", PostgresDatabase("::1", None, "a@b", "x y")),
        (
            "postgresql:///ledger?host=%2Frun%2Fpostgresql&sslmode=verify-full",
            PostgresDatabase(None, None, None, "ledger", (("host", "/run/postgresql"), ("sslmode", "verify-full"))),
        ),
    ],
)
def test_urls_name_a_database_on_a_server(url: str, address: PostgresDatabase) -> None:
    assert ledger_address(url) == address
    assert ledger_address(address.url) == address
    assert address.shown == address.database
