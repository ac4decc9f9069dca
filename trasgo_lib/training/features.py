"""What goes into a model: declared codes as numbers on the grid of the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.training.network import ACTIVATION_BITS, Matrix


@dataclass(frozen=True, slots=True)
class Feature:
    """One column as inputs: a number scaled to -1..1 by its declared bounds, or one input for each declared label.

    Args:
        name: of the column.
        kind: ``number`` (also a date) or ``category``.
        size: number of values of the declared domain.
        has_missing: whether a missing value is one more code, ``size``: it has an input of its own.
    """

    name: str
    kind: Literal["number", "category"]
    size: int
    has_missing: bool

    @property
    def width(self) -> int:
        """How many inputs it becomes."""
        return (self.size if self.kind == "category" else 1) + int(self.has_missing)

    def table(self) -> Matrix:
        """Inputs of every code: float64[codes, width], multiples of 2**-10 of at most 1 in size."""
        codes = self.size + int(self.has_missing)
        if self.kind == "category":
            return np.eye(codes)
        found = np.zeros((codes, self.width))
        if self.size > 1:
            places = np.arange(self.size) / (self.size - 1)
            found[: self.size, 0] = np.rint((2 * places - 1) * 2.0**ACTIVATION_BITS) / 2.0**ACTIVATION_BITS
        if self.has_missing:
            found[self.size, 1] = 1
        return found


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Rows as codes, made into inputs for as many of them as are asked for.

    Args:
        codes: int32[rows] of each feature; private in training.
        tables: inputs of every code of each feature.
    """

    codes: tuple[NDArray[np.int32], ...]
    tables: tuple[Matrix, ...]

    def inputs(self, places: NDArray[np.int64]) -> Matrix:
        """Inputs of the rows at some places: float64[places, inputs]."""
        parts = (table[codes[places]] for codes, table in zip(self.codes, self.tables, strict=True))
        return np.concatenate(list(parts), axis=1)


def encoded(features: Sequence[Feature], codes: Mapping[str, NDArray[np.int32]]) -> EncodedRows:
    """Rows of declared codes.

    Args:
        features: of the model, in its order.
        codes: int32[rows] by column.
    """
    return EncodedRows(tuple(codes[one.name] for one in features), tuple(one.table() for one in features))
