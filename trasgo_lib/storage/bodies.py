"""What is put into a store: bytes, or a file mapped into memory."""

from __future__ import annotations

import hashlib
import mmap
import os
from pathlib import Path

from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.storage import folders


def body_of(file: Path, *, mapped: bool) -> bytes | mmap.mmap:
    """The bytes of a file, mapped into memory where they are only passed through: a table is then not held twice.

    The mapping is not closed here, because the client can hold on to it; it goes with its last reference.
    """
    try:
        with file.open("rb") as opened:
            if mapped and os.fstat(opened.fileno()).st_size:
                return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            return opened.read()
    except OSError as error:
        raise StoreError.of(
            Reason.MISSING_FILE,
            file.name,
            required="a readable local file to store",
            came=error.strerror or "an error",
            fix="Run again; the work folder may have been removed.",
        ) from None


def digest_of(body: bytes | mmap.mmap) -> str:
    """SHA-256 of a body, hex, taken in pieces so that a mapping is not held whole."""
    digest = hashlib.sha256()
    for piece in folders.pieces(body):
        digest.update(piece)
    return digest.hexdigest()
