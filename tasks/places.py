"""Where a run finds its ledger, its work folder and its wrapping key."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from trasgo_lib.keys import WrappingKey, load_wrapping_key
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.records import sqlite_path
from trasgo_lib.storage import local_root

KEY_VARIABLE = "TRASGO_WRAPPING_KEY"
KEY_FILE_VARIABLE = "TRASGO_KEY_FILE"


def ledger_path(plan: ReleasePlan) -> Path:
    """Where the ledger of a plan is: as declared (from the release file's folder), else in the restricted root."""
    if plan.config.ledger is not None:
        return sqlite_path(plan.config.ledger.url, plan.config_path.parent)
    folder = local_root(plan.restricted_root)
    return (folder or Path()) / ".trasgo" / "ledger.db"


def wrapping_key(plan: ReleasePlan, home: Path, environ: Callable[[str], str | None] = os.environ.get) -> WrappingKey:
    """The wrapping key: as the release file says, else from the environment, else ``wrapping.key`` in the state folder.

    Raises:
        ConfigError: there is none, or it is not usable.
    """
    keys = plan.config.keys
    if keys is not None and keys.env is not None:
        return load_wrapping_key(None, environ(keys.env))
    if keys is not None and keys.file is not None:
        return load_wrapping_key((plan.config_path.parent / keys.file).resolve(), None)
    text, file = environ(KEY_VARIABLE), environ(KEY_FILE_VARIABLE)
    if text is not None or file is not None:
        return load_wrapping_key(None if file is None else Path(file), text)
    return load_wrapping_key(home / "wrapping.key", None)


def work_folder(plan: ReleasePlan, home: Path) -> Path:
    """Where private work files go: beside the ledger in the restricted root, else in the state folder."""
    folder = local_root(plan.restricted_root)
    state = home if folder is None else folder / ".trasgo"
    return state / "work" / plan.dataset / plan.version
