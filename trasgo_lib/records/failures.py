"""What database errors become: ours, with clean text; a driver's own text can quote statements, parameters and URLs."""

from __future__ import annotations

from trasgo_lib.errors import Reason, StoreError


def unreachable(name: str, came: str, fix: str) -> StoreError:
    """The database does not answer, or not as it must.

    Args:
        name: what errors call it; public.
        came: what was found.
        fix: what to do.
    """
    return StoreError.of(
        Reason.DATABASE_UNREACHABLE, f"database {name}", required="a database that answers", came=came, fix=fix
    )


def broken_guard(name: str, condition_name: str) -> StoreError:
    """A write that the database's own guards refuse."""
    return StoreError.of(
        Reason.CHAIN_BROKEN,
        f"database {name}",
        required="a write that extends the record",
        came=f"a write its guards refuse ({condition_name}); nothing was written",
        fix="Run: trasgo ledger check",
    )


def condition(error: Exception) -> str:
    """The database's own name of a condition, such as SQLITE_BUSY or 55P03; else the class name."""
    cause = getattr(error, "orig", None) or error
    named = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    return str(named or type(cause).__name__)
