"""Where a ledger has moved to: one row, and from then on the database takes no record any more.

``moved`` is for good. ``arriving`` stands in the new ledger until the old one is closed, so that at no moment two
ledgers can be charged; only that row can be taken away again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from trasgo_lib.records.migrations import guards_postgresql, guards_sqlite
from trasgo_lib.records.migrations.guards_postgresql import own_schema

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_CLOSED = ("accounts", "entries", "versions", "events", "leases")


def upgrade() -> None:
    """Create the table and the triggers that close a ledger."""
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "relocation",
        sa.Column("only_row", whole, primary_key=True, autoincrement=False),
        sa.Column("state", text, nullable=False),
        sa.Column("peer", text, nullable=False),
        sa.Column("actor", text, nullable=False),
        sa.Column("at", text, nullable=False),
        sa.CheckConstraint("only_row = 1", name="relocation_once"),
        sa.CheckConstraint("state IN ('arriving', 'moved')", name="relocation_state"),
        sqlite_strict=True,
    )
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in _for_sqlite() if on_sqlite else _for_postgresql(own_schema()):
        op.execute(statement)


def downgrade() -> None:
    """Refused: a ledger never forgets."""
    raise NotImplementedError("the records database has no way back")


def _for_sqlite() -> tuple[str, ...]:
    refuse = "SELECT RAISE(ABORT, '{}') WHERE {}"
    closed = refuse.format("this ledger has moved", "EXISTS (SELECT 1 FROM relocation)")
    return (
        *(guards_sqlite.trigger(f"{t}_closed_by_move", "BEFORE INSERT", t, closed) for t in _CLOSED),
        guards_sqlite.trigger("leases_not_renewed_after_move", "BEFORE UPDATE", "leases", closed),
        guards_sqlite.trigger(
            "relocation_once_only",
            "BEFORE INSERT",
            "relocation",
            refuse.format("this ledger has moved", "EXISTS (SELECT 1 FROM relocation)"),
        ),
        guards_sqlite.trigger("relocation_no_update", "BEFORE UPDATE", "relocation", refuse.format("it is final", "1")),
        guards_sqlite.trigger(
            "relocation_no_delete", "BEFORE DELETE", "relocation", refuse.format("it is final", "OLD.state = 'moved'")
        ),
    )


def _for_postgresql(schema: str) -> tuple[str, ...]:
    closed = guards_postgresql.refuse("this ledger has moved", "EXISTS (SELECT 1 FROM relocation)")
    final = guards_postgresql.refuse("it is final", "OLD.state = 'moved'")
    call = "trasgo_closed_by_move()"
    return (
        guards_postgresql.function(call, schema, f"{closed} RETURN NEW;"),
        guards_postgresql.function("trasgo_relocation_is_final()", schema, f"{final} RETURN OLD;"),
        *(guards_postgresql.trigger(f"{t}_closed_by_move", "BEFORE INSERT", t, call) for t in _CLOSED),
        guards_postgresql.trigger("leases_not_renewed_after_move", "BEFORE UPDATE", "leases", call),
        guards_postgresql.trigger("relocation_once_only", "BEFORE INSERT", "relocation", call),
        guards_postgresql.trigger(
            "relocation_no_update", "BEFORE UPDATE", "relocation", "trasgo_refuse_change('it is final')"
        ),
        guards_postgresql.trigger(
            "relocation_no_delete", "BEFORE DELETE", "relocation", "trasgo_relocation_is_final()"
        ),
        guards_postgresql.trigger(
            "relocation_no_truncate",
            "BEFORE TRUNCATE",
            "relocation",
            "trasgo_refuse_change('it is final')",
            each="STATEMENT",
        ),
    )
