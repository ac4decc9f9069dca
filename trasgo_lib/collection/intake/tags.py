"""What a report says of itself: the versions of its alphabet and of its channel, and which of them are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Form = Literal["slot", "bits"]
"""A report is one noised slot, or one noised bit for each slot."""

_BITS = 8


@dataclass(frozen=True, slots=True)
class Tag:
    """One pair of versions that is taken.

    Args:
        alphabet: version of the alphabet.
        channel: version of the channel.
        slots: size of the alphabet, at least 2.
        form: what a report of it is.
    """

    alphabet: str
    channel: str
    slots: int
    form: Form

    @property
    def report_bytes(self) -> int:
        """Bytes of a report in packed bits."""
        return -(-self.slots // _BITS)


class Tags:
    """The pairs of versions that a collection takes.

    Args:
        tags: all of them.

    Raises:
        ValueError: a pair stands twice.
    """

    __slots__ = ("_by_alphabet", "_by_pair")

    def __init__(self, tags: Iterable[Tag]) -> None:
        known = tuple(tags)
        self._by_pair = {(tag.alphabet, tag.channel): tag for tag in known}
        self._by_alphabet = {tag.alphabet for tag in known}
        if len(self._by_pair) < len(known):
            raise ValueError("a pair of versions stands twice")

    def find(self, alphabet: str, channel: str) -> Tag | None:
        """The tag of a pair of versions, or None when it is not taken."""
        return self._by_pair.get((alphabet, channel))

    def knows_alphabet(self, alphabet: str) -> bool:
        """Whether some tag has this alphabet."""
        return alphabet in self._by_alphabet

    def __iter__(self) -> Iterator[Tag]:
        return iter(self._by_pair.values())

    def __len__(self) -> int:
        return len(self._by_pair)
