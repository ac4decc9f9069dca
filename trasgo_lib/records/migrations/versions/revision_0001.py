"""Accounts and their ledger, versions and their lifecycle, run leases; append-only by trigger, capped by CHECK.

An account's spent amounts, length and head move only inside the trigger that an inserted entry fires; any other
update of the row is refused, so they cannot drift from the entries, and a deleted last entry shows. The cap stands
twice: as a CHECK on the account, and in the trigger before the insert, since ``INSERT OR IGNORE`` would skip the
failing CHECK and keep the entry.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from trasgo_lib.records.migrations import guards_postgresql, guards_sqlite
from trasgo_lib.records.migrations.guards_postgresql import own_schema

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_AMOUNTS = ("epsilon", "delta", "geo")


def upgrade() -> None:
    """Create the tables, then the triggers that guard them."""
    _create_ledger()
    _create_lifecycle()
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in guards_sqlite.statements() if on_sqlite else guards_postgresql.statements(own_schema()):
        op.execute(statement)


def downgrade() -> None:
    """Refused: a ledger never forgets."""
    raise NotImplementedError("the records database has no way back")


def _text() -> sa.types.TypeEngine[str]:
    # Names order by their bytes on both databases, so that both list the same heads in the same order.
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _whole() -> sa.types.TypeEngine[int]:
    # 64 bits everywhere; SQLite's INTEGER has them and a STRICT table knows no other name.
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _create_ledger() -> None:
    op.create_table(
        "accounts",
        sa.Column("name", _text(), primary_key=True),
        sa.Column("population", _text(), nullable=False),
        sa.Column("unit", _text(), nullable=False),
        sa.Column("max_rows", _whole(), nullable=False),
        sa.Column("composition", _text(), nullable=False),
        *(sa.Column(f"cap_{amount}", _whole(), nullable=False) for amount in _AMOUNTS),
        sa.Column("wrapped_digest_key", sa.LargeBinary, nullable=False),
        sa.Column("seq", _whole(), nullable=False),
        sa.Column("head", _text(), nullable=False),
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
        sa.Column("account", _text(), sa.ForeignKey("accounts.name"), primary_key=True),
        sa.Column("seq", _whole(), primary_key=True, autoincrement=False),
        sa.Column("kind", _text(), nullable=False),
        sa.Column("dataset", _text()),
        sa.Column("version", _text()),
        sa.Column("identity", _text(), unique=True),
        *(sa.Column(amount, _whole(), nullable=False) for amount in _AMOUNTS),
        sa.Column("prev", _text(), nullable=False),
        sa.Column("hash", _text(), nullable=False, unique=True),
        sa.Column("document", _text(), nullable=False),
        sa.CheckConstraint("seq >= 1", name="entries_seq"),
        *(sa.CheckConstraint(f"{amount} >= 0", name=f"entries_{amount}_not_negative") for amount in _AMOUNTS),
        sqlite_strict=True,
    )
    op.create_index("entries_by_version", "entries", ["dataset", "version"])


def _create_lifecycle() -> None:
    op.create_table(
        "versions",
        sa.Column("dataset", _text(), primary_key=True),
        sa.Column("version", _text(), primary_key=True),
        sa.Column("account", _text(), sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("commitment", _text(), nullable=False, unique=True),
        sa.Column("wrapped_root", sa.LargeBinary, nullable=False),
        sa.Column("seq", _whole(), nullable=False),
        sa.Column("head", _text(), nullable=False),
        sqlite_strict=True,
    )
    op.create_table(
        "events",
        sa.Column("dataset", _text(), primary_key=True),
        sa.Column("version", _text(), primary_key=True),
        sa.Column("seq", _whole(), primary_key=True, autoincrement=False),
        sa.Column("kind", _text(), nullable=False),
        sa.Column("state", _text(), nullable=False),
        sa.Column("prev", _text(), nullable=False),
        sa.Column("hash", _text(), nullable=False, unique=True),
        sa.Column("document", _text(), nullable=False),
        sa.ForeignKeyConstraint(["dataset", "version"], ["versions.dataset", "versions.version"]),
        sqlite_strict=True,
    )
    op.create_table(
        "leases",
        sa.Column("dataset", _text(), primary_key=True),
        sa.Column("version", _text(), primary_key=True),
        sa.Column("holder", _text(), nullable=False),
        sa.Column("taken_at", _text(), nullable=False),
        sa.Column("expires_at", _text(), nullable=False),
        sqlite_strict=True,
    )
