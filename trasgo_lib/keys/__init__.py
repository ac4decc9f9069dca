"""Root keys, their commitments, wrapping at rest, signing keys, and keyed digests."""

from trasgo_lib.keys.digest import KeyedDigest
from trasgo_lib.keys.roots import SECRET_BYTES, commitment, new_secret
from trasgo_lib.keys.signing import PublicKey, SigningKey, known_ids, read_public_keys
from trasgo_lib.keys.signing_file import SigningKeys
from trasgo_lib.keys.wrapping import (
    WrappingKey,
    digest_key_context,
    load_wrapping_key,
    root_context,
    signing_key_context,
)

__all__ = [
    "SECRET_BYTES",
    "KeyedDigest",
    "PublicKey",
    "SigningKey",
    "SigningKeys",
    "WrappingKey",
    "commitment",
    "digest_key_context",
    "known_ids",
    "load_wrapping_key",
    "new_secret",
    "read_public_keys",
    "root_context",
    "signing_key_context",
]
