"""Which devices have reported in a window: keyed digests, sorted, eight bytes each."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

PSEUDONYM_BYTES = 8
"""Ten million devices share a pseudonym by chance with probability 3e-6; all it would cost is one report."""

_RECENT = 1 << 16
"""Pseudonyms that wait to be merged into the sorted ones."""


def pseudonym(secret: bytes, device: str) -> int:
    """A device's name in one window: 64 bits, of no use without the window's secret.

    Args:
        secret: of the window.
        device: the pseudonym that the client gave it for this window; private. Which group sent it does not matter: a
            gateway whose batch was not answered may drop it as a file, and each device counts once.
    """
    return int.from_bytes(hmac.digest(secret, b"device" + device.encode(), "sha256")[:PSEUDONYM_BYTES], "little")


class KnownDevices:
    """A growing set of pseudonyms; ten million take 80 MB."""

    __slots__ = ("_recent", "_sorted")

    def __init__(self) -> None:
        self._sorted: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._recent: set[int] = set()

    def known(self, names: Sequence[int]) -> list[bool]:
        """Whether each pseudonym is in the set: bool[names]."""
        asked = np.array(names, dtype=np.uint64)
        places = np.searchsorted(self._sorted, asked)
        old = np.zeros(len(asked), dtype=bool)
        inside = places < len(self._sorted)
        old[inside] = self._sorted[places[inside]] == asked[inside]
        return [is_old or name in self._recent for is_old, name in zip(old.tolist(), names, strict=True)]

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)

    def add(self, names: Iterable[int]) -> None:
        """Add pseudonyms; those that are known already change nothing."""
        more = list(names)
        self._recent.update(name for name, is_known in zip(more, self.known(more), strict=True) if not is_known)
        if len(self._recent) >= _RECENT:
            self._sorted = np.union1d(self._sorted, np.fromiter(self._recent, np.uint64, len(self._recent)))
            self._recent = set()


def to_bytes(names: Iterable[int]) -> bytes:
    """Pseudonyms as they are stored: sorted, so that their order tells nothing of the reports beside them."""
    return np.array(sorted(names), dtype="<u8").tobytes()


def from_bytes(stored: bytes) -> list[int]:
    """Pseudonyms as they were stored.

    Raises:
        ValueError: no whole number of them.
    """
    found: list[int] = np.frombuffer(stored, dtype="<u8").tolist()
    return found
