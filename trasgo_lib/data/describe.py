"""Domains from their published descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trasgo_lib.data.box_domain import BoxDomain
from trasgo_lib.data.category_domain import CategoryDomain
from trasgo_lib.data.cells_domain import CellsDomain
from trasgo_lib.data.date_domain import DateDomain
from trasgo_lib.data.domain import Domain
from trasgo_lib.data.number_domain import NumberDomain
from trasgo_lib.data.product_domain import ProductDomain, ProductPart
from trasgo_lib.errors import ConfigError, Reason


def _product(parts: Any) -> ProductDomain:
    if not isinstance(parts, list) or not all(isinstance(part, dict) and set(part) == _PART_KEYS for part in parts):
        raise ConfigError.of(
            Reason.BAD_SHAPE,
            "domain.parts",
            required=f"a list of parts with the keys {', '.join(sorted(_PART_KEYS))}",
            came="another shape",
            fix="Use a description that describe() gave.",
        )
    return ProductDomain(
        [
            ProductPart(part["name"], domain_from_description(part["domain"]), part["bins"], part["missing"])
            for part in parts
        ]
    )


_PART_KEYS = {"name", "domain", "bins", "missing"}

_KINDS: dict[str, tuple[Callable[..., Domain], tuple[str, ...]]] = {
    "number": (NumberDomain, ("lower", "upper", "step", "unit")),
    "category": (CategoryDomain, ("codes", "ordered", "output")),
    "date": (DateDomain, ("lower", "upper", "step")),
    "box": (BoxDomain, ("box", "crs", "step_m")),
    "cells": (CellsDomain, ("cells",)),
    "product": (_product, ("parts",)),
}
"""Kind of domain: its class and the keys of its description that build it."""


def domain_from_description(description: Mapping[str, Any]) -> Domain:
    """The domain that described itself so.

    Args:
        description: what ``describe()`` gave, as read from ``channel.json``; public.

    Raises:
        ConfigError: unknown kind, a key missing, a domain that is wrong, or one that describes itself otherwise.
    """
    kind = description.get("kind")
    if kind not in _KINDS:
        raise ConfigError.of(
            Reason.UNKNOWN_NAME,
            "domain.kind",
            required=f"one of {', '.join(_KINDS)}",
            came=repr(kind),
            fix="Use a description that describe() gave.",
        )
    build, keys = _KINDS[kind]
    missing = [key for key in keys if key not in description]
    if missing:
        raise ConfigError.of(
            Reason.BAD_SHAPE,
            "domain",
            required=f"the keys {', '.join(keys)}",
            came=f"no {', '.join(missing)}",
            fix="Use a description that describe() gave.",
        )
    domain = build(**{key: description[key] for key in keys})
    if domain.describe() != dict(description):
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            "domain",
            required="a description that its own domain gives back",
            came="one with other details",
            fix="The description was edited, or this machine's projection library places the lattice otherwise.",
        )
    return domain
