"""The published columns, as every standard describes them: name, type, bounds, codes, and the noise that was added.

Everything here follows from the release file, the plan and the published channels, and the types of public columns from
the staged Parquet file; nothing is computed from rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from trasgo_lib.checks import ExpectedColumn, expected_table, grid_of, published_labels
from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, DateDomain, NumberDomain, ProductDomain
from trasgo_lib.mechanisms import Channel, margin
from trasgo_lib.reporting.facts import ReleaseFacts
from trasgo_lib.reporting.noise_words import noise_words

if TYPE_CHECKING:
    from trasgo_lib.config import Column
    from trasgo_lib.plan import PartPlan, UnitPlan

ValueType = Literal["integer", "number", "text", "date", "boolean"]
"""How values are written in the CSV file; what has no type of its own there counts as text."""

_AXES = ("latitude", "longitude")
_FILE_NAME = re.compile(r"(?!column-)[a-z0-9_][a-z0-9_-]{0,62}")
"""Column names that are file names on every system as they are; ``column-`` is kept for the others."""


@dataclass(frozen=True, slots=True)
class Code:
    """One code of a closed list.

    Args:
        value: as published.
        label: what it stands for; empty where the release file declares nothing.
        position: its place in the declared order, from 0: the code that ``channel.json`` counts in.
        members: the codes of the source that it holds, where the column was coarsened.
    """

    value: str | int
    label: str
    position: int
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Noise:
    """How a published column was noised.

    Args:
        unit: its noise unit, in ``channel.json`` and ``statement.json``.
        mechanism: registry name.
        in_words: how much noise that is.
        missing: what became of missing values, in words.
        outside: what became of values outside the domain, in words.
        bins: number of bins whose middle values are published, or None where every value can be.
    """

    unit: str
    mechanism: str
    in_words: str
    missing: str
    outside: str
    bins: int | None


@dataclass(frozen=True, slots=True)
class Variable:
    """One published column.

    Args:
        name: in the data files.
        position: its place among the columns, from 1.
        label: its name for people; the column's name where none is declared.
        description: what the values are; may be empty.
        question: the question that was asked; may be empty.
        concept: what is measured; may be empty.
        type: how values are written.
        nullable: whether nulls may stand in it.
        unit: unit of measurement; may be empty.
        lower: least value that can be published, as written in the CSV file, or None.
        upper: largest one, or None.
        step: distance of neighbouring values, or None.
        codes: the closed list of codes; empty for other columns.
        is_ordered: whether the order of the codes means something.
        axis: ``latitude`` or ``longitude`` of a point, else empty.
        noise: how it was noised; None for a public column.
    """

    name: str
    position: int
    label: str
    description: str
    question: str
    concept: str
    type: ValueType
    nullable: bool
    unit: str = ""
    lower: str | None = None
    upper: str | None = None
    step: str | None = None
    codes: tuple[Code, ...] = ()
    is_ordered: bool = False
    axis: str = ""
    noise: Noise | None = None

    @property
    def code_list(self) -> str | None:
        """Path of the file of its codes inside the release, or None."""
        if not self.codes:
            return None
        plain = _FILE_NAME.fullmatch(self.name)
        return f"codelists/{self.name if plain else f'column-{self.position}'}.csv"


def variables(facts: ReleaseFacts, schema: pa.Schema) -> tuple[Variable, ...]:
    """Every published column, in order.

    Args:
        facts: what the run states about itself.
        schema: Arrow schema of the staged Parquet file, for the types of public columns.
    """
    public = {column.name for column in facts.plan.columns if column.role == "public"}
    table = expected_table(facts.plan, facts.rows, {name: schema.field(name).type for name in public})
    owners = {name: column.name for column in facts.plan.columns for name in column.released}
    units = {unit.name: unit for unit in facts.plan.units}
    unit_of = {column.name: column.unit for column in facts.plan.columns}
    found = []
    for position, column in enumerate(table.columns, 1):
        unit = unit_of[owners[column.name]]
        noised = None if unit is None else _noise(facts, units[unit], owners[column.name])
        found.append(_variable(facts, column, position, owners[column.name], noised))
    return tuple(found)


def _variable(facts: ReleaseFacts, column: ExpectedColumn, position: int, owner: str, noise: Noise | None) -> Variable:
    declared = next(entry for entry in facts.plan.config.columns if entry.name == owner)
    is_point = isinstance(column.domain, (BoxDomain, CellsDomain))
    axis = _AXES[column.axis] if is_point else ""
    label = declared.label or owner
    return Variable(
        name=column.name,
        position=position,
        label=f"{label}, {axis}" if axis else label,
        description=declared.description,
        question=declared.question,
        concept=declared.concept,
        type=value_type(column.type),
        nullable=column.nullable,
        axis=axis,
        noise=noise,
        **_values(column),
        codes=_codes(facts, column, declared),
    )


def _values(column: ExpectedColumn) -> dict[str, Any]:
    """Unit, bounds, step and order of a domain."""
    domain = column.domain
    if isinstance(domain, NumberDomain):
        lower, upper = (str(bound) if domain.whole else _as_float(str(bound)) for bound in (domain.lower, domain.upper))
        return {"unit": domain.unit, "lower": lower, "upper": upper, "step": str(domain.step)}
    if isinstance(domain, DateDomain):
        facts = domain.describe()
        return {"lower": str(facts["lower"]), "upper": str(facts["upper"]), "step": str(facts["step"])}
    if isinstance(domain, CategoryDomain):
        return {"is_ordered": domain.ordered}
    grid = None if domain is None else grid_of(domain)
    if grid is None:
        return {}
    least, largest = grid.bounds(column.axis)
    return {"unit": "degrees", "lower": repr(least), "upper": repr(largest)}


def _as_float(bound: str) -> str:
    """A bound as its nearest float is written, which is what is published; most are written as they are declared."""
    nearest = repr(float(bound))
    return bound if Decimal(nearest) == Decimal(bound) else nearest


def _codes(facts: ReleaseFacts, column: ExpectedColumn, declared: Column) -> tuple[Code, ...]:
    if not isinstance(column.domain, CategoryDomain) or declared.type != "category":
        return ()
    labels = declared.domain.labels
    members = dict(_members(facts, declared.name))
    values: tuple[str | int, ...] = published_labels(column.domain)
    return tuple(
        Code(value, labels.get(text, ""), position, members.get(text, ()))
        for position, (value, text) in enumerate(zip(values, column.domain.codes, strict=True))
    )


def _members(facts: ReleaseFacts, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for unit in facts.plan.units:
        for part in unit.parts:
            if part.name == name:
                yield from part.members
        if unit.name == name:
            yield from unit.members


def _noise(facts: ReleaseFacts, unit: UnitPlan, owner: str) -> Noise:
    channel: Channel = facts.published_channel(unit.name)
    if isinstance(unit.domain, ProductDomain):
        part = unit.part(owner)
        words = noise_words(part.domain, margin(channel, unit.domain, owner))
        how = f"together with {', '.join(name for name in unit.columns if name != owner)}, as one group; {words}"
        return Noise(unit.name, channel.name, how, _missing(part), _OUTSIDE[part.outside], part.noise_bins)
    bins = dict(unit.parameters).get("bins")
    return Noise(
        unit.name,
        channel.name,
        noise_words(unit.domain, channel) + _moved(unit),
        _missing(unit),
        _OUTSIDE_PLACES if unit.type == "point" and unit.outside == "clip" else _OUTSIDE[unit.outside],
        bins if isinstance(bins, int) else None,
    )


def _missing(read: UnitPlan | PartPlan) -> str:
    """What becomes of missing values, with the declared constant: who takes a mean must know it."""
    if read.fill is None or isinstance(read.domain, (BoxDomain, CellsDomain)):
        return _MISSING[read.missing]
    value = read.domain.decode(np.array([read.fill], dtype=np.int32))[0]
    shown = f"{value:.12g}" if isinstance(value, float) else str(value)
    return f"replaced by {shown}, a declared constant, before the noise"


def _moved(unit: UnitPlan) -> str:
    """How far the places of a point are moved, in words; empty for other units."""
    if not unit.geo.units:
        return ""
    # late, so that what only reads a package does not load the compiler of plans
    from trasgo_lib.plan.words import displacement_m

    mean, _, far = displacement_m(float(unit.geo.fraction) / 1000)
    return f"; places are moved {mean:,.0f} m on average, one in twenty further than {far:,.0f} m"


_MISSING = {
    "error": "the input contract allows none",
    "code": "null; which values are null is noised, too",
    "replace": "replaced by a declared constant before the noise",
}
_OUTSIDE_PLACES = "moved to the nearest cell before the noise"
_OUTSIDE = {
    "clip": "moved to the nearest end of the declared values before the noise",
    "reject": "the input contract allows none",
}


def value_type(kind: pa.DataType) -> ValueType:
    """How values of an Arrow type stand in the CSV file; times, which readers spell variously, count as text."""
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "date" if pa.types.is_date32(kind) else "text"
