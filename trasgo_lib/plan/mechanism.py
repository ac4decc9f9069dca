"""Which mechanism a column asks for, whether it fits, and what it takes."""

from __future__ import annotations

from decimal import Decimal

from trasgo_lib.config import CategoryColumn, DateColumn, KeyPath, NoisedColumn, NumberColumn, PointColumn, closest
from trasgo_lib.errors import Reason
from trasgo_lib.mechanisms import MECHANISMS
from trasgo_lib.plan.channels import Parameter
from trasgo_lib.plan.faults import FaultCollector

AUTO = "auto"
"""Stands for the mechanism that a public prior decides."""

_CHOSEN = ("number", "date", "category")
"""Types for which there is something to choose."""


def known_mechanism(column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> str | None:
    """A column's mechanism when it exists and takes its type, else None with faults noted.

    Args:
        column: a noised column; that it has a mechanism at all is checked apart, with the groups.
        path: its place in the release file.
        faults: where faults go.
    """
    name, here = column.mechanism, (*path, "mechanism")
    if name is None:
        return None
    if name == AUTO and column.type in _CHOSEN:
        return name
    if name not in MECHANISMS:
        faults.add(
            Reason.UNKNOWN_NAME,
            here,
            required=f"one of {', '.join((*MECHANISMS, AUTO))}",
            came=f"`{name}`" + (f" for a {column.type}" if name == AUTO else ""),
            fix=f"Write {fitting(column)}." if name == AUTO else f"{closest(name, MECHANISMS)}Choose one of them.",
        )
        return None
    if domain_kind(column) not in MECHANISMS[name].kinds:
        faults.add(
            Reason.BAD_PARAMETER,
            here,
            required=f"a mechanism for columns of type {column.type}: {fitting(column)}",
            came=f"`{name}`, which is for {' and '.join(MECHANISMS[name].kinds)}",
            fix="Choose one of them, or correct the type.",
        )
        return None
    return name


def domain_kind(column: NoisedColumn) -> str:
    """The kind of domain a column declares, in the words of ``Domain.kind``."""
    if not isinstance(column, PointColumn):
        return column.type
    return "cells" if hasattr(column.domain, "cells") else "box"


def parameters_of(
    column: NoisedColumn, mechanism: str, path: KeyPath, faults: FaultCollector
) -> tuple[tuple[str, Parameter], ...]:
    """What the mechanism takes beside domain and level, sorted by name; faults are noted.

    Args:
        column: a noised column.
        mechanism: its mechanism, which is known and fits.
        path: its place in the release file.
        faults: where faults go.
    """
    given: dict[str, Parameter] = {}
    taken = MECHANISMS[mechanism].parameters
    if column.missing == "code":
        given["missing"] = True
        if "missing" not in taken:
            faults.add(
                Reason.BAD_PARAMETER,
                (*path, "missing"),
                required=f"error or {{replace: value}}: {mechanism} has no code for a missing value",
                came="code",
                fix="Write another missing policy, or choose another mechanism.",
            )
    if isinstance(column, PointColumn):
        given |= {"epsilon": column.geo.epsilon, "radius_m": column.geo.radius_m}
        return tuple(sorted(given.items()))
    if Decimal(column.delta) != 0:
        given["delta"] = column.delta
        if "delta" in taken and column.missing == "code":
            _delta_with_missing(path, faults)
    if column.utility is not None:
        given["utility"] = column.utility
    if isinstance(column, NumberColumn | DateColumn):
        given |= {_PARAMETER[key]: value for key in _COUNTS if (value := getattr(column, key)) is not None}
    for key, parameter in _PARAMETER.items():
        if parameter in given and parameter not in taken:
            _not_taken(key, parameter, mechanism, path, faults)
    if "bins" in taken and "bins" not in given:
        faults.add(
            Reason.BAD_PARAMETER,
            (*path, "noise_bins"),
            required=f"noise_bins beside {mechanism}: the number of equal bins it works on",
            came="nothing",
            fix="Add it, as in `noise_bins: 8`; it may not be chosen by looking at the data.",
        )
    return tuple(sorted(given.items()))


_COUNTS = ("noise_bins", "width")
_PARAMETER = {"delta": "delta", "utility": "utility", "noise_bins": "bins", "width": "width"}
"""Keys of a column that only some mechanisms take, and what these call them."""


def _delta_with_missing(path: KeyPath, faults: FaultCollector) -> None:
    faults.add(
        Reason.BAD_PARAMETER,
        (*path, "missing"),
        required="error or {replace: value} beside a delta above 0: missing as a code is certified for delta 0",
        came="code",
        fix='Write delta: "0" (the gaussian is pure then), or another missing policy.',
    )


def _not_taken(key: str, parameter: str, mechanism: str, path: KeyPath, faults: FaultCollector) -> None:
    takers = [name for name, known in MECHANISMS.items() if parameter in known.parameters]
    faults.add(
        Reason.BAD_PARAMETER,
        (*path, key),
        required=f"{key} only with {', '.join(takers)}",
        came=f"{key} with {mechanism}",
        fix=f"Remove `{key}`, or choose another mechanism.",
    )


def fitting(column: NoisedColumn) -> str:
    """The mechanisms for a column, as a list in words."""
    kind = domain_kind(column)
    names = [name for name, mechanism in MECHANISMS.items() if kind in mechanism.kinds]
    if isinstance(column, CategoryColumn) and len(column.domain.codes) != 2:
        names = [name for name in names if name != "randomized_response"]
    return ", ".join(names)
