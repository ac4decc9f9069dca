"""The wrapping key: what roots and digest keys are encrypted under while they are stored.

AES-256-GCM with the name of what is wrapped as associated data, so a wrapped root cannot be moved to another version
or passed off as a digest key. Source: NIST SP 800-38D.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from trasgo_lib.errors import ConfigError, ConflictError, Reason
from trasgo_lib.keys.roots import SECRET_BYTES, new_secret

_FORMAT = b"\x01"
"""First byte of everything wrapped; another layout gets another number."""

_NONCE_BYTES = 12
"""The GCM nonce. Random nonces are safe up to 2**32 wraps under one key; an office wraps a handful a year."""

_TAG_BYTES = 16
_KEY_FILE_LIMIT_BYTES = 1024
"""A key file holds 44 characters; reading stops here, so that a wrong path to a large file costs nothing."""

_MAKE_ONE = "Make one with: trasgo key init"


class WrappingKey:
    """32 secret bytes that encrypt roots and digest keys at rest.

    Args:
        key: 32 secret bytes.

    Raises:
        ConfigError: when the key does not have 32 bytes or all of them are equal.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) != SECRET_BYTES or len(set(key)) == 1:
            raise _unusable("wrapping key", f"{SECRET_BYTES} random bytes", "something else", _MAKE_ONE)
        self._key = key

    @classmethod
    def generate(cls, random: Callable[[int], bytes]) -> Self:
        """A fresh key.

        Args:
            random: returns that many random bytes.

        Raises:
            ValueError: when the source returns too few bytes, or equal ones.
        """
        return cls(new_secret(random))

    @classmethod
    def from_text(cls, text: str, *, where: str = "wrapping key") -> Self:
        """Read a key from base64url text, with or without its ``=``.

        Args:
            text: 43 or 44 characters, surrounding white space ignored; secret.
            where: how an error names the place; never the text itself.

        Raises:
            ConfigError: for anything else.
        """
        body = text.strip().rstrip("=")
        try:
            key = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != SECRET_BYTES:
            raise _unusable(where, f"{SECRET_BYTES} bytes as base64url text", "text that is not such a key", _MAKE_ONE)
        return cls(key)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read a key from a file that only its owner can read.

        Raises:
            ConfigError: when the file is absent, not a regular file, open to group or others, or holds no key.
        """
        where = f"key file {path}"
        try:
            # O_NONBLOCK: a named pipe under this path must not hang the run.
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise _unusable(where, "a readable file", error.strerror or "an error", _MAKE_ONE) from None
        try:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise _unusable(where, "a regular file", "something else", _MAKE_ONE)
            if mode & 0o077:
                fix = f"Run: chmod 600 {path} (and ask who could read it so far)"
                raise _unusable(where, "mode 0600", f"mode {stat.S_IMODE(mode):04o}", fix)
            body = os.read(handle, _KEY_FILE_LIMIT_BYTES)
        finally:
            os.close(handle)
        return cls.from_text(body.decode("ascii", errors="replace"), where=where)

    def write_file(self, path: Path) -> None:
        """Write the key to a new file of mode 0600, whatever the umask, and make it durable.

        Raises:
            ConflictError: when the path exists; a key is never overwritten.
            ConfigError: when the file cannot be written.
        """
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise ConflictError.of(
                Reason.ALREADY_EXISTS,
                f"key file {path}",
                required="a path that does not exist yet",
                came="an existing file",
                fix="Keep it, or name another path: a lost key makes every version under it unreadable.",
            ) from None
        except OSError as error:
            raise _unusable(f"key file {path}", "a writable folder", error.strerror or "an error", "Make it.") from None
        with os.fdopen(handle, "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(self.to_text() + "\n")
            file.flush()
            os.fsync(file.fileno())

    def to_text(self) -> str:
        """The key as 44 characters of base64url; secret."""
        return base64.urlsafe_b64encode(self._key).decode("ascii")

    def wrap(self, secret: bytes, context: bytes, random: Callable[[int], bytes]) -> bytes:
        """Encrypt a secret for storage.

        Args:
            secret: a root or a digest key; secret.
            context: what it belongs to, from :func:`root_context` or :func:`digest_key_context`; public.
            random: returns that many random bytes, for the nonce.

        Returns:
            Format byte, nonce, ciphertext and tag; may be stored.
        """
        nonce = random(_NONCE_BYTES)
        if len(nonce) != _NONCE_BYTES:
            raise ValueError(f"the random source did not return {_NONCE_BYTES} bytes")
        return _FORMAT + nonce + AESGCM(self._key).encrypt(nonce, secret, _FORMAT + context)

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        """Decrypt what :meth:`wrap` returned.

        Args:
            wrapped: the stored bytes.
            context: the same context as when it was wrapped.

        Raises:
            ConflictError: when this key, this context and these bytes do not belong together. Nothing is made anew:
                a root that cannot be read is lost, and its version is finished.
        """
        if wrapped[:1] == _FORMAT and len(wrapped) > 1 + _NONCE_BYTES + _TAG_BYTES:
            nonce, sealed = wrapped[1 : 1 + _NONCE_BYTES], wrapped[1 + _NONCE_BYTES :]
            try:
                return AESGCM(self._key).decrypt(nonce, sealed, _FORMAT + context)
            except InvalidTag:
                pass
        raise ConflictError.of(
            Reason.KEY_UNUSABLE,
            "stored key",
            required="a secret wrapped under this key for this version or account",
            came="bytes that do not decrypt",
            fix="Use the wrapping key of the first run; without it this version cannot be drawn again.",
        )

    def __repr__(self) -> str:
        return "WrappingKey(...)"

    def __reduce__(self) -> str:
        raise TypeError("a wrapping key is never pickled")


def load_wrapping_key(file: Path | None, env_text: str | None) -> WrappingKey:
    """The wrapping key from exactly one of a file and a text from the environment.

    Args:
        file: path of a key file, mode 0600.
        env_text: the value of the environment variable, already looked up; secret.

    Raises:
        ConfigError: when neither or both are given, or the key is not usable.
    """
    if file is not None and env_text is not None:
        raise _unusable("wrapping key", "one place for the key", "a file and a variable", "Drop one of the two.")
    if file is not None:
        return WrappingKey.from_file(file)
    if env_text is not None:
        return WrappingKey.from_text(env_text, where="wrapping key from the environment")
    raise _unusable("wrapping key", "a key file or an environment variable", "neither", _MAKE_ONE)


def root_context(dataset: str, version: str) -> bytes:
    """Associated data of a version's wrapped root."""
    return _context("root", dataset, version)


def digest_key_context(account: str) -> bytes:
    """Associated data of an account's wrapped digest key."""
    return _context("digest", account)


def signing_key_context(key_id: str) -> bytes:
    """Associated data of a wrapped signing key."""
    return _context("signing", key_id)


def _context(*parts: str) -> bytes:
    # Length-prefixed: ("a", "bc") and ("ab", "c") must not share a context.
    encoded = (part.encode("utf-8") for part in parts)
    return b"".join(len(part).to_bytes(8, "big") + part for part in encoded)


def _unusable(where: str, required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.KEY_UNUSABLE, where, required=required, came=came, fix=fix)
