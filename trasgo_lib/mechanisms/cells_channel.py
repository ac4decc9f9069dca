"""Planar Laplace noise over a declared list of H3 cells: a dense channel in great-circle metres.

The ideal. For an input cell i and an output cell o let ideal(i, o) = G(i) * exp(-c * d(i, o)) + A, with d the
great-circle distance of the centres, G(i) > 0 and A > 0 a constant. As d is a metric and A does not depend on i,

    ln ideal(i, o) / ideal(j, o) <= c * d(i, j) + |ln G(i) - ln G(j)|.

The normaliser depends on the input here, since cells near the border of the list have fewer neighbours; so c is solved
such that the largest bound per metre, over all pairs, meets the claim.

The channel. E(i, o) is exp(-c * d) in units of 2**-64, from distances in whole 0.1 mm and integer products of exact
exponentials; A = floor(2**44 / n); M(i) = floor((2**64 - n * A) * 2**64 / sum_o E(i, o));
weight(i, o) = A + floor(E(i, o) * M(i) / 2**64); what is left of 2**64 goes to o = i. Take G(i) = M(i).

The difference. The distance used differs from d by at most e = 0.05 mm + the error of the distances, which is a factor
of at most exp(c * e). Roundings move a weight by at most u = 12 units, and the diagonal by at most u + left(i);
relative to A, or to M(i) on the diagonal. With delta = max(u / A, max_i (u + left(i)) / M(i)) and
rho = c * e - ln(1 - delta), for every two different cells i, j and every o

    ln weight(i, o) / weight(j, o) <= (max_{i, j} (c + |ln M(i) - ln M(j)| / d(i, j)) + 2 * rho / d_min) * d(i, j).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import CellsDomain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel
from trasgo_lib.mechanisms.calibration import require_certified
from trasgo_lib.mechanisms.cells_weights import CellWeights, certified_geo, solve_decay
from trasgo_lib.mechanisms.certificate import published
from trasgo_lib.mechanisms.channel import Json
from trasgo_lib.mechanisms.geo_claim import DOWN, GeoClaim
from trasgo_lib.mechanisms.parameters import StoredParameters
from trasgo_lib.noise import DenseAlias

_NAME = "planar_laplace"
_VERSION = 1
_TRIES = 12
_STEP_DOWN = Decimal("1e-10")
"""First relative step by which a decay is lowered when the float search overshot; doubled at each try."""


class CellsChannel(TableChannel):
    """Planar Laplace noise over declared cells.

    Moments and scores are None: a cell's code is a label.

    Args:
        domain: the declared cells.
        claim: epsilon at a radius.
        table: the integer weights.
        certified: epsilon per metre that they prove.
    """

    def __init__(self, domain: CellsDomain, claim: GeoClaim, table: CellWeights, certified: Decimal) -> None:
        self._table, self._certified_geo = table, certified
        super().__init__(
            ChannelFacts(
                name=_NAME,
                version=_VERSION,
                inputs=domain.size,
                outputs=domain.size,
                certified_epsilon=published(claim.at_radius(certified)),
                certified_delta=Decimal(0),
                event=claim.event,
                parameters={
                    "epsilon": claim.epsilon.text,
                    "radius_m": claim.radius_m,
                    "decay_per_m": format(table.decay, "f"),
                    "codes": domain.size,
                },
            )
        )

    @property
    def certified_geo(self) -> Decimal:
        """Epsilon per great-circle metre between cell centres that the integers prove; rounded up."""
        return self._certified_geo

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over all cells for one input cell: integers >= 1 that sum to 2**64."""
        return tuple(self._table.matrix[self._checked_code(code)].tolist())

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output cell, for each input cell."""
        return np.asarray(self._probabilities @ values)

    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unbiased input frequencies from output frequencies, by a dense solve; ill-conditioned at a small epsilon."""
        return np.asarray(np.linalg.solve(self._probabilities.T, histogram))

    def _draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        self._alias.draw(codes, words, out)

    @cached_property
    def _alias(self) -> DenseAlias:
        return DenseAlias(self._table.matrix)

    @property
    def _probabilities(self) -> NDArray[np.float64]:
        return self._table.matrix.astype(np.float64) / float(self.total)

    def _table_bytes(self) -> Iterator[bytes]:
        for row in self._table.matrix:
            yield row.astype("<u8").tobytes()


def build_cells(domain: CellsDomain, claim: GeoClaim) -> CellsChannel:
    """The channel for a claim, built 1e-9 below it.

    Args:
        domain: the declared cells; public.
        claim: epsilon at a radius; public.

    Raises:
        ConfigError: cells too close together for the claim to be certified.
    """
    distances = domain.distance_m
    decay = solve_decay(distances, float(claim.build_per_metre))
    lowered = _STEP_DOWN
    for _ in range(_TRIES):
        if decay > 0:
            table = CellWeights.build(distances, decay)
            certified = certified_geo(table, distances)
            if claim.at_radius(certified) <= claim.epsilon.decimal:
                return CellsChannel(domain, claim, table, certified)
        decay = DOWN.multiply(decay, DOWN.subtract(Decimal(1), lowered))
        lowered *= 2
    raise ConfigError.of(
        Reason.CLAIM_NOT_CERTIFIED,
        "domain.cells",
        required=f"cells far enough apart for {claim.epsilon} at {claim.radius_m} m",
        came="cells whose distance is lost in rounding",
        fix="Declare cells of a coarser resolution, or a smaller radius.",
    )


def rebuild_cells(domain: CellsDomain, parameters: Mapping[str, Json]) -> CellsChannel:
    """The channel that published these parameters, without any search.

    Args:
        domain: the declared cells; public.
        parameters: as in ``channel.json``.

    Raises:
        ConfigError: parameters that are damaged or belong to other cells.
        VerificationError: the weights prove less than the claim.
    """
    stored = StoredParameters(_NAME, parameters)
    claim = GeoClaim.parse(stored.text("epsilon"), stored.text("radius_m"))
    decay = stored.decimal("decay_per_m")
    stored.require_size(domain.size)
    stored.finish()
    distances = domain.distance_m
    table = CellWeights.build(distances, decay)
    certified = certified_geo(table, distances)
    require_certified(claim.at_radius(certified), claim.epsilon, _NAME)
    return CellsChannel(domain, claim, table, certified)
