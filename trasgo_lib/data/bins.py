"""Equal bins of codes, each released as its declared representative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import ConfigError, Reason


@dataclass(frozen=True, slots=True)
class EqualBins:
    """Codes ``0..size-1`` cut into runs whose lengths differ by at most one.

    Args:
        size: number of codes; public.
        count: number of bins, 2 to ``size``; declared, never taken from the data.

    Raises:
        ConfigError: a number of bins outside that range.
    """

    size: int
    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or not 2 <= self.count <= self.size:
            came = str(self.count) if isinstance(self.count, int) else type(self.count).__name__
            raise ConfigError.of(
                Reason.BAD_PARAMETER,
                "bins",
                required=f"a whole number of bins from 2 to {self.size}",
                came=came,
                fix="Declare fewer bins, or a finer step.",
            )

    @property
    def of_codes(self) -> NDArray[np.int32]:
        """The bin of every code: int32[size]."""
        return (np.arange(self.size, dtype=np.int64) * self.count // self.size).astype(np.int32)

    @property
    def representatives(self) -> NDArray[np.int32]:
        """The middle code of every bin, rounded down: int32[count]."""
        edges = -(-np.arange(self.count + 1, dtype=np.int64) * self.size // self.count)
        return ((edges[:-1] + edges[1:] - 1) // 2).astype(np.int32)
