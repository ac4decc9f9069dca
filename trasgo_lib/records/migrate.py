"""Bringing a records database to the revision this library works with, without a configuration file."""

from __future__ import annotations

import sqlalchemy as sa

from trasgo_lib.errors import Reason, StoreError

HEAD_REVISION = "0005"
"""The schema this library reads and writes; a test compares it with the newest file in ``migrations/versions``."""


def current_revision(connection: sa.Connection) -> str | None:
    """The revision a database is at; None for an empty one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return None if found is None else str(found)


def upgrade(connection: sa.Connection) -> None:
    """Apply every revision that is missing, inside the caller's transaction.

    Args:
        connection: inside a write transaction; concurrent openers wait for it and then find nothing to do.

    Raises:
        StoreError: the database was written by a newer version of trasgo.
    """
    revision = current_revision(connection)
    if revision == HEAD_REVISION:
        return
    # Alembic takes a third of a second to import, so an up-to-date database does not pay for it.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "trasgo_lib.records:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if revision is not None and revision not in known:
        raise StoreError.of(
            Reason.DATABASE_UNREACHABLE,
            "records database",
            required=f"a schema up to revision {HEAD_REVISION}",
            came="a revision this version does not know",
            fix="Use the newer version of trasgo that wrote it.",
        )
    command.upgrade(config, HEAD_REVISION)
