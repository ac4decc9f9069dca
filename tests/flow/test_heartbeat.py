"""A living run keeps its lease, however long it works; one that lost it stops before it charges or publishes."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tasks.heartbeat import RENEW_SECONDS, kept_alive
from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.records import LEASE_TTL, Lease, Records


def test_several_renewals_fit_into_a_lease_and_a_dead_worker_shows_within_two_minutes() -> None:
    assert 3 * timedelta(seconds=RENEW_SECONDS) < LEASE_TTL < timedelta(minutes=2)


class Beats:
    """Stands before a lease: counts renewals, and fails them when told to."""

    def __init__(self, lease: Lease) -> None:
        self.lease, self.count, self.beaten = lease, 0, threading.Semaphore(0)
        self.fail: Exception | None = None

    def renew(self) -> None:
        """Renew, or fail as told."""
        self.count += 1
        self.beaten.release()
        if self.fail is not None:
            raise self.fail
        self.lease.renew()


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    records = Records.open(tmp_path / "ledger.db")
    with records.lease("people", "1", "a") as lease:
        yield records, Beats(lease)


class _Of:
    """A context that gives what it is told to."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __enter__(self) -> Any:
        return self.value

    def __exit__(self, *_: object) -> None:
        return None


def test_the_lease_is_renewed_while_the_block_runs_and_no_longer(stage: Any) -> None:
    _, beats = stage
    with kept_alive(_Of(beats), renew_seconds=0.01) as held:
        assert all(beats.beaten.acquire(timeout=300) for _ in range(3))
        held.require()
    after = beats.count
    assert not any(thread.name == "trasgo-lease" for thread in threading.enumerate())
    assert beats.count == after


def test_a_database_that_does_not_answer_for_a_while_does_not_end_the_run(stage: Any) -> None:
    _, beats = stage
    beats.fail = StoreError.of(Reason.DATABASE_UNREACHABLE, "x", required="y", came="z", fix="w")
    with kept_alive(_Of(beats), renew_seconds=0.01) as held:
        assert all(beats.beaten.acquire(timeout=300) for _ in range(3))
        beats.fail = None
        assert all(beats.beaten.acquire(timeout=300) for _ in range(3))
        held.require()


def test_a_run_that_lost_its_lease_is_told_before_it_goes_on(stage: Any) -> None:
    records, beats = stage
    with records.lease("people", "1", "b", may_be_alive=lambda _: False):
        with kept_alive(_Of(beats), renew_seconds=0.01) as held:
            thread = next(thread for thread in threading.enumerate() if thread.name == "trasgo-lease")
            thread.join(timeout=300)  # it gives up at the first refusal
            with pytest.raises(ConflictError, match="taken over") as caught:
                held.require()
        assert caught.value.reason is Reason.LOCKED
        assert beats.count == 1


def test_a_failing_block_gives_the_lease_back(tmp_path: Path) -> None:
    records = Records.open(tmp_path / "ledger.db")
    with pytest.raises(ZeroDivisionError), kept_alive(records.lease("people", "1", "a")):
        raise ZeroDivisionError
    with records.lease("people", "1", "b") as held:
        assert held.holder == "b"
