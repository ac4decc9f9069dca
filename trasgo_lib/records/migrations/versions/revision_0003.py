"""Approvals, embargoes and changes of keys, guarded in the database.

Until here a version's wrapped root and an account's wrapped digest key could not change at all. From here on they
change directly after a chained record that announces exactly these bytes (their nonce and tag), and in no other way:
another wrapping of the same length, or, for a root, nothing at all. A destroyed root never comes back.

A version that was frozen with ``approvals: n`` cannot become approved or published without n approvals of this very
package by different people, none of whom ran it; nor can one be published before its embargo ends.
"""

from __future__ import annotations

from alembic import op

from trasgo_lib.records.migrations import publication_postgresql, publication_sqlite
from trasgo_lib.records.migrations.guards_postgresql import own_schema

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace the two guards of wrapped secrets and add those of publication."""
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    found = publication_sqlite.statements() if on_sqlite else publication_postgresql.statements(own_schema())
    for statement in found:
        # not op.execute: it would take the colons of a cast or a time for a bound parameter
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    """Refused: a ledger never forgets."""
    raise NotImplementedError("the records database has no way back")
