"""Moving a ledger to a server: everything arrives, and at no moment two ledgers can be charged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trasgo_lib.budget import Cost
from trasgo_lib.errors import BudgetError, ConfigError, ConflictError, Reason, StoreError, TrasgoError
from trasgo_lib.records import (
    Database,
    PublicationTerms,
    Records,
    migrate,
    moving,
    package_digest,
    plan_transfer,
    relocation,
    transfer,
)
from trasgo_lib.records.moving import contents_of

AT = "2030-02-01T12:00:00+00:00"
_NAMES = itertools.count()


@pytest.fixture
def offices(sqlite_offices: Any) -> Any:
    """Old ledgers are files."""
    return sqlite_offices


@pytest.fixture
def new_url(postgres_server: Any) -> Iterator[Callable[[], str]]:
    """Makes addresses of empty databases."""
    made: list[str] = []

    def make() -> str:
        made.append(postgres_server.new_database())
        return str(postgres_server.url(made[-1]))

    yield make
    for name in made:
        postgres_server.drop(name)


def move(office: Any, url: str) -> Any:
    return transfer(office.records, Database.unprepared(url), "ana", AT)


def refused(office: Any, url: str) -> TrasgoError:
    before = office.records.check_chain()
    for attempt in (plan_transfer, lambda old, new: transfer(old, new, "ana", AT)):
        with pytest.raises(TrasgoError) as caught:
            attempt(office.records, Database.unprepared(url))
    assert office.records.check_chain() == before
    return caught.value


def all_of(records: Records) -> list[Any]:
    """Everything a ledger says."""
    versions = records.versions()
    return [
        records.accounts(),
        [records.account(a.terms.name).wrapped_digest_key for a in records.accounts()],
        [records.entries(account.terms.name) for account in records.accounts()],
        versions,
        [records.events(one.dataset, one.version) for one in versions],
    ]


def test_everything_arrives_and_the_new_one_goes_on(busy: Any, new_url: Callable[[], str]) -> None:
    url, before = new_url(), busy.records.check_chain()
    done = move(busy, url)
    assert dict(done.contents.counts) == {"accounts": 1, "entries": 4, "versions": 1, "events": 6}
    assert (done.contents.heads, done.finished) == (before.heads, False)
    assert done.contents.spent == {"cps": Cost.of("0.75")}
    new = Records.open(url)
    assert new.check_chain() == busy.records.check_chain() == before
    assert all_of(new) == all_of(busy.records)
    assert new.relocation() is None
    new.create_version("cps1988", "2", "cps", b"w", "e" * 64, "ana", AT)
    new.freeze("cps1988", "2", "2" * 64, "1" * 64, "ana", AT)
    new.reserve(replace(busy.ask("0.25"), version="2", commitment="e" * 64), AT)
    with pytest.raises(BudgetError):
        new.reserve(replace(busy.ask("0.25", attempt=2), version="2", commitment="e" * 64), AT)


def test_the_old_one_can_be_read_and_checked_and_takes_no_record(busy: Any, new_url: Callable[[], str]) -> None:
    url = new_url()
    move(busy, url)
    old = Records.open(busy.path)
    writes: list[Callable[[], Any]] = [
        lambda: old.open_account(replace(busy.terms, name="b"), b"k", "ana", AT),
        lambda: old.create_version("cps1988", "2", "cps", b"w", "e" * 64, "ana", AT),
        lambda: old.reserve(busy.ask("0.25"), AT),
        lambda: old.transition("cps1988", "1", "superseded", "ana", "", {}, AT),
        lambda: old.lease("cps1988", "1", "a").__enter__(),
        old.require_open,
    ]
    for write in writes:
        with pytest.raises(StoreError) as caught:
            write()
        assert (caught.value.reason, caught.value.exit_code) == (Reason.LEDGER_MOVED, 10)
        assert url in caught.value.faults[0].fix
    assert old.check_chain().ok
    moved = old.relocation()
    assert moved is not None and (moved.state, moved.peer, moved.actor, moved.at) == ("moved", url, "ana", AT)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO entries (account, seq, kind, epsilon, delta, geo, prev, hash, document) "
        "SELECT name, seq + 1, 'charge', 1, 0, 0, head, 'x', '{}' FROM accounts",
        "INSERT INTO leases VALUES ('a', 'b', 'c', 'd', 'e')",
        "DELETE FROM relocation",
        "UPDATE relocation SET peer = 'x'",
        "INSERT OR REPLACE INTO relocation VALUES (1, 'arriving', 'x', 'y', 'z')",
    ],
)
def test_an_older_trasgo_cannot_write_to_it_either(busy: Any, new_url: Callable[[], str], statement: str) -> None:
    move(busy, new_url())
    before = busy.everything()
    with pytest.raises(Exception, match=r"moved|final"):
        busy.tamper(statement, guarded=True)
    assert busy.everything() == before


def test_a_dry_run_changes_nothing(busy: Any, new_url: Callable[[], str]) -> None:
    url, before = new_url(), busy.everything()
    found = plan_transfer(busy.records, Database.unprepared(url))
    assert dict(found.contents.counts) == {"accounts": 1, "entries": 4, "versions": 1, "events": 6}
    assert set(found.present.values()) == {0}
    assert busy.everything() == before
    assert Database.unprepared(url).revision() is None


def test_a_run_that_holds_a_version_is_waited_for(busy: Any, new_url: Callable[[], str]) -> None:
    url = new_url()
    with busy.records.lease("cps1988", "2", "host-a pid 7"):
        error = refused(busy, url)
    assert isinstance(error, ConflictError) and error.reason is Reason.LOCKED
    assert "host-a pid 7" in str(error)
    assert Database.unprepared(url).revision() is None
    gone = busy.records.lease("cps1988", "2", "gone")
    gone.__enter__()
    busy.tamper("UPDATE leases SET expires_at = '2001-01-01T00:00:00.000000+00:00'", guarded=True)
    assert not move(busy, url).finished


def test_again_is_nothing_also_after_the_new_one_grew(busy: Any, new_url: Callable[[], str]) -> None:
    url = new_url()
    move(busy, url)
    new = Records.open(url)
    new.create_version("cps1988", "2", "cps", b"w", "e" * 64, "ana", AT)
    assert move(busy, url).finished and plan_transfer(busy.records, Database.unprepared(url)).finished
    assert new.relocation() is None and len(new.versions()) == 2


def test_a_second_move_elsewhere_is_refused(busy: Any, new_url: Callable[[], str]) -> None:
    first, second = new_url(), new_url()
    move(busy, first)
    error = refused(busy, second)
    assert error.reason is Reason.LEDGER_MOVED and first in str(error)


def test_a_database_with_other_records_is_refused(busy: Any, office: Any, new_url: Callable[[], str]) -> None:
    url = new_url()
    other = Records.open(url)
    other.open_account(replace(busy.terms, name="b"), b"k", "ana", AT)
    before = all_of(other)
    error = refused(busy, url)
    assert isinstance(error, ConflictError) and error.reason is Reason.ALREADY_EXISTS
    assert all_of(other) == before


def test_a_broken_ledger_is_not_moved(busy: Any, new_url: Callable[[], str]) -> None:
    busy.tamper("UPDATE entries SET epsilon = 1 WHERE seq = 3")
    assert refused(busy, new_url()).reason is Reason.CHAIN_BROKEN


def test_only_from_a_file_to_a_server(busy: Any, tmp_path: Path, new_url: Callable[[], str]) -> None:
    assert isinstance(refused(busy, f"sqlite:///{tmp_path}/other.db"), ConfigError)
    on_server = Records.open(new_url())
    with pytest.raises(ConfigError):
        plan_transfer(on_server, Database.unprepared(new_url()))


def test_an_unreachable_server_leaves_the_old_one_open(busy: Any) -> None:
    url = "postgresql+psycopg://nobody@127.0.0.1:1/ledger"
    assert refused(busy, url).exit_code == 10
    assert busy.records.relocation() is None


class Killed(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("place", ["before the copy is kept", "before the old one is closed", "before the new opens"])
@pytest.mark.parametrize("charged_between", [False, True])
def test_a_crash_anywhere_leaves_at_most_one_open_and_the_same_command_goes_on(
    office: Any, new_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch, place: str, charged_between: bool
) -> None:
    office.charge("0.25")
    url = new_url()
    real_mark, real_reopen, calls = relocation.mark, relocation.reopen, itertools.count()

    def mark(connection: Any, state: str, *rest: Any) -> None:
        if place == "before the copy is kept" and state == "arriving":
            raise Killed
        if place == "before the old one is closed" and state == "moved":
            raise Killed
        real_mark(connection, state, *rest)

    def reopen(connection: Any) -> None:
        if place == "before the new opens" and next(calls) == 1:
            raise Killed
        real_reopen(connection)

    with monkeypatch.context() as patch:
        patch.setattr(moving, "mark", mark)
        patch.setattr(moving, "reopen", reopen)
        with pytest.raises(Killed):
            move(office, url)

    new_is_open = Database.unprepared(url).revision() is not None and Records.open(url).relocation() is None
    assert not new_is_open
    if charged_between and place != "before the new opens":
        office.charge("0.25", attempt=2)  # nobody noticed the crash
    elif place == "before the new opens":
        with pytest.raises(StoreError, match="moved"):
            office.charge("0.25", attempt=2)
    move(office, url)
    new = Records.open(url)
    assert all_of(new) == all_of(office.records)
    assert new.relocation() is None and office.records.relocation().state == "moved"
    assert new.check_chain().ok


def test_a_ledger_that_is_arriving_takes_no_record(
    office: Any, new_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url()
    real = relocation.mark
    with monkeypatch.context() as patch:
        patch.setattr(moving, "mark", lambda c, state, *rest: real(c, state, *rest) if state == "arriving" else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            move(office, url)
    with pytest.raises(StoreError, match="migrate again") as caught:
        Records.open(url).reserve(office.ask("0.25"), AT)
    assert caught.value.reason is Reason.LEDGER_MOVED
    office.charge("0.25")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("charge"), st.integers(0, 3), st.sampled_from(["0.05", "0.1", "0.000001"])),
        st.tuples(st.just("version"), st.integers(2, 4), st.just("")),
        st.tuples(st.just("account"), st.integers(0, 2), st.sampled_from(["ä-ö ≤", "B", "a"])),
        st.tuples(st.just("advance"), st.integers(0, 3), st.just("")),
    ),
    max_size=10,
)


@settings(derandomize=True, deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_whatever_a_ledger_holds_the_moved_one_equals_it(
    new_office: Any, new_url: Callable[[], str], steps: list[tuple[str, int, str]]
) -> None:
    office = new_office(f"move-{next(_NAMES)}.db")
    for kind, number, text in steps:
        try:
            if kind == "charge":
                office.charge(text, attempt=number)
            elif kind == "version":
                office.new_version(str(number), f"{number:064d}")
            elif kind == "account":
                office.records.open_account(replace(office.terms, name=text * (number + 1)), b"\0\xff", text, AT)
            else:
                office.advance(("validated", "drawn", "checked", "published")[number])
        except TrasgoError:
            continue
    url = new_url()
    before = all_of(office.records)
    move(office, url)
    new = Records.open(url)
    assert all_of(new) == all_of(office.records) == before
    assert new.check_chain() == office.records.check_chain()
    with new.database.read() as there, office.records.database.read() as here:
        assert contents_of(there) == contents_of(here)


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_long_ledgers_are_copied_in_parts(
    busy: Any, new_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(moving, "_AT_ONCE", at_once)
    url = new_url()
    move(busy, url)
    assert all_of(Records.open(url)) == all_of(busy.records)


def test_a_copy_that_differs_is_not_kept(
    busy: Any, new_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = moving._rows
    monkeypatch.setattr(moving, "_rows", lambda c: [*real(c), [(c.dialect.name,)]])
    url = new_url()
    with pytest.raises(StoreError, match="the old ledger is open"):
        move(busy, url)
    assert busy.records.relocation() is None
    assert Database.unprepared(url).revision() is None


def test_a_database_with_tables_of_another_version_is_refused(
    busy: Any, new_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url()
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "HEAD_REVISION", "0001")
        Database.open(url)
    assert "another version of trasgo" in str(refused(busy, url))


def test_approvals_and_changed_keys_arrive_as_they_are(office: Any, new_url: Callable[[], str]) -> None:
    """A plan that was fixed twice before its first charge, a package, approvals, another key, a destroyed root."""
    records, terms = office.records, PublicationTerms(2, service_accounts=("robot",), public="/srv/public")
    records.freeze("cps1988", "1", "5" * 64, "6" * 64, "ana", AT)
    records.freeze("cps1988", "1", "2" * 64, "1" * 64, "ana", AT, terms)
    office.advance("validated")
    office.charge("0.25")
    office.advance("drawn", "checked")
    package = package_digest("a" * 64, "3" * 64)
    records.record_package("cps1988", "1", package, "ana", AT)
    for actor in ("eva", "leo"):
        records.approve("cps1988", "1", package, actor, "looked", {}, AT)
    office.new_version("2", "e" * 64)
    records.rewrap(lambda record: b"WRAPPED", lambda account: b"WRAPPED DIGEST KEY", "ana", "yearly", AT)
    records.destroy_root("cps1988", "2", "ana", "not wanted", AT, unfinished=True)
    url = new_url()
    move(office, url)
    new = Records.open(url)
    assert all_of(new) == all_of(records)
    assert new.check_chain().ok
    proof = {"manifest_digest": "3" * 64, "package": package, "package_salt": "a" * 64}
    new.publish("cps1988", "1", proof, None, "ana", AT)
    assert new.check_chain().ok
