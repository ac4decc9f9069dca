"""Which triggers guard the record, and whether they are in force: an owner of the tables can switch them off."""

from __future__ import annotations

import sqlalchemy as sa

_COMMON = frozenset(
    {
        "accounts_closed_by_move",
        "accounts_move_with_entries",
        "accounts_no_delete",
        "accounts_start_empty",
        "entries_are_charged",
        "entries_closed_by_move",
        "entries_extend_the_chain",
        "entries_no_delete",
        "entries_no_update",
        "events_are_counted",
        "events_approvals_by_others",
        "events_closed_by_move",
        "events_decided_with_approvals",
        "events_extend_the_chain",
        "events_freeze_keeps_what_was_charged_for",
        "events_no_delete",
        "events_no_update",
        "events_published_after_embargo",
        "events_repeat_their_document",
        "events_step_forward",
        "leases_closed_by_move",
        "leases_not_renewed_after_move",
        "relocation_no_delete",
        "relocation_no_update",
        "relocation_once_only",
        "versions_closed_by_move",
        "versions_move_with_events",
        "versions_no_delete",
        "versions_start_empty",
    }
)
_TRUNCATE = frozenset(f"{table}_no_truncate" for table in ("accounts", "entries", "events", "relocation", "versions"))

GUARDS = {"sqlite": _COMMON, "postgresql": _COMMON | _TRUNCATE}
"""Names of the triggers at the newest revision; a test compares them with a fresh database. SQLite has no TRUNCATE."""

_IN_FORCE = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    "WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('accounts')) "
    "AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')",
}


def missing(connection: sa.Connection) -> frozenset[str]:
    """Names of the guards that are not there or not in force."""
    kind = connection.dialect.name
    return GUARDS[kind] - frozenset(connection.exec_driver_sql(_IN_FORCE[kind]).scalars())
