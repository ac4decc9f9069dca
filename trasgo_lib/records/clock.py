"""The database's own time: leases end by one clock, whatever the clocks of the machines that hold them say.

SQLite has no server, so its time is that of the one machine whose disk holds the file; all who can open it share it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

_NOW = {
    "sqlite": "SELECT strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now')",
    # the time now, not that at which the transaction began: it may have waited for a lock
    "postgresql": "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"+00:00\"')",
}


def database_time(connection: sa.Connection) -> str:
    """Now by the database's clock: UTC with microseconds, so that texts compare as times do."""
    return str(connection.exec_driver_sql(_NOW[connection.dialect.name]).scalar_one())


def later(moment: str, by: timedelta) -> str:
    """The same form of a later time."""
    return (datetime.fromisoformat(moment) + by).isoformat(timespec="microseconds")
