"""The guards of the records database in SQLite's words: triggers that refuse, and those that count."""

from __future__ import annotations

GENESIS = "0" * 64
AMOUNTS = ("epsilon", "delta", "geo")


def statements() -> tuple[str, ...]:
    """The guards of revision 0001."""
    return (*_ledger_triggers(), *_lifecycle_triggers(), *_refusals())


def trigger(name: str, moment: str, table: str, *actions: str) -> str:
    """One trigger, with its actions in order."""
    return f"CREATE TRIGGER {name} {moment} ON {table} BEGIN {' '.join(f'{action};' for action in actions)} END"


def _refuse(text: str, when: str) -> str:
    return f"SELECT RAISE(ABORT, '{text}') WHERE {when}"


def _ledger_triggers() -> tuple[str, ...]:
    over = " OR ".join(f"spent_{a} + NEW.{a} > cap_{a}" for a in AMOUNTS)
    kept = ("name", "population", "unit", "max_rows", "composition", "wrapped_digest_key")
    same = " AND ".join(f"NEW.{c} IS OLD.{c}" for c in (*kept, *(f"cap_{a}" for a in AMOUNTS)))
    moved = " AND ".join(f"NEW.spent_{a} = OLD.spent_{a} + {a}" for a in AMOUNTS)
    unspent = " OR ".join(f"NEW.spent_{a} <> 0" for a in AMOUNTS)
    return (
        trigger(
            "accounts_start_empty",
            "BEFORE INSERT",
            "accounts",
            _refuse("an account starts empty", f"NEW.seq <> 0 OR NEW.head <> '{GENESIS}' OR {unspent}"),
            _refuse("the account exists", "EXISTS (SELECT 1 FROM accounts WHERE name = NEW.name)"),
        ),
        trigger(
            "accounts_move_with_entries",
            "BEFORE UPDATE",
            "accounts",
            _refuse(
                "an account moves with its entries only",
                f"NOT ({same} AND NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM entries WHERE account = OLD.name "
                f"AND seq = NEW.seq AND hash = NEW.head AND prev = OLD.head AND {moved}))",
            ),
        ),
        trigger(
            "entries_extend_the_chain",
            "BEFORE INSERT",
            "entries",
            _refuse(
                "an entry extends the chain",
                "NOT EXISTS (SELECT 1 FROM accounts WHERE name = NEW.account "
                "AND seq = NEW.seq - 1 AND head = NEW.prev)",
            ),
            _refuse(
                "the charge exists",
                "EXISTS (SELECT 1 FROM entries WHERE identity = NEW.identity OR hash = NEW.hash)",
            ),
            _refuse("over the cap", f"EXISTS (SELECT 1 FROM accounts WHERE name = NEW.account AND ({over}))"),
        ),
        trigger(
            "entries_are_charged",
            "AFTER INSERT",
            "entries",
            "UPDATE accounts SET seq = NEW.seq, head = NEW.hash, "
            + ", ".join(f"spent_{a} = spent_{a} + NEW.{a}" for a in AMOUNTS)
            + " WHERE name = NEW.account",
        ),
    )


def _lifecycle_triggers() -> tuple[str, ...]:
    kept = ("dataset", "version", "account", "commitment", "wrapped_root")
    same = " AND ".join(f"NEW.{c} IS OLD.{c}" for c in kept)
    return (
        trigger(
            "versions_start_empty",
            "BEFORE INSERT",
            "versions",
            _refuse("a version starts empty", f"NEW.seq <> 0 OR NEW.head <> '{GENESIS}'"),
            _refuse(
                "the version exists",
                "EXISTS (SELECT 1 FROM versions WHERE (dataset = NEW.dataset AND version = NEW.version) "
                "OR commitment = NEW.commitment)",
            ),
        ),
        trigger(
            "versions_move_with_events",
            "BEFORE UPDATE",
            "versions",
            _refuse(
                "a version moves with its events only",
                f"NOT ({same} AND NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM events WHERE dataset = OLD.dataset "
                "AND version = OLD.version AND seq = NEW.seq AND hash = NEW.head AND prev = OLD.head))",
            ),
        ),
        trigger(
            "events_extend_the_chain",
            "BEFORE INSERT",
            "events",
            _refuse(
                "an event extends the chain",
                "NOT EXISTS (SELECT 1 FROM versions WHERE dataset = NEW.dataset AND version = NEW.version "
                "AND seq = NEW.seq - 1 AND head = NEW.prev)",
            ),
            _refuse("the event exists", "EXISTS (SELECT 1 FROM events WHERE hash = NEW.hash)"),
        ),
        trigger(
            "events_are_counted",
            "AFTER INSERT",
            "events",
            "UPDATE versions SET seq = NEW.seq, head = NEW.hash WHERE dataset = NEW.dataset AND version = NEW.version",
        ),
    )


def _refusals() -> tuple[str, ...]:
    appended = ("entries", "events")
    never_deleted = (*appended, "accounts", "versions")
    refuse = "SELECT RAISE(ABORT, '{} are {}')"
    return (
        *(trigger(f"{t}_no_update", "BEFORE UPDATE", t, refuse.format(t, "append-only")) for t in appended),
        *(trigger(f"{t}_no_delete", "BEFORE DELETE", t, refuse.format(t, "never deleted")) for t in never_deleted),
    )
