"""Stored objects as Arrow reads them: mapped where they lie on this machine's disk, else in ranges or as a copy."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.storage import ObjectStore

_COPIED_BYTES = 1 << 22
"""Copied at a time; with S3, each is a request."""


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


@contextmanager
def on_disk(store: ObjectStore, key: str) -> Iterator[Path]:
    """A stored object as a file: itself where it lies on this disk, else a copy that goes with the block.

    Arrow reads CSV ahead, in threads of its own. Through a Python file such a thread may still want the interpreter
    when the command is over, and the whole process is then aborted.

    Args:
        store: where it is.
        key: its key.

    Raises:
        StoreError: it does not exist or the store does not answer.
    """
    local = store.local_path(key)
    if local is not None:
        yield local
        return
    with tempfile.NamedTemporaryFile(prefix="trasgo-") as copy:
        with store.reader(key) as source:
            shutil.copyfileobj(source, copy, _COPIED_BYTES)
        copy.flush()
        yield Path(copy.name)


def is_out_of_reach(error: Exception, store: ObjectStore) -> bool:
    """Whether a failure tells about the way to a distant store and nothing about what is in it."""
    speaks_of_files = (Reason.MISSING_FILE, Reason.DIGEST_MISMATCH)
    return isinstance(error, StoreError) and store.root is None and error.reason not in speaks_of_files
