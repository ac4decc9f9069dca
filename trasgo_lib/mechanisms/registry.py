"""The table of mechanisms: one literal entry each, no registration at import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from trasgo_lib.data import Domain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms.binned import NAME as BINNED
from trasgo_lib.mechanisms.binned import build_binned, rebuild_binned
from trasgo_lib.mechanisms.channel import Channel, Json
from trasgo_lib.mechanisms.exponential import NAME as EXPONENTIAL
from trasgo_lib.mechanisms.exponential import build_exponential, rebuild_exponential
from trasgo_lib.mechanisms.gaussian import NAME as GAUSSIAN
from trasgo_lib.mechanisms.gaussian import build_gaussian, rebuild_gaussian
from trasgo_lib.mechanisms.krr import BINARY_NAME, KARY_NAME, build_randomized_response, rebuild_randomized_response
from trasgo_lib.mechanisms.laplace import NAME as LAPLACE
from trasgo_lib.mechanisms.laplace import build_laplace, rebuild_laplace
from trasgo_lib.mechanisms.parameters import refused
from trasgo_lib.mechanisms.staircase import NAME as STAIRCASE
from trasgo_lib.mechanisms.staircase import build_staircase, rebuild_staircase

PLANAR_LAPLACE = "planar_laplace"

_SCALES = frozenset({"number", "date"})
_POINTS = frozenset({"box", "cells"})


Build = Callable[..., Channel]
"""Builds a channel: domain, epsilon as decimal text, then the mechanism's own parameters by name."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One entry of the table.

    Args:
        name: name in the release file.
        kinds: kinds of domain it takes.
        build: builds a certified channel.
        rebuild: builds it again from stored parameters, without a search.
        parameters: names of further parameters it takes.
        chain: whether its levels can be coupled under ``composition: chain``.
    """

    name: str
    kinds: frozenset[str]
    build: Build
    rebuild: Callable[[Any, Mapping[str, Json]], Channel]
    parameters: frozenset[str]
    chain: bool


def _build_planar(domain: Any, epsilon: Any, /, **parameters: Any) -> Channel:
    # imported late: projections and cells are heavy, and only points need them
    from trasgo_lib.mechanisms.planar import build_planar_laplace

    return build_planar_laplace(domain, epsilon, **parameters)


def _rebuild_planar(domain: Any, parameters: Mapping[str, Json]) -> Channel:
    from trasgo_lib.mechanisms.planar import rebuild_planar_laplace

    return rebuild_planar_laplace(domain, parameters)


MECHANISMS: Mapping[str, Mechanism] = {
    LAPLACE: Mechanism(
        name=LAPLACE,
        kinds=_SCALES,
        build=build_laplace,
        rebuild=rebuild_laplace,
        parameters=frozenset({"missing", "fill"}),
        chain=True,
    ),
    GAUSSIAN: Mechanism(
        name=GAUSSIAN,
        kinds=_SCALES,
        build=build_gaussian,
        rebuild=rebuild_gaussian,
        parameters=frozenset({"delta", "missing", "fill"}),
        chain=True,
    ),
    EXPONENTIAL: Mechanism(
        name=EXPONENTIAL,
        kinds=_SCALES | {"category"},
        build=build_exponential,
        rebuild=rebuild_exponential,
        parameters=frozenset({"utility", "missing"}),
        chain=False,
    ),
    BINARY_NAME: Mechanism(
        name=BINARY_NAME,
        kinds=_SCALES | {"category"},
        build=partial(build_randomized_response, BINARY_NAME),
        rebuild=partial(rebuild_randomized_response, BINARY_NAME),
        parameters=frozenset({"missing"}),
        chain=True,
    ),
    KARY_NAME: Mechanism(
        name=KARY_NAME,
        kinds=_SCALES | {"category", "product"},
        build=partial(build_randomized_response, KARY_NAME),
        rebuild=partial(rebuild_randomized_response, KARY_NAME),
        parameters=frozenset({"missing"}),
        chain=True,
    ),
    BINNED: Mechanism(
        name=BINNED,
        kinds=_SCALES,
        build=build_binned,
        rebuild=rebuild_binned,
        parameters=frozenset({"bins", "missing"}),
        chain=True,
    ),
    STAIRCASE: Mechanism(
        name=STAIRCASE,
        kinds=_SCALES,
        build=build_staircase,
        rebuild=rebuild_staircase,
        parameters=frozenset({"width"}),
        chain=True,
    ),
    PLANAR_LAPLACE: Mechanism(
        name=PLANAR_LAPLACE,
        kinds=_POINTS,
        build=_build_planar,
        rebuild=_rebuild_planar,
        parameters=frozenset({"radius_m"}),
        chain=False,
    ),
}


def _mechanism(name: str, domain: Domain) -> Mechanism:
    entry = MECHANISMS.get(name)
    if entry is None:
        raise ConfigError.of(
            Reason.UNKNOWN_NAME,
            "mechanism",
            required=f"one of {', '.join(sorted(MECHANISMS))}",
            came=repr(name),
            fix="Choose one of them.",
        )
    if domain.kind not in entry.kinds:
        fitting = ", ".join(sorted(other.name for other in MECHANISMS.values() if domain.kind in other.kinds))
        raise refused(
            f"{name} domain",
            f"a domain of kind {' or '.join(sorted(entry.kinds))}",
            f"kind {domain.kind}",
            f"For this kind use one of {fitting}.",
        )
    return entry


def checked_parameters(name: str, domain: Domain, parameters: Mapping[str, object]) -> Mechanism:
    """The entry of a mechanism that takes this domain and these parameters.

    Raises:
        ConfigError: unknown mechanism or parameter, or a domain it does not take.
    """
    entry = _mechanism(name, domain)
    unknown = sorted(set(parameters) - entry.parameters)
    if unknown:
        raise ConfigError.of(
            Reason.UNKNOWN_NAME,
            f"{name} parameters",
            required=f"only {', '.join(sorted(entry.parameters))}",
            came=", ".join(unknown),
            fix="Remove what the mechanism does not take.",
        )
    if not isinstance(parameters.get("missing", False), bool):
        raise refused(f"{name} missing", "True or False", type(parameters["missing"]).__name__, "Write a Boolean.")
    return entry


def build_channel(name: str, domain: Domain, epsilon: object = "1", **parameters: object) -> Channel:
    """Build a certified channel.

    Args:
        name: a key of ``MECHANISMS``.
        domain: declared domain; public.
        epsilon: decimal text, an int or an ``Epsilon``; for points, the loss at ``radius_m``.
        **parameters: the mechanism's own: ``delta``, ``missing``, ``fill``, ``utility``, ``bins``, ``width``,
            ``radius_m``.

    Raises:
        ConfigError: unknown mechanism or parameter, a domain it does not take, or a claim it cannot realise.
    """
    return checked_parameters(name, domain, parameters).build(domain, epsilon, **parameters)


def rebuild_channel(name: str, domain: Domain, parameters: Mapping[str, Json]) -> Channel:
    """Build a channel again from the parameters of a channel file, without any search.

    Args:
        name: a key of ``MECHANISMS``.
        domain: the domain of the channel file.
        parameters: its ``parameters``, parsed JSON; of one level of a chain, too.

    Raises:
        ConfigError: unknown mechanism, wrong domain or damaged parameters.
        VerificationError: the weights prove less than the claim in the parameters.
    """
    if "revealed" in parameters:
        # imported late: chains are built from the entries of this table
        from trasgo_lib.mechanisms.chain import rebuild_chain

        whole = dict(parameters)
        level = whole.pop("revealed")
        return rebuild_chain(name, domain, whole).channel(str(level))
    return _mechanism(name, domain).rebuild(domain, parameters)
