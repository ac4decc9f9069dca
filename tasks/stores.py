"""How a run reaches its two roots: endpoint, region and credentials, from release file, environment or Prefect."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from trasgo_lib.config import S3Spec
from trasgo_lib.errors import ConfigError
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.storage import (
    STANDARD_PREFIX,
    Bucket,
    ObjectStore,
    S3Access,
    check_endpoint,
    environment_endpoint,
    environment_region,
    open_store,
    place_of,
    read_credentials,
    unusable,
)

BLOCK = "block:"
"""What the name of a Prefect secret begins with in the release file."""

_SECRET_FIELDS = "a mapping with access_key_id and secret_access_key, each one line of text"


def open_root(root: str, spec: S3Spec | None, *, private: bool = False, create: bool = True) -> ObjectStore:
    """A root of a plan, for writing.

    Args:
        root: where it is; public.
        spec: how it is reached when it is a bucket.
        private: True for the restricted root.
        create: whether a missing folder is made.

    Raises:
        ConfigError: there are no credentials, or they cannot be used.
        StoreError: a folder cannot be made or opened. A bucket is not asked yet.
    """
    access = store_access(spec) if isinstance(place_of(root), Bucket) else None
    return open_store(root, private=private, create=create, access=access, sleep=time.sleep)


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
    """Whether the plan's stores, its ledger or its key cannot be opened without asking Prefect for a secret."""
    publish, ledger, keys = plan.config.publish, plan.config.ledger, plan.config.keys
    if (ledger is not None and ledger.password_block is not None) or (keys is not None and keys.block is not None):
        return True
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


def remove_below(store: ObjectStore, prefix: str) -> None:
    """Take away every object under a prefix, such as those that workers without a shared disk were given.

    Raises:
        StoreError: the store is out of reach, or does not allow it.
    """
    for key in store.list(prefix):
        store.remove(key)
