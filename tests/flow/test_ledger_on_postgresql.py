"""A release whose ledger is on a PostgreSQL server, through the command; and the move there from SQLite."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from office import Office

SECRET = "canary-" + "s3cret"


def files_with(needle: str, *folders: Path) -> list[str]:
    """Files below these folders that hold a text."""
    paths = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [str(path) for path in paths if needle.encode() in path.read_bytes()]


def test_a_release_with_its_ledger_on_a_server(office: Office, postgres_server: Any, postgres_database: str) -> None:
    office.release["ledger"] = {"url": postgres_server.url(postgres_database)}
    office.open()
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert (
        answer.json["state"] == "published"
        and not (office.folder / "store" / "restricted" / ".trasgo").joinpath("ledger.db").exists()
    )
    spent = answer.json["spent"]["total"]
    again = office.run("--json")
    assert again.json["already_published"] is True and again.json["spent"]["total"] == spent == office.spent()
    assert office.trasgo("verify", str(office.public)).exit_code == 0
    checked = office.trasgo("ledger", "check", str(office.config), "--json").json
    assert checked["ok"] is True and checked["moved_to"] is None
    with postgres_server.connect(postgres_database) as connection:
        assert connection.execute("SELECT count(*) FROM leases").fetchone() == (0,)


def test_the_same_key_gives_the_same_release_on_both_databases(
    office: Office, postgres_server: Any, postgres_database: str
) -> None:
    """A version begun on SQLite, moved after its draws were charged, ends on the server without a second charge."""
    import tasks.publish

    office.open()

    def crash(*arguments: object, **names: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks.publish, "publish_package", crash)
        assert office.run("--quiet").exit_code in {1, 11}
    spent, url = office.spent(), postgres_server.url(postgres_database)
    before = office.trasgo("ledger", "check", str(office.config), "--json").json

    dry = office.trasgo("ledger", "migrate", str(office.config), "--to", url, "--dry-run")
    assert dry.exit_code == 0 and "Dry run: nothing was changed" in dry.out, dry.text
    for head in before["heads"]:
        assert head["hash"] in dry.out
    assert f"account people: spent epsilon {spent}" in dry.out and "entries" in dry.out

    moved = office.trasgo("ledger", "migrate", str(office.config), "--to", url)
    assert moved.exit_code == 0 and f'ledger: {{url: "{url}"}}' in moved.out, moved.text
    assert "Moved before" in office.trasgo("ledger", "migrate", str(office.config), "--to", url).out
    document = office.trasgo("ledger", "migrate", str(office.config), "--to", url, "--json").json
    assert document["moved_before"] is True and document["counts"] == document["present"]

    for command in (("run",), ("resume",), ("run", "--json")):
        refused = office.trasgo(command[0], str(office.config), *command[1:])
        assert refused.exit_code == 10 and "ledger_moved" in refused.text and url in refused.text, refused.text
    opened = office.trasgo("ledger", "open", str(office.config), "--epsilon", "1", "--population", "x")
    assert opened.exit_code == 10 and "ledger_moved" in opened.text
    old = office.trasgo("ledger", "check", str(office.config), "--json").json
    assert "moved to" in office.trasgo("ledger", "check", str(office.config)).out

    office.release["ledger"] = {"url": url}
    office.write()
    new = office.trasgo("ledger", "check", str(office.config), "--json").json
    assert (old["moved_to"], new["moved_to"]) == (url, None)
    assert before["heads"] == old["heads"] == new["heads"] and old["ok"] and new["ok"]
    answer = office.trasgo("resume", str(office.config), "--quiet")
    assert answer.exit_code == 0, answer.text
    assert office.spent() == spent


def test_a_password_is_in_no_file_no_log_and_no_answer(
    office: Office, postgres_server: Any, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = f"runner_{os.getpid()}"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD '{SECRET}' IN ROLE with_password")
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    url = postgres_server.url(postgres_database, role)
    try:
        office.release["ledger"] = {"url": url, "password_env": "OFFICE_LEDGER"}
        office.write()
        assert office.trasgo("key", "init").exit_code == 0
        unset = office.trasgo("ledger", "check", str(office.config))
        assert unset.exit_code == 2 and "a variable that is not set" in unset.text
        monkeypatch.setenv("OFFICE_LEDGER", "wrong-" + SECRET)
        wrong = office.trasgo("ledger", "check", str(office.config))
        assert wrong.exit_code == 10 and "a wrong password" in wrong.text
        monkeypatch.setenv("OFFICE_LEDGER", SECRET)
        office.open()
        answer = office.run()
        assert answer.exit_code == 0, answer.text
        assert SECRET not in unset.text + wrong.text + answer.text
        assert files_with(SECRET, office.folder, Path(os.environ["PREFECT_HOME"])) == []

        office.release["ledger"] = {"url": url.replace(f"{role}@", f"{role}:{SECRET}@")}
        office.write()
        for command in ("plan", "run"):
            refused = office.trasgo(command, str(office.config))
            assert refused.exit_code == 2 and "a URL with a password in it" in refused.text
            assert SECRET not in refused.text
    finally:
        postgres_server.execute(f"DROP OWNED BY {role}", f"REASSIGN OWNED BY {role} TO postgres", database="postgres")
        postgres_server.drop(postgres_database)
        postgres_server.execute(f"DROP ROLE {role}")


def test_a_secret_block_gives_the_password(
    office: Office, postgres_server: Any, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.blocks.system import Secret

    role = f"blocked_{os.getpid()}"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD '{SECRET}' IN ROLE with_password")
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    try:
        office.release["ledger"] = {
            "url": postgres_server.url(postgres_database, role),
            "password_block": "trasgo-ledger",
        }
        office.write()
        assert office.trasgo("key", "init").exit_code == 0
        absent = office.trasgo("ledger", "check", str(office.config))
        assert absent.exit_code == 2 and "none that can be read" in absent.text
        Secret(value=SECRET).save("trasgo-ledger", overwrite=True)
        office.open()
        assert office.trasgo("ledger", "check", str(office.config)).exit_code == 0
    finally:
        postgres_server.drop(postgres_database)
        postgres_server.execute(f"DROP ROLE {role}")


def test_an_unreachable_server_stops_a_run_before_anything_is_read(office: Office) -> None:
    office.release["ledger"] = {"url": "postgresql+psycopg://ana@127.0.0.1:1/ledger"}
    office.write()
    assert office.trasgo("key", "init").exit_code == 0
    answer = office.run("--json")
    assert answer.exit_code == 10 and answer.json["faults"][0]["reason"] == "database_unreachable"
    assert not office.public.exists()
