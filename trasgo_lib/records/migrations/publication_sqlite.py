"""The guards of revision 0003 in SQLite's words: who may publish, and how wrapped secrets change."""

from __future__ import annotations

from collections.abc import Callable

from trasgo_lib.records.migrations.guards_sqlite import AMOUNTS, trigger

RAN = "(e.kind = 'freeze' OR (e.kind = 'state' AND e.state IN ('planned', 'validated', 'drawn', 'checked')))"
"""Events of those who ran a version; they cannot approve it."""

_ACTOR, _NEW_ACTOR = "json_extract(e.document, '$.actor')", "json_extract(NEW.document, '$.actor')"


LIFE = "e.dataset = NEW.dataset AND e.version = NEW.version"
FROZEN = f"(SELECT max(e.seq) FROM events e WHERE {LIFE} AND e.kind = 'freeze')"
FIXED = f"FROM events f WHERE f.dataset = NEW.dataset AND f.version = NEW.version AND f.seq = {FROZEN}"
"""The last event that fixed plan and terms, as ``f``."""


def statements() -> tuple[str, ...]:
    """The guards of revision 0003."""
    return (*_secrets(), *_publication())


def _refuse(text: str, when: str) -> str:
    return f"SELECT RAISE(ABORT, '{text}') WHERE {when}"


def _proof(record: str, path: str) -> str:
    return f"json_extract({record}.document, '$.{path}')"


def _evidence(record: str, name: str) -> str:
    return _proof(record, f"evidence.{name}")


def seal_of(secret: str) -> str:
    """What a record says of wrapped bytes: their first 13 (format, nonce) and last 16 (tag), never what is sealed."""
    return f"lower(hex(substr({secret}, 1, 13)) || hex(substr({secret}, -16)))"


def _secrets() -> tuple[str, ...]:
    terms = ("name", "population", "unit", "max_rows", "composition", *(f"cap_{a}" for a in AMOUNTS))
    kept = " AND ".join(f"NEW.{c} IS OLD.{c}" for c in terms)
    moved = " AND ".join(f"NEW.spent_{a} = OLD.spent_{a} + {a}" for a in AMOUNTS)
    still = " AND ".join(f"NEW.{c} IS OLD.{c}" for c in ("seq", "head", *(f"spent_{a}" for a in AMOUNTS)))
    key, root = "wrapped_digest_key", "wrapped_root"
    one = " AND ".join(f"NEW.{c} IS OLD.{c}" for c in ("dataset", "version", "account", "commitment"))
    life = "dataset = OLD.dataset AND version = OLD.version"
    return (
        "DROP TRIGGER accounts_move_with_entries",
        "DROP TRIGGER versions_move_with_events",
        trigger(
            "accounts_move_with_entries",
            "BEFORE UPDATE",
            "accounts",
            _refuse(
                "an account moves with its entries only",
                f"NOT ({kept} AND ((NEW.{key} IS OLD.{key} AND NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM entries "
                f"WHERE account = OLD.name AND seq = NEW.seq AND hash = NEW.head AND prev = OLD.head AND {moved})) OR "
                f"({still} AND length(NEW.{key}) = length(OLD.{key}) AND EXISTS (SELECT 1 FROM entries e WHERE "
                f"e.account = OLD.name AND e.seq = OLD.seq AND e.hash = OLD.head AND e.kind = 'rewrap' "
                f"AND {_proof('e', 'sealed')} = {seal_of(f'NEW.{key}')}))))",
            ),
        ),
        trigger(
            "versions_move_with_events",
            "BEFORE UPDATE",
            "versions",
            _refuse(
                "a version moves with its events only",
                f"NOT ({one} AND ((NEW.{root} IS OLD.{root} AND NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM events "
                f"WHERE {life} AND seq = NEW.seq AND hash = NEW.head AND prev = OLD.head)) OR "
                f"(NEW.seq = OLD.seq AND NEW.head = OLD.head AND length(OLD.{root}) > 0 AND EXISTS (SELECT 1 FROM "
                f"events e WHERE e.{life.replace(' AND ', ' AND e.')} AND e.seq = OLD.seq AND e.hash = OLD.head AND "
                f"{_evidence('e', 'sealed')} = {seal_of(f'NEW.{root}')} AND ((e.kind = 'destroy' AND "
                f"length(NEW.{root}) = 0) OR (e.kind = 'rewrap' AND length(NEW.{root}) = length(OLD.{root})))))))",
            ),
        ),
    )


def _publication() -> tuple[str, ...]:
    needed = f"COALESCE((SELECT CAST({_evidence('f', 'approvals')} AS INTEGER) {FIXED}), 0)"
    given = (
        f"(SELECT count(DISTINCT {_ACTOR}) FROM events e WHERE {LIFE} AND e.kind = 'approval' AND e.seq > {FROZEN} "
        f"AND {_evidence('e', 'package')} = {_evidence('NEW', 'package')})"
    )
    columns = ("dataset", "version", "seq", "kind", "state", "prev")
    same = " AND ".join(f"NEW.{c} = {_proof('NEW', c)}" for c in columns)
    kept = ("plan_digest", "input_digest", "approvals", "service_accounts")
    differs = " OR ".join(f"{_evidence('NEW', n)} IS NOT {_evidence('f', n)}" for n in kept)
    charged = "EXISTS (SELECT 1 FROM entries c WHERE c.dataset = NEW.dataset AND c.version = NEW.version)"
    published = "events WHEN NEW.kind = 'state' AND NEW.state = 'published'"
    decided = "events WHEN NEW.kind = 'state' AND NEW.state IN ('approved', 'published')"
    return (
        trigger(
            "events_repeat_their_document",
            "BEFORE INSERT",
            "events",
            _refuse(
                "columns repeat the document",
                f"CASE WHEN json_valid(NEW.document) THEN COALESCE(NOT ({same}), 1) ELSE 1 END",
            ),
        ),
        trigger(
            "events_freeze_keeps_what_was_charged_for",
            "BEFORE INSERT",
            "events WHEN NEW.kind = 'freeze'",
            _refuse("frozen by a charge", f"{charged} AND EXISTS (SELECT 1 {FIXED} AND ({differs}))"),
        ),
        approvals(),
        trigger(
            "events_decided_with_approvals",
            "BEFORE INSERT",
            decided,
            _refuse("approvals are missing", f"{needed} > {given}"),
        ),
        trigger(
            "events_published_after_embargo",
            "BEFORE INSERT",
            published,
            _refuse(
                "the embargo has not ended",
                f"EXISTS (SELECT 1 {FIXED} AND julianday('now') < julianday({_evidence('f', 'embargo')}))",
            ),
        ),
    )


def _as_written(name: str) -> str:
    return name


def approvals(same: Callable[[str], str] = _as_written) -> str:
    """Who may approve what.

    Args:
        same: how SQL spells what two names are compared by.
    """
    packaged = f"EXISTS (SELECT 1 FROM events e WHERE {LIFE} AND e.kind = 'package' AND "
    packaged += f"{_evidence('e', 'package')} = {_evidence('NEW', 'package')})"
    return trigger(
        "events_approvals_by_others",
        "BEFORE INSERT",
        "events WHEN NEW.kind = 'approval'",
        _refuse(
            "who ran it cannot approve",
            f"EXISTS (SELECT 1 FROM events e WHERE {LIFE} AND {RAN} AND {same(_ACTOR)} = {same(_NEW_ACTOR)})",
        ),
        _refuse(
            "nobody approves twice",
            f"EXISTS (SELECT 1 FROM events e WHERE {LIFE} AND e.kind = 'approval' AND e.seq > {FROZEN} "
            f"AND {same(_ACTOR)} = {same(_NEW_ACTOR)})",
        ),
        _refuse(
            "a service account cannot approve",
            f"EXISTS (SELECT 1 FROM json_each((SELECT {_evidence('f', 'service_accounts')} {FIXED})) "
            f"WHERE {same('value')} = {same(_NEW_ACTOR)})",
        ),
        _refuse("an approval is of what was packaged", f"NOT {packaged}"),
        _refuse(
            "an approval is of what was planned",
            f"NOT EXISTS (SELECT 1 {FIXED} AND {_evidence('f', 'plan_digest')} = {_evidence('NEW', 'plan_digest')})",
        ),
    )
