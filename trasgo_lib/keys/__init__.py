"""Root keys, their commitments, wrapping at rest, and keyed digests."""

from trasgo_lib.keys.digest import KeyedDigest
from trasgo_lib.keys.roots import SECRET_BYTES, commitment, new_secret
from trasgo_lib.keys.wrapping import WrappingKey, digest_key_context, load_wrapping_key, root_context

__all__ = [
    "SECRET_BYTES",
    "KeyedDigest",
    "WrappingKey",
    "commitment",
    "digest_key_context",
    "load_wrapping_key",
    "new_secret",
    "root_context",
]
