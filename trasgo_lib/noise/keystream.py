"""The keyed word stream behind every draw: HKDF-SHA256 labels, AES-256-CTR words.

A stream is a pure function of a 32-byte root and its label, so the same row always gets the same word, whatever the
batching, the thread count or the number of retries. Source: RFC 5869 (HKDF), NIST SP 800-38A (CTR mode); label and
word layout are fixed by known-answer tests in ``tests/golden``.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

_SALT = b"trasgo/1"
"""Fixed HKDF salt; the number is the version of the whole label and word layout."""

_ROOT_BYTES = 32
_WORDS_PER_BLOCK = 2
_WORD_LIMIT = 2**60
"""Words from this index on are refused; the counter itself has room for 2**129."""

LabelPart = str | bytes | int


def derive(root: bytes, *label_parts: LabelPart) -> bytes:
    """A 32-byte subkey for a label.

    Args:
        root: 32 secret bytes.
        label_parts: text, bytes or whole numbers; typed and length-prefixed, so no two labels collide.

    Raises:
        ValueError: when the root does not have 32 bytes.
    """
    if len(root) != _ROOT_BYTES:
        raise ValueError(f"a root has {_ROOT_BYTES} bytes")
    info = b"".join(_encode_part(part) for part in label_parts)
    return HKDF(algorithm=SHA256(), length=_ROOT_BYTES, salt=_SALT, info=info).derive(root)


def _encode_part(part: LabelPart) -> bytes:
    if isinstance(part, bool):
        raise TypeError("a label part is text, bytes or a whole number")
    if isinstance(part, str):
        tag, body = b"s", part.encode("utf-8")
    elif isinstance(part, bytes):
        tag, body = b"b", part
    else:
        tag, body = b"i", str(part).encode("ascii")
    return tag + len(body).to_bytes(8, "big") + body


class Keystream:
    """64-bit words addressed by index.

    Args:
        root: 32 secret bytes; the root key of a release version, or a fixed test key.
        label_parts: what the stream is for; see ``derive``.
    """

    __slots__ = ("_cipher_key",)

    def __init__(self, root: bytes, *label_parts: LabelPart) -> None:
        self._cipher_key = algorithms.AES256(derive(root, *label_parts))

    def words(self, first: int, count: int) -> NDArray[np.uint64]:
        """Words ``first`` to ``first + count - 1`` as uint64[count].

        Word ``i`` is bytes ``8i`` to ``8i + 7``, little-endian, of the AES-256-CTR stream whose counter starts at 0
        (128 bit, big-endian).

        Raises:
            ValueError: when an index is negative or reaches 2**60.
        """
        if first < 0 or count < 0 or first + count > _WORD_LIMIT:
            raise ValueError("word index outside 0..2**60")
        block, skip = divmod(first, _WORDS_PER_BLOCK)
        encryptor = Cipher(self._cipher_key, modes.CTR(block.to_bytes(16, "big"))).encryptor()
        stream = encryptor.update(bytes(8 * (count + skip)))
        return np.frombuffer(stream, dtype="<u8")[skip:].astype(np.uint64, copy=False)

    def words_at(self, indices: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Words at any places, the same as ``words`` gives there: int64[n] -> uint64[n].

        A word costs a whole block of 16 bytes: for places that lie apart.

        Raises:
            ValueError: when an index is negative or reaches 2**60.
        """
        places = np.asarray(indices, dtype=np.int64)
        if len(places) and (int(places.min()) < 0 or int(places.max()) >= _WORD_LIMIT):
            raise ValueError("word index outside 0..2**60")
        counters = np.zeros((len(places), _WORDS_PER_BLOCK), dtype=">u8")  # below 2**64: the upper half stays 0
        counters[:, 1] = places >> 1
        # CTR mode encrypts its counters block by block; any block can be had without those before it
        encryptor = Cipher(self._cipher_key, modes.ECB()).encryptor()
        blocks = np.frombuffer(encryptor.update(counters.tobytes()), dtype="<u8").reshape(-1, _WORDS_PER_BLOCK)
        picked = np.where((places & 1).astype(np.bool_), blocks[:, 1], blocks[:, 0])
        return picked.astype(np.uint64, copy=False)

    def __repr__(self) -> str:
        return "Keystream(...)"

    def __reduce__(self) -> str:
        raise TypeError("a keystream holds key material and is never pickled")
