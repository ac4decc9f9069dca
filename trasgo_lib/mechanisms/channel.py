"""The channel protocol: what every local mechanism promises.

A channel maps an input code to a random output code. Its rows are integers, so that what the sampler draws, what the
certificate bounds and what the channel file publishes are the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget.events import LossEvent
from trasgo_lib.noise.keystream import Keystream

Json = str | int | bool | None | list["Json"] | dict[str, "Json"]
"""Strict JSON without floats: amounts and parameters are decimal text."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Exact moments of a channel's output for each input, in code steps.

    Args:
        mean: float64[inputs], expected decoded score of the output (see ``Channel.scores``).
        variance: float64[inputs], its variance.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


class Kernel(Protocol):
    """Integer rows over output codes: what is drawn, apart from what it claims.

    A kernel turns released codes of one level into codes of a lower one. Unlike a channel's, its weights may be 0.
    """

    @property
    def inputs(self) -> int:
        """Number of input codes."""

    @property
    def outputs(self) -> int:
        """Number of output codes."""

    @property
    def total(self) -> int:
        """What each row of weights sums to."""

    @property
    def words_per_row(self) -> int:
        """How many 64-bit words a draw takes: 1 or 2."""

    @property
    def digest(self) -> str:
        """SHA-256 over the weights, hex."""

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 0 that sum to ``total``."""

    def sample(self, codes: NDArray[np.int32], keystream: Keystream, first_row: int = 0) -> NDArray[np.int32]:
        """Draw outputs: int32[rows] -> int32[rows]; see ``Channel.sample``."""


class Channel(Protocol):
    """A finite integer channel over codes ``0..inputs-1``."""

    @property
    def name(self) -> str:
        """The mechanism's name as in the release file."""

    @property
    def version(self) -> int:
        """Version of the mechanism's definition; a change of any weight raises it."""

    @property
    def inputs(self) -> int:
        """Number of input codes, the missing code included."""

    @property
    def outputs(self) -> int:
        """Number of output codes."""

    @property
    def total(self) -> int:
        """What each row of weights sums to: 2**64, or 2**128 for channels that take two words a row."""

    @property
    def words_per_row(self) -> int:
        """How many 64-bit words a draw takes: 1 or 2."""

    @property
    def certified_epsilon(self) -> Decimal:
        """The least epsilon the integers prove (given ``certified_delta``), rounded up to 1e-6; at most the claim.

        For a geo channel: at the declared radius.
        """

    @property
    def certified_delta(self) -> Decimal:
        """The delta that goes with it; 0 for pure channels."""

    @property
    def difference(self) -> Decimal:
        """Bound on the relative difference between any weight and the law that draws follow.

        0, except for the coarsened levels of a chain, whose law is a product of integer matrices: what is certified
        is that product, and ``weights`` are its entries rounded to 2**64.
        """

    @property
    def event(self) -> LossEvent:
        """The loss event of one draw, at the claim."""

    @property
    def support(self) -> Sequence[int]:
        """Output codes that can occur; every input can produce each of them."""

    @property
    def moments(self) -> Moments | None:
        """Moments of the decoded score, or None for labels and points."""

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """float64[outputs]: a score g with E[g(output) | input i] = i, in code steps; None for labels and points.

        Non-missing codes only have scores; the missing code's entry is NaN.
        """

    @property
    def score_bias(self) -> float:
        """Largest distance, in code steps, between an input and the expected score of its output.

        0, or what float64 leaves of it, wherever an exactly unbiased decoder is usable; a thousandth of the range for
        clamped normal noise, whose exact decoder has a variance that makes it useless (see ``smooth_inverse``).
        """

    @property
    def parameters(self) -> Mapping[str, Json]:
        """Everything from which the whole weight table follows, as strict JSON; goes to ``channel.json``."""

    @property
    def digest(self) -> str:
        """SHA-256 over name, version, parameters and the weights, hex."""

    @property
    def table_digest(self) -> str:
        """SHA-256 over the weights alone, hex: channels that claim differently and draw alike have the same."""

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers that sum to ``total``, at least 1 all over ``support``."""

    def sample(self, codes: NDArray[np.int32], keystream: Keystream, first_row: int = 0) -> NDArray[np.int32]:
        """Draw outputs: int32[rows] -> int32[rows].

        Row ``r`` uses words ``(first_row + r) * words_per_row`` onwards, so any batching gives the same bits.

        Raises:
            InputContractError: a code outside ``0..inputs-1``; nothing is drawn.
        """

    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unbiased estimate of input frequencies from output frequencies: float64[outputs] -> float64[inputs].

        Entries can be negative. Linear: counts in, counts out; shares in, shares out.
        """

    def coarsen(self, level: Epsilon | str) -> Kernel | None:
        """The kernel that turns outputs of this channel into outputs of a lower level, or None where there is none.

        With ``K`` this channel and ``R`` the kernel, the product ``K R`` is certified at the lower level. Releasing
        both outputs costs what this channel costs, because the lower one is drawn from the higher one alone.

        Args:
            level: the lower claim, decimal text or an ``Epsilon``.

        Raises:
            ConfigError: a level that is not below this channel's claim, or that no kernel of 64-bit words meets.
        """
