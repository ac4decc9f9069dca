"""What a risk audit looks at: columns an attacker may know, columns worth knowing, and how many targets are tried."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trasgo_lib.config.shape import ColumnName, Many, Model, at_least


class RiskSpec(Model):
    """A descriptive audit of the original and the released rows; it changes no draw, no budget and no decision."""

    quasi_identifiers: Annotated[Many[ColumnName], at_least(1, "column")] = Field(
        description="released columns that someone may know of a person from elsewhere",
        json_schema_extra={"minItems": 1},
        examples=[["age", "sex", "region"]],
    )
    sensitive: Many[ColumnName] = Field(
        default=(), description="released columns that nobody should learn of a person", examples=[["wage"]]
    )
    bins: dict[ColumnName, int] = Field(
        default_factory=dict,
        description="by number or date, equal parts of its domain that the classes count as one value",
        examples=[{"age": 12}],
    )
    linkage_sample: int = Field(
        default=1000, ge=1, le=100_000, description="records that the attacks try to find", examples=[1000]
    )
