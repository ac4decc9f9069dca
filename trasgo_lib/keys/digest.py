"""Keyed digests of anything derived from raw data.

A plain digest of a file lets someone who knows all rows but one test the last; under a secret key it says nothing.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from trasgo_lib.keys.roots import SECRET_BYTES

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class KeyedDigest:
    """HMAC-SHA256, fed piece by piece.

    Args:
        key: 32 secret bytes; the account digest key.

    Raises:
        ValueError: when the key does not have 32 bytes.

    Source:
        RFC 2104, FIPS 198-1.
    """

    __slots__ = ("_state",)

    def __init__(self, key: bytes) -> None:
        if len(key) != SECRET_BYTES:
            raise ValueError(f"a digest key has {SECRET_BYTES} bytes")
        self._state = hmac.new(key, digestmod="sha256")

    def update(self, data: ReadableBuffer) -> None:
        """Feed more bytes; private. Any split of the same bytes gives the same digest."""
        self._state.update(data)

    def hexdigest(self) -> str:
        """The digest so far, 64 hex digits; private. More bytes may follow."""
        return self._state.hexdigest()

    def __repr__(self) -> str:
        return "KeyedDigest(...)"

    def __reduce__(self) -> str:
        raise TypeError("a keyed digest holds key material and is never pickled")
