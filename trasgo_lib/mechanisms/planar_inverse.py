"""Planar Laplace noise as a linear operator on lattices of any size: applied and undone by Fourier transforms.

Row i of the channel's matrix K is the law of the output cell of input cell i. Away from the edges a row is the same
window of weights around each cell, so K is a convolution; at the edges coordinates are clamped. Hence ``K g`` is the
window over ``g``, continued outwards by its border values, and ``K^T f`` is ``f`` spread by the window with what falls
outside folded onto the border. Both are exact up to the rounding of the transforms.

K is undone by GMRES. The preconditioner is the same window under reflection at the edges, which the cosine transform
diagonalises: it differs from K near the edges only, and by Poisson's summation formula its eigenvalues are sums of
``(1 + |w|**2 / theta**2) ** -1.5`` over aliases w, which are above 0. The least of them, at the finest waves a lattice
holds, says how much noise unbiased estimates have: about ``theta**3`` where the decay per cell is small.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ACCURATE = (1e-11, 1e-11)
"""Relative residuals of two solves: the second one, of what is left, takes it to the rounding of the transforms."""

_ROUGH = 1e-8

_SUBSPACE, _RESTARTS = 40, 50


class PlanarOperator:
    """The law of output cells as an operator over the cells of a lattice, row by row.

    Args:
        rows: cells from south to north.
        columns: cells from west to east.
        window: float64[2 * radius + 1, 2 * radius + 1], probability of each offset.
        uniform: probability that the output is uniform over the lattice instead.
    """

    def __init__(self, rows: int, columns: int, window: Floats, uniform: float = 0.0) -> None:
        self._shape, self._window, self._uniform = (rows, columns), window, uniform
        self._radius = window.shape[0] // 2

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self._shape[0] * self._shape[1]

    def expectation(self, values: Floats) -> Floats:
        """``K g``: the expected value of a function of the output cell, for each input cell: float64[cells]."""
        continued = np.pad(values.reshape(self._shape), self._radius, mode="edge")
        over = self._convolved(continued)[self._inner(2 * self._radius)]
        return self._mixed(over, values)

    def outputs(self, shares: Floats) -> Floats:
        """``K^T f``: the shares of output cells, for shares of input cells: float64[cells]."""
        spread = self._convolved(shares.reshape(self._shape))[: self._padded[0], : self._padded[1]]
        radius = self._radius
        for axis in range(2):
            spread = np.moveaxis(spread, axis, 0).copy()
            spread[radius] += spread[:radius].sum(axis=0)
            spread[-radius - 1] += spread[len(spread) - radius :].sum(axis=0)
            spread = np.moveaxis(spread[radius : len(spread) - radius], 0, axis)
        return self._mixed(spread, shares)

    def _mixed(self, by_window: Floats, values: Floats) -> Floats:
        return np.asarray((1 - self._uniform) * by_window.ravel() + self._uniform * values.mean())

    def decoder(self, values: Floats, *, roughly: bool = False) -> Floats:
        """The function g of the output cell whose expected value is a given one of the input cell: ``K g = values``.

        Args:
            values: float64[cells].
            roughly: whether a relative residual of 1e-8 is enough.

        Raises:
            ArithmeticError: it cannot be found to the accuracy of the transforms: a decay too small for the lattice.
        """
        return self._solved(self.expectation, values, (_ROUGH,) if roughly else _ACCURATE)

    def decoder_within(self, values: Floats) -> Floats:
        """``decoder`` of values far from every edge, in one step: what edges do to it is then below its rounding.

        Args:
            values: float64[cells], 0 within 16 decays of an edge.
        """
        return self._undone_under_reflection(values)

    def inputs(self, observed: Floats) -> Floats:
        """Unbiased shares of input cells from shares of output cells: ``K^T f = observed``.

        Args:
            observed: float64[cells].

        Raises:
            ArithmeticError: as ``decoder``.
        """
        return self._solved(self.outputs, observed, _ACCURATE)

    @cached_property
    def least_eigenvalue(self) -> float:
        """Of the window under reflection: how much of the finest waves the noise leaves; above 0."""
        return float(self._eigenvalues.min())

    def _solved(self, operator: Callable[[Floats], Floats], right: Floats, accuracies: tuple[float, ...]) -> Floats:
        # imported late: only estimates need scipy
        from scipy.sparse.linalg import LinearOperator, gmres

        size = (self.cells, self.cells)
        forward = LinearOperator(size, matvec=operator, dtype=np.float64)
        near = LinearOperator(size, matvec=self._undone_under_reflection, dtype=np.float64)
        found, left = np.zeros(self.cells), np.asarray(right, dtype=np.float64)
        if not left.any():
            return found
        for accuracy in accuracies:
            more, fault = gmres(forward, left, M=near, rtol=accuracy, restart=_SUBSPACE, maxiter=_RESTARTS)
            if fault:
                raise ArithmeticError("the noise of this lattice cannot be undone")
            found += more
            left = right - operator(found)
        return found

    def _undone_under_reflection(self, values: Floats) -> Floats:
        from scipy.fft import dctn, idctn

        waves = dctn(values.reshape(self._shape), norm="ortho")
        return np.asarray(idctn(waves / self._eigenvalues, norm="ortho")).ravel()

    @cached_property
    def _eigenvalues(self) -> Floats:
        offsets = np.arange(-self._radius, self._radius + 1)
        along, across = (np.cos(np.pi / size * np.outer(np.arange(size), offsets)) for size in self._shape)
        return np.asarray(along @ self._window @ across.T)

    @property
    def _padded(self) -> tuple[int, int]:
        return self._shape[0] + 2 * self._radius, self._shape[1] + 2 * self._radius

    @cached_property
    def _lengths(self) -> tuple[int, int]:
        """Of the transforms: nothing that is read wraps around."""
        from scipy.fft import next_fast_len

        return next_fast_len(self._padded[0], real=True), next_fast_len(self._padded[1], real=True)

    @cached_property
    def _window_waves(self) -> NDArray[np.complex128]:
        from scipy.fft import rfft2

        return np.asarray(rfft2(self._window, self._lengths))

    def _convolved(self, values: Floats) -> Floats:
        from scipy.fft import irfft2, rfft2

        return np.asarray(irfft2(rfft2(values, self._lengths) * self._window_waves, self._lengths))

    def _inner(self, first: int) -> tuple[slice, slice]:
        return slice(first, first + self._shape[0]), slice(first, first + self._shape[1])
