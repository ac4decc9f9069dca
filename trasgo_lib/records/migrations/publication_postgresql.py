"""The guards of revision 0003 in PostgreSQL's words; each refuses what its SQLite twin refuses."""

from __future__ import annotations

from collections.abc import Callable

from trasgo_lib.records.migrations.guards_postgresql import function, refuse, trigger
from trasgo_lib.records.migrations.guards_sqlite import AMOUNTS
from trasgo_lib.records.migrations.publication_sqlite import FIXED, FROZEN, LIFE, RAN

_ACTOR, _NEW_ACTOR = "e.document::jsonb ->> 'actor'", "(NEW.document::jsonb ->> 'actor')"


def statements(schema: str) -> tuple[str, ...]:
    """The guards of revision 0003.

    Args:
        schema: where the tables are, quoted.
    """
    return (*_secrets(schema), *_publication(schema))


def _guard(name: str, schema: str, table: str, *body: str) -> tuple[str, str]:
    called = f"trasgo_{name}()"
    text = function(called, schema, " ".join((*body, "RETURN NEW;")))
    return text, trigger(name, "BEFORE INSERT", table, called)


def _evidence(record: str, name: str) -> str:
    return f"({record}.document::jsonb #>> '{{evidence,{name}}}')"


def seal_of(secret: str) -> str:
    """What a record says of wrapped bytes: their first 13 (format, nonce) and last 16 (tag), never what is sealed."""
    last = f"substring({secret} FROM greatest(length({secret}) - 15, 1))"
    return f"encode(substring({secret} FROM 1 FOR 13) || {last}, 'hex')"


def _unchanged(*columns: str) -> str:
    return " AND ".join(f"NEW.{column} IS NOT DISTINCT FROM OLD.{column}" for column in columns)


def _secrets(schema: str) -> tuple[str, ...]:
    kept = _unchanged("name", "population", "unit", "max_rows", "composition", *(f"cap_{a}" for a in AMOUNTS))
    moved = " AND ".join(f"NEW.spent_{a} = OLD.spent_{a} + e.{a}" for a in AMOUNTS)
    still = _unchanged("seq", "head", *(f"spent_{a}" for a in AMOUNTS))
    key, root = "wrapped_digest_key", "wrapped_root"
    account = refuse(
        "an account moves with its entries only",
        f"NOT ({kept} AND (({_unchanged(key)} AND NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM entries e WHERE "
        f"e.account = OLD.name AND e.seq = NEW.seq AND e.hash = NEW.head AND e.prev = OLD.head AND {moved})) OR "
        f"({still} AND length(NEW.{key}) = length(OLD.{key}) AND EXISTS (SELECT 1 FROM entries e WHERE e.account = "
        f"OLD.name AND e.seq = OLD.seq AND e.hash = OLD.head AND e.kind = 'rewrap' "
        f"AND (e.document::jsonb ->> 'sealed') = {seal_of(f'NEW.{key}')}))))",
    )
    life = "e.dataset = OLD.dataset AND e.version = OLD.version"
    version = refuse(
        "a version moves with its events only",
        f"NOT ({_unchanged('dataset', 'version', 'account', 'commitment')} AND (({_unchanged(root)} AND "
        f"NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM events e WHERE {life} AND e.seq = NEW.seq "
        f"AND e.hash = NEW.head AND e.prev = OLD.head)) OR (NEW.seq = OLD.seq AND NEW.head = OLD.head "
        f"AND length(OLD.{root}) > 0 AND EXISTS (SELECT 1 FROM events e WHERE {life} AND e.seq = OLD.seq "
        f"AND e.hash = OLD.head AND {_evidence('e', 'sealed')} = {seal_of(f'NEW.{root}')} AND ((e.kind = 'destroy' "
        f"AND length(NEW.{root}) = 0) OR (e.kind = 'rewrap' AND length(NEW.{root}) = length(OLD.{root})))))))",
    )
    return (
        _replaced("accounts_move_with_entries", schema, account),
        _replaced("versions_move_with_events", schema, version),
    )


def _replaced(name: str, schema: str, body: str) -> str:
    """The trigger stays; what it calls is another function of the same name."""
    made = function(f"trasgo_{name}()", schema, f"{body} RETURN NEW;")
    return made.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)


def _publication(schema: str) -> tuple[str, ...]:
    needed = f"COALESCE((SELECT {_evidence('f', 'approvals')}::integer {FIXED}), 0)"
    given = (
        f"(SELECT count(DISTINCT {_ACTOR}) FROM events e WHERE {LIFE} AND e.kind = 'approval' AND e.seq > {FROZEN} "
        f"AND {_evidence('e', 'package')} = {_evidence('NEW', 'package')})"
    )
    texts = ("dataset", "version", "kind", "state", "prev")
    same = " AND ".join(f"NEW.{c} = (NEW.document::jsonb ->> '{c}')" for c in texts)
    same += " AND NEW.seq::text = (NEW.document::jsonb ->> 'seq')"
    kept = ("plan_digest", "input_digest", "approvals", "service_accounts")
    differs = " OR ".join(f"{_evidence('NEW', n)} IS DISTINCT FROM {_evidence('f', n)}" for n in kept)
    charged = "EXISTS (SELECT 1 FROM entries c WHERE c.dataset = NEW.dataset AND c.version = NEW.version)"
    return (
        *_guard(
            "events_repeat_their_document",
            schema,
            "events",
            refuse("columns repeat the document", f"COALESCE(NOT ({same}), true)"),
        ),
        *_guard(
            "events_freeze_keeps_what_was_charged_for",
            schema,
            "events",
            "IF NEW.kind = 'freeze' THEN",
            refuse("frozen by a charge", f"{charged} AND EXISTS (SELECT 1 {FIXED} AND ({differs}))"),
            "END IF;",
        ),
        *approvals(schema),
        *_guard(
            "events_decided_with_approvals",
            schema,
            "events",
            "IF NEW.kind = 'state' AND NEW.state IN ('approved', 'published') THEN",
            refuse("approvals are missing", f"{needed} > {given}"),
            "END IF;",
        ),
        *_guard(
            "events_published_after_embargo",
            schema,
            "events",
            "IF NEW.kind = 'state' AND NEW.state = 'published' THEN",
            refuse(
                "the embargo has not ended",
                f"EXISTS (SELECT 1 {FIXED} AND clock_timestamp() < {_evidence('f', 'embargo')}::timestamptz)",
            ),
            "END IF;",
        ),
    )


def _as_written(name: str) -> str:
    return name


def approvals(schema: str, same: Callable[[str], str] = _as_written) -> tuple[str, str]:
    """Who may approve what: function and trigger.

    Args:
        schema: where the tables are, quoted.
        same: how SQL spells what two names are compared by.
    """
    packaged = f"EXISTS (SELECT 1 FROM events e WHERE {LIFE} AND e.kind = 'package' AND "
    packaged += f"{_evidence('e', 'package')} = {_evidence('NEW', 'package')})"
    who, asks = same(f"({_ACTOR})"), same(_NEW_ACTOR)
    accounts = f"jsonb_array_elements_text({_evidence('f', 'service_accounts')}::jsonb)"
    return _guard(
        "events_approvals_by_others",
        schema,
        "events",
        "IF NEW.kind = 'approval' THEN",
        refuse(
            "who ran it cannot approve",
            f"EXISTS (SELECT 1 FROM events e WHERE {LIFE} AND {RAN} AND {who} = {asks})",
        ),
        refuse(
            "nobody approves twice",
            f"EXISTS (SELECT 1 FROM events e WHERE {LIFE} AND e.kind = 'approval' AND e.seq > {FROZEN} "
            f"AND {who} = {asks})",
        ),
        refuse(
            "a service account cannot approve",
            f"EXISTS (SELECT 1 {FIXED} AND EXISTS (SELECT 1 FROM {accounts} a WHERE {same('a')} = {asks}))",
        ),
        refuse("an approval is of what was packaged", f"NOT {packaged}"),
        refuse(
            "an approval is of what was planned",
            f"NOT EXISTS (SELECT 1 {FIXED} AND {_evidence('f', 'plan_digest')} = {_evidence('NEW', 'plan_digest')})",
        ),
        "END IF;",
    )
