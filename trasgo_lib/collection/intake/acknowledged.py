"""Which batches of a window are acknowledged, and with what receipt: sorted, 24 bytes each.

A device may send each report as a batch of its own, so there can be as many batches as devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DIGEST_BYTES = 8
"""Of names and bodies. Among ten million batches two names meet by chance with probability 3e-6; all it would cost is
that one of them is refused."""

_HEX = 2 * DIGEST_BYTES
_RECENT = 1 << 16
"""Batches that wait to be merged into the sorted ones."""

_PACKED = np.dtype([("name", "<u8"), ("body", "<u8"), ("accepted", "<u4"), ("refused", "<u4")])


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a batch; the same when it is sent again.

    Args:
        accepted: reports that were taken.
        refused: reports that were not, by reason.
    """

    accepted: int
    refused: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A batch that an entry acknowledges.

    Args:
        name: keyed digest of its name, hex.
        body: keyed digest of its bytes, hex.
        receipt: what became of it.
    """

    name: str
    body: str
    receipt: Receipt


class KnownBatches:
    """A growing set of acknowledged batches; ten million take 240 MB."""

    __slots__ = ("_places", "_recent", "_refused", "_sorted")

    def __init__(self) -> None:
        self._sorted: NDArray[np.void] = np.empty(0, dtype=_PACKED)
        self._recent: dict[int, tuple[int, int, int]] = {}
        self._refused: list[Mapping[str, int]] = [{}]
        self._places: dict[tuple[tuple[str, int], ...], int] = {(): 0}

    def get(self, name: str) -> Acknowledged | None:
        """The batch with this digest of its name, or None."""
        number = _number(name)
        found = self._recent.get(number)
        if found is None:
            place = int(np.searchsorted(self._sorted["name"], np.uint64(number)))
            if place == len(self._sorted) or int(self._sorted["name"][place]) != number:
                return None
            _, body, accepted, refused = self._sorted[place].tolist()
            found = (body, accepted, refused)
        body, accepted, refused = found
        return Acknowledged(_text(number), _text(body), Receipt(accepted, self._refused[refused]))

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)

    def add(self, batches: Iterable[Acknowledged]) -> None:
        """Add batches whose names are new."""
        for one in batches:
            key = tuple(sorted(one.receipt.refused.items()))
            # receipts differ by a few reasons and small counts, so they are kept once each
            if key not in self._places:
                self._places[key] = len(self._refused)
                self._refused.append(dict(key))
            self._recent[_number(one.name)] = (_number(one.body), one.receipt.accepted, self._places[key])
        if len(self._recent) >= _RECENT:
            more = np.array([(name, *rest) for name, rest in sorted(self._recent.items())], dtype=_PACKED)
            places = np.searchsorted(self._sorted["name"], more["name"])
            self._sorted = np.insert(self._sorted, places, more)
            self._recent = {}


def _number(digest: str) -> int:
    return int(digest[:_HEX], 16)


def _text(number: int) -> str:
    return f"{number:0{_HEX}x}"
