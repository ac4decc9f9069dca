"""The guards of accounts and entries from revision 0005 on, which count four amounts and keep the declared parts."""

from __future__ import annotations

from trasgo_lib.records.migrations.guards_postgresql import function, refuse
from trasgo_lib.records.migrations.guards_sqlite import GENESIS, trigger
from trasgo_lib.records.migrations.publication_postgresql import seal_of as seal_on_postgresql
from trasgo_lib.records.migrations.publication_sqlite import seal_of as seal_on_sqlite

AMOUNTS = ("epsilon", "delta", "geo", "rho")
_TERMS = ("name", "population", "unit", "max_rows", "composition", "partitions", *(f"cap_{a}" for a in AMOUNTS))
_STILL = ("seq", "head", *(f"spent_{a}" for a in AMOUNTS))
_UNSPENT = " OR ".join(f"NEW.spent_{a} <> 0" for a in AMOUNTS)
_COUNTED = ", ".join(f"spent_{a} = spent_{a} + NEW.{a}" for a in AMOUNTS)
_KEY = "wrapped_digest_key"
_STARTS = f"NEW.seq <> 0 OR NEW.head <> '{GENESIS}' OR {_UNSPENT}"


def _moves(same: str, key: str, still: str, moved: str, sealed: str) -> str:
    """How a row of accounts may change: with the entry it now ends in, or its key directly after its announcement."""
    entry = "SELECT 1 FROM entries e WHERE e.account = OLD.name"
    return (
        f"NOT ({same} AND (({key} AND NEW.seq = OLD.seq + 1 AND EXISTS ({entry} AND e.seq = NEW.seq "
        f"AND e.hash = NEW.head AND e.prev = OLD.head AND {moved})) OR ({still} "
        f"AND length(NEW.{_KEY}) = length(OLD.{_KEY}) AND EXISTS ({entry} AND e.seq = OLD.seq "
        f"AND e.hash = OLD.head AND e.kind = 'rewrap' AND {sealed}))))"
    )


_MOVED = " AND ".join(f"NEW.spent_{a} = OLD.spent_{a} + e.{a}" for a in AMOUNTS)
_CHAIN = (
    "NOT EXISTS (SELECT 1 FROM accounts a WHERE a.name = NEW.account AND a.seq = NEW.seq - 1 AND a.head = NEW.prev)"
)
_AGAIN = "EXISTS (SELECT 1 FROM entries e WHERE e.identity = NEW.identity OR e.hash = NEW.hash)"
# written so that no sum can overflow
_ABOVE = " OR ".join(f"NEW.{a} > a.cap_{a} - a.spent_{a}" for a in AMOUNTS)
_OVER = f"EXISTS (SELECT 1 FROM accounts a WHERE a.name = NEW.account AND ({_ABOVE}))"


def for_sqlite() -> tuple[str, ...]:
    """The four triggers anew, in SQLite's words."""

    def same(*columns: str) -> str:
        return " AND ".join(f"NEW.{column} IS OLD.{column}" for column in columns)

    def refused(text: str, when: str) -> str:
        return f"SELECT RAISE(ABORT, '{text}') WHERE {when}"

    sealed = f"json_extract(e.document, '$.sealed') = {seal_on_sqlite(f'NEW.{_KEY}')}"
    moves = _moves(same(*_TERMS), same(_KEY), same(*_STILL), _MOVED, sealed)
    names = ("accounts_start_empty", "accounts_move_with_entries", "entries_extend_the_chain", "entries_are_charged")
    return (
        *(f"DROP TRIGGER {name}" for name in names),
        trigger(
            "accounts_start_empty",
            "BEFORE INSERT",
            "accounts",
            refused("an account starts empty", _STARTS),
            refused("the account exists", "EXISTS (SELECT 1 FROM accounts WHERE name = NEW.name)"),
        ),
        trigger(
            "accounts_move_with_entries",
            "BEFORE UPDATE",
            "accounts",
            refused("an account moves with its entries only", moves),
        ),
        trigger(
            "entries_extend_the_chain",
            "BEFORE INSERT",
            "entries",
            refused("an entry extends the chain", _CHAIN),
            refused("the charge exists", _AGAIN),
            refused("over the cap", _OVER),
        ),
        trigger(
            "entries_are_charged",
            "AFTER INSERT",
            "entries",
            f"UPDATE accounts SET seq = NEW.seq, head = NEW.hash, {_COUNTED} WHERE name = NEW.account",
        ),
    )


def for_postgresql(schema: str) -> tuple[str, ...]:
    """The functions behind the four triggers anew, in PostgreSQL's words; the triggers stay.

    Args:
        schema: where the tables are, quoted.
    """

    def same(*columns: str) -> str:
        return " AND ".join(f"NEW.{column} IS NOT DISTINCT FROM OLD.{column}" for column in columns)

    def anew(name: str, *body: str, as_owner: bool = False) -> str:
        made = function(f"trasgo_{name}()", schema, " ".join((*body, "RETURN NEW;")), as_owner=as_owner)
        return made.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)

    sealed = f"(e.document::jsonb ->> 'sealed') = {seal_on_postgresql(f'NEW.{_KEY}')}"
    moves = _moves(same(*_TERMS), same(_KEY), same(*_STILL), _MOVED, sealed)
    exists = "EXISTS (SELECT 1 FROM accounts a WHERE a.name = NEW.name)"
    counted = f"UPDATE accounts SET seq = NEW.seq, head = NEW.hash, {_COUNTED} WHERE name = NEW.account;"
    return (
        anew("accounts_start_empty", refuse("an account starts empty", _STARTS), refuse("the account exists", exists)),
        anew("accounts_move_with_entries", refuse("an account moves with its entries only", moves)),
        anew(
            "entries_extend_the_chain",
            refuse("an entry extends the chain", _CHAIN),
            refuse("the charge exists", _AGAIN),
            refuse("over the cap", _OVER),
        ),
        anew("entries_are_charged", counted, as_owner=True),
    )
