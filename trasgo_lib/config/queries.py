"""One central query as a statistics file writes it; what it means is in ``trasgo_lib.statistics``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from trasgo_lib.config.partitions import PartOfQuery
from trasgo_lib.config.shape import (
    ColumnName,
    DecimalText,
    DeltaText,
    EpsilonText,
    Many,
    Model,
    PositiveText,
    RhoText,
    Slug,
    Text,
    at_least,
    shape_error,
)
from trasgo_lib.errors import Reason

_MANY_CANDIDATES = 4096
"""Choices are made among at most this many: more say nothing that fewer do not, and each costs a draw."""


class Condition(Model):
    """A rule on one column, decided record by record."""

    column: ColumnName = Field(description="a declared column", examples=["region"])
    codes: Many[Text] | None = Field(
        default=None, description="labels of a category, of which the row has one", examples=[["south", "west"]]
    )
    at_least: Text | None = Field(default=None, description="smallest number or first day that counts", examples=["18"])
    at_most: Text | None = Field(default=None, description="largest number or last day that counts", examples=["65"])

    @model_validator(mode="after")
    def _one_kind(self) -> Condition:
        ranged = self.at_least is not None or self.at_most is not None
        if (self.codes is not None) == ranged:
            came = "both" if ranged else "neither"
            fix = 'Write {column: region, codes: [south]} or {column: age, at_least: "18"}.'
            raise shape_error("codes, or at_least and at_most", came, fix)
        return self


class Candidate(Model):
    """One declared candidate or question."""

    name: Slug = Field(description="how the answer names it", examples=["over_65"])
    where: Annotated[Many[Condition], at_least(1, "condition")] = Field(
        description="the rows it is about: those that meet every condition",
        json_schema_extra={"minItems": 1},
        examples=[[{"column": "age", "at_least": "65"}]],
    )


class _Query(Model):
    """What every query has."""

    name: Slug = Field(description="name of the query, in the answers and in the ledger", examples=["wage_by_region"])
    where: Many[Condition] = Field(
        default=(),
        description="rows that count: those that meet every condition; default all",
        examples=[[{"column": "region", "codes": ["south"]}]],
    )
    part: PartOfQuery | None = Field(
        default=None,
        description="the declared part whose rows count; queries of different parts compose in parallel",
        examples=[{"of": "region", "part": "coast"}],
    )
    epsilon: EpsilonText | None = Field(
        default=None, description="loss per privacy unit, nats; alone, or with delta", examples=["0.5"]
    )
    delta: DeltaText = Field(
        default="0", description="failure probability beside epsilon, or at which rho is charged", examples=["1e-9"]
    )
    rho: RhoText | None = Field(
        default=None, description="zero-concentrated loss per privacy unit, instead of epsilon", examples=["0.01"]
    )
    max_rows: int | None = Field(
        default=None,
        ge=1,
        le=10**6,
        description="rows of one privacy unit that count (in each group, if any); default all it may have",
        examples=[2],
    )

    @model_validator(mode="after")
    def _one_budget(self) -> _Query:
        if (self.epsilon is None) == (self.rho is None):
            came = "neither" if self.epsilon is None else "both"
            raise shape_error("epsilon, or rho", came, 'Write one, as in epsilon: "0.5".', reason=Reason.BAD_AMOUNT)
        return self


class _Grouped(_Query):
    """A query with one answer a group."""

    max_groups: int | None = Field(
        default=None,
        ge=1,
        le=10**6,
        description="groups that one privacy unit may count in; default as many as it may have rows",
        examples=[1],
    )


class _Table(_Grouped):
    """A query whose answers are counts."""

    round: bool = Field(default=False, description="whether answers are rounded to whole numbers", examples=[True])
    non_negative: bool = Field(default=False, description="whether answers below 0 are published as 0", examples=[True])
    suppress_below: PositiveText | None = Field(
        default=None, description="cells whose noisy count is below this are withheld", examples=["10"]
    )


class CountQuery(_Query):
    """How many rows there are that meet the conditions."""

    type: Literal["count"] = Field(description="kind of query", examples=["count"])
    non_negative: bool = Field(
        default=False, description=_Table.model_fields["non_negative"].description, examples=[True]
    )


class SumQuery(_Grouped):
    """The sum of a number."""

    type: Literal["sum"] = Field(description=CountQuery.model_fields["type"].description, examples=["sum"])
    column: ColumnName = Field(description="a declared column", examples=["wage"])
    by: Many[ColumnName] = Field(default=(), description="one answer for each combination of these", examples=[["sex"]])


class MeanQuery(_Grouped):
    """The mean of a number."""

    type: Literal["mean"] = Field(description=CountQuery.model_fields["type"].description, examples=["mean"])
    column: ColumnName = Field(description=SumQuery.model_fields["column"].description, examples=["wage"])
    by: Many[ColumnName] = Field(default=(), description=SumQuery.model_fields["by"].description, examples=[["region"]])


class VarianceQuery(_Query):
    """The variance of a number: mean of squares less square of the mean."""

    type: Literal["variance"] = Field(description=CountQuery.model_fields["type"].description, examples=["variance"])
    column: ColumnName = Field(description=SumQuery.model_fields["column"].description, examples=["age"])


class _Choice(_Query):
    """A query that chooses a value of a number."""

    column: ColumnName = Field(description=SumQuery.model_fields["column"].description, examples=["age"])
    candidates: Many[DecimalText] | None = Field(
        default=None,
        description=f"values to choose from, rising; default every value of the domain, at most {_MANY_CANDIDATES}",
        examples=[["20", "30", "40"]],
    )


class QuantileQuery(_Choice):
    """The candidate below which a given share of the rows lies."""

    type: Literal["quantile"] = Field(description=CountQuery.model_fields["type"].description, examples=["quantile"])
    probability: DecimalText = Field(description="that share, above 0 and below 1", examples=["0.25"])


class MedianQuery(_Choice):
    """The candidate in the middle."""

    type: Literal["median"] = Field(description=CountQuery.model_fields["type"].description, examples=["median"])


class ExtremeQuery(_Choice):
    """The candidate next to the smallest or the largest value."""

    type: Literal["minimum", "maximum"] = Field(
        description=CountQuery.model_fields["type"].description, examples=["maximum"]
    )


class HistogramQuery(_Table):
    """How many rows there are by label, or by equal bin of a number."""

    type: Literal["histogram"] = Field(description=CountQuery.model_fields["type"].description, examples=["histogram"])
    column: ColumnName = Field(description=SumQuery.model_fields["column"].description, examples=["region"])
    bins: int | None = Field(
        default=None, ge=2, le=4096, description="equal bins of a number or date; default every value", examples=[20]
    )


class CrosstabQuery(_Table):
    """How many rows there are by combination of labels."""

    type: Literal["crosstab"] = Field(description=CountQuery.model_fields["type"].description, examples=["crosstab"])
    by: Annotated[Many[ColumnName], at_least(1, "column")] = Field(
        description=SumQuery.model_fields["by"].description,
        json_schema_extra={"minItems": 1},
        examples=[["education", "sex"]],
    )
    keys: Many[Many[Text]] | None = Field(
        default=None,
        description="the combinations that are counted; default all that the domains have",
        examples=[[["south", "yes"], ["south", "no"]]],
    )
    consistent_with: Many[Slug] = Field(
        default=(),
        description="counts, histograms and tables over some of the same columns, made to agree with this one",
        examples=[["by_region"]],
    )


class TopQuery(_Grouped):
    """The most frequent labels, best first, without their counts."""

    type: Literal["top"] = Field(description=CountQuery.model_fields["type"].description, examples=["top"])
    column: ColumnName = Field(description=SumQuery.model_fields["column"].description, examples=["region"])
    best: int = Field(ge=1, le=_MANY_CANDIDATES, description="how many labels", examples=[3])


class BestQuery(_Query):
    """The best of declared candidates under a declared utility."""

    type: Literal["best"] = Field(description=CountQuery.model_fields["type"].description, examples=["best"])
    candidates: Annotated[Many[Candidate], at_least(2, "candidates")] = Field(
        description="values to choose from, rising; or conditions with a name",
        json_schema_extra={"minItems": 2},
        examples=[[{"name": "over_65", "where": [{"column": "age", "at_least": "65"}]}]],
    )
    utility: Literal["rows", "split"] = Field(
        description="rows: how many rows meet it; split: rows whose label is the commonest on its side of the split",
        examples=["split"],
    )
    label: ColumnName | None = Field(
        default=None, description="the category that a split is to separate", examples=["income"]
    )

    @model_validator(mode="after")
    def _label_of_a_split(self) -> BestQuery:
        if (self.utility == "split") != (self.label is not None):
            came = "none" if self.label is None else "one beside utility rows"
            raise shape_error("a label with utility split, and with no other", came, "Correct one.", at=("label",))
        return self


class AboveQuery(_Query):
    """Which counts lie above a threshold, asked in order until enough did; values are not told."""

    type: Literal["above"] = Field(description=CountQuery.model_fields["type"].description, examples=["above"])
    questions: Annotated[Many[Candidate], at_least(1, "question")] = Field(
        description="counts to hold against the threshold, in this order",
        json_schema_extra={"minItems": 1},
        examples=[[{"name": "over_65", "where": [{"column": "age", "at_least": "65"}]}]],
    )
    threshold: int = Field(ge=0, le=2**53, description="a number of rows", examples=[1000])
    cutoff: int = Field(default=1, ge=1, le=1000, description="answers above after which it stops", examples=[2])


def _query_kind(value: object) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if kind in ("minimum", "maximum"):
        return "?extreme"
    return f"?{kind}" if kind in QUERY_TYPES else None


QUERY_TYPES = (
    *("count", "sum", "mean", "variance", "quantile", "median", "minimum", "maximum"),
    *("histogram", "crosstab", "top", "best", "above"),
)

Query = Annotated[
    Annotated[CountQuery, Tag("?count")]
    | Annotated[SumQuery, Tag("?sum")]
    | Annotated[MeanQuery, Tag("?mean")]
    | Annotated[VarianceQuery, Tag("?variance")]
    | Annotated[QuantileQuery, Tag("?quantile")]
    | Annotated[MedianQuery, Tag("?median")]
    | Annotated[ExtremeQuery, Tag("?extreme")]
    | Annotated[HistogramQuery, Tag("?histogram")]
    | Annotated[CrosstabQuery, Tag("?crosstab")]
    | Annotated[TopQuery, Tag("?top")]
    | Annotated[BestQuery, Tag("?best")]
    | Annotated[AboveQuery, Tag("?above")],
    Discriminator(_query_kind),
]
"""One entry of ``queries``: which model it is follows from ``type``."""

AnyQuery = (
    CountQuery
    | SumQuery
    | MeanQuery
    | VarianceQuery
    | QuantileQuery
    | MedianQuery
    | ExtremeQuery
    | HistogramQuery
    | CrosstabQuery
    | TopQuery
    | BestQuery
    | AboveQuery
)
