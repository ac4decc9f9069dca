"""One run of a version at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from trasgo_lib.errors import ConfigError, ConflictError, Reason, StoreError

HOUR = timedelta(hours=1)
NOON, ONE, TWO = (f"2030-01-31T{hour}:00:00+00:00" for hour in (12, 13, 14))


def test_a_second_run_is_told_who_holds_the_version(office: Any) -> None:
    with office.records.lease("cps1988", "1", "host-a pid 7", NOON):
        with (
            pytest.raises(ConflictError, match="host-a pid 7") as caught,
            office.records.lease("cps1988", "1", "host-b pid 8", NOON),
        ):
            pytest.fail("two runs of one version")
        assert (caught.value.reason, caught.value.exit_code) == (Reason.LOCKED, 4)
        with office.records.lease("cps1988", "2", "host-b pid 8", NOON):
            assert office.count("leases") == 2
    assert office.count("leases") == 0


def test_the_same_holder_twice_is_two_runs(office: Any) -> None:
    with (
        office.records.lease("cps1988", "1", "a", NOON),
        pytest.raises(ConflictError),
        office.records.lease("cps1988", "1", "a", NOON),
    ):
        pytest.fail("two runs of one version")


def test_a_lease_ends_with_its_block_even_when_the_block_fails(office: Any) -> None:
    with pytest.raises(KeyboardInterrupt), office.records.lease("cps1988", "1", "a", NOON):
        raise KeyboardInterrupt
    with office.records.lease("cps1988", "1", "b", NOON) as held:
        assert held.holder == "b"


def test_what_went_wrong_in_the_block_is_not_hidden_by_a_lost_database(office: Any) -> None:
    with pytest.raises(ZeroDivisionError), office.records.lease("cps1988", "1", "a", NOON):
        office.path.unlink()
        raise ZeroDivisionError
    assert not office.path.exists()


def test_a_lost_database_shows_when_nothing_else_went_wrong(office: Any) -> None:
    with pytest.raises(StoreError), office.records.lease("cps1988", "1", "a", NOON):
        office.path.unlink()


def test_a_lease_of_a_dead_holder_is_broken_at_once(office: Any) -> None:
    judged: list[str] = []
    abandoned = office.records.lease("cps1988", "1", "dead", NOON)
    abandoned.__enter__()
    with pytest.raises(ConflictError), office.records.lease("cps1988", "1", "b", NOON, may_be_alive=lambda _: True):
        pytest.fail("the holder may be alive")
    with office.records.lease(
        "cps1988", "1", "b", NOON, may_be_alive=lambda holder: judged.append(holder) is not None
    ) as held:
        assert judged == ["dead"]
        assert held.holder == "b"
        abandoned.__exit__(None, None, None)
        assert office.count("leases") == 1  # the late release did not take the new holder's lease away


def test_a_lease_expires_and_renewal_moves_the_end(office: Any) -> None:
    with office.records.lease("cps1988", "1", "a", NOON, HOUR) as held:
        with pytest.raises(ConflictError), office.records.lease("cps1988", "1", "b", "2030-01-31T12:59:59+00:00"):
            pytest.fail("not yet")
        held.renew(ONE)
        with pytest.raises(ConflictError), office.records.lease("cps1988", "1", "b", "2030-01-31T13:30:00+00:00"):
            pytest.fail("renewed")
        with office.records.lease("cps1988", "1", "b", TWO):
            with pytest.raises(ConflictError, match="taken over") as caught:
                held.renew(TWO)
            assert caught.value.reason is Reason.LOCKED


def test_times_are_compared_across_offsets(office: Any) -> None:
    with (
        office.records.lease("cps1988", "1", "a", "2030-01-31T12:00:00+02:00", HOUR),
        office.records.lease("cps1988", "1", "b", "2030-01-31T11:00:00+00:00") as held,
    ):
        assert held.holder == "b"


def test_a_time_without_offset_is_refused(office: Any) -> None:
    with pytest.raises(ConfigError), office.records.lease("cps1988", "1", "a", "2030-01-31T12:00:00"):
        pytest.fail("no lease")
