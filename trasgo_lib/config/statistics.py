"""The statistics file: central queries on a source, with the habits of a release file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trasgo_lib.config.columns import Column
from trasgo_lib.config.partitions import PartitionSpec, PlanComposition
from trasgo_lib.config.publishing import Publish
from trasgo_lib.config.queries import Query
from trasgo_lib.config.release import Keys, LedgerSpec, Privacy, ReleaseConfig, ReleaseInfo, Source
from trasgo_lib.config.shape import FormatVersion, Many, Model, at_least

_SAME = ReleaseConfig.model_fields


class StatisticsConfig(Model):
    """A whole statistics file: a release file with ``queries`` instead of mechanisms, groups and a loop."""

    format: FormatVersion = Field(description=_SAME["format"].description, examples=[1])
    release: ReleaseInfo = Field(description=_SAME["release"].description, examples=_SAME["release"].examples)
    source: Source = Field(description=_SAME["source"].description, examples=_SAME["source"].examples)
    privacy: Privacy = Field(description=_SAME["privacy"].description, examples=_SAME["privacy"].examples)
    columns: Annotated[Many[Column], at_least(1, "column")] = Field(
        description=_SAME["columns"].description, json_schema_extra={"minItems": 1}, examples=_SAME["columns"].examples
    )
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
    publish: Publish = Field(description=_SAME["publish"].description, examples=_SAME["publish"].examples)
    keys: Keys | None = Field(default=None, description=_SAME["keys"].description, examples=_SAME["keys"].examples)
    ledger: LedgerSpec | None = Field(
        default=None, description=_SAME["ledger"].description, examples=_SAME["ledger"].examples
    )

    def without_queries(self) -> ReleaseConfig:
        """The same file as far as source, columns, privacy and places go, which follow the rules of releases."""
        return ReleaseConfig(
            format=1,
            release=self.release,
            source=self.source,
            privacy=self.privacy,
            columns=self.columns,
            publish=self.publish,
            keys=self.keys,
            ledger=self.ledger,
        )
