"""Channels by what fixes them, built once per process.

Building is pure, so what is kept is no state that anything depends on: the same arguments give the same integers.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any, cast

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.mechanisms import Chain, Channel, build_chain, build_channel

Parameter = str | bool | int | tuple[tuple[str, ...], ...]
"""What a mechanism takes beside domain and level: decimal text, a word, a flag, a count, or a matrix of such text."""

_KEPT_CHANNELS = 256
"""Enough for a dozen units with twenty rungs each."""

_LARGEST_KEPT = 2**16
"""Channels over more codes hold tens of MB each; building one again (two seconds at most) costs less than keeping."""


def channel_of(
    mechanism: str, domain: Domain, level: Epsilon, parameters: tuple[tuple[str, Parameter], ...]
) -> Channel:
    """The channel of a mechanism over a domain at a level.

    Args:
        mechanism: registry name.
        domain: declared domain.
        level: epsilon of the draw; not used where ``parameters`` hold their own ``epsilon`` (points).
        parameters: further parameters, sorted by name.

    Raises:
        ConfigError: as ``build_channel``.
    """
    build = _kept if domain.size <= _LARGEST_KEPT else _built
    return build(mechanism, cast(Hashable, domain), level, parameters)


def chain_of(
    mechanism: str, domain: Domain, rungs: tuple[Epsilon, ...], parameters: tuple[tuple[str, Parameter], ...]
) -> Chain:
    """The chain of a mechanism over a domain and a whole ladder.

    Args:
        mechanism: registry name of a mechanism with a chain.
        domain: declared domain.
        rungs: rising levels.
        parameters: further parameters, sorted by name.

    Raises:
        ConfigError: as ``build_chain``.
    """
    return _kept_chain(mechanism, cast(Hashable, domain), rungs, parameters)


@lru_cache(maxsize=_KEPT_CHANNELS)
def _kept_chain(
    mechanism: str, domain: Hashable, rungs: tuple[Epsilon, ...], parameters: tuple[tuple[str, Parameter], ...]
) -> Chain:
    return build_chain(mechanism, cast(Domain, domain), rungs, **dict(parameters))


def _built(mechanism: str, domain: Hashable, level: Epsilon, parameters: tuple[tuple[str, Parameter], ...]) -> Channel:
    named: dict[str, Any] = {"epsilon": level.text, **dict(parameters)}
    return build_channel(mechanism, cast(Domain, domain), **named)


_kept = lru_cache(maxsize=_KEPT_CHANNELS)(_built)
