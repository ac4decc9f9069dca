"""Every event is a step forward, and a person has one name however it is spelled; guarded in the database.

Until here only the library and ``trasgo ledger check`` knew which step may follow which. An event of another kind that
carried the state ``published`` passed by the guard of approvals, and ``Ana`` could approve what ``ana`` had run.
"""

from __future__ import annotations

from alembic import op

from trasgo_lib.records.migrations import guards_postgresql, guards_sqlite, publication_postgresql, publication_sqlite
from trasgo_lib.records.migrations.guards_postgresql import own_schema
from trasgo_lib.records.migrations.publication_sqlite import LIFE

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_STEPS = {
    "planned": ("validated", "withdrawn"),
    "validated": ("drawn", "withdrawn"),
    "drawn": ("checked", "held", "withdrawn"),
    "checked": ("held", "approved", "published", "withdrawn"),
    "held": ("approved", "withdrawn"),
    "approved": ("published", "withdrawn"),
    "published": ("superseded", "withdrawn"),
    "superseded": ("withdrawn",),
}
_ALLOWED = ", ".join(f"'{before} {after}'" for before, states in _STEPS.items() for after in states)
_BEFORE = f"(SELECT e.state FROM events e WHERE {LIFE} AND e.seq = NEW.seq - 1)"
_FORWARD = (
    "CASE WHEN NEW.seq = 1 THEN NEW.kind = 'state' AND NEW.state = 'planned' "
    f"WHEN NEW.kind = 'state' THEN {_BEFORE} || ' ' || NEW.state IN ({_ALLOWED}) "
    f"ELSE NEW.kind IN ('freeze', 'package', 'approval', 'rewrap', 'destroy') AND NEW.state = {_BEFORE} END"
)


def upgrade() -> None:
    """Add the guard of steps and replace the one of approvals."""
    found = _for_sqlite() if op.get_bind().dialect.name == "sqlite" else _for_postgresql(own_schema())
    for statement in found:
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    """Refused: a ledger never forgets."""
    raise NotImplementedError("the records database has no way back")


def _same(name: str) -> str:
    return f"lower(replace({name}, ' ', ''))"


def _for_sqlite() -> tuple[str, ...]:
    step = f"SELECT RAISE(ABORT, 'an event is a step forward') WHERE NOT COALESCE({_FORWARD}, 0)"
    return (
        "DROP TRIGGER events_approvals_by_others",
        publication_sqlite.approvals(_same),
        guards_sqlite.trigger("events_step_forward", "BEFORE INSERT", "events", step),
    )


def _for_postgresql(schema: str) -> tuple[str, ...]:
    replaced, _ = publication_postgresql.approvals(schema, _same)
    step = guards_postgresql.refuse("an event is a step forward", f"NOT COALESCE({_FORWARD}, false)")
    called = "trasgo_events_step_forward()"
    return (
        replaced.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1),
        guards_postgresql.function(called, schema, f"{step} RETURN NEW;"),
        guards_postgresql.trigger("events_step_forward", "BEFORE INSERT", "events", called),
    )
