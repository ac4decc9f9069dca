"""One run of a version at a time, by the database's clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.records import LEASE_TTL

HOUR = timedelta(hours=1)
PAST = "2001-01-01T00:00:00.000000+00:00"


def outdate(office: Any, moment: str = PAST) -> None:
    """What the passing of time does to a lease that nobody renews."""
    office.tamper(f"UPDATE leases SET expires_at = '{moment}'", guarded=True)


def length(office: Any) -> timedelta:
    ((taken, end),) = office.rows("SELECT taken_at, expires_at FROM leases")
    return datetime.fromisoformat(end) - datetime.fromisoformat(taken)


def test_a_second_run_is_told_who_holds_the_version(office: Any) -> None:
    with office.records.lease("cps1988", "1", "host-a pid 7"):
        with (
            pytest.raises(ConflictError, match="host-a pid 7") as caught,
            office.records.lease("cps1988", "1", "host-b pid 8"),
        ):
            pytest.fail("two runs of one version")
        assert (caught.value.reason, caught.value.exit_code) == (Reason.LOCKED, 4)
        with office.records.lease("cps1988", "2", "host-b pid 8"):
            assert office.count("leases") == 2
    assert office.count("leases") == 0


def test_the_same_holder_twice_is_two_runs(office: Any) -> None:
    with (
        office.records.lease("cps1988", "1", "a"),
        pytest.raises(ConflictError),
        office.records.lease("cps1988", "1", "a"),
    ):
        pytest.fail("two runs of one version")


def test_a_lease_ends_with_its_block_even_when_the_block_fails(office: Any) -> None:
    with pytest.raises(KeyboardInterrupt), office.records.lease("cps1988", "1", "a"):
        raise KeyboardInterrupt
    with office.records.lease("cps1988", "1", "b") as held:
        assert held.holder == "b"


def test_what_went_wrong_in_the_block_is_not_hidden_by_a_lost_database(office: Any) -> None:
    with pytest.raises(ZeroDivisionError), office.records.lease("cps1988", "1", "a"):
        office.vanish()
        raise ZeroDivisionError


def test_a_lost_database_shows_when_nothing_else_went_wrong(office: Any) -> None:
    with pytest.raises(StoreError), office.records.lease("cps1988", "1", "a"):
        office.vanish()


def test_a_lease_of_a_dead_holder_is_broken_at_once(office: Any) -> None:
    judged: list[str] = []
    abandoned = office.records.lease("cps1988", "1", "dead")
    abandoned.__enter__()
    with pytest.raises(ConflictError), office.records.lease("cps1988", "1", "b", may_be_alive=lambda _: True):
        pytest.fail("the holder may be alive")
    with office.records.lease(
        "cps1988", "1", "b", may_be_alive=lambda holder: judged.append(holder) is not None
    ) as held:
        assert judged == ["dead"]
        assert held.holder == "b"
        abandoned.__exit__(None, None, None)
        assert office.count("leases") == 1  # the late release did not take the new holder's lease away


def test_a_worker_on_another_machine_that_died_is_noticed_within_two_minutes(office: Any) -> None:
    gone = office.records.lease("cps1988", "1", "elsewhere")
    gone.__enter__()
    assert length(office) == LEASE_TTL <= timedelta(minutes=2)
    with pytest.raises(ConflictError, match="within two minutes"), office.records.lease("cps1988", "1", "b"):
        pytest.fail("not yet")
    outdate(office)
    with office.records.lease("cps1988", "1", "b") as held:
        assert held.holder == "b"


def test_renewal_moves_the_end_and_a_lease_taken_over_is_not_renewed(office: Any) -> None:
    with office.records.lease("cps1988", "1", "a", HOUR) as held:
        outdate(office)
        held.renew()  # late, but nobody has taken it
        assert timedelta(minutes=59) < length(office) < timedelta(minutes=61)
        with pytest.raises(ConflictError), office.records.lease("cps1988", "1", "b"):
            pytest.fail("renewed")
        outdate(office)
        with office.records.lease("cps1988", "1", "b"):
            with pytest.raises(ConflictError, match="taken over") as caught:
                held.renew()
            assert caught.value.reason is Reason.LOCKED


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_neither_the_clients_zone_nor_the_servers_moves_the_end(
    office: Any, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    monkeypatch.setenv("PGTZ", zone)
    with office.records.lease("cps1988", "1", "a"):
        ((end,),) = office.rows("SELECT expires_at FROM leases")
        assert end.endswith("+00:00") and len(end) == len(PAST)
        with pytest.raises(ConflictError), office.records.lease("cps1988", "1", "b"):
            pytest.fail("not yet")
