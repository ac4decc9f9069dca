"""Accounts and their ledger, versions and their lifecycle, run leases; append-only by trigger, capped by CHECK.

An account's spent amounts, length and head move only inside the trigger that an inserted entry fires; any other
update of the row is refused, so they cannot drift from the entries, and a deleted last entry shows. The cap stands
twice: as a CHECK on the account, and in the trigger before the insert, since ``INSERT OR IGNORE`` would skip the
failing CHECK and keep the entry.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_GENESIS = "0" * 64
_AMOUNTS = ("epsilon", "delta", "geo")


def upgrade() -> None:
    """Create the tables, then the triggers that guard them."""
    _create_ledger()
    _create_lifecycle()
    for statement in (*_ledger_triggers(), *_lifecycle_triggers(), *_refusals()):
        op.execute(statement)


def downgrade() -> None:
    """Refused: a ledger never forgets."""
    raise NotImplementedError("the records database has no way back")


def _whole() -> sa.types.TypeEngine[int]:
    # 64 bits everywhere; SQLite's INTEGER has them and a STRICT table knows no other name.
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _create_ledger() -> None:
    op.create_table(
        "accounts",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("population", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("max_rows", _whole(), nullable=False),
        sa.Column("composition", sa.Text, nullable=False),
        *(sa.Column(f"cap_{amount}", _whole(), nullable=False) for amount in _AMOUNTS),
        sa.Column("wrapped_digest_key", sa.LargeBinary, nullable=False),
        sa.Column("seq", _whole(), nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        *(sa.Column(f"spent_{amount}", _whole(), nullable=False) for amount in _AMOUNTS),
        sa.CheckConstraint("max_rows >= 1", name="accounts_max_rows"),
        *(
            sa.CheckConstraint(f"spent_{amount} BETWEEN 0 AND cap_{amount}", name=f"accounts_{amount}_within_cap")
            for amount in _AMOUNTS
        ),
        sqlite_strict=True,
    )
    op.create_table(
        "entries",
        sa.Column("account", sa.Text, sa.ForeignKey("accounts.name"), primary_key=True),
        sa.Column("seq", _whole(), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("dataset", sa.Text),
        sa.Column("version", sa.Text),
        sa.Column("identity", sa.Text, unique=True),
        *(sa.Column(amount, _whole(), nullable=False) for amount in _AMOUNTS),
        sa.Column("prev", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False, unique=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.CheckConstraint("seq >= 1", name="entries_seq"),
        *(sa.CheckConstraint(f"{amount} >= 0", name=f"entries_{amount}_not_negative") for amount in _AMOUNTS),
        sqlite_strict=True,
    )
    op.create_index("entries_by_version", "entries", ["dataset", "version"])


def _create_lifecycle() -> None:
    op.create_table(
        "versions",
        sa.Column("dataset", sa.Text, primary_key=True),
        sa.Column("version", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("commitment", sa.Text, nullable=False, unique=True),
        sa.Column("wrapped_root", sa.LargeBinary, nullable=False),
        sa.Column("seq", _whole(), nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        sqlite_strict=True,
    )
    op.create_table(
        "events",
        sa.Column("dataset", sa.Text, primary_key=True),
        sa.Column("version", sa.Text, primary_key=True),
        sa.Column("seq", _whole(), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("prev", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False, unique=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["dataset", "version"], ["versions.dataset", "versions.version"]),
        sqlite_strict=True,
    )
    op.create_table(
        "leases",
        sa.Column("dataset", sa.Text, primary_key=True),
        sa.Column("version", sa.Text, primary_key=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("taken_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
        sqlite_strict=True,
    )


def _trigger(name: str, moment: str, table: str, *actions: str) -> str:
    return f"CREATE TRIGGER {name} {moment} ON {table} BEGIN {' '.join(f'{action};' for action in actions)} END"


def _refuse(text: str, when: str) -> str:
    return f"SELECT RAISE(ABORT, '{text}') WHERE {when}"


def _ledger_triggers() -> tuple[str, ...]:
    over = " OR ".join(f"spent_{a} + NEW.{a} > cap_{a}" for a in _AMOUNTS)
    kept = ("name", "population", "unit", "max_rows", "composition", "wrapped_digest_key")
    same = " AND ".join(f"NEW.{c} IS OLD.{c}" for c in (*kept, *(f"cap_{a}" for a in _AMOUNTS)))
    moved = " AND ".join(f"NEW.spent_{a} = OLD.spent_{a} + {a}" for a in _AMOUNTS)
    unspent = " OR ".join(f"NEW.spent_{a} <> 0" for a in _AMOUNTS)
    return (
        _trigger(
            "accounts_start_empty",
            "BEFORE INSERT",
            "accounts",
            _refuse("an account starts empty", f"NEW.seq <> 0 OR NEW.head <> '{_GENESIS}' OR {unspent}"),
            _refuse("the account exists", "EXISTS (SELECT 1 FROM accounts WHERE name = NEW.name)"),
        ),
        _trigger(
            "accounts_move_with_entries",
            "BEFORE UPDATE",
            "accounts",
            _refuse(
                "an account moves with its entries only",
                f"NOT ({same} AND NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM entries WHERE account = OLD.name "
                f"AND seq = NEW.seq AND hash = NEW.head AND prev = OLD.head AND {moved}))",
            ),
        ),
        _trigger(
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
        _trigger(
            "entries_are_charged",
            "AFTER INSERT",
            "entries",
            "UPDATE accounts SET seq = NEW.seq, head = NEW.hash, "
            + ", ".join(f"spent_{a} = spent_{a} + NEW.{a}" for a in _AMOUNTS)
            + " WHERE name = NEW.account",
        ),
    )


def _lifecycle_triggers() -> tuple[str, ...]:
    kept = ("dataset", "version", "account", "commitment", "wrapped_root")
    same = " AND ".join(f"NEW.{c} IS OLD.{c}" for c in kept)
    return (
        _trigger(
            "versions_start_empty",
            "BEFORE INSERT",
            "versions",
            _refuse("a version starts empty", f"NEW.seq <> 0 OR NEW.head <> '{_GENESIS}'"),
            _refuse(
                "the version exists",
                "EXISTS (SELECT 1 FROM versions WHERE (dataset = NEW.dataset AND version = NEW.version) "
                "OR commitment = NEW.commitment)",
            ),
        ),
        _trigger(
            "versions_move_with_events",
            "BEFORE UPDATE",
            "versions",
            _refuse(
                "a version moves with its events only",
                f"NOT ({same} AND NEW.seq = OLD.seq + 1 AND EXISTS (SELECT 1 FROM events WHERE dataset = OLD.dataset "
                "AND version = OLD.version AND seq = NEW.seq AND hash = NEW.head AND prev = OLD.head))",
            ),
        ),
        _trigger(
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
        _trigger(
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
        *(_trigger(f"{t}_no_update", "BEFORE UPDATE", t, refuse.format(t, "append-only")) for t in appended),
        *(_trigger(f"{t}_no_delete", "BEFORE DELETE", t, refuse.format(t, "never deleted")) for t in never_deleted),
    )
