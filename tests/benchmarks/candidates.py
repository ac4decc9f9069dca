"""What ``auto`` takes for a number, in words and as a channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import NumberDomain
from trasgo_lib.mechanisms import Candidate, Channel, build_channel, choose_mechanism


def best(prior: NDArray[np.float64], domain: NumberDomain, level: str) -> Candidate:
    """The candidate that is expected to keep most correlation at one level, as ``auto`` decides it.

    Args:
        prior: float64[codes], public shares.
        domain: of the number.
        level: epsilon, decimal text.
    """
    return choose_mechanism(domain, prior, epsilon=level, loss="correlation_loss")


def plain(name: str) -> Candidate:
    """A mechanism at its defaults."""
    return Candidate(name)


def build(candidate: Candidate, domain: NumberDomain, level: str) -> Channel:
    """Its channel at a level."""
    return build_channel(candidate.mechanism, domain, level, **dict(candidate.parameters))


def words(candidate: Candidate) -> str:
    """Short name for a table."""
    parameters = dict(candidate.parameters)
    if "bins" in parameters:
        return f"{parameters['bins']} bins"
    return candidate.mechanism + "".join(f", {name} {value}" for name, value in parameters.items())
