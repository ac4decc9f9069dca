"""Two columns of one group: decoders of products, from the decoders of either column alone.

A group is randomised response over its combinations: a share ``kept`` of the rows keeps theirs, the others draw one
afresh. Over the places of two of its columns that is randomised response again, with the same share. So the decoder of
a product is ``(f g - (1 - kept) mean f * mean g) / kept``, with f and g as their places count and means over places;
what f counts is ``kept * D[f] + (1 - kept) mean D[f]``, D being the decoder of its column alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """How two columns of one group share their noise. Public.

    Args:
        kept: share of the rows whose combination the group's channel keeps.
        left: released codes that stand for the places of the left column.
        right: those of the right one.
    """

    kept: float
    left: Sequence[int] = field(repr=False)
    right: Sequence[int] = field(repr=False)


@dataclass(frozen=True, slots=True)
class PairDecoder:
    """Decoders of products of functions of two columns.

    Args:
        kept: share of the rows whose combination the group's channel keeps; 1 where the noise is independent, and
            decoders of either column are all there is to it.
        left: float64[outputs, m]: decoders, or what the functions count in a group, by released code.
        right: float64[outputs, n].
        left_means: float64[m], means over all places of the group; 0 where the noise is independent.
        right_means: float64[n].
    """

    kept: float
    left: Floats = field(repr=False)
    right: Floats = field(repr=False)
    left_means: Floats = field(repr=False)
    right_means: Floats = field(repr=False)

    @classmethod
    def of(cls, left: Floats, right: Floats, together: SharedNoise | None) -> PairDecoder:
        """From the decoders of either column alone.

        Args:
            left: float64[outputs, m].
            right: float64[outputs, n].
            together: for two columns of one group; None where the noise of the two is independent.
        """
        if together is None:
            return cls(1.0, left, right, np.zeros(left.shape[1]), np.zeros(right.shape[1]))
        kept, fresh = together.kept, 1 - together.kept
        ours = left[np.asarray(together.left)].mean(axis=0)
        theirs = right[np.asarray(together.right)].mean(axis=0)
        return cls(kept, kept * left + fresh * ours, kept * right + fresh * theirs, ours, theirs)

    def decoded(self, seen: Floats, fresh: Floats | float) -> Floats:
        """Decoded functions of both columns.

        Args:
            seen: of released rows, one by one or on average.
            fresh: on average over all pairs of places.
        """
        found: Floats = (seen - (1 - self.kept) * fresh) / self.kept
        return found

    def squared(self, squares: Floats, seen: Floats, fresh: Floats) -> Floats:
        """Mean squares of such decoders, from the mean squares and the means of what is seen."""
        drawn = (1 - self.kept) * fresh
        found: Floats = (squares - 2 * drawn * seen + drawn**2) / self.kept**2
        return found
