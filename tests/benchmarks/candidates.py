"""What ``auto`` would take for a number: the candidate that keeps most correlation on a public prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import NumberDomain
from trasgo_lib.mechanisms import Channel, build_channel

BINS = (2, 3, 4, 5, 6, 8, 10, 12, 16)


@dataclass(frozen=True)
class Candidate:
    """A mechanism with its parameters."""

    mechanism: str
    bins: int | None = None

    @property
    def words(self) -> str:
        """Short name for a table."""
        return self.mechanism if self.bins is None else f"{self.bins} bins"

    def build(self, domain: NumberDomain, level: str) -> Channel:
        """Its channel at a level."""
        parameters = {} if self.bins is None else {"bins": self.bins}
        return build_channel(self.mechanism, domain, level, **parameters)


def candidates(domain: NumberDomain, names: Sequence[str] = ("laplace", "gaussian", "staircase")) -> list[Candidate]:
    """Mechanisms without bins."""
    return [Candidate(name) for name in names]


def best(prior: NDArray[np.float64], domain: NumberDomain, level: str) -> Candidate:
    """The candidate that keeps most correlation on a public prior.

    Args:
        prior: float64[codes], shares.
        domain: of the number.
        level: epsilon, decimal text.
    """
    binned = [Candidate("binned_randomized_response", bins) for bins in BINS if bins <= domain.size]
    return max([*candidates(domain), *binned], key=lambda each: kept_by(each.build(domain, level), prior))


def kept_by(channel: Channel, prior: NDArray[np.float64]) -> float:
    """Correlation of the released code with the code, over a prior."""
    weights = np.array([channel.weights(code) for code in range(channel.inputs)], dtype=np.float64) / channel.total
    joint = prior[:, None] * weights
    places, out = np.arange(channel.inputs), np.arange(channel.outputs)
    mean, released = prior @ places, joint.sum(axis=0)
    middle = released @ out
    spread = (prior @ (places - mean) ** 2) * (released @ (out - middle) ** 2)
    return float((places - mean) @ joint @ (out - middle) / np.sqrt(spread))
