"""Wrapped secrets change by an announced record and in no other way, on both databases."""

from __future__ import annotations

from typing import Any

import pytest

from trasgo_lib.errors import ConflictError
from trasgo_lib.records import State
from trasgo_lib.records.sealing import seal_of

NEW_ROOT, NEW_KEY = b"WRAPPED", b"WRAPPED DIGEST KEY"


def rewrap(office: Any, root: bytes = NEW_ROOT, key: bytes = NEW_KEY) -> tuple[int, int]:
    counts: tuple[int, int] = office.records.rewrap(
        lambda record: root, lambda account: key, "ana", "yearly", office.at
    )
    return counts


def secrets(office: Any) -> tuple[bytes, bytes]:
    version, account = office.records.version("cps1988", "1"), office.records.account("cps")
    return version.wrapped_root, account.wrapped_digest_key


def blob(office: Any, value: bytes) -> str:
    return f"'\\x{value.hex()}'" if office.server is not None else f"x'{value.hex()}'"


def test_everything_is_wrapped_anew_in_chained_records(office: Any) -> None:
    assert rewrap(office) == (1, 1)
    assert secrets(office) == (NEW_ROOT, NEW_KEY)
    event = office.records.events("cps1988", "1")[-1]
    assert (event.kind, event.state, event.actor, event.reason) == ("rewrap", State.PLANNED, "ana", "yearly")
    entry = office.records.entries("cps")[-1]
    assert (entry.kind, entry.cost.is_zero, entry.reservation) == ("rewrap", True, None)
    assert office.records.check_chain().ok
    office.charge("0.25")  # life goes on
    assert office.records.check_chain().ok


def test_a_failure_half_way_changes_nothing(office: Any) -> None:
    before = office.everything()

    def fails(record: Any) -> bytes:
        raise ConflictError.of("key_unusable", "x", required="", came="", fix="")  # type: ignore[arg-type]

    with pytest.raises(ConflictError):
        office.records.rewrap(fails, lambda account: NEW_KEY, "ana", "yearly", office.at)
    assert secrets(office) == (b"wrapped", b"wrapped digest key")
    if office.server is not None:
        assert office.everything() == before


def test_no_key_changes_under_a_run(office: Any) -> None:
    with office.records.lease("cps1988", "7", "elsewhere 1 now"), pytest.raises(ConflictError, match="locked"):
        rewrap(office)
    with office.records.lease("cps1988", "1", "elsewhere 1 now"), pytest.raises(ConflictError, match="locked"):
        office.records.destroy_root("cps1988", "1", "ana", "over", office.at, unfinished=True)
    assert secrets(office) == (b"wrapped", b"wrapped digest key")


def test_the_database_lets_only_announced_bytes_in(office: Any) -> None:
    def refused(*statements: str) -> None:
        with pytest.raises(Exception, match="only"):
            office.tamper(*statements, guarded=True)

    root, key = "UPDATE versions SET wrapped_root = ", "UPDATE accounts SET wrapped_digest_key = "
    for statement in (root + blob(office, b"WRAPPED"), root + blob(office, b""), key + blob(office, NEW_KEY)):
        refused(statement)  # nothing announced
    rewrap(office)
    for value in (b"wrapped", b"WRAPPEX", b"WRAPPED+", b""):
        refused(root + blob(office, value))
    for value in (b"wrapped digest key", b"WRAPPED DIGEST KEX", b""):
        refused(key + blob(office, value))
    refused(f"{root}{blob(office, NEW_ROOT)}, commitment = 'x'")
    refused(f"{key}{blob(office, NEW_KEY)}, spent_epsilon = 0, cap_epsilon = cap_epsilon + 1")
    office.tamper(root + blob(office, NEW_ROOT), guarded=True)  # the announced bytes again are no change
    assert office.records.check_chain().ok


def test_other_bytes_behind_the_guards_show(office: Any) -> None:
    rewrap(office)
    office.tamper(f"UPDATE versions SET wrapped_root = {blob(office, b'WRAPPEX')}")
    faults = "\n".join(str(fault) for fault in office.records.check_chain().faults)
    assert "the wrapped secret that its last record of it announced" in faults


def test_a_destroyed_root_stays_destroyed(office: Any) -> None:
    office.advance("validated", "drawn", "checked", "published")
    record = office.records.destroy_root("cps1988", "1", "eva", "retention is over", office.at)
    assert (record.wrapped_root, record.state, record.manifest_digest) == (b"", State.PUBLISHED, "3" * 64)
    event = office.records.events("cps1988", "1")[-1]
    assert (event.kind, event.actor, event.reason, event.evidence) == (
        "destroy",
        "eva",
        "retention is over",
        {"sealed": ""},
    )
    assert office.records.destroy_root("cps1988", "1", "eva", "again", office.at) == record
    assert rewrap(office) == (1, 0)
    with pytest.raises(Exception, match="only"):
        office.tamper(f"UPDATE versions SET wrapped_root = {blob(office, b'wrapped')}", guarded=True)
    assert office.records.check_chain().ok


def test_an_unfinished_version_is_ended_by_force_only(office: Any) -> None:
    office.charge("0.25")
    with pytest.raises(ConflictError, match="--force-unfinished"):
        office.records.destroy_root("cps1988", "1", "eva", "not wanted", office.at)
    assert office.records.version("cps1988", "1").wrapped_root == b"wrapped"
    record = office.records.destroy_root("cps1988", "1", "eva", "not wanted", office.at, unfinished=True)
    assert (record.wrapped_root, record.state) == (b"", State.WITHDRAWN)
    assert office.records.spent_by("cps1988", "1").epsilon.text == "0.25"
    with pytest.raises(ConflictError):
        office.charge("0.5", attempt=2)
    assert office.records.check_chain().ok


def test_a_seal_tells_nothing_of_what_is_sealed() -> None:
    wrapped = bytes(range(61))
    assert bytes.fromhex(seal_of(wrapped)) == wrapped[:13] + wrapped[-16:]
    assert seal_of(b"") == ""
