"""Create-once objects: what is published is written once, flushed, and read back before it counts.

One interface over a folder, a place in an S3 bucket, and memory. There is no transaction over several objects: writers
put ``manifest.json`` last, and readers start from it.
"""

from __future__ import annotations

import hashlib
import io
import mmap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar
from urllib.parse import quote

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import LocalStore, MemoryStore, S3Store

from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.storage import folders
from trasgo_lib.storage.access import S3Access, access_from_environment
from trasgo_lib.storage.bodies import body_of, digest_of
from trasgo_lib.storage.faults import TakenAndGoneError, is_absent, read_trouble, require_no_link
from trasgo_lib.storage.location import check_key, place_of
from trasgo_lib.storage.ranges import RangeReader
from trasgo_lib.storage.s3 import LARGEST_PUT_BYTES, S3Clients

if TYPE_CHECKING:
    from obstore import GetOptions

_T = TypeVar("_T")
_CHUNK_BYTES = 4 * 2**20
"""Objects are hashed in pieces of this size, so reading back a large table takes no memory."""

_FIRST_PAUSE_SECONDS = 0.2
"""Doubles with every attempt: 0.2, 0.4, 0.8, 1.6, 3.2 s, enough for a dropped connection and short for a person."""

PROOF_KEY = ".trasgo-create-once"
PROOF_TEXT = (
    b"This object shows that the store refuses to overwrite. It is the same for every release; leave it here.\n"
)


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Objects under one root; made by :func:`open_store`.

    Args:
        backend: where they are.
        root: the folder, or None where there is none.
        private: whether files are 0600 and folders 0700 (restricted root) instead of 0644 and 0755 (public root).
        sleep: waits that many seconds between attempts.
        attempts: how often an operation is tried, at least 1.
        proved: what was found out about the store already.
    """

    backend: LocalStore | MemoryStore | S3Clients
    root: Path | None
    private: bool
    sleep: Callable[[float], None] = field(repr=False)
    attempts: int
    proved: set[str] = field(default_factory=set, repr=False, compare=False)

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
        require_no_link(self.root, path)
        body = body_of(data, mapped=not isinstance(self.backend, MemoryStore)) if isinstance(data, Path) else data
        self._require_room(key, len(body))
        self.require_create_once()
        wanted = digest_of(body)
        created = self._retried(key, lambda: self._create(path, body), len(body))
        found = self._retried(key, lambda: self._hash(path))
        if found == wanted:
            self._retried(key, lambda: self._settle(path))
            return wanted
        if created:
            raise StoreError.of(
                Reason.DIGEST_MISMATCH,
                self._where(key),
                required="the bytes that were written",
                came="other bytes when read back",
                fix="Check the disk or the store; nothing is published before its manifest.",
            )
        raise ConflictError.of(
            Reason.ALREADY_EXISTS,
            self._where(key),
            required="no object, or the same bytes",
            came="an object with other bytes",
            fix="A release is never overwritten: publish a new version.",
        )

    def require_create_once(self) -> None:
        """Make sure that the store is reached, lets us write, and refuses to overwrite; asked once for each store.

        Some stores take a conditional write and ignore its condition. So the same small object is put twice: a store
        that takes it twice would also overwrite a release. Folders and memory need no proof.

        Raises:
            StoreError: the store overwrites (``STORE_UNSAFE``), refuses, or does not answer.
        """
        if not isinstance(self.backend, S3Clients) or "create-once" in self.proved:
            return
        # two requests to a new store, one to a known one
        if all(self._retried(PROOF_KEY, lambda: self._create(PROOF_KEY, PROOF_TEXT)) for _ in range(2)):
            raise StoreError.of(
                Reason.STORE_UNSAFE,
                self.uri(),
                required="a store that refuses to overwrite (conditional writes, If-None-Match)",
                came="a store that wrote the same object twice",
                fix="Nothing was published. Use another store: deployments/README.md says what one needs.",
            )
        self.proved.add("create-once")

    def get(self, key: str) -> bytes:
        """The object's bytes, whole.

        Raises:
            StoreError: it does not exist (``MISSING_FILE``) or the store is unreachable.
        """
        path = check_key(key)
        return self._retried(key, lambda: bytes(obstore.get(self._client_for(path), path).bytes()))

    def reader(self, key: str) -> BinaryIO:
        """The object as a file that can be sought in; it is read in ranges, so a large table takes no memory.

        Should the object change while it is read, the next read fails.

        Raises:
            StoreError: it does not exist (``MISSING_FILE``) or the store is unreachable.
        """
        path = check_key(key)
        meta = self._retried(key, lambda: obstore.head(self._client(), path))
        size, tag = int(meta["size"]), meta["e_tag"]

        def read(start: int, length: int) -> bytes:
            options: GetOptions = {"range": (start, start + length)}
            if tag is not None:
                options["if_match"] = tag
            return self._retried(key, lambda: bytes(obstore.get(self._client(length), path, options=options).bytes()))

        return io.BufferedReader(RangeReader(read, size), buffer_size=_CHUNK_BYTES)

    def remove(self, key: str) -> bool:
        """Take an object away: the data of a version that is withdrawn, or a stage object of the restricted root.

        Returns:
            Whether it was there.

        Raises:
            StoreError: the store is unreachable, or does not allow it.
        """
        path = check_key(key)
        require_no_link(self.root, path)
        if not self.exists(key):
            return False
        self._retried(key, lambda: obstore.delete(self._client(), path))
        return True

    def digest(self, key: str) -> str:
        """SHA-256 of the object's bytes, hex, read in pieces.

        Raises:
            StoreError: it does not exist (``MISSING_FILE``) or the store is unreachable.
        """
        path = check_key(key)
        return self._retried(key, lambda: self._hash(path))

    def size(self, key: str) -> int:
        """The object's length in bytes.

        Raises:
            StoreError: it does not exist (``MISSING_FILE``) or the store is unreachable.
        """
        path = check_key(key)
        return self._retried(key, lambda: int(obstore.head(self._client(), path)["size"]))

    def exists(self, key: str) -> bool:
        """Whether there is an object of this key.

        Raises:
            StoreError: the store is unreachable.
        """
        path = check_key(key)
        return self._retried(key, lambda: self._present(path))

    def list(self, prefix: str = "") -> tuple[str, ...]:
        """Keys below a prefix, sorted; leftovers of interrupted puts in a folder (``name#1``) are not objects.

        Args:
            prefix: whole segments, such as ``cps1988/1``; empty for everything.

        Raises:
            StoreError: the store is unreachable.
        """
        return tuple(self.sizes(prefix))

    def sizes(self, prefix: str = "") -> dict[str, int]:
        """The same keys, sorted, with their lengths in bytes: one listing, and no object is asked for by itself.

        Raises:
            StoreError: the store is unreachable.
        """
        below = check_key(prefix) if prefix else None
        found = self._retried(prefix, lambda: obstore.list(self._client(), prefix=below).collect())
        sizes = {str(entry["path"]): int(entry["size"]) for entry in found}
        return {path: sizes[path] for path in sorted(sizes) if path != PROOF_KEY}

    def uri(self, key: str = "") -> str:
        """The object's address, or that of the root: ``file:///...``, ``s3://...`` or ``memory:///...``."""
        path = check_key(key) if key else ""
        if isinstance(self.backend, S3Clients):
            return f"{self.backend.place.uri}/{quote(path)}".rstrip("/")
        if self.root is None:
            return f"memory:///{path}"
        return (self.root / path).as_uri()

    def local_path(self, key: str) -> Path | None:
        """Where the object lies on this machine's disk, or None when it does not."""
        return None if self.root is None else self.root / check_key(key)

    def _client(self, size: int = 0) -> LocalStore | MemoryStore | S3Store:
        return self.backend.client(size) if isinstance(self.backend, S3Clients) else self.backend

    def _client_for(self, path: str) -> LocalStore | MemoryStore | S3Store:
        """A client that allows enough time to read an object whole."""
        if not isinstance(self.backend, S3Clients):
            return self.backend
        return self._client(int(obstore.head(self._client(), path)["size"]))

    def _create(self, path: str, body: bytes | mmap.mmap) -> bool:
        """Put with create semantics; False when the key is taken, which also covers a retry after a lost reply."""
        if self.root is not None:
            inner, outer = (
                (folders.PRIVATE_FILE_MODE, folders.PRIVATE_FOLDER_MODE)
                if self.private
                else (folders.PUBLIC_FILE_MODE, folders.PUBLIC_FOLDER_MODE)
            )
            folders.make_folder((self.root / path).parent, outer)
            return folders.create_once(self.root / path, body, inner)
        try:
            # Create-once needs a single request; a multipart put would overwrite.
            obstore.put(self._client(len(body)), path, body, mode="create", use_multipart=False)
        except AlreadyExistsError:
            if not self._present(path):  # S3 says so, too, while another writer's request is under way
                raise TakenAndGoneError("taken, and nothing there") from None
            return False
        return True

    def _hash(self, path: str) -> str:
        digest = hashlib.sha256()
        for chunk in obstore.get(self._client_for(path), path).stream(min_chunk_size=_CHUNK_BYTES):
            digest.update(chunk)
        return digest.hexdigest()

    def _present(self, path: str) -> bool:
        try:
            obstore.head(self._client(), path)
        except FileNotFoundError as error:
            if not is_absent(error):
                raise
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

    def _require_room(self, key: str, size: int) -> None:
        if isinstance(self.backend, S3Clients) and size > LARGEST_PUT_BYTES:
            raise StoreError.of(
                Reason.STORE_REFUSED,
                self._where(key),
                required=f"at most {LARGEST_PUT_BYTES} bytes in one object of an S3 store",
                came=f"{size} bytes",
                fix="Publish to a folder, or publish Parquet alone; nothing of this file was sent.",
            )

    def _retried(self, key: str, operation: Callable[[], _T], size: int | None = None) -> _T:
        attempt, where = 1, self._where(key)
        while True:
            try:
                return operation()
            except PreconditionError:
                failure, may_pass = _changed(where), False
            except (BaseError, OSError) as error:
                trouble = None if is_absent(error) else read_trouble(error, self.root, size)
                failure = _missing(where) if trouble is None else trouble.error(where, attempt)
                may_pass = trouble is not None and trouble.may_pass
            # outside the handlers: the client's message can hold addresses, and is not chained
            if not may_pass or attempt == self.attempts:
                raise failure
            self.sleep(_FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
            attempt += 1

    def _where(self, key: str) -> str:
        """A key as errors name it: with its bucket where there is one."""
        return self.uri(key) if isinstance(self.backend, S3Clients) else key or "/"


def open_store(
    location: str | Path,
    *,
    private: bool = False,
    create: bool = True,
    access: S3Access | None = None,
    sleep: Callable[[float], None] = lambda seconds: None,
    attempts: int = 6,
) -> ObjectStore:
    """Open the store at a location.

    Args:
        location: a folder, ``file:///absolute/folder``, ``s3://bucket/prefix`` or ``memory:`` (a fresh, empty store).
        private: True for the restricted root: in a folder 0600 and 0700, the root itself included.
        create: whether a missing folder is made; readers say False. Buckets are never made.
        access: how an S3 store is reached; by the environment when None. Folders and memory need none.
        sleep: waits that many seconds between attempts; the caller's ``time.sleep``.
        attempts: how often an operation is tried before the store counts as unreachable, at least 1.

    Raises:
        ConfigError: the location is of a kind that is not served, or the environment's credentials cannot be used.
        StoreError: the folder is absent (with ``create=False``), not a folder, or cannot be made. A bucket is not asked
            before it is used.
    """
    if attempts < 1:
        raise ValueError("at least one attempt")
    place = place_of(location)
    if place is None:
        return ObjectStore(MemoryStore(), None, private, sleep, attempts)
    if not isinstance(place, Path):
        reached = access_from_environment() if access is None else access
        return ObjectStore(S3Clients(place, reached), None, private, sleep, attempts)
    return ObjectStore(_open_folder(place, private, create), place, private, sleep, attempts)


def _open_folder(root: Path, private: bool, create: bool) -> LocalStore:
    try:
        if create:
            folders.make_folder(root, folders.PRIVATE_FOLDER_MODE if private else folders.PUBLIC_FOLDER_MODE)
            if private:
                folders.set_mode(root, folders.PRIVATE_FOLDER_MODE)
        elif not root.is_dir():  # obstore opens a file as a root and fails only when it is used
            raise NotADirectoryError(20, "Not a directory") if root.exists() else FileNotFoundError
        return LocalStore(root, mkdir=False)
    except FileNotFoundError:
        raise _missing(str(root)) from None
    except (BaseError, OSError, ValueError) as error:
        trouble = read_trouble(error, root, None)
    raise trouble.error(str(root), 1)


def _changed(key: str) -> StoreError:
    return StoreError.of(
        Reason.DIGEST_MISMATCH,
        key,
        required="an object that stays as it is",
        came="one that was replaced while it was read",
        fix="Someone overwrites published files: see deployments/README.md on what immutability needs.",
    )


def _missing(key: str) -> StoreError:
    return StoreError.of(
        Reason.MISSING_FILE, key, required="an existing object", came="none", fix="Check the name and the store."
    )
