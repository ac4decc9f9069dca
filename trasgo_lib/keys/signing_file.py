"""``signing.key``: the office's signing keys, present and past, each wrapped under the wrapping key.

Public halves stand in clear, so that they can be told without opening anything. Past keys stay: they finish a
publication that a crash left half-way and verify what they signed.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trasgo_lib.errors import ConfigError, ConflictError, Reason
from trasgo_lib.keys.signing import PublicKey, SigningKey, known_ids
from trasgo_lib.keys.wrapping import WrappingKey, signing_key_context

_FILE_LIMIT_BYTES = 1 << 20
"""Some 500 bytes a key; reading stops here, so that a wrong path to a large file costs nothing."""

_MAKE_ONE = "Make one with: trasgo key init --if-absent; or set publish.sign: none."


@dataclass(frozen=True, slots=True)
class _Stored:
    public: PublicKey
    wrapped: bytes


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """The signing keys of an office, oldest first; the last one signs.

    Args:
        stored: public halves and wrapped seeds, at least one.
    """

    stored: tuple[_Stored, ...]

    @classmethod
    def generate(cls, wrapping_key: WrappingKey, random: Callable[[int], bytes]) -> SigningKeys:
        """A first key.

        Args:
            wrapping_key: what it is wrapped under; secret.
            random: returns that many random bytes.
        """
        return cls((_wrapped(SigningKey.generate(random), wrapping_key, random),))

    @classmethod
    def from_file(cls, path: Path) -> SigningKeys:
        """Read the file.

        Raises:
            ConfigError: it is absent or is no such file.
        """
        where = f"signing key file {path}"
        try:
            with path.open("rb") as stream:
                text = stream.read(_FILE_LIMIT_BYTES)
        except OSError as error:
            raise _unusable(where, "a readable file", error.strerror or "an error", _MAKE_ONE) from None
        try:
            document = json.loads(text)
            stored = tuple(_read(entry, where) for entry in document["keys"]) if document["format"] == 1 else ()
        except (ValueError, KeyError, TypeError, binascii.Error):
            stored = ()
        if not stored:
            raise _unusable(where, "what `trasgo key init` writes", "something else", "Restore it from its copy.")
        return cls(stored)

    @property
    def public(self) -> tuple[PublicKey, ...]:
        """Every public half, oldest first."""
        return tuple(entry.public for entry in self.stored)

    def renewed(self, wrapping_key: WrappingKey, random: Callable[[int], bytes]) -> SigningKeys:
        """The same keys and a new one that signs from now on.

        Args:
            wrapping_key: must open the present keys; secret.
            random: returns that many random bytes.

        Raises:
            ConflictError: it does not.
        """
        self.key(wrapping_key)
        return SigningKeys((*self.stored, _wrapped(SigningKey.generate(random), wrapping_key, random)))

    def rewrapped(self, old: WrappingKey, new: WrappingKey, random: Callable[[int], bytes]) -> SigningKeys:
        """The same keys under another wrapping key.

        Raises:
            ConflictError: the old wrapping key does not open them.
        """
        keys = [self.key(old, public.key_id) for public in self.public]
        return SigningKeys(tuple(_wrapped(key, new, random) for key in keys))

    def key(self, wrapping_key: WrappingKey, key_id: str | None = None) -> SigningKey:
        """The key that signs, or the one of that id.

        Args:
            wrapping_key: what it is wrapped under; secret.
            key_id: whose; the present one when None.

        Raises:
            ConflictError: there is no such key, or it is wrapped under another wrapping key.
        """
        entry = self.stored[-1]
        if key_id is not None:
            found = [one for one in self.stored if one.public.key_id == key_id]
            if not found:
                raise _conflict(
                    f"signing key {key_id}", known_ids(self.public), "Restore the file that holds this key."
                )
            entry = found[0]
        named = entry.public.key_id
        try:
            key = SigningKey(wrapping_key.unwrap(entry.wrapped, signing_key_context(named)))
        except (ConflictError, ValueError):
            key = None
        if key is None or key.public != entry.public:
            fix = "Use the wrapping key it was made under, or make a new file: trasgo key init."
            raise _conflict(f"signing key {named}", "one that this wrapping key does not open", fix)
        return key

    def write_file(self, path: Path, *, replace: bool = False) -> None:
        """Write the file, mode 0600, whole or not at all, and make it durable.

        Args:
            path: where.
            replace: whether an existing file may be replaced.

        Raises:
            ConflictError: the path exists and may not be replaced.
            ConfigError: it cannot be written.
        """
        if path.exists() and not replace:
            raise ConflictError.of(
                Reason.ALREADY_EXISTS,
                f"signing key file {path}",
                required="a path that does not exist yet",
                came="an existing file",
                fix="Keep it; for a new key beside the old ones: trasgo key renew-signing.",
            )
        partial = path.with_name(f"{path.name}.partial")
        try:
            partial.unlink(missing_ok=True)
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as stream:
                os.fchmod(stream.fileno(), 0o600)
                stream.write(json.dumps(self._document(), indent=2) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(path)
            _flush_folder(path.parent)
        except OSError as error:
            came = error.strerror or "an error"
            raise _unusable(f"signing key file {path}", "a writable folder", came, "Make it.") from None

    def _document(self) -> dict[str, object]:
        keys = [
            {
                "key_id": entry.public.key_id,
                "public": entry.public.to_pem().decode("ascii"),
                "wrapped": base64.b64encode(entry.wrapped).decode("ascii"),
            }
            for entry in self.stored
        ]
        return {"format": 1, "keys": keys}

    def __repr__(self) -> str:
        return f"SigningKeys({known_ids(self.public)})"


def _flush_folder(folder: Path) -> None:
    """A rename survives a power loss only after its folder was flushed."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _wrapped(key: SigningKey, wrapping_key: WrappingKey, random: Callable[[int], bytes]) -> _Stored:
    public = key.public
    return _Stored(public, wrapping_key.wrap(key.seed, signing_key_context(public.key_id), random))


def _read(entry: dict[str, str], where: str) -> _Stored:
    public = PublicKey.from_pem(entry["public"].encode("ascii"), where=where)
    return _Stored(public, base64.b64decode(entry["wrapped"], validate=True))


def _unusable(where: str, required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.KEY_UNUSABLE, where, required=required, came=came, fix=fix)


def _conflict(where: str, came: str, fix: str) -> ConflictError:
    required = "the signing key, opened by this wrapping key"
    return ConflictError.of(Reason.KEY_UNUSABLE, where, required=required, came=came, fix=fix)
