"""The guards of the records database in PostgreSQL's words; each refuses what its SQLite twin refuses.

The triggers that move totals run with the rights of the tables' owner (SECURITY DEFINER), so a role that may only
insert and read can charge, and cannot move a total by itself; so do the two functions that lock a row, since SELECT ...
FOR UPDATE would need the right to update. Every function fixes its search path: a temporary table of the same name must
not take the place of ours.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from trasgo_lib.records.migrations.guards_sqlite import AMOUNTS, GENESIS

_GUARDED = ("accounts", "entries", "versions", "events")


def own_schema() -> str:
    """The schema in which the tables are made, quoted: the first of the search path that exists."""
    bind = op.get_bind()
    return bind.dialect.identifier_preparer.quote(str(bind.scalar(sa.text("SELECT current_schema()"))))


def statements(schema: str) -> tuple[str, ...]:
    """The guards of revision 0001.

    Args:
        schema: where the tables are, quoted.
    """
    return (
        function(
            "trasgo_refuse_change()",
            schema,
            "RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';",
        ),
        *_accounts(schema),
        *_entries(schema),
        *_versions(schema),
        *_events(schema),
        *_refusals(),
        *_locks(schema),
    )


def function(name: str, schema: str, body: str, *, as_owner: bool = False, returns: str = "trigger") -> str:
    """One function of ours.

    Args:
        name: with its arguments.
        schema: where the tables are, quoted.
        body: PL/pgSQL statements.
        as_owner: whether it runs with the rights of the tables' owner.
        returns: its type.
    """
    rights = "SECURITY DEFINER" if as_owner else "SECURITY INVOKER"
    return (
        f"CREATE FUNCTION {name} RETURNS {returns} LANGUAGE plpgsql {rights} SET search_path = {schema}, pg_temp "
        f"AS $guard$ BEGIN {body} END $guard$"
    )


def refuse(text: str, when: str) -> str:
    """Refuse the statement, with this text, under this condition."""
    return f"IF {when} THEN RAISE EXCEPTION '{text}' USING ERRCODE = 'integrity_constraint_violation'; END IF;"


def trigger(name: str, moment: str, table: str, call: str, *, each: str = "ROW") -> str:
    """One trigger of ours."""
    return f"CREATE TRIGGER {name} {moment} ON {table} FOR EACH {each} EXECUTE FUNCTION {call}"


def _guard(name: str, schema: str, moment: str, table: str, *body: str, as_owner: bool = False) -> tuple[str, str]:
    text = " ".join((*body, "RETURN NEW;"))
    called = f"trasgo_{name}()"
    return function(called, schema, text, as_owner=as_owner), trigger(name, moment, table, called)


def _unchanged(*columns: str) -> str:
    return " AND ".join(f"NEW.{column} IS NOT DISTINCT FROM OLD.{column}" for column in columns)


def _accounts(schema: str) -> tuple[str, ...]:
    kept = ("name", "population", "unit", "max_rows", "composition", "wrapped_digest_key")
    same = _unchanged(*kept, *(f"cap_{a}" for a in AMOUNTS))
    moved = " AND ".join(f"NEW.spent_{a} = OLD.spent_{a} + e.{a}" for a in AMOUNTS)
    unspent = " OR ".join(f"NEW.spent_{a} <> 0" for a in AMOUNTS)
    return (
        *_guard(
            "accounts_start_empty",
            schema,
            "BEFORE INSERT",
            "accounts",
            refuse("an account starts empty", f"NEW.seq <> 0 OR NEW.head <> '{GENESIS}' OR {unspent}"),
            refuse("the account exists", "EXISTS (SELECT 1 FROM accounts a WHERE a.name = NEW.name)"),
        ),
        *_guard(
            "accounts_move_with_entries",
            schema,
            "BEFORE UPDATE",
            "accounts",
            refuse(
                "an account moves with its entries only",
                f"NOT ({same} AND NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM entries e WHERE e.account = OLD.name "
                f"AND e.seq = NEW.seq AND e.hash = NEW.head AND e.prev = OLD.head AND {moved}))",
            ),
        ),
    )


def _entries(schema: str) -> tuple[str, ...]:
    # written so that no sum can overflow
    over = " OR ".join(f"NEW.{a} > a.cap_{a} - a.spent_{a}" for a in AMOUNTS)
    return (
        *_guard(
            "entries_extend_the_chain",
            schema,
            "BEFORE INSERT",
            "entries",
            refuse(
                "an entry extends the chain",
                "NOT EXISTS (SELECT 1 FROM accounts a WHERE a.name = NEW.account "
                "AND a.seq = NEW.seq - 1 AND a.head = NEW.prev)",
            ),
            refuse(
                "the charge exists",
                "EXISTS (SELECT 1 FROM entries e WHERE e.identity = NEW.identity OR e.hash = NEW.hash)",
            ),
            refuse("over the cap", f"EXISTS (SELECT 1 FROM accounts a WHERE a.name = NEW.account AND ({over}))"),
        ),
        *_guard(
            "entries_are_charged",
            schema,
            "AFTER INSERT",
            "entries",
            "UPDATE accounts SET seq = NEW.seq, head = NEW.hash, "
            + ", ".join(f"spent_{a} = spent_{a} + NEW.{a}" for a in AMOUNTS)
            + " WHERE name = NEW.account;",
            as_owner=True,
        ),
    )


def _versions(schema: str) -> tuple[str, ...]:
    same = _unchanged("dataset", "version", "account", "commitment", "wrapped_root")
    return (
        *_guard(
            "versions_start_empty",
            schema,
            "BEFORE INSERT",
            "versions",
            refuse("a version starts empty", f"NEW.seq <> 0 OR NEW.head <> '{GENESIS}'"),
            refuse(
                "the version exists",
                "EXISTS (SELECT 1 FROM versions v WHERE (v.dataset = NEW.dataset AND v.version = NEW.version) "
                "OR v.commitment = NEW.commitment)",
            ),
        ),
        *_guard(
            "versions_move_with_events",
            schema,
            "BEFORE UPDATE",
            "versions",
            refuse(
                "a version moves with its events only",
                f"NOT ({same} AND NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM events e WHERE e.dataset = "
                "OLD.dataset AND e.version = OLD.version AND e.seq = NEW.seq AND e.hash = NEW.head "
                "AND e.prev = OLD.head))",
            ),
        ),
    )


def _events(schema: str) -> tuple[str, ...]:
    return (
        *_guard(
            "events_extend_the_chain",
            schema,
            "BEFORE INSERT",
            "events",
            refuse(
                "an event extends the chain",
                "NOT EXISTS (SELECT 1 FROM versions v WHERE v.dataset = NEW.dataset AND v.version = NEW.version "
                "AND v.seq = NEW.seq - 1 AND v.head = NEW.prev)",
            ),
            refuse("the event exists", "EXISTS (SELECT 1 FROM events e WHERE e.hash = NEW.hash)"),
        ),
        *_guard(
            "events_are_counted",
            schema,
            "AFTER INSERT",
            "events",
            "UPDATE versions SET seq = NEW.seq, head = NEW.hash WHERE dataset = NEW.dataset AND version = NEW.version;",
            as_owner=True,
        ),
    )


def _refusals() -> tuple[str, ...]:
    def refusal(name: str, moment: str, table: str, text: str, each: str = "ROW") -> str:
        return trigger(f"{table}_{name}", moment, table, f"trasgo_refuse_change('{table} are {text}')", each=each)

    return (
        *(refusal("no_update", "BEFORE UPDATE", table, "append-only") for table in ("entries", "events")),
        *(refusal("no_delete", "BEFORE DELETE", table, "never deleted") for table in _GUARDED),
        *(refusal("no_truncate", "BEFORE TRUNCATE", table, "never deleted", "STATEMENT") for table in _GUARDED),
    )


def _locks(schema: str) -> tuple[str, ...]:
    account, version = "trasgo_lock_account(wanted text)", "trasgo_lock_version(of_dataset text, of_version text)"
    return (
        function(
            account,
            schema,
            "PERFORM 1 FROM accounts a WHERE a.name = wanted FOR UPDATE;",
            as_owner=True,
            returns="void",
        ),
        function(
            version,
            schema,
            "PERFORM 1 FROM versions v WHERE v.dataset = of_dataset AND v.version = of_version FOR UPDATE;",
            as_owner=True,
            returns="void",
        ),
        "REVOKE EXECUTE ON FUNCTION trasgo_lock_account(text), trasgo_lock_version(text, text) FROM PUBLIC",
    )
