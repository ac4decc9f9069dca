"""Accounts in rho, and accounts with parts: a fourth amount, guarded like the others, and what was declared at opening.

Ledgers from before hold no rho and no parts: their rows get a zero and an empty text, and no document of theirs
changes.
"""

from __future__ import annotations

from alembic import op

from trasgo_lib.records.migrations import rho_guards
from trasgo_lib.records.migrations.guards_postgresql import own_schema

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_SQLITE = {"whole": "INTEGER", "text": "TEXT"}
_POSTGRESQL = {"whole": "BIGINT", "text": 'TEXT COLLATE "C"'}


def upgrade() -> None:
    """Add the columns, then the guards that know them."""
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    guards = rho_guards.for_sqlite() if on_sqlite else rho_guards.for_postgresql(own_schema())
    for statement in (*_columns(_SQLITE if on_sqlite else _POSTGRESQL), *guards):
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    """Refused: a ledger never forgets."""
    raise NotImplementedError("the records database has no way back")


def _columns(kind: dict[str, str]) -> tuple[str, ...]:
    whole, text = kind["whole"], kind["text"]
    within = "CONSTRAINT accounts_rho_within_cap CHECK (spent_rho BETWEEN 0 AND cap_rho)"
    not_negative = "CONSTRAINT entries_rho_not_negative CHECK (rho >= 0)"
    return (
        f"ALTER TABLE accounts ADD COLUMN cap_rho {whole} NOT NULL DEFAULT 0",
        f"ALTER TABLE accounts ADD COLUMN spent_rho {whole} NOT NULL DEFAULT 0 {within}",
        f"ALTER TABLE accounts ADD COLUMN partitions {text} NOT NULL DEFAULT ''",
        f"ALTER TABLE entries ADD COLUMN rho {whole} NOT NULL DEFAULT 0 {not_negative}",
    )
