"""Coupled levels: what every family of chains hands to ``Chain``, and what is refused alike by all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget.events import ApproximateEvent, LossEvent, PureEvent
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel
from trasgo_lib.mechanisms.calibration import loss_event, require_certified
from trasgo_lib.mechanisms.channel import Json, Kernel
from trasgo_lib.mechanisms.parameters import read_epsilon, refused

PURE = Delta(0)


@dataclass(frozen=True, slots=True)
class Coupling:
    """The integer matrices of a chain and the channels they add up to.

    Args:
        top: from input codes to the states of the top level.
        steps: kernels between states; ``steps[r]`` leads from rung ``r + 1`` to rung ``r``, rungs counted from below.
        channels: per rung, from below, the channel from input codes to released codes.
        codes: int32[states], the released code of every state; None where states are codes.
    """

    top: Kernel
    steps: tuple[Kernel, ...]
    channels: tuple[TableChannel, ...]
    codes: NDArray[np.int32] | None = None

    def released(self, states: NDArray[np.int32]) -> NDArray[np.int32]:
        """Codes that states stand for: int32[rows] -> int32[rows]."""
        return states if self.codes is None else self.codes[states]


@dataclass(frozen=True, slots=True)
class Ladder:
    """The rising claims of a chain.

    Args:
        claims: lowest first, strictly rising.
    """

    claims: tuple[Epsilon, ...]

    @classmethod
    def read(cls, mechanism: str, levels: Sequence[object]) -> Ladder:
        """A ladder from decimal texts or ``Epsilon`` values.

        Raises:
            ConfigError: no level, or levels that do not rise strictly.
            AmountError: a level that is not an exact epsilon.
        """
        claims = tuple(read_epsilon(mechanism, level) for level in levels)
        if not claims or any(low >= high for low, high in pairwise(claims)):
            raise refused(
                f"{mechanism} levels",
                "at least one level, each above the one before it",
                ", ".join(claim.text for claim in claims) or "none",
                "Write the ladder from the lowest level to the highest.",
            )
        return cls(claims)

    @property
    def top(self) -> Epsilon:
        """The highest claim."""
        return self.claims[-1]

    @property
    def falling(self) -> tuple[Epsilon, ...]:
        """The claims below the top, in the order in which they are drawn."""
        return self.claims[-2::-1]

    @property
    def texts(self) -> list[Json]:
        """The claims as decimal text, lowest first."""
        return [claim.text for claim in self.claims]


def level_facts(
    name: str,
    version: int,
    sizes: tuple[int, int],
    parameters: Mapping[str, Json],
    claim: Epsilon,
    certificate: Decimal,
    difference: Decimal,
    delta: Delta = PURE,
) -> ChannelFacts:
    """Facts of one level of a chain; its parameters are those of the whole chain and which level it is.

    Args:
        name: registry name.
        version: version of the mechanism.
        sizes: number of input and output codes.
        parameters: those of the whole chain.
        claim: the level.
        certificate: of the product that ran; not yet rounded.
        difference: between the level's weights and that product.
        delta: the delta of this level; 0 by default.

    Raises:
        VerificationError: the integers prove less than the claim.
    """
    return ChannelFacts(
        name=name,
        version=version,
        inputs=sizes[0],
        outputs=sizes[1],
        certified_epsilon=require_certified(certificate, claim, name),
        certified_delta=delta.decimal,
        event=loss_event(claim, delta),
        parameters={**parameters, "revealed": claim.text},
        difference=difference,
    )


def lower_claim(mechanism: str, level: Epsilon | str, event: LossEvent) -> Epsilon:
    """The claim to which a channel is coarsened.

    Raises:
        ConfigError: not below the claim of the channel.
    """
    claim = read_epsilon(mechanism, level)
    top = event.epsilon if isinstance(event, PureEvent | ApproximateEvent) else None
    if top is None or claim >= top:
        above = "" if top is None else f" below {top.text}"
        raise refused(f"{mechanism} level", f"a level{above}", claim.text, "Coarsen to a lower level.")
    return claim


def unreachable_step(mechanism: str, claim: Epsilon) -> ConfigError:
    """Two levels whose 64-bit tables are the same, or a level that no table of words meets."""
    return refused(
        f"{mechanism} levels",
        "levels that 64-bit weights can tell apart and certify",
        f"level {claim.text}",
        "Leave this level out, or set it further from its neighbours.",
    )
