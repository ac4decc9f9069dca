"""Which mechanism a column asks for, whether it fits, and what it takes."""

from __future__ import annotations

from decimal import Decimal

from trasgo_lib.config import CategoryColumn, KeyPath, NoisedColumn, PointColumn, closest
from trasgo_lib.errors import Reason
from trasgo_lib.mechanisms import MECHANISMS
from trasgo_lib.plan.channels import Parameter
from trasgo_lib.plan.faults import FaultCollector

_LATER = ("auto",)
"""Mechanisms of the design that this version does not have."""


def known_mechanism(column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> bool:
    """Whether a column's mechanism exists and takes its type; faults are noted.

    Args:
        column: a noised column.
        path: its place in the release file.
        faults: where faults go.
    """
    name, here = column.mechanism, (*path, "mechanism")
    if name in _LATER and name not in MECHANISMS:
        faults.add(
            Reason.NOT_BUILT_YET,
            here,
            required=f"one of {', '.join(MECHANISMS)}",
            came=f"`{name}`, which this version does not have yet",
            fix=f"Write {_fitting(column)}.",
        )
        return False
    if name not in MECHANISMS:
        faults.add(
            Reason.UNKNOWN_NAME,
            here,
            required=f"one of {', '.join(MECHANISMS)}",
            came=f"`{name}`",
            fix=f"{closest(name, MECHANISMS)}Choose one of them.",
        )
        return False
    if domain_kind(column) not in MECHANISMS[name].kinds:
        faults.add(
            Reason.BAD_PARAMETER,
            here,
            required=f"a mechanism for columns of type {column.type}: {_fitting(column)}",
            came=f"`{name}`, which is for {' and '.join(MECHANISMS[name].kinds)}",
            fix="Choose one of them, or correct the type.",
        )
        return False
    return True


def domain_kind(column: NoisedColumn) -> str:
    """The kind of domain a column declares, in the words of ``Domain.kind``."""
    if not isinstance(column, PointColumn):
        return column.type
    return "cells" if hasattr(column.domain, "cells") else "box"


def parameters_of(column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> tuple[tuple[str, Parameter], ...]:
    """What the mechanism takes beside domain and level, sorted by name; faults are noted.

    Args:
        column: a noised column whose mechanism is known.
        path: its place in the release file.
        faults: where faults go.
    """
    given: dict[str, Parameter] = {}
    taken = MECHANISMS[column.mechanism].parameters
    if column.missing == "code":
        given["missing"] = True
    if isinstance(column, PointColumn):
        given |= {"epsilon": column.geo.epsilon, "radius_m": column.geo.radius_m}
        return tuple(sorted(given.items()))
    if Decimal(column.delta) != 0:
        given["delta"] = column.delta
        if "delta" not in taken:
            _not_taken("delta", column, path, faults)
        elif column.missing == "code":
            faults.add(
                Reason.BAD_PARAMETER,
                (*path, "missing"),
                required="error or {replace: value} beside a delta above 0: missing as a code is certified for delta 0",
                came="code",
                fix='Write delta: "0" (the gaussian is pure then), or another missing policy.',
            )
    if column.utility is not None:
        given["utility"] = column.utility
        if "utility" not in taken:
            _not_taken("utility", column, path, faults)
    return tuple(sorted(given.items()))


def _not_taken(key: str, column: NoisedColumn, path: KeyPath, faults: FaultCollector) -> None:
    takers = [name for name, mechanism in MECHANISMS.items() if key in mechanism.parameters]
    faults.add(
        Reason.BAD_PARAMETER,
        (*path, key),
        required=f"{key} only with {', '.join(takers)}",
        came=f"{key} with {column.mechanism}",
        fix=f"Remove `{key}`, or choose another mechanism.",
    )


def _fitting(column: NoisedColumn) -> str:
    kind = domain_kind(column)
    names = [name for name, mechanism in MECHANISMS.items() if kind in mechanism.kinds]
    if isinstance(column, CategoryColumn) and len(column.domain.codes) != 2:
        names = [name for name in names if name != "randomized_response"]
    return ", ".join(names)
