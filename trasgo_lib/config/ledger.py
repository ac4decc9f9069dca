"""Where the records database is: a SQLite file, or a PostgreSQL server by URL; a password is never part of it.

A URL stands in release files, and those go into repositories, logs and mails. So a URL that holds a password is
refused, and no error repeats a URL.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from trasgo_lib.errors import ConfigError, Reason

_OPTIONS = frozenset(
    {
        "host",
        "port",
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "sslcrl",
        "passfile",
        "connect_timeout",
        "target_session_attrs",
        "channel_binding",
        "gssencmode",
    }
)
"""What a URL may say after its question mark: libpq's words for where the server is and how it is trusted."""

_POSTGRESQL = frozenset({"postgresql", "postgresql+psycopg"})


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A SQLite database.

    Args:
        path: the file, absolute.
    """

    path: Path

    @property
    def shown(self) -> str:
        """What errors call it: the name of the file."""
        return self.path.name

    @property
    def url(self) -> str:
        """The address as a release file may hold it."""
        return f"sqlite:///{self.path}"


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A database on a PostgreSQL server; what is None is taken from libpq's own variables (PGHOST, PGUSER, ...).

    Args:
        host: server, or None.
        port: its port, or None.
        user: role, or None.
        database: the database.
        options: further libpq parameters of the URL, in its order.
    """

    host: str | None
    port: int | None
    user: str | None
    database: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """What errors call it: the name of the database."""
        return self.database

    @property
    def url(self) -> str:
        """The address as a release file may hold it."""
        user = "" if self.user is None else f"{quote(self.user, safe='')}@"
        port = "" if self.port is None else f":{self.port}"
        query = f"?{urlencode(self.options)}" if self.options else ""
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host or ""
        return f"postgresql+psycopg://{user}{host}{port}/{quote(self.database, safe='')}{query}"


LedgerAddress = SqliteFile | PostgresDatabase


def ledger_address(url: str | Path, base: Path | None = None) -> LedgerAddress:
    """What a ledger URL names.

    Args:
        url: ``sqlite:///relative``, ``sqlite:////absolute``, a path, or
            ``postgresql+psycopg://[user@]host[:port]/database[?options]``; public, and never shown in an error.
        base: folder at which a relative path starts; the working directory when None.

    Raises:
        ConfigError: a password in the URL, an unknown kind of database or option, or no file or database.
    """
    if isinstance(url, str) and "password=" in url.lower():
        raise _with_password()
    start = Path.cwd() if base is None else base.absolute()
    if isinstance(url, Path) or "://" not in url:
        return SqliteFile(start / url)
    kind, _, rest = url.partition("://")
    if kind in _POSTGRESQL:
        return _postgresql(rest)
    if kind != "sqlite":
        raise _bad(Reason.UNKNOWN_NAME if kind else Reason.BAD_SHAPE, "another kind of database" if kind else "no kind")
    name = rest.removeprefix("/")
    if not rest.startswith("/") or name in ("", ":memory:") or "?" in name:
        raise _bad(Reason.BAD_SHAPE, "a sqlite URL that names no file, or more than a file")
    return SqliteFile(start / name)


def _postgresql(rest: str) -> PostgresDatabase:
    read = _read_url(rest)
    if read is None:  # raised here, so that no cause with a piece of the URL hangs on it
        raise _bad(Reason.BAD_SHAPE, "a postgresql URL that cannot be read")
    parts, port, options = read
    if parts.password is not None:
        raise _with_password()
    database = unquote(parts.path.removeprefix("/"))
    if not database or "/" in database or parts.fragment:
        raise _bad(Reason.BAD_SHAPE, "a postgresql URL that does not end in the name of a database")
    names = [name for name, _ in options]
    twice = len(names) != len(set(names)) or ("host" in names and parts.hostname) or ("port" in names and port)
    if twice or not _OPTIONS.issuperset(names):
        raise ConfigError.of(
            Reason.UNKNOWN_NAME,
            "ledger.url",
            required=f"options among {', '.join(sorted(_OPTIONS))}, each once",
            came="another option, or one twice",
            fix="Set it for the role or the database instead: ALTER ROLE ... SET.",
        )
    user = None if not parts.username else unquote(parts.username)
    return PostgresDatabase(parts.hostname or None, port, user, database, tuple(options))


def _read_url(rest: str) -> tuple[SplitResult, int | None, list[tuple[str, str]]] | None:
    try:
        parts = urlsplit(f"//{rest}")
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else []
        return parts, parts.port, options
    except ValueError:
        return None


def _with_password() -> ConfigError:
    return ConfigError.of(
        Reason.BAD_PARAMETER,
        "ledger.url",
        required="a URL without a password",
        came="a URL with a password in it (not shown)",
        fix="Take it out and change it: it has been written down. Give it by PGPASSWORD, PGPASSFILE, or "
        "`password_env: NAME` below `ledger`.",
    )


def _bad(reason: Reason, came: str) -> ConfigError:
    return ConfigError.of(
        reason,
        "ledger.url",
        required="sqlite:///path of a file, or postgresql+psycopg://user@host:port/database",
        came=came,
        fix="Use SQLite on a local disk, or a PostgreSQL server.",
    )
