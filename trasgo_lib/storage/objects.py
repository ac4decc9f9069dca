"""Create-once objects: what is published is written once, flushed, and read back before it counts.

The only importer of obstore. A local put is staged as ``name#1`` and hard-linked to its final name, so no reader sees
a partial object; obstore does not flush, hence the explicit flushes here. There is no transaction over several
objects: writers put ``manifest.json`` last, and readers start from it.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    NotSupportedError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import LocalStore, MemoryStore

from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.storage import folders
from trasgo_lib.storage.location import check_key, local_root

_T = TypeVar("_T")
_CHUNK_BYTES = 4 * 2**20
"""Objects are hashed in pieces of this size, so reading back a large table takes no memory."""

_FINAL = (InvalidPathError, NotSupportedError, PermissionDeniedError, UnauthenticatedError)
"""Errors that another attempt cannot cure."""

_FIRST_PAUSE_SECONDS = 0.2
"""Doubles with every attempt: 0.2, 0.4, 0.8 s, enough for a dropped connection and short for a person."""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Objects under one root; made by :func:`open_store`.

    Args:
        backend: the obstore store.
        root: the folder, or None for a store in memory.
        private: whether files are 0600 and folders 0700 (restricted root) instead of 0644 and 0755 (public root).
        sleep: waits that many seconds between attempts.
        attempts: how often an operation is tried, at least 1.
    """

    backend: LocalStore | MemoryStore
    root: Path | None
    private: bool
    sleep: Callable[[float], None]
    attempts: int

    def put_once(self, key: str, data: bytes | Path) -> str:
        """Write an object that does not exist yet; the same bytes again is success.

        Args:
            key: relative path of the object; public.
            data: its bytes, or a local file that holds them.

        Returns:
            SHA-256 of the stored bytes, hex, computed by reading them back.

        Raises:
            ConflictError: the key holds other bytes.
            StoreError: the store stays unreachable or refuses, or does not return what was written.
            ConfigError: the key is not a plain relative path.
        """
        path = check_key(key)
        body = _bytes_of(data, mapped=self.root is not None) if isinstance(data, Path) else data
        wanted = hashlib.sha256(body).hexdigest()
        created = self._retried(key, lambda: self._create(path, body))
        found = self._retried(key, lambda: self._hash(path))
        if found == wanted:
            self._retried(key, lambda: self._settle(path))
            return wanted
        if created:
            raise StoreError.of(
                Reason.DIGEST_MISMATCH,
                key,
                required="the bytes that were written",
                came="other bytes when read back",
                fix="Check the disk or the store; nothing is published before its manifest.",
            )
        raise ConflictError.of(
            Reason.ALREADY_EXISTS,
            key,
            required="no object, or the same bytes",
            came="an object with other bytes",
            fix="A release is never overwritten: publish a new version.",
        )

    def get(self, key: str) -> bytes:
        """The object's bytes, whole.

        Raises:
            StoreError: it does not exist (``MISSING_FILE``) or the store is unreachable.
        """
        path = check_key(key)
        return self._retried(key, lambda: bytes(obstore.get(self.backend, path).bytes()))

    def remove(self, key: str) -> bool:
        """Take an object away: only ever the data of a version that is withdrawn.

        Returns:
            Whether it was there.

        Raises:
            StoreError: the store is unreachable, or does not allow it.
        """
        path = check_key(key)
        if not self.exists(key):
            return False
        self._retried(key, lambda: obstore.delete(self.backend, path))
        return True

    def digest(self, key: str) -> str:
        """SHA-256 of the object's bytes, hex, read in pieces.

        Raises:
            StoreError: it does not exist (``MISSING_FILE``) or the store is unreachable.
        """
        path = check_key(key)
        return self._retried(key, lambda: self._hash(path))

    def exists(self, key: str) -> bool:
        """Whether there is an object of this key.

        Raises:
            StoreError: the store is unreachable.
        """
        path = check_key(key)
        return self._retried(key, lambda: self._present(path))

    def list(self, prefix: str = "") -> tuple[str, ...]:
        """Keys below a prefix, sorted; leftovers of interrupted local puts (``name#1``) are not objects.

        Args:
            prefix: whole segments, such as ``cps1988/1``; empty for everything.

        Raises:
            StoreError: the store is unreachable.
        """
        below = check_key(prefix) if prefix else None
        found = self._retried(prefix or "/", lambda: obstore.list(self.backend, prefix=below).collect())
        return tuple(sorted(str(entry["path"]) for entry in found))

    def uri(self, key: str = "") -> str:
        """The object's address, or that of the root: ``file:///...`` or ``memory:///...``."""
        path = check_key(key) if key else ""
        if self.root is None:
            return f"memory:///{path}"
        return (self.root / path).as_uri()

    def local_path(self, key: str) -> Path | None:
        """Where the object lies on this machine's disk, or None when it does not."""
        return None if self.root is None else self.root / check_key(key)

    def _create(self, path: str, body: bytes | mmap.mmap) -> bool:
        """Put with create semantics; False when the key is taken, which also covers a retry after a lost reply."""
        if self.root is not None:
            mode = folders.PRIVATE_FOLDER_MODE if self.private else folders.PUBLIC_FOLDER_MODE
            folders.make_folder((self.root / path).parent, mode)
        try:
            # Create-once needs a single request; a multipart put would overwrite.
            obstore.put(self.backend, path, body, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        return True

    def _hash(self, path: str) -> str:
        digest = hashlib.sha256()
        for chunk in obstore.get(self.backend, path).stream(min_chunk_size=_CHUNK_BYTES):
            digest.update(chunk)
        return digest.hexdigest()

    def _present(self, path: str) -> bool:
        try:
            obstore.head(self.backend, path)
        except FileNotFoundError:
            return False
        return True

    def _settle(self, path: str) -> None:
        """Fix the mode of a local object and flush it and the folders that lead to it."""
        if self.root is None:
            return
        file = self.root / path
        folders.set_mode(file, folders.PRIVATE_FILE_MODE if self.private else folders.PUBLIC_FILE_MODE)
        folders.flush(file)
        for folder in file.parents:
            folders.flush(folder)
            if folder == self.root:
                break

    def _retried(self, key: str, operation: Callable[[], _T]) -> _T:
        for attempt in range(self.attempts):
            if attempt:
                self.sleep(_FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
            try:
                return operation()
            except FileNotFoundError:
                raise _missing(key) from None
            except _FINAL as error:
                raise _unreachable(key, type(error).__name__, 1 + attempt) from None
            except (BaseError, OSError) as error:
                last = type(error).__name__
        raise _unreachable(key, last, self.attempts) from None


def open_store(
    location: str | Path,
    *,
    private: bool = False,
    create: bool = True,
    sleep: Callable[[float], None] = lambda seconds: None,
    attempts: int = 4,
) -> ObjectStore:
    """Open the store at a location.

    Args:
        location: a folder, ``file:///absolute/folder`` or ``memory:`` (a fresh, empty store).
        private: True for the restricted root: 0600 and 0700, the root itself included.
        create: whether a missing folder is made; readers say False.
        sleep: waits that many seconds between attempts; the caller's ``time.sleep``.
        attempts: how often an operation is tried before the store counts as unreachable, at least 1.

    Raises:
        ConfigError: the location is of a kind that is not built yet, or unknown.
        StoreError: the folder is absent (with ``create=False``), not a folder, or cannot be made.
    """
    if attempts < 1:
        raise ValueError("at least one attempt")
    root = local_root(location)
    if root is None:
        return ObjectStore(MemoryStore(), None, private, sleep, attempts)
    try:
        if create:
            folders.make_folder(root, folders.PRIVATE_FOLDER_MODE if private else folders.PUBLIC_FOLDER_MODE)
            if private:
                folders.set_mode(root, folders.PRIVATE_FOLDER_MODE)
        elif not root.is_dir():  # obstore opens a file as a root and fails only when it is used
            raise NotADirectoryError(20, "Not a directory") if root.exists() else FileNotFoundError
        backend = LocalStore(root, mkdir=False)
    except FileNotFoundError:
        raise _missing(str(root)) from None
    except (BaseError, OSError, ValueError) as error:
        raise _unreachable(str(root), getattr(error, "strerror", None) or type(error).__name__, 1) from None
    return ObjectStore(backend, root, private, sleep, attempts)


def _bytes_of(file: Path, *, mapped: bool) -> bytes | mmap.mmap:
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


def _missing(key: str) -> StoreError:
    return StoreError.of(
        Reason.MISSING_FILE, key, required="an existing object", came="none", fix="Check the name and the store."
    )


def _unreachable(key: str, problem: str, attempts: int) -> StoreError:
    # The class name only: a client's message can hold a URL with credentials.
    return StoreError.of(
        Reason.STORE_UNREACHABLE,
        key,
        required="a store that answers",
        came=f"{problem} after {attempts} attempt(s)",
        fix="Check the disk, its free space and its permissions (or the network), then run again.",
    )
