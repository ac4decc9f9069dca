"""Stage files of workers that share no disk: objects of the restricted root, sealed, and taken away at the end.

Codes cross a network and may stay in old versions and backups of a bucket, so no object holds them in the clear. The
pad of an object is a keystream of the version's root for its name and its keyed digest, so two contents never share one
(a synthetic initialisation vector, as in RFC 5297), the same codes are always the same bytes, and with the root
destroyed nothing of it can be read again. A worker keeps nothing: what it reads and writes passes through its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data.batches import BatchRef
from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.noise import Keystream

if TYPE_CHECKING:
    from trasgo_lib.storage import ObjectStore

_CODE_BYTES = 4
_WORD_BYTES = 8

Pads = Callable[[str, str], Keystream]
"""The keystream for an object's name and the keyed digest of its codes; used for nothing else."""


def stage_prefix(dataset: str, version: str) -> str:
    """Where the stage objects of a version stand below the restricted root; beside the work folder's place in a folder.

    Args:
        dataset: the data set.
        version: its version.
    """
    return f".trasgo/work/{dataset}/{version}"


@dataclass(frozen=True, slots=True)
class SealedStage:
    """Batches of codes as sealed objects.

    Args:
        store: the restricted root.
        prefix: where they stand below it; public.
        pads: gives the pad of an object; secret.
    """

    store: ObjectStore
    prefix: str
    pads: Pads = field(repr=False)

    def write(self, unit: str, first_row: int, codes: NDArray[np.int32], key: bytes) -> BatchRef:
        """Put one batch; the same codes again are the same bytes and one success.

        Args:
            unit: name of the noise unit; public.
            first_row: global index of the batch's first row.
            codes: int32[rows], at least one row; private or released.
            key: account digest key, 32 secret bytes.

        Raises:
            ConflictError: other codes stand there.
            StoreError: the store is out of reach, refuses, or is full.
        """
        from trasgo_lib.data.store_codes import codes_digest

        name = f"{self.prefix}/{sha256(unit.encode('utf-8')).hexdigest()[:16]}-{first_row:015d}"
        digest = codes_digest([codes], key)
        plain = np.ascontiguousarray(codes, dtype="<i4").view(np.uint8)
        self.store.put_once(name, self._padded(plain, name, digest).tobytes())
        return BatchRef(path=name, first_row=first_row, rows=len(codes), digest=digest)

    def read(self, ref: BatchRef, key: bytes) -> NDArray[np.int32]:
        """The codes of one batch: int32[rows], digest compared.

        Raises:
            StoreError: the object is absent, is not what was put, or the store is out of reach.
        """
        from trasgo_lib.data.store_codes import codes_digest

        sealed = np.frombuffer(self.store.get(ref.path), dtype=np.uint8)
        if len(sealed) == _CODE_BYTES * ref.rows:
            codes: NDArray[np.int32] = self._padded(sealed, ref.path, ref.digest).view("<i4")
            if codes_digest([codes], key) == ref.digest:
                return codes
        raise StoreError.of(
            Reason.DIGEST_MISMATCH,
            ref.path,
            required="the batch that was put there",
            came="an object that was changed since",
            fix="Run the release again; the same draws are made from the key.",
        )

    def _padded(self, data: NDArray[np.uint8], name: str, digest: str) -> NDArray[np.uint8]:
        words = self.pads(name, digest).words(0, -(-len(data) // _WORD_BYTES))
        return data ^ words.astype("<u8", copy=False).view(np.uint8)[: len(data)]
