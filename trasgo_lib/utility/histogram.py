"""Counts of codes: what the divergences of one column come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import InputContractError, Reason


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts of the codes of one column; private where the codes are.

    Args:
        counts: int64[size + 1]; the last entry counts missing values.
    """

    counts: NDArray[np.int64] = field(repr=False)

    @classmethod
    def count(cls, codes: NDArray[np.integer], size: int) -> Self:
        """Count one batch.

        Args:
            codes: int[rows] in ``0..size``, where ``size`` means missing.
            size: number of codes.

        Raises:
            InputContractError: a code outside, with the count.
        """
        cls.check(codes, size)
        return cls(np.bincount(codes, minlength=size + 1).astype(np.int64, copy=False))

    @classmethod
    def empty(cls, size: int) -> Self:
        """The counts of no rows."""
        return cls(np.zeros(size + 1, dtype=np.int64))

    @staticmethod
    def check(codes: NDArray[np.integer], size: int) -> None:
        """Refuse codes outside ``0..size``.

        Raises:
            InputContractError: with the count.
        """
        if codes.size and (int(codes.min()) < 0 or int(codes.max()) > size):
            raise InputContractError.of(
                Reason.OUT_OF_DOMAIN,
                "codes",
                required=f"codes from 0 to {size - 1}, or {size} for missing",
                came="other codes",
                fix="Measure codes with the domain that encoded them.",
                rows=int(np.count_nonzero((codes < 0) | (codes > size))),
            )

    def merge(self, other: Self) -> Self:
        """The counts of both, which are over the same codes."""
        return type(self)(self.counts + other.counts)

    @property
    def rows(self) -> int:
        """Number of rows counted, missing ones included."""
        return int(self.counts.sum())

    @property
    def distinct(self) -> int:
        """Number of codes that occur, missing not counted."""
        return int(np.count_nonzero(self.counts[:-1]))

    def binned(self, bins: NDArray[np.int32] | None) -> NDArray[np.int64]:
        """Counts by declared bin, the missing category last: int64[bins + 1].

        Args:
            bins: int32[size], the bin of each code; None keeps every code a bin of its own.
        """
        if bins is None:
            return self.counts
        counts = np.zeros(int(bins.max()) + 2, dtype=np.int64)
        np.add.at(counts, bins, self.counts[:-1])
        counts[-1] = self.counts[-1]
        return counts


def equal_bins(size: int, bins: int) -> NDArray[np.int32]:
    """The bin of each code when the domain is cut into equal parts.

    Args:
        size: number of codes.
        bins: number of parts; with at least as many parts as codes, every code is its own.

    Returns:
        int32[size], not falling, every bin used; parts differ by at most one code.
    """
    parts = max(1, min(size, bins))
    return (np.arange(size, dtype=np.int64) * parts // size).astype(np.int32)
