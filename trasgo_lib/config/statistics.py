"""The statistics file: central queries on a source, with the habits of a release file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trasgo_lib.config.columns import Column
from trasgo_lib.config.partitions import PartitionSpec, PlanComposition
from trasgo_lib.config.publishing import Publish
from trasgo_lib.config.queries import Query
from trasgo_lib.config.release import Keys, LedgerSpec, Privacy, ReleaseInfo, Source
from trasgo_lib.config.sections import same_section
from trasgo_lib.config.shape import FormatVersion, Many, Model, at_least


class StatisticsConfig(Model):
    """A whole statistics file: a release file with ``queries`` instead of mechanisms, groups and a loop."""

    format: FormatVersion = same_section("format")
    release: ReleaseInfo = same_section("release")
    source: Source = same_section("source")
    privacy: Privacy = same_section("privacy")
    columns: Annotated[Many[Column], at_least(1, "column")] = same_section("columns")
    rows: int | None = Field(
        default=None,
        ge=1,
        le=2**40,
        description="declared number of rows, public: deltas must lie below one in it; needed beside a delta",
        examples=[28000],
    )
    partitions: Many[PartitionSpec] = Field(
        default=(),
        description="disjoint parts of the rows, whose queries compose in parallel",
        examples=[
            [
                {
                    "name": "region",
                    "column": "region",
                    "parts": [{"name": "coast", "codes": ["south", "west"]}, {"name": "inland", "codes": ["north"]}],
                }
            ]
        ],
    )
    composition: PlanComposition | None = Field(
        default=None,
        description="charge all queries of this file once, for their composed loss; default each by itself",
        examples=[{"rule": "pld", "delta": "1e-9"}],
    )
    queries: Annotated[Many[Query], at_least(1, "query")] = Field(
        description="what is asked, and what each answer may cost",
        json_schema_extra={"minItems": 1},
        examples=[[{"name": "rows_in_the_south", "type": "count", "epsilon": "0.1"}]],
    )
    publish: Publish = same_section("publish")
    keys: Keys | None = same_section("keys")
    ledger: LedgerSpec | None = same_section("ledger")
