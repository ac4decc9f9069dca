"""Signatures of releases: Ed25519, which signs without randomness, so the same release gets the same signature.

A key is named by its id: SHA-256 of its public half in DER, as ``openssl pkey -pubin -outform DER | sha256sum`` says.
Source: RFC 8032 (Ed25519), RFC 8410 (its keys in DER and PEM).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.keys.roots import SECRET_BYTES, new_secret

_PEM_BLOCK = re.compile(rb"-----BEGIN [A-Z ]+-----.*?-----END [A-Z ]+-----", re.S)


class PublicKey:
    """What a signature is checked with; may be told to everyone.

    Args:
        key: the key as the library holds it.
    """

    __slots__ = ("_key",)

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key

    @classmethod
    def from_pem(cls, text: bytes, *, where: str = "public key") -> Self:
        """Read one public key.

        Args:
            text: PEM text.
            where: how an error names the place.

        Raises:
            ConfigError: for anything but one Ed25519 public key in PEM.
        """
        keys = read_public_keys(text, where=where)
        if len(keys) != 1:
            raise _unusable(where, "one public key", f"{len(keys)} of them")
        return cls(keys[0]._key)

    @property
    def key_id(self) -> str:
        """SHA-256 of the key in DER, 64 hex digits."""
        return hashlib.sha256(self._key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()

    def to_pem(self) -> bytes:
        """The key as PEM text (SubjectPublicKeyInfo)."""
        return self._key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def holds(self, signature: bytes, message: bytes) -> bool:
        """Whether the signature was made over this message with the private half of this key."""
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and self.key_id == other.key_id

    def __hash__(self) -> int:
        return hash(self.key_id)

    def __repr__(self) -> str:
        return f"PublicKey({self.key_id})"


class SigningKey:
    """The private half: whoever holds it can sign releases in the office's name.

    Args:
        seed: 32 secret bytes.

    Raises:
        ValueError: when the seed does not have 32 bytes.
    """

    __slots__ = ("_key", "_seed")

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SECRET_BYTES:
            raise ValueError(f"the seed of a signing key has {SECRET_BYTES} bytes")
        self._seed = seed
        self._key = Ed25519PrivateKey.from_private_bytes(seed)

    @classmethod
    def generate(cls, random: Callable[[int], bytes]) -> Self:
        """A fresh key.

        Args:
            random: returns that many random bytes.

        Raises:
            ValueError: when the source returns too few bytes, or equal ones.
        """
        return cls(new_secret(random))

    @property
    def seed(self) -> bytes:
        """The 32 bytes it was made of; secret, only to be wrapped."""
        return self._seed

    @property
    def public(self) -> PublicKey:
        """The half that may be told to everyone."""
        return PublicKey(self._key.public_key())

    def sign(self, message: bytes) -> bytes:
        """The signature: 64 bytes, the same for the same message."""
        return self._key.sign(message)

    def __repr__(self) -> str:
        return f"SigningKey({self.public.key_id})"

    def __reduce__(self) -> str:
        raise TypeError("a signing key is never pickled")


def read_public_keys(text: bytes, *, where: str = "public key") -> tuple[PublicKey, ...]:
    """Every public key of a PEM text: the office's present one, and those it signed with before.

    Args:
        text: one or more PEM blocks, with any text between them.
        where: how an error names the place.

    Raises:
        ConfigError: no block, or one that is not an Ed25519 public key; in particular a private key.
    """
    blocks = _PEM_BLOCK.findall(text)
    if not blocks:
        raise _unusable(where, "an Ed25519 public key in PEM", "no PEM block")
    return tuple(_read(block, where) for block in blocks)


def known_ids(keys: Iterable[PublicKey]) -> str:
    """The ids of some keys, for messages."""
    return ", ".join(key.key_id for key in keys) or "none"


def _read(block: bytes, where: str) -> PublicKey:
    try:
        key = load_pem_public_key(block)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise _unusable(where, "an Ed25519 public key in PEM", "another key, a private key, or a damaged one")
    return PublicKey(key)


def _unusable(where: str, required: str, came: str) -> ConfigError:
    fix = "Use what `trasgo key public` prints at the office that published."
    return ConfigError.of(Reason.KEY_UNUSABLE, where, required=required, came=came, fix=fix)
