"""What the release file says about each column: how it is read, its declared domain, its mechanism and its target."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from trasgo_lib.config.describing import Line, Words
from trasgo_lib.config.domains import CategoryDomainSpec, DateSpec, GeoSpec, NumberSpec, PointDomain, PointSources
from trasgo_lib.config.shape import (
    ColumnName,
    DecimalText,
    DeltaText,
    EpsilonText,
    Many,
    Model,
    PositiveText,
    Text,
    shape_error,
)
from trasgo_lib.errors import Reason

LossName = Literal["correlation_loss", "tvd", "js", "kl"]
_LOSSES: tuple[LossName, ...] = ("correlation_loss", "tvd", "js", "kl")
_PLAIN_ROLES = ("public", "drop", "unit")
_LARGEST_LOSS = {"tvd": Decimal(1), "js": Decimal("0.693147180559945309417232121458")}
"""TVD is at most 1, Jensen-Shannon with the natural logarithm at most ln 2; a higher ceiling asks for nothing."""


class TargetSpec(Model):
    """The loss a column may have at most; exactly one of the four."""

    correlation_loss: PositiveText | None = Field(
        default=None, description="ceiling of the relative correlation loss, per cent", examples=["40"]
    )
    tvd: PositiveText | None = Field(
        default=None, description="ceiling of the total variation distance, 0 to 1", examples=["0.05"]
    )
    js: PositiveText | None = Field(
        default=None, description="ceiling of the Jensen-Shannon divergence, nats, 0 to ln 2", examples=["0.01"]
    )
    kl: PositiveText | None = Field(
        default=None, description="ceiling of the Kullback-Leibler divergence, nats", examples=["0.02"]
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> TargetSpec:
        named = [name for name in _LOSSES if getattr(self, name) is not None]
        if len(named) != 1:
            came = " and ".join(named) if named else "none"
            raise shape_error(f"exactly one of {', '.join(_LOSSES)}", came, 'Write one, as in {tvd: "0.05"}.')
        loss = named[0]
        if loss in _LARGEST_LOSS and Decimal(self.ceiling) > _LARGEST_LOSS[loss]:
            required = f"at most {_LARGEST_LOSS[loss]}, the largest value {loss} can take"
            raise shape_error(
                required, repr(self.ceiling), "Lower the ceiling.", at=(loss,), reason=Reason.BAD_PARAMETER
            )
        return self

    @property
    def loss(self) -> LossName:
        """The loss that is named."""
        return next(name for name in _LOSSES if getattr(self, name) is not None)

    @property
    def ceiling(self) -> str:
        """Its ceiling, decimal text."""
        text: str = getattr(self, self.loss)
        return text


class Replace(Model):
    """Missing values become one constant of the domain."""

    replace: Text = Field(
        description="the value that stands for missing ones; in the domain."
        " Without one: `missing: code` or `missing: error`",
        examples=["0"],
    )


def _missing_kind(value: object) -> str:
    return "?replace" if isinstance(value, (dict, Replace)) else "?word"


Missing = Annotated[
    Annotated[Literal["error", "code"], Tag("?word")] | Annotated[Replace, Tag("?replace")],
    Discriminator(_missing_kind),
]


def _utility_kind(value: object) -> str:
    return "?matrix" if isinstance(value, (list, tuple)) else "?word"


Utility = Annotated[
    Annotated[Literal["zero_one", "ordinal"], Tag("?word")] | Annotated[Many[Many[DecimalText]], Tag("?matrix")],
    Discriminator(_utility_kind),
]


class _NamedColumn(Model):
    """What every column has."""

    name: ColumnName = Field(
        description="name in the release; also in the file unless `source` says otherwise", examples=["wage"]
    )
    label: Line = Field(default="", description="its name for people", examples=["Weekly wage"])
    description: Words = Field(
        default="", description="what the values are", examples=["Usual earnings before taxes, all jobs"]
    )
    question: Words = Field(
        default="", description="the question that was asked", examples=["How much do you usually earn a week?"]
    )
    concept: Line = Field(
        default="", description="what is measured: a term of the field, or its address", examples=["Earnings"]
    )


class PlainColumn(_NamedColumn):
    """A column that is not noised: published as it is, dropped, or the key of the privacy unit."""

    role: Literal["public", "drop", "unit"] = Field(
        description="noised, public (published as it is), drop (not published) or unit (the privacy.unit column)",
        examples=["drop"],
    )
    type: Literal["text"] = Field(
        default="text", description="number, category, date, point or text", examples=["text"]
    )
    source: Text | None = Field(default=None, description="the file's own column name", examples=["hours-per-week"])


class _NoisedColumn(_NamedColumn):
    """What every noised column has."""

    role: Literal["noised"] = Field(
        default="noised", description=PlainColumn.model_fields["role"].description, examples=["noised"]
    )
    mechanism: Text | None = Field(
        default=None, description="a mechanism of the registry; a column of a group has none", examples=["laplace"]
    )
    missing_codes: Many[str] = Field(
        default=(),
        description="further texts that mean missing in this column, beside source.csv.missing",
        examples=[["9999"]],
    )
    missing: Missing = Field(
        default="error",
        description="error (a missing value stops the run), code (one more code) or {replace: value}",
        examples=["code"],
    )
    target: TargetSpec | None = Field(
        default=None, description="the loss the column may have at most", examples=[{"tvd": "0.05"}]
    )


class _LevelledColumn(_NoisedColumn):
    """A noised column whose level is an epsilon: all but points."""

    source: Text | None = Field(default=None, description="the file's own column name", examples=["hours-per-week"])
    epsilon: EpsilonText | None = Field(
        default=None, description="fixed level of a column without target, nats", examples=["1"]
    )
    start: EpsilonText | None = Field(
        default=None, description="first level of a column with target, nats; default loop.start", examples=["0.5"]
    )
    delta: DeltaText = Field(
        default="0", description="failure probability of each draw; gaussian only", examples=["1e-9"]
    )
    utility: Utility | None = Field(
        default=None,
        description="exponential only: zero_one, ordinal, or one row of utilities per code",
        examples=["ordinal"],
    )

    @model_validator(mode="after")
    def _one_level(self) -> _LevelledColumn:
        require_one_level(self.epsilon, self.start, self.target)
        return self


def require_one_level(epsilon: str | None, start: str | None, target: TargetSpec | None) -> None:
    """Refuse a level that is both fixed and searched for.

    Raises:
        PydanticCustomError: epsilon beside a target, or start without one.
    """
    if epsilon is not None and target is not None:
        required = "a fixed epsilon, or a target for which the loop finds the level"
        raise shape_error(required, "both", "Remove `epsilon` (or `target`).", at=("epsilon",))
    if start is not None and target is None:
        fix = "Add a target, or write `epsilon` instead of `start`."
        raise shape_error("a target beside start", "none", fix, at=("start",))


class _ScaleColumn(_LevelledColumn):
    """A noised number or date."""

    outside: Literal["clip", "reject"] = Field(
        default="reject",
        description="values outside the domain are clipped to its ends, or stop the run",
        examples=["clip"],
    )
    bins: int | None = Field(
        default=None,
        ge=2,
        le=1000,
        description="bins of tvd, js and kl; default the domain's values, at most 20",
        examples=[20],
    )
    noise_bins: int | None = Field(
        default=None,
        ge=2,
        le=2**16,
        description="equal bins that binned_randomized_response or a group works on",
        examples=[8],
    )
    width: int | None = Field(
        default=None,
        ge=1,
        le=2**20,
        description="staircase only: steps up to which noise is likeliest; default the width of least mean error",
        examples=[20],
    )


class NumberColumn(_ScaleColumn):
    """A noised number."""

    type: Literal["number"] = Field(description=PlainColumn.model_fields["type"].description, examples=["number"])
    domain: NumberSpec = Field(
        description="the declared values",
        examples=[{"lower": "0", "upper": "2000", "step": "10", "unit": "USD per week"}],
    )


class DateColumn(_ScaleColumn):
    """A noised date."""

    type: Literal["date"] = Field(description=PlainColumn.model_fields["type"].description, examples=["date"])
    format: Text = Field(description="how days are written in the file (strptime directives)", examples=["%d/%m/%Y"])
    domain: DateSpec = Field(description="the declared days", examples=[{"lower": "2017-01-01", "upper": "2017-12-31"}])

    @field_validator("format", mode="after")
    @classmethod
    def _whole_day(cls, text: str) -> str:
        found = {text[at + 1 : at + 2] for at in range(len(text)) if text[at] == "%"}
        year, month, day = found & {"Y", "y"}, found & {"m", "b", "B"}, found & {"d", "e"}
        if not (year and month and day) and not ("j" in found and year) and not found & {"F", "D"}:
            required = "directives for year, month and day"
            raise shape_error(required, repr(text), 'Write it as in "%d/%m/%Y".', reason=Reason.BAD_PARAMETER)
        return text


class CategoryColumn(_LevelledColumn):
    """A noised label."""

    type: Literal["category"] = Field(description=PlainColumn.model_fields["type"].description, examples=["category"])
    domain: CategoryDomainSpec = Field(
        description="the declared codes", examples=[{"codes": ["northeast", "midwest", "south", "west"]}]
    )
    output: Literal["text", "integer"] = Field(
        default="text",
        description="type of the released codes: text, or integer when every code is a whole number",
        examples=["integer"],
    )


class PointColumn(_NoisedColumn):
    """A noised place; released as NAME_latitude and NAME_longitude."""

    type: Literal["point"] = Field(description=PlainColumn.model_fields["type"].description, examples=["point"])
    columns: PointSources = Field(
        description="the file's two columns", examples=[{"latitude": "lat", "longitude": "lon"}]
    )
    domain: PointDomain = Field(
        description="a lattice over a box, or a list of H3 cells",
        examples=[{"box": ["41.6", "-87.9", "42.1", "-87.5"], "crs": "EPSG:3435", "step_m": "100"}],
    )
    geo: GeoSpec = Field(description="the loss, per distance", examples=[{"epsilon": "1.386", "radius_m": "200"}])
    outside: Literal["clip", "reject"] = Field(
        default="reject",
        description="places outside the domain move to its nearest cell, or stop the run",
        examples=["clip"],
    )


def _column_kind(value: object) -> str | None:
    if isinstance(value, Model):
        role, kind = getattr(value, "role", None), getattr(value, "type", None)
    elif isinstance(value, dict):
        role, kind = value.get("role", "noised"), value.get("type")
    else:
        return None
    if role != "noised" or kind == "text":
        return "?plain"
    return f"?{kind}" if kind in ("number", "category", "date", "point") else None


Column = Annotated[
    Annotated[NumberColumn, Tag("?number")]
    | Annotated[CategoryColumn, Tag("?category")]
    | Annotated[DateColumn, Tag("?date")]
    | Annotated[PointColumn, Tag("?point")]
    | Annotated[PlainColumn, Tag("?plain")],
    Discriminator(_column_kind),
]
"""One entry of ``columns``: which model it is follows from ``role`` and ``type``."""

NoisedColumn = NumberColumn | CategoryColumn | DateColumn | PointColumn
"""The entries that become noise units."""
