"""Tables of estimates, readable where they are printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType

import numpy as np

from trasgo_lib.analysis.usefulness import percent
from trasgo_lib.estimation import CONFIDENCE, Estimate, project_simplex

_LINES = 40
"""More lines than this are cut where a table is printed; all entries are in it."""


@dataclass(frozen=True, slots=True, repr=False)
class EstimateTable(Mapping[object, Estimate]):
    """Estimates by value, by group, or by pair of both.

    Args:
        what: what is estimated, in words.
        rows: published rows behind it.
        found: estimate of each value, in declared order; keys of pairs are tuples.
        nearest: for the shares of one whole, the distribution nearest to the unbiased shares, which can be below 0;
            None for other tables, and where a share is withheld.
        confidence: of the intervals.
    """

    what: str
    rows: int
    found: Mapping[object, Estimate]
    nearest: Mapping[object, float] | None = field(default=None)
    confidence: float = CONFIDENCE

    @classmethod
    def of_whole(
        cls,
        what: str,
        rows: int,
        raw: Mapping[object, Estimate],
        given: Mapping[object, Estimate],
        confidence: float = CONFIDENCE,
    ) -> EstimateTable:
        """A table of shares that add up to 1.

        Args:
            what: what is estimated, in words.
            rows: published rows behind it.
            raw: the share of every value as it was decoded.
            given: what is given of them; some can be withheld.
            confidence: of the intervals.
        """
        values = [estimate.value for estimate in raw.values() if estimate.value is not None]
        nearest = None
        if len(values) == len(raw):
            projected = project_simplex(np.array(values, dtype=np.float64)).tolist()
            nearest = MappingProxyType(dict(zip(raw, projected, strict=True)))
        return cls(what, rows, MappingProxyType(dict(given)), nearest, confidence)

    def __getitem__(self, key: object) -> Estimate:
        return self.found[key]

    def __iter__(self) -> Iterator[object]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        names = [_name(key) for key in self.found]
        width = max(map(len, names), default=0)
        lines = [f"{self.what}, from {self.rows:,} rows, with {percent(self.confidence)} intervals"]
        lines += [f"  {name:<{width}}  {found}" for name, found in zip(names, self.found.values(), strict=True)]
        if len(lines) > _LINES + 1:
            lines = [*lines[: _LINES + 1], f"  ... and {len(self.found) - _LINES} more"]
        return "\n".join(lines)


def _name(key: object) -> str:
    if isinstance(key, tuple):
        return " / ".join(map(_name, key))
    return key.isoformat() if isinstance(key, date) else str(key)
