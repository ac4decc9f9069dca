"""Secrets of a release: the root of a version, the digest key of an account, and what may be said of them.

A root is 32 random bytes from which every draw of one version follows. Whoever holds it holds the raw file. Its
commitment can stand in the ledger: it shows later that a root is the one that was charged for, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SECRET_BYTES = 32
"""Length of every secret here: the security level of AES-256 and HMAC-SHA256."""

_SALT = b"trasgo/1"
"""The keystream's HKDF salt; the number is the version of the label layout."""


def new_secret(random: Callable[[int], bytes]) -> bytes:
    """32 fresh secret bytes: a root, or an account's digest key.

    Args:
        random: returns that many random bytes; ``os.urandom`` or ``secrets.token_bytes`` of the caller.

    Raises:
        ValueError: when the source returns too few bytes, or 32 equal ones.
    """
    secret = random(SECRET_BYTES)
    if len(secret) != SECRET_BYTES or len(set(secret)) == 1:
        raise ValueError(f"the random source did not return {SECRET_BYTES} random bytes")
    return secret


def commitment(root: bytes) -> str:
    """The commitment to a root: ``HKDF(root, "commit")``, 64 hex digits; goes to the ledger.

    Same label layout as the keystream's subkeys (typed, length-prefixed), so it is the subkey of the label ``commit``
    and is independent of every stream that is drawn from.

    Args:
        root: 32 secret bytes.

    Raises:
        ValueError: when the root does not have 32 bytes.

    Source:
        RFC 5869; GUARANTEE 5.
    """
    if len(root) != SECRET_BYTES:
        raise ValueError(f"a root has {SECRET_BYTES} bytes")
    label = b"commit"
    info = b"s" + len(label).to_bytes(8, "big") + label
    return HKDF(algorithm=SHA256(), length=SECRET_BYTES, salt=_SALT, info=info).derive(root).hex()
