"""The training file: one model on a source, with the habits of a release file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trasgo_lib.config.columns import Column
from trasgo_lib.config.publishing import Publish
from trasgo_lib.config.release import Keys, LedgerSpec, Privacy, ReleaseInfo, Source
from trasgo_lib.config.sections import same_section
from trasgo_lib.config.shape import (
    ColumnName,
    DeltaText,
    EpsilonText,
    FormatVersion,
    Many,
    Model,
    PlaceText,
    PositiveText,
    ShareText,
    at_least,
    shape_error,
)

_MOST_STEPS = 10**6


class ModelSpec(Model):
    """The model, how it is trained, and what that may cost."""

    type: Literal["logistic_regression", "network"] = Field(
        description="logistic_regression, or network: one or two hidden layers", examples=["logistic_regression"]
    )
    target: ColumnName = Field(description="the category that is predicted", examples=["parttime"])
    features: Annotated[Many[ColumnName], at_least(1, "column")] = Field(
        description="columns that it is predicted from",
        json_schema_extra={"minItems": 1},
        examples=[["wage", "education"]],
    )
    hidden: Many[int] = Field(default=(), description="width of each hidden layer of a network", examples=[[32]])
    epsilon: EpsilonText = Field(description="loss of the whole training per privacy unit, nats", examples=["1"])
    delta: DeltaText = Field(description="failure probability beside it, below one in rows", examples=["1e-6"])
    sampling_rate: ShareText | None = Field(
        default=None, description="probability that a row is in the sample of a step", examples=["0.02"]
    )
    expected_batch: int | None = Field(
        default=None,
        ge=1,
        le=2**40,
        description="instead of it: expected number of rows in a sample",
        examples=[512],
    )
    steps: int = Field(ge=1, le=_MOST_STEPS, description="number of steps, fixed", examples=[1000])
    clip_norm: PositiveText = Field(
        default="1", description="longest gradient of a row; longer ones are shortened to it", examples=["0.5"]
    )
    learning_rate: PositiveText = Field(default="1", description="length of a step along the gradient", examples=["4"])

    @model_validator(mode="after")
    def _one_sample(self) -> ModelSpec:
        if (self.sampling_rate is None) == (self.expected_batch is None):
            came = "neither" if self.sampling_rate is None else "both"
            raise shape_error("sampling_rate, or expected_batch", came, "Write one, as in expected_batch: 512.")
        return self

    @model_validator(mode="after")
    def _layers_of_a_network(self) -> ModelSpec:
        if (self.type == "network") != bool(self.hidden) or len(self.hidden) > 2:
            required = "one or two hidden layers for a network, and none for logistic_regression"
            raise shape_error(required, f"{len(self.hidden)}", "Correct `hidden` or `type`.", at=("hidden",))
        return self


class EvaluationSpec(Model):
    """What the published accuracy is measured on: rows kept out of training, paid for; or a public file."""

    epsilon: EpsilonText | None = Field(
        default=None, description="loss of counting right predictions among the rows kept out, nats", examples=["0.1"]
    )
    share: ShareText = Field(
        default="0.2", description="share of the rows that is kept out of training", examples=["0.3"]
    )
    public_file: PlaceText | None = Field(
        default=None,
        description="instead: a file of public rows, written like the source",
        examples=["public-sample.csv"],
    )

    @model_validator(mode="after")
    def _one_kind(self) -> EvaluationSpec:
        if (self.epsilon is None) == (self.public_file is None):
            came = "neither" if self.epsilon is None else "both"
            raise shape_error("epsilon, or public_file", came, 'Write one, as in epsilon: "0.1".')
        return self


class TrainingConfig(Model):
    """A whole training file: a release file with ``model`` instead of mechanisms, groups and a loop."""

    format: FormatVersion = same_section("format")
    release: ReleaseInfo = same_section("release")
    source: Source = same_section("source")
    privacy: Privacy = same_section("privacy")
    columns: Annotated[Many[Column], at_least(1, "column")] = same_section("columns")
    rows: int = Field(
        ge=1,
        le=2**40,
        description="declared number of rows, public: deltas must lie below one in it; needed beside a delta",
        examples=[28000],
    )
    model: ModelSpec = Field(
        description="the model, how it is trained, and what that may cost",
        examples=[{"type": "logistic_regression", "target": "parttime"}],
    )
    evaluation: EvaluationSpec | None = Field(
        default=None,
        description="what its published accuracy is measured on; default: none is published",
        examples=[{"epsilon": "0.1", "share": "0.2"}],
    )
    publish: Publish = same_section("publish")
    keys: Keys | None = same_section("keys")
    ledger: LedgerSpec | None = same_section("ledger")
