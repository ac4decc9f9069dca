"""Declared domains as the release file writes them; what they mean is in ``trasgo_lib.data``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from trasgo_lib.config.describing import Line, Title, line
from trasgo_lib.config.shape import DecimalText, EpsilonText, Many, Model, PositiveText, Text, shape_error
from trasgo_lib.errors import Reason


class NumberSpec(Model):
    """Numbers ``lower``, ``lower + step``, ... ``upper``; declared, never read from the data."""

    lower: DecimalText = Field(description="smallest value, in the column's unit", examples=["0"])
    upper: DecimalText = Field(description="largest value, in the column's unit", examples=["2000"])
    step: PositiveText = Field(
        description="distance between neighbouring values; divides upper - lower", examples=["10"]
    )
    unit: Line = Field(default="", description="unit of the values, for reports", examples=["USD per week"])


class DateSpec(Model):
    """Days ``lower`` to ``upper``, ``step`` days apart."""

    lower: Text = Field(description="first day, as year-month-day", examples=["2017-01-01"])
    upper: Text = Field(description="last day, as year-month-day", examples=["2017-12-31"])
    step: PositiveText = Field(
        default="1", description="days between neighbouring values; divides the range", examples=["7"]
    )


class CategorySpec(Model):
    """A closed list of codes; declared, never read from the data."""

    codes: Many[Line] = Field(description="the codes, as text, in their order", examples=[["northeast", "midwest"]])
    ordered: bool = Field(default=False, description="whether the order of the codes means something", examples=[True])
    labels: dict[str, Title] = Field(
        default={}, description="what the codes stand for, by code", examples=[{"northeast": "Northeast region"}]
    )

    @field_validator("codes", mode="after")
    @classmethod
    def _distinct_codes(cls, codes: tuple[str, ...]) -> tuple[str, ...]:
        seen: set[str] = set()
        for position, code in enumerate(codes):
            if code in seen:
                came = f"{code!r} again"
                raise shape_error("each code once", came, "Remove one.", at=(position,), reason=Reason.BAD_DOMAIN)
            seen.add(code)
        return codes

    @model_validator(mode="after")
    def _labels_of_codes(self) -> CategorySpec:
        _require_codes(self.labels, self.codes)
        return self


class HierarchySpec(Model):
    """A public hierarchy of codes; the column is coarsened to one of its levels before the noise."""

    hierarchy: dict[str, dict[str, Many[str]]] = Field(
        description="by level, each coarse code with the codes of the file that it holds",
        examples=[{"area": {"north": ["maine", "vermont"], "south": ["texas"]}}],
    )
    level: Text = Field(description="the level whose codes are noised and released", examples=["area"])
    ordered: bool = Field(default=False, description="whether the order of the codes means something", examples=[True])
    labels: dict[str, Title] = Field(
        default={}, description="what the codes stand for, by code", examples=[{"north": "Northern states"}]
    )

    @model_validator(mode="after")
    def _levels_agree(self) -> HierarchySpec:
        held = {name: _fine_codes(name, level) for name, level in self.hierarchy.items()}
        if self.level not in held:
            known = ", ".join(held) or "none"
            raise shape_error(f"a level of the hierarchy ({known})", repr(self.level), "Choose one.", at=("level",))
        for name, codes in held.items():
            odd = min(codes ^ held[self.level], default=None)
            if odd is not None:
                has, lacks = (name, self.level) if odd in codes else (self.level, name)
                came = f"{odd!r} under {has} and not under {lacks}"
                fix = "Add it, or remove the level."
                at, reason = ("hierarchy", lacks), Reason.BAD_DOMAIN
                raise shape_error("the same codes of the file in every level", came, fix, at=at, reason=reason)
        for code in self.codes:
            line(code)
        _require_codes(self.labels, self.codes)
        return self

    @property
    def codes(self) -> tuple[str, ...]:
        """The coarse codes, in their order."""
        return tuple(self.hierarchy[self.level])

    @property
    def members(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each coarse code with the codes of the file that it holds."""
        return tuple(self.hierarchy[self.level].items())


def _require_codes(labels: dict[str, str], codes: tuple[str, ...]) -> None:
    """Refuse a label of what is no code."""
    for code in labels:
        if code not in codes:
            required = "a label for one of the released codes"
            raise shape_error(required, f"one for {code!r}", "Correct the code, or remove it.", at=("labels", code))


def _fine_codes(name: str, level: dict[str, tuple[str, ...]]) -> set[str]:
    """The codes of the file that a level holds, each once."""
    seen: set[str] = set()
    for coarse, codes in level.items():
        at = ("hierarchy", name, coarse)
        if not codes:
            raise shape_error("at least one code of the file", "none", "Remove the coarse code.", at=at)
        for position, code in enumerate(codes):
            if code in seen:
                here, came, fix = (*at, position), f"{code!r} again", "Remove one."
                raise shape_error("each code once in a level", came, fix, at=here, reason=Reason.BAD_DOMAIN)
            seen.add(code)
    return seen


class BoxSpec(Model):
    """A box of latitude and longitude, covered by a lattice of a metric projection."""

    box: Many[DecimalText] = Field(
        description="south, west, north, east, in degrees", examples=[["41.6", "-87.9", "42.1", "-87.5"]]
    )
    crs: Text = Field(description="a projected coordinate system that covers the box", examples=["EPSG:3435"])
    step_m: PositiveText = Field(description="side of a lattice cell, metres", examples=["100"])

    @field_validator("box", mode="after")
    @classmethod
    def _four_sides(cls, box: tuple[str, ...]) -> tuple[str, ...]:
        if len(box) != 4:
            required = "four numbers: south, west, north, east"
            raise shape_error(required, f"{len(box)}", "Write all four, in degrees.", reason=Reason.BAD_DOMAIN)
        return box


class CellsSpec(Model):
    """A closed list of H3 cells of one resolution."""

    cells: Many[Text] = Field(
        description="H3 cell ids, hexadecimal text", examples=[["872664c1affffff", "872664c1bffffff"]]
    )


class GeoSpec(Model):
    """The loss of a point column: ``epsilon`` for places ``radius_m`` apart."""

    epsilon: EpsilonText = Field(description="epsilon for two places radius_m apart", examples=["1.386"])
    radius_m: PositiveText = Field(description="that distance, metres", examples=["200"])


class PointSources(Model):
    """The two file columns of a point."""

    latitude: Text = Field(description="the file's column of latitudes, degrees", examples=["pickup_latitude"])
    longitude: Text = Field(description="the file's column of longitudes, degrees", examples=["pickup_longitude"])


def _domain_kind(value: object) -> str:
    cells = "cells" in value if isinstance(value, dict) else isinstance(value, CellsSpec)
    return "?cells" if cells else "?box"


PointDomain = Annotated[
    Annotated[BoxSpec, Tag("?box")] | Annotated[CellsSpec, Tag("?cells")],
    Discriminator(_domain_kind),
]
"""The domain of a point: a lattice over a box, or a list of H3 cells."""


def _labels_kind(value: object) -> str:
    has = "hierarchy" in value if isinstance(value, dict) else isinstance(value, HierarchySpec)
    return "?hierarchy" if has else "?codes"


CategoryDomainSpec = Annotated[
    Annotated[CategorySpec, Tag("?codes")] | Annotated[HierarchySpec, Tag("?hierarchy")],
    Discriminator(_labels_kind),
]
"""The domain of a category: a list of codes, or one level of a hierarchy of codes."""
