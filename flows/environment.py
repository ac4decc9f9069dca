"""How this product starts Prefect: embedded, quiet, private.

Prefect reads its settings when it is first imported, so these are set before. What an operator has set already (an
address of a real server, say) is left alone, except what would write private data or call out.
"""

from __future__ import annotations

import os
from pathlib import Path

_ALWAYS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_TASKS_DEFAULT_PERSIST_RESULT": "false",
    "GX_ANALYTICS_ENABLED": "false",
}
"""No telemetry, and no result on disk, whatever the machine's profile says."""

_UNLESS_SET = {
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_SERVER_LEVEL": "CRITICAL",
}
"""An embedded server needs 10 s, many times that on a busy machine; its own messages would drown ours."""


UNNAMED = "unnamed"
"""Who acts where the environment names nobody; nobody of that name can approve."""


def prepare_prefect(home: Path) -> None:
    """Set the process environment for Prefect; call before it is imported.

    Args:
        home: the state folder; Prefect's database lives in ``home/prefect``.
    """
    os.umask(0o077)
    os.environ.update(_ALWAYS)
    for name, value in _UNLESS_SET.items():
        os.environ.setdefault(name, value)
    if "PREFECT_API_URL" not in os.environ:
        os.environ.setdefault("PREFECT_HOME", str(home / "prefect"))


def home() -> Path:
    """The state folder: ``TRASGO_HOME``, else ``.trasgo`` in the working directory."""
    return Path(os.environ.get("TRASGO_HOME") or ".trasgo").absolute()


def actor() -> str:
    """Who acts, as the ledger records it: ``TRASGO_ACTOR``, else the login name."""
    names = (os.environ.get(name, "").strip() for name in ("TRASGO_ACTOR", "USER", "LOGNAME"))
    return next((name for name in names if name), UNNAMED)
