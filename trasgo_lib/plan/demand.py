"""What a column or a group of a release file asks for, before any level of it is certified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import GeoSpec, KeyPath, TargetSpec
from trasgo_lib.data import Domain
from trasgo_lib.plan.channels import Parameter


@dataclass(frozen=True, slots=True)
class UnitDemand:
    """What a column or a group asks for, before its levels are certified.

    Args:
        path: its place in the release file.
        mechanism: registry name; it fits the domain.
        domain: the declared domain.
        parameters: what the mechanism takes beside domain and level, sorted by name.
        first: the first level; 0 for points.
        level_path: the key that declares the first level.
        target: what must be reached, or None.
        geo: the loss per distance of a point, else None.
        keys: keys of the release file by the names that mechanisms use in ``Fault.where``, where they differ.
    """

    path: KeyPath
    mechanism: str
    domain: Domain
    parameters: tuple[tuple[str, Parameter], ...]
    first: Epsilon
    level_path: KeyPath
    target: TargetSpec | None
    geo: GeoSpec | None = None
    keys: Mapping[str, KeyPath] = field(default_factory=dict)
