"""Writing private work files: for their owner only, and a disk that fills says how much was needed and is free."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from trasgo_lib.errors import StoreError

_OWNER_ONLY = 0o600
_OWNER_ONLY_FOLDER = 0o700
_BUFFER_BYTES = 1 << 16


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter; one that is there already is closed to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=_OWNER_ONLY_FOLDER)
    folder.chmod(_OWNER_ONLY_FOLDER)


def create_private(path: Path) -> BinaryIO:
    """A new file of mode 0600 at this path, whatever the umask, open for writing; an older one is replaced."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    return os.fdopen(handle, "wb", buffering=_BUFFER_BYTES)


@contextmanager
def writing(folder: Path, needed: int) -> Iterator[None]:
    """Turn what a disk refuses inside the block into our own error.

    Args:
        folder: where is written.
        needed: bytes that are to be written.

    Raises:
        StoreError: the disk is full (with both amounts), read-only, forbidden or broken.
    """
    try:
        yield
    except OSError as error:
        refused = StoreError.of_disk(error, folder, needed)
        if refused is None:
            raise
        raise refused from None


def require_room(folder: Path, needed: int) -> None:
    """Stop before anything is written that the disk has no room for.

    Args:
        folder: where it will be written; need not exist yet.
        needed: bytes at least.

    Raises:
        StoreError: with the bytes needed and the bytes free.
    """
    refused = StoreError.of_room(folder, needed)
    if refused is not None:
        raise refused
