"""What everyone may know of the values before the release: the only knowledge of them that a plan may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PublicPrior:
    """Public knowledge of a table: distributions of columns, correlations between them, its number of rows.

    Args:
        source: where everyone can find it, in words.
        digest: SHA-256 over the whole prior as declared, hex; the prior is public, hence unkeyed.
        rows: number of rows to expect, or None.
        shares: by column, float64[codes] over the codes of the column's own domain, and one entry more where a missing
            value is a code; 0 or more, summing to 1. Columns that nothing is known of are left out.
        correlations: by pair of column names in release order, Pearson's correlation of the codes, in -1..1. Pairs that
            nothing is known of are left out.
    """

    source: str
    digest: str
    rows: int | None
    shares: Mapping[str, NDArray[np.float64]] = field(repr=False)
    correlations: Mapping[tuple[str, str], float] = field(repr=False)
