"""Planar Laplace noise on the lattice of a box: geo-indistinguishability per metre of the projection.

Derivation and certificate: ``planar_window``. The epsilon of this channel is at the declared radius; between two cells
at distance d it is ``certified_geo * d``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel
from trasgo_lib.mechanisms.certificate import published
from trasgo_lib.mechanisms.geo_claim import UP, GeoClaim
from trasgo_lib.mechanisms.planar_inverse import PlanarOperator
from trasgo_lib.mechanisms.planar_window import (
    UNIFORM_BITS,
    VALUE_BITS,
    WINDOW_SHARE,
    WINDOW_TOTAL,
    PlanarWindow,
)
from trasgo_lib.noise import WideAliasTable

NAME = "planar_laplace"
"""Registry name."""

_VERSION = 1
_DENSE_CELLS = 4096
"""Largest box with a dense matrix of probabilities: 134 MB."""

_PART_REACH = 24
"""Decays after which the law of a part is cut off: a fortieth of the cells that the certificate needs."""

_LOW_MASK = np.uint64((1 << UNIFORM_BITS) - 1)


class Lattice(Protocol):
    """What the channel needs of a box domain."""

    @property
    def columns(self) -> int:
        """Cells from west to east."""

    @property
    def rows(self) -> int:
        """Cells from south to north."""

    @property
    def step_m(self) -> str | int:
        """Side of a cell in metres of the projection, decimal text."""

    def lattice_distance(self, ground_m: Decimal) -> Decimal:
        """Upper bound on the distance of the cell centres of two points ``ground_m`` apart on the ground."""


class PlanarChannel(TableChannel):
    """Planar Laplace noise over the cells of a lattice.

    Moments and scores are None: a cell number is a label. ``invert`` and ``expectation`` use the dense matrix, for
    boxes of at most 4096 cells.

    Args:
        lattice: the box domain.
        claim: epsilon at a radius.
        window: weights of the offsets, built for the claim.
        certified: epsilon per metre that the weights prove.
    """

    words_per_row = 2

    def __init__(self, lattice: Lattice, claim: GeoClaim, window: PlanarWindow, certified: Decimal) -> None:
        self._lattice, self._window, self._certified_geo = lattice, window, certified
        self._cells = lattice.columns * lattice.rows
        super().__init__(
            ChannelFacts(
                name=NAME,
                version=_VERSION,
                inputs=self._cells,
                outputs=self._cells,
                certified_epsilon=published(claim.at_radius(certified)),
                certified_delta=Decimal(0),
                event=claim.event,
                parameters={
                    "epsilon": claim.epsilon.text,
                    "radius_m": claim.radius_m,
                    "decay_per_cell": format(window.decay, "f"),
                    "window_cells": window.radius,
                    "uniform_bits": UNIFORM_BITS,
                    "step_m": str(lattice.step_m),
                    "columns": lattice.columns,
                    "rows": lattice.rows,
                    "codes": self._cells,
                },
            )
        )

    @property
    def certified_geo(self) -> Decimal:
        """Epsilon per metre of the projection that the integers prove, between cell centres; 60 digits, rounded up."""
        return self._certified_geo

    @property
    def mean_displacement_m(self) -> float:
        """Expected distance in metres from a cell to its output, in a box without edges (about 2 / geo)."""
        window = self._window
        counts = window.multiplicity * np.array([float(weight) for weight in window.weights]) / float(WINDOW_TOTAL)
        return float(np.sum(counts * np.sqrt(window.norms))) * float(self._lattice.step_m)

    def raw_point_epsilon(self, ground_m: Decimal) -> Decimal:
        """Bound on the log-ratio between two raw points, before they are put into cells; rounded up to 1e-6.

        Args:
            ground_m: their distance on the ground in metres, both within the box; at least 0.
        """
        return published(UP.multiply(self._certified_geo, self._lattice.lattice_distance(ground_m)))

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over all cells of the box for one input cell: integers >= 1 that sum to 2**128."""
        row, column = divmod(self._checked_code(code), self._lattice.columns)
        x, y, weights = self._offsets
        place = np.clip(row + y, 0, self._lattice.rows - 1) * self._lattice.columns
        place += np.clip(column + x, 0, self._lattice.columns - 1)
        collected = np.zeros(self._cells, dtype=object)
        np.add.at(collected, place, np.array(weights, dtype=object))
        return tuple(
            WINDOW_SHARE * weight + self._uniform_weight(cell) for cell, weight in enumerate(collected.tolist())
        )

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output cell, for each input cell; at most 4096 cells.

        Raises:
            ConfigError: the box is larger.
        """
        return np.asarray(self._matrix @ values)

    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unbiased input frequencies from output frequencies, by a dense solve; at most 4096 cells.

        Raises:
            ConfigError: the box is larger.
        """
        return np.asarray(np.linalg.solve(self._matrix.T, histogram))

    def operator(self, rows: int | None = None, columns: int | None = None) -> PlanarOperator:
        """The law as an operator that can be undone, for lattices of any size.

        Args:
            rows: of a part of the lattice whose surroundings do not matter; default all. The law of a part is cut off
                at 24 decays, beyond which fewer than 1 point in 10**9 goes.
            columns: of that part; default all.
        """
        shares, radius = self._window_shares, self._window.radius
        if rows is None or columns is None:
            return PlanarOperator(self._lattice.rows, self._lattice.columns, shares, 0.5**UNIFORM_BITS)
        kept = min(radius, ceil(_PART_REACH / float(self._window.decay)))
        middle = slice(radius - kept, radius + kept + 1)
        part = shares[middle, middle]
        return PlanarOperator(rows, columns, part / part.sum())

    @cached_property
    def _window_shares(self) -> NDArray[np.float64]:
        radius = self._window.radius
        axis = np.arange(-radius, radius + 1, dtype=np.int64) ** 2
        squares = axis[:, None] + axis[None, :]
        by_norm = np.zeros(2 * radius**2 + 1)
        by_norm[self._window.norms] = np.array([float(weight) for weight in self._window.weights]) / float(WINDOW_TOTAL)
        return np.asarray(by_norm[squares])

    def _draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        x, y, _ = self._offsets
        columns, rows = self._lattice.columns, self._lattice.rows
        picked = np.empty(len(codes), dtype=np.int32)
        self._alias.draw(words, picked)
        row = codes // np.int32(columns)
        column = codes - row * np.int32(columns)
        row += y.take(picked)
        column += x.take(picked)
        np.clip(row, 0, rows - 1, out=row)
        np.clip(column, 0, columns - 1, out=column)
        np.multiply(row, np.int32(columns), out=out)
        out += column
        # 1 row in 2**20; exact integers of Python, since the product has more than 64 bits
        for place in np.flatnonzero((words[1::2] & _LOW_MASK) == 0).tolist():
            value = (int(words[2 * place]) << 64 | int(words[2 * place + 1])) >> UNIFORM_BITS
            out[place] = value * self._cells >> VALUE_BITS

    def _uniform_weight(self, cell: int) -> int:
        """How many 108-bit numbers R have floor(R * cells / 2**108) = cell."""
        return -(-(cell + 1) * WINDOW_TOTAL // self._cells) + (-cell * WINDOW_TOTAL // self._cells)

    @cached_property
    def _offsets(self) -> tuple[NDArray[np.int32], NDArray[np.int32], list[int]]:
        return self._window.offsets(self._lattice.columns - 1, self._lattice.rows - 1)

    @cached_property
    def _alias(self) -> WideAliasTable:
        # all weights and the capacity of a column are multiples of 2**20, hence every threshold is one: the table
        # decides by the upper 108 bits alone, and the last 20 stay independent of the offset
        return WideAliasTable([weight << UNIFORM_BITS for weight in self._offsets[2]])

    @cached_property
    def _matrix(self) -> NDArray[np.float64]:
        if self._cells > _DENSE_CELLS:
            raise ConfigError.of(
                Reason.BAD_PARAMETER,
                "domain",
                required=f"at most {_DENSE_CELLS} cells for a dense solve",
                came=f"{self._cells} cells",
                fix="Use a coarser lattice for estimates, or work with released cells as they are.",
            )
        total = float(self.total)
        return np.array([[weight / total for weight in self.weights(code)] for code in range(self._cells)])

    def _table_bytes(self) -> Iterator[bytes]:
        x, y, weights = self._offsets
        yield x.astype("<i4").tobytes()
        yield y.astype("<i4").tobytes()
        yield hashlib.sha256(b"".join(weight.to_bytes(16, "little") for weight in weights)).digest()
