"""Where a run finds its ledger, its work folder and its wrapping key."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from trasgo_lib.config import S3Spec
from trasgo_lib.errors import ConfigError
from trasgo_lib.keys import WrappingKey, load_wrapping_key
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.records import sqlite_path
from trasgo_lib.storage import (
    STANDARD_PREFIX,
    S3Access,
    check_endpoint,
    environment_endpoint,
    environment_region,
    local_root,
    read_credentials,
    unusable,
)

BLOCK = "block:"
"""What the name of a Prefect secret begins with in the release file."""

_SECRET_FIELDS = "a mapping with access_key_id and secret_access_key, each one line of text"

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


def store_access(
    spec: S3Spec | None,
    environ: Mapping[str, str] = os.environ,
    load_block: Callable[[str], Mapping[str, str]] | None = None,
) -> S3Access:
    """How an S3 root is reached: as the release file says, what it leaves out by the environment.

    Args:
        spec: the root's settings; None when the file has none.
        environ: the environment; secret.
        load_block: gives the fields of a Prefect secret by its name; secret. Prefect's own when None.

    Raises:
        ConfigError: there are no credentials, or they cannot be used; says where they were looked for.
    """
    spec = spec or S3Spec()
    if spec.credentials.startswith(BLOCK):
        name = spec.credentials.removeprefix(BLOCK)
        fields = (load_block or _prefect_secret)(name)
        where, found = (
            f"Prefect secret {name}",
            {f"{STANDARD_PREFIX}_{key.upper()}": text for key, text in fields.items()},
        )
        try:
            credentials = read_credentials(found)
        except ConfigError:
            raise unusable(where, _SECRET_FIELDS, "a value of another form") from None
    else:
        where = f"environment variable {spec.credentials}_ACCESS_KEY_ID"
        credentials = read_credentials(environ, spec.credentials)
    if credentials is None:
        raise unusable(where, "credentials of a root that a release is written to", "none")
    endpoint = spec.endpoint or environment_endpoint(environ)
    return S3Access(
        endpoint=check_endpoint(endpoint, allow_http=spec.allow_http),
        region=spec.region or environment_region(environ),
        credentials=credentials,
        allow_http=spec.allow_http,
    )


def needs_orchestrator(plan: ReleasePlan) -> bool:
    """Whether the plan's stores cannot be opened without asking Prefect for a secret."""
    publish = plan.config.publish
    specs = (publish.public_s3, publish.restricted_s3)
    return any(spec is not None and spec.credentials.startswith(BLOCK) for spec in specs)


def _prefect_secret(name: str) -> Mapping[str, str]:
    # late, so that offices without blocks do not start Prefect to find a finished release finished
    from prefect.blocks.system import Secret

    try:
        value = cast(Any, Secret.load(name)).get()
    except Exception:  # noqa: BLE001 its text could hold the secret, and every kind of it means the same
        raise unusable(f"Prefect secret {name}", "a block of type secret that can be read", "none") from None
    if not isinstance(value, dict) or not all(isinstance(part, str) for part in (*value, *value.values())):
        raise unusable(f"Prefect secret {name}", _SECRET_FIELDS, "a value of another form")
    return value
