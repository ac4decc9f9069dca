"""The hashed form of entries and events: canonical JSON, one document a record, each naming the one before.

The hash covers the document's bytes, so an auditor needs ``sha256sum`` and nothing of ours. Amounts are decimal text;
the only JSON numbers are small counts. Source: RFC 8785 (JCS).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import rfc8785

from trasgo_lib.budget import Cost, Partition, event_from_json, event_to_json
from trasgo_lib.errors import ConfigError, Reason, StoreError, TrasgoError
from trasgo_lib.records.model import AccountTerms, Entry, Event, Reservation, State

GENESIS = "0" * 64
"""What the first record of a chain names as the one before."""

EVENT_KINDS = ("state", "freeze", "package", "approval", "rewrap", "destroy")
"""Only ``state`` moves a version; the others say what was fixed, packaged, approved, or done to its root."""

_FORMAT = 1
_IDENTITY = (
    "dataset",
    "version",
    "commitment",
    "unit",
    "chain_digest",
    "level",
    "attempt",
    "input_digest",
)


def canonical(document: Mapping[str, object]) -> str:
    """The canonical JSON text of a document.

    Raises:
        ConfigError: something in it has no canonical form, such as a user name with undecodable bytes.
    """
    try:
        return rfc8785.dumps(dict(document)).decode("utf-8")  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, UnicodeError):
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            "record",
            required="text that UTF-8 can hold, and whole numbers below 2**53",
            came="something else",
            fix="Correct names, actor, reason and evidence.",
        ) from None


def sha256(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, hex."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def check_instant(at: str) -> str:
    """The text itself, when it is an ISO 8601 instant with an offset.

    Raises:
        ConfigError: for anything else; a time without an offset is not an instant.
    """
    try:
        aware = datetime.fromisoformat(at).utcoffset() is not None
    except (TypeError, ValueError):
        aware = False
    if not aware:
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            "at",
            required="an ISO 8601 time with offset, as in 2030-01-31T12:00:00+00:00",
            came="something else",
            fix="Pass an aware datetime's isoformat().",
        )
    return at


def identity(reservation: Reservation) -> str:
    """What makes two reservations the same draw, hashed: charged once however often it is asked for."""
    return sha256(canonical({name: getattr(reservation, name) for name in _IDENTITY}))


def opening_entry(terms: AccountTerms, actor: str, at: str) -> Entry:
    """The first entry of an account: it binds the terms, cap included, into the chain."""
    body = {"actor": actor, "terms": _terms_to_json(terms)}
    return _entry(terms.name, 1, "open", None, Cost.zero(), Cost.zero(), at, GENESIS, body)


def charge_entry(reservation: Reservation, charged: Cost, spent: Cost, seq: int, prev: str, at: str) -> Entry:
    """The entry of one draw.

    Args:
        reservation: the draw.
        charged: what it costs.
        spent: the account's total after it.
        seq: its place.
        prev: hash of the entry before.
        at: when.
    """
    body = {name: getattr(reservation, name) for name in _IDENTITY}
    body |= {"event": event_to_json(reservation.event), "max_rows": reservation.max_rows}
    if reservation.part is not None:
        body |= {"part": list(reservation.part)}
    return _entry(reservation.account, seq, "charge", reservation, charged, spent, at, prev, body)


def rewrap_entry(
    account: str, sealed: str, actor: str, reason: str, spent: Cost, seq: int, prev: str, at: str
) -> Entry:
    """The entry that announces an account's digest key wrapped anew.

    Args:
        account: whose.
        sealed: nonce and tag of the new bytes, hex.
        actor: who does it.
        reason: why.
        spent: the account's total, which stays.
        seq: its place.
        prev: hash of the entry before.
        at: when.
    """
    body = {"actor": actor, "reason": reason, "sealed": sealed}
    return _entry(account, seq, "rewrap", None, Cost.zero(), spent, at, prev, body)


def lifecycle_event(body: Mapping[str, object]) -> Event:
    """One step in the life of a version.

    Args:
        body: the fields of :class:`Event` but for hash and document.

    Raises:
        ConfigError: the time has no offset.
    """
    check_instant(str(body["at"]))
    return read_event(canonical({"format": _FORMAT, **body}))


def read_entry(document: str) -> Entry:
    """The entry a stored document stands for.

    Raises:
        StoreError: the document is not one that this library wrote (``CHAIN_BROKEN``).
    """
    try:
        body = load(document)
        if body["kind"] not in ("open", "charge", "rewrap"):
            raise ValueError
        reservation = None
        if body["kind"] == "charge":
            reservation = Reservation(
                account=body["account"],
                event=event_from_json(body["event"]),
                max_rows=body["max_rows"],
                part=_read_part(body),
                **{name: body[name] for name in _IDENTITY},
            )
        return Entry(
            account=body["account"],
            seq=body["seq"],
            kind=body["kind"],
            reservation=reservation,
            cost=Cost.from_json(body["cost"]),
            spent=Cost.from_json(body["spent"]),
            at=body["at"],
            prev=body["prev"],
            hash=sha256(document),
            document=document,
        )
    except (TrasgoError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _unreadable("ledger entry") from None


def read_terms(document: str) -> AccountTerms:
    """The terms that an account's first entry binds.

    Raises:
        StoreError: the document is not an opening entry (``CHAIN_BROKEN``).
    """
    try:
        body = load(document)
        terms = dict(body["terms"])
        partitions = partitions_from_json(terms.pop("partitions", []))
        cap = Cost.from_json(terms.pop("cap"))
        return AccountTerms(name=body["account"], cap=cap, partitions=partitions, **terms)
    except (TrasgoError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _unreadable("opening entry") from None


def read_event(document: str) -> Event:
    """The event a stored document stands for.

    Raises:
        StoreError: the document is not one that this library wrote (``CHAIN_BROKEN``).
    """
    try:
        body = load(document)
        if body["kind"] not in EVENT_KINDS:
            raise ValueError
        del body["format"]
        evidence = {str(name): str(value) for name, value in body.pop("evidence").items()}
        return Event(
            state=State(body.pop("state")), evidence=evidence, hash=sha256(document), document=document, **body
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _unreadable("lifecycle event") from None


def _entry(
    account: str,
    seq: int,
    kind: str,
    reservation: Reservation | None,
    charged: Cost,
    spent: Cost,
    at: str,
    prev: str,
    body: Mapping[str, object],
) -> Entry:
    frame = {
        "format": _FORMAT,
        "kind": kind,
        "account": account,
        "seq": seq,
        "cost": charged.to_json(),
        "spent": spent.to_json(),
        "at": check_instant(at),
        "prev": prev,
    }
    document = canonical(frame | dict(body))
    return Entry(account, seq, kind, reservation, charged, spent, at, prev, sha256(document), document)  # type: ignore[arg-type]


def partitions_to_json(partitions: tuple[Partition, ...]) -> list[dict[str, object]]:
    """Declared partitions as strict JSON."""
    return [{"name": one.name, "parts": list(one.parts), "parts_per_unit": one.parts_per_unit} for one in partitions]


def partitions_from_json(document: list[dict[str, Any]]) -> tuple[Partition, ...]:
    """Read what :func:`partitions_to_json` wrote.

    Raises:
        ConfigError: parts that are none.
        KeyError: a key is absent.
    """
    return tuple(Partition(one["name"], tuple(one["parts"]), one["parts_per_unit"]) for one in document)


def _read_part(body: Mapping[str, Any]) -> tuple[str, str] | None:
    if "part" not in body:
        return None
    of, name = body["part"]
    if not isinstance(of, str) or not isinstance(name, str):
        raise ValueError
    return of, name


def _terms_to_json(terms: AccountTerms) -> dict[str, object]:
    # an account without partitions is written as before there were any
    parted = {"partitions": partitions_to_json(terms.partitions)} if terms.partitions else {}
    return parted | {
        "population": terms.population,
        "unit": terms.unit,
        "max_rows": terms.max_rows,
        "composition": terms.composition,
        "cap": terms.cap.to_json(),
    }


def load(document: str) -> dict[str, Any]:
    """The object in a stored document.

    Raises:
        ValueError: it is not JSON, not an object, or of another format.
    """
    body = json.loads(document)
    if not isinstance(body, dict) or body.get("format") != _FORMAT:
        raise ValueError
    return body


def _unreadable(what: str) -> StoreError:
    return StoreError.of(
        Reason.CHAIN_BROKEN,
        what,
        required=f"a document of format {_FORMAT}",
        came="something else",
        fix="Run: trasgo ledger check. Restore the database from a backup and draw nothing until then.",
    )
