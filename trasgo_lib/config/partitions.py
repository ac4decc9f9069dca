"""Disjoint parts of the rows that queries of a statistics file may be asked about, and a composition in advance."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trasgo_lib.config.shape import ColumnName, DeltaText, Many, Model, Slug, Text, at_least, shape_error
from trasgo_lib.errors import Reason


class PartOfRows(Model):
    """One part: the rows whose code is one of these."""

    name: Slug = Field(description="name of the part", examples=["coast"])
    codes: Annotated[Many[Text], at_least(1, "code")] = Field(
        description="labels of the partition's column that lie in this part and in no other",
        json_schema_extra={"minItems": 1},
        examples=[["south", "west"]],
    )


class PartitionSpec(Model):
    """A partition of the rows by the codes of one declared category."""

    name: Slug = Field(description="name of the partition", examples=["region"])
    column: ColumnName = Field(description="a declared category", examples=["region"])
    parts: Annotated[Many[PartOfRows], at_least(2, "parts")] = Field(
        description="disjoint parts; rows of other codes lie in none",
        json_schema_extra={"minItems": 2},
        examples=[[{"name": "coast", "codes": ["south", "west"]}, {"name": "inland", "codes": ["north"]}]],
    )
    membership: Literal["protected", "public"] = Field(
        default="protected",
        description="protected: a replaced record may change its part, and two parts are charged; public: it keeps it, "
        "the largest part is charged, and in which part a unit lies is not protected",
        examples=["public"],
    )
    parts_per_unit: int = Field(
        default=1,
        ge=1,
        le=10**6,
        description="with membership public: most parts in which one unit has rows, as the account declared it",
        examples=[1],
    )

    @model_validator(mode="after")
    def _only_public_counts(self) -> PartitionSpec:
        if self.membership == "protected" and "parts_per_unit" in self.model_fields_set:
            required = "parts_per_unit with membership public only"
            fix = "Remove it: where membership is protected, the rows of a unit decide."
            raise shape_error(required, "membership protected", fix, at=("parts_per_unit",))
        return self


class PartOfQuery(Model):
    """The part a query is about."""

    of: Slug = Field(description="a declared partition", examples=["region"])
    part: Slug = Field(description="one of its parts", examples=["coast"])


class PlanComposition(Model):
    """How all queries of a file, declared before data is opened, add up to one charge."""

    rule: Literal["pld"] = Field(description="privacy loss distributions", examples=["pld"])
    delta: DeltaText = Field(description="failure probability of the whole file", examples=["1e-9"])

    @model_validator(mode="after")
    def _some_delta(self) -> PlanComposition:
        if not float(self.delta):
            raise shape_error("a delta above 0", "0", 'Write it as in "1e-9".', at=("delta",), reason=Reason.BAD_AMOUNT)
        return self
