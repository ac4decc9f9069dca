"""The database of the embedded orchestrator, ready made: its migrations are more than half of a first start.

Prefect brings an empty SQLite database up to date by every migration since its first release: 11 s of the 20 s of
processor time after which a server with a new home answers. The file beside this one holds the tables as those leave
them and the revision at which they stand, so that Prefect goes on from there, with newer ones where there are any.
``python -m flows.orchestrator_database > flows/orchestrator_database.sql`` writes it from the installed Prefect.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

_TABLES = Path(__file__).with_suffix(".sql")
_MIGRATIONS = "server/database/_migrations/versions/sqlite"


def make_ready() -> None:
    """Put the database where Prefect would make it, when it would make one: nothing else is touched, nothing fails."""
    import prefect
    from prefect.settings import get_current_settings

    settings = get_current_settings()
    place, address = settings.home / "prefect.db", settings.server.database.connection_url
    if settings.api.url is not None or address is None or place.exists():
        return
    if address.get_secret_value() != f"sqlite+aiosqlite:///{place}":
        return
    statements = _TABLES.read_text(encoding="utf-8")
    if next((prefect.__module_path__ / _MIGRATIONS).glob(f"*_{revision_of(statements)}_*.py"), None) is None:
        return  # an older Prefect, which would not know where to go on
    made = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        with closing(sqlite3.connect(made)) as database:
            database.executescript(f"BEGIN;\n{statements}COMMIT;\n")
        os.link(made, place)  # fails where another run has put one meanwhile
    except (OSError, sqlite3.Error):
        return  # Prefect makes its own, or says why it cannot
    finally:
        made.unlink(missing_ok=True)


def revision_of(statements: str) -> str:
    """The migration at which the tables stand.

    Args:
        statements: the text of the file.
    """
    found = re.search(r"INSERT INTO alembic_version VALUES \('(\w+)'\)", statements)
    return found[1] if found else "none"


def tables_of(database: Path) -> str:
    """Statements that make an empty database of the same form, one a line.

    Args:
        database: a database that Prefect has migrated and nobody has used.
    """
    with closing(sqlite3.connect(database)) as connection:
        made = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    lines = [" ".join(sql.split()) for (sql,) in made]
    return "".join(f"{line};\n" for line in [*lines, f"INSERT INTO alembic_version VALUES ('{revision}')"])


def main() -> None:
    """Let the installed Prefect make a database in a new home, and tell its tables."""
    from flows.environment import prepare_prefect

    with tempfile.TemporaryDirectory() as folder:
        for name in [name for name in os.environ if name.startswith("PREFECT_")]:
            del os.environ[name]
        prepare_prefect(Path(folder))
        (Path(folder) / "prefect").mkdir()
        from prefect.server.database import provide_database_interface

        asyncio.run(provide_database_interface().create_db())
        sys.stdout.write(tables_of(Path(folder) / "prefect" / "prefect.db"))


if __name__ == "__main__":
    main()
