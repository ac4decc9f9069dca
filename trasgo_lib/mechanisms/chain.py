"""Chains: the coupled levels of one noise unit, drawn fine to coarse and revealed upwards.

The top level is drawn from the private codes; every lower level is drawn from the level above it, never from the
private codes. So whoever sees levels 1 to h sees functions of level h and fresh words: all of it together is as private
as level h alone, whose channel is the product of the integer matrices that ran. That product is what is certified.
Source: guarantee 3; Koufogiannis, Han and Pappas 2016 (gradual release) for additive noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Literal

import numpy as np
import rfc8785
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms.base import checked_codes
from trasgo_lib.mechanisms.binned import NAME as BINNED
from trasgo_lib.mechanisms.binned import couple_binned, search_binned
from trasgo_lib.mechanisms.channel import Channel, Json
from trasgo_lib.mechanisms.coupling import Coupling, Ladder
from trasgo_lib.mechanisms.flag_chain import couple_flagged, search_flagged
from trasgo_lib.mechanisms.gaussian import NAME as GAUSSIAN
from trasgo_lib.mechanisms.gaussian_chain import couple_gaussian, gaussian_sides, search_gaussian
from trasgo_lib.mechanisms.krr import BINARY_NAME, KARY_NAME
from trasgo_lib.mechanisms.krr_chain import couple_randomized_response, search_randomized_response
from trasgo_lib.mechanisms.laplace import NAME as LAPLACE
from trasgo_lib.mechanisms.laplace_chain import couple_laplace, laplace_sides, search_laplace
from trasgo_lib.mechanisms.parameters import read_epsilon, refused
from trasgo_lib.mechanisms.registry import checked_parameters
from trasgo_lib.mechanisms.staircase import NAME as STAIRCASE
from trasgo_lib.mechanisms.staircase_chain import couple_staircase, search_staircase
from trasgo_lib.noise import CHUNK_ROWS, Keystream

Purpose = Literal["draw", "coarsen"]

Streams = Callable[[Purpose, Epsilon], Keystream]
"""The keystream of a purpose and a level: ``draw`` at the top level, ``coarsen`` at every level below it. Each is used
for nothing else; a shared one would make levels differ by a function of the private code."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the integers of one level prove.

    Args:
        epsilon: largest log-ratio of everything seen up to this level, rounded up to 1e-6; at most the level.
        delta: the delta that goes with it; a chain charges the sum over the levels looked at.
        difference: bound on the relative difference between the level's published weights and its product.
    """

    epsilon: Decimal
    delta: Decimal
    difference: Decimal


@dataclass(frozen=True, slots=True)
class Family:
    """How one mechanism couples its levels.

    Args:
        search: solves the kernels of a ladder: domain, ladder, own parameters -> stored parameters.
        couple: builds kernels and channels from stored parameters, without a search.
    """

    search: Callable[..., dict[str, Json]]
    couple: Callable[[Domain, Mapping[str, Json]], Coupling]


FAMILIES: Mapping[str, Family] = {
    LAPLACE: Family(
        partial(search_flagged, LAPLACE, search_laplace, laplace_sides),
        partial(couple_flagged, LAPLACE, couple_laplace, laplace_sides),
    ),
    GAUSSIAN: Family(
        partial(search_flagged, GAUSSIAN, search_gaussian, gaussian_sides),
        partial(couple_flagged, GAUSSIAN, couple_gaussian, gaussian_sides),
    ),
    STAIRCASE: Family(search_staircase, couple_staircase),
    BINNED: Family(search_binned, couple_binned),
    BINARY_NAME: Family(
        partial(search_randomized_response, BINARY_NAME), partial(couple_randomized_response, BINARY_NAME)
    ),
    KARY_NAME: Family(partial(search_randomized_response, KARY_NAME), partial(couple_randomized_response, KARY_NAME)),
}
"""Every mechanism whose levels can be coupled."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The coupled levels of one mechanism on one domain; built by ``build_chain``, fixed for good.

    Args:
        name: registry name of the mechanism.
        ladder: the levels.
        parameters: everything from which all tables follow, as strict JSON.
        coupling: the integer matrices.
    """

    name: str
    ladder: Ladder
    parameters: Mapping[str, Json]
    coupling: Coupling = field(repr=False)

    @property
    def levels(self) -> tuple[Epsilon, ...]:
        """The levels, lowest first."""
        return self.ladder.claims

    @property
    def digest(self) -> str:
        """SHA-256 over name, version, parameters with the whole ladder, and every integer table, hex."""
        channels = self.coupling.channels
        head: dict[str, Any] = {"name": self.name, "version": channels[-1].version, "parameters": dict(self.parameters)}
        tables = [self.coupling.top.digest, *(step.digest for step in self.coupling.steps)]
        return hashlib.sha256(rfc8785.dumps({**head, "tables": tables})).hexdigest()

    def rung(self, level: Epsilon | str) -> int:
        """Place of a level in the ladder, counted from the lowest, 0.

        Raises:
            ConfigError: not a level of this chain.
        """
        claim = read_epsilon(self.name, level)
        if claim not in self.levels:
            raise refused(
                f"{self.name} level",
                f"one of {', '.join(known.text for known in self.levels)}",
                claim.text,
                "A chain reveals the levels it was built with; another level is another chain, and adds.",
            )
        return self.levels.index(claim)

    def channel(self, level: Epsilon | str) -> Channel:
        """The channel from private codes to the released codes of one level.

        Raises:
            ConfigError: not a level of this chain.
        """
        return self.coupling.channels[self.rung(level)]

    def certificate(self, level: Epsilon | str) -> Certificate:
        """What the integers prove about everything seen up to one level.

        Raises:
            ConfigError: not a level of this chain.
        """
        channel = self.channel(level)
        return Certificate(channel.certified_epsilon, channel.certified_delta, channel.difference)

    def sample(
        self, codes: NDArray[np.int32], streams: Streams, level: Epsilon | str, first_row: int = 0
    ) -> NDArray[np.int32]:
        """Released codes of one level: int32[rows] -> int32[rows].

        Every call draws the top level and steps down, a chunk of rows at a time; finer levels exist only inside this
        call. The bits of a level do not depend on batches, nor on which levels were sampled before.

        Args:
            codes: private input codes.
            streams: keystream of each purpose and level; see ``Streams``.
            level: the level that is revealed.
            first_row: global index of the first row.

        Raises:
            ConfigError: not a level of this chain.
            InputContractError: a code outside the inputs; nothing is drawn.
        """
        target, top = self.rung(level), len(self.levels) - 1
        private = checked_codes(codes, self.coupling.top.inputs)
        draw = streams("draw", self.levels[top])
        steps = [(self.coupling.steps[rung], streams("coarsen", self.levels[rung])) for rung in range(target, top)]
        released = np.empty(len(private), dtype=np.int32)
        for start in range(0, len(private), CHUNK_ROWS):
            row = first_row + start
            states = self.coupling.top.sample(private[start : start + CHUNK_ROWS], draw, row)
            for step, stream in reversed(steps):
                states = step.sample(states, stream, row)
            released[start : start + CHUNK_ROWS] = self.coupling.released(states)
        return released


def _family(name: str) -> Family:
    family = FAMILIES.get(name)
    if family is None:
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            f"{name} composition",
            required=f"a mechanism whose levels can be coupled: {', '.join(sorted(FAMILIES))}",
            came=name,
            fix="Choose one of them, or composition: sequential.",
        )
    return family


def build_chain(name: str, domain: Domain, levels: Sequence[Epsilon | str], **parameters: object) -> Chain:
    """Build a certified chain.

    Args:
        name: a key of ``MECHANISMS`` whose entry says ``chain``.
        domain: declared domain; public.
        levels: the ladder, decimal text or ``Epsilon``, lowest first.
        **parameters: the mechanism's own, as for ``build_channel``.

    Raises:
        ConfigError: unknown mechanism or parameter, a mechanism without chains, a domain it does not take, a ladder
            that does not rise, or a level that cannot be realised.
    """
    checked_parameters(name, domain, parameters)
    family, ladder = _family(name), Ladder.read(name, levels)
    solved = family.search(domain, ladder, **parameters)
    return Chain(name, ladder, solved, family.couple(domain, solved))


def rebuild_chain(name: str, domain: Domain, parameters: Mapping[str, Json]) -> Chain:
    """Build a chain again from its stored parameters, without any search.

    Args:
        name: registry name.
        domain: its declared domain.
        parameters: ``Chain.parameters``, parsed JSON.

    Raises:
        ConfigError: unknown mechanism, wrong domain or damaged parameters.
        VerificationError: some level's integers prove less than its claim.
    """
    checked_parameters(name, domain, {})
    coupling = _family(name).couple(domain, parameters)
    levels = parameters["levels"]
    return Chain(name, Ladder.read(name, levels if isinstance(levels, list) else []), dict(parameters), coupling)
