"""Stored objects as Arrow reads them: mapped where they lie on this machine's disk, else in ranges."""

from __future__ import annotations

import pyarrow as pa

from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.storage import ObjectStore


def open_stored(store: ObjectStore, key: str) -> pa.NativeFile:
    """A stored object for Arrow's readers.

    Args:
        store: where it is.
        key: its key.

    Raises:
        StoreError: it does not exist or the store does not answer.
    """
    local = store.local_path(key)
    return pa.PythonFile(store.reader(key), mode="r") if local is None else pa.memory_map(str(local))


def is_out_of_reach(error: Exception, store: ObjectStore) -> bool:
    """Whether a failure tells about the way to a distant store and nothing about what is in it."""
    speaks_of_files = (Reason.MISSING_FILE, Reason.DIGEST_MISMATCH)
    return isinstance(error, StoreError) and store.root is None and error.reason not in speaks_of_files
