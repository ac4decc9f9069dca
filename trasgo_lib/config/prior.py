"""What the release file says of the values that everyone may know: published tables, never the rows themselves."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from trasgo_lib.config.shape import ColumnName, DecimalText, FormatVersion, Many, Model, PlaceText, Text, shape_error
from trasgo_lib.errors import Reason

_FORMS = ("mean", "quantiles", "shares")
_OPEN_SHARE = "more than 0 and less than 1"
_SHARE = "0 to 1"


def _public(value: object) -> object:
    """Anything but ``true`` is a prior that is not public."""
    if value is not True:
        fix = (
            "Write `public: true` beside the place where everyone finds it. Knowledge that is not public may decide"
            " nothing without being paid for: take a published table or an earlier release (`trasgo prior`)."
        )
        came = "false" if value is False else "something else"
        raise shape_error("true: what is known must be public", came, fix, reason=Reason.BAD_PARAMETER)
    return value


def _in_range(text: str, *, low: str, high: str, is_open: bool, required: str) -> str:
    value = Decimal(text)
    inside = Decimal(low) < value < Decimal(high) if is_open else Decimal(low) <= value <= Decimal(high)
    if not inside:
        raise shape_error(required, repr(text), "Correct the number.", reason=Reason.BAD_PARAMETER)
    return text


def _shares_kind(value: object) -> str:
    return "?codes" if isinstance(value, dict) else "?parts"


PriorShares = Annotated[
    Annotated[Many[DecimalText], Tag("?parts")] | Annotated[dict[str, DecimalText], Tag("?codes")],
    Discriminator(_shares_kind),
]


class PriorColumn(Model):
    """What is known of one column, in exactly one form."""

    name: ColumnName = Field(description="a noised column of this release", examples=["wage"])
    mean: Text | None = Field(
        default=None,
        description="mean, in the column's unit or as year-month-day; beside deviation, as a normal law on the domain",
        examples=["600"],
    )
    deviation: DecimalText | None = Field(
        default=None, description="standard deviation, in the column's unit or days; beside mean", examples=["450"]
    )
    quantiles: dict[str, Text] | None = Field(
        default=None,
        description="by share of the rows, the value they are up to; even between them and the domain's ends",
        examples=[{"0.25": "8", "0.5": "16", "0.75": "28"}],
    )
    shares: PriorShares | None = Field(
        default=None,
        description="shares of the present values: of equal parts of the domain, or by declared code; they sum to 1",
        examples=[["0.05", "0.15", "0.5", "0.3"]],
    )
    missing: DecimalText = Field(
        default="0", description="share of the rows without a value, 0 to 1", examples=["0.01"]
    )

    @field_validator("missing", mode="after")
    @classmethod
    def _a_share(cls, text: str) -> str:
        return _in_range(text, low="0", high="1", is_open=False, required=_SHARE)

    @model_validator(mode="after")
    def _one_form(self) -> PriorColumn:
        if (self.mean is None) != (self.deviation is None):
            lacks = "mean" if self.mean is None else "deviation"
            raise shape_error("mean and deviation together", f"no {lacks}", f"Add `{lacks}`.", at=(lacks,))
        named = [name for name in _FORMS if getattr(self, name) is not None]
        if len(named) != 1:
            came = " and ".join(named) or "none"
            raise shape_error("exactly one of mean with deviation, quantiles, shares", came, "Write one of them.")
        if self.deviation is not None and Decimal(self.deviation) <= 0:
            raise shape_error(
                "more than 0",
                repr(self.deviation),
                "Correct the number.",
                at=("deviation",),
                reason=Reason.BAD_PARAMETER,
            )
        self._check_quantiles()
        self._check_shares()
        return self

    def _check_quantiles(self) -> None:
        seen: set[Decimal] = set()
        for text in self.quantiles or ():
            share = _share(text)
            if share is None or not 0 < share < 1 or share in seen:
                fix = 'Write each as in {"0.25": "8", "0.5": "16"}.'
                raise shape_error(f"shares of the rows, each once, {_OPEN_SHARE}", repr(text), fix, at=("quantiles",))
            seen.add(share)
        if self.quantiles is not None and not self.quantiles:
            raise shape_error("at least one quantile", "none", 'Write {"0.5": ...}.', at=("quantiles",))

    def _check_shares(self) -> None:
        if self.shares is None:
            return
        entries = self.shares.items() if isinstance(self.shares, dict) else enumerate(self.shares)
        for place, text in entries:
            if not 0 <= Decimal(text) <= 1:
                at = ("shares", place)
                raise shape_error(_SHARE, repr(text), "Correct the number.", at=at, reason=Reason.BAD_PARAMETER)


def _share(text: str) -> Decimal | None:
    digits = text.removeprefix("0").removeprefix(".")
    return Decimal(text) if digits.isascii() and digits.isdigit() and "." in text else None


class PriorCorrelation(Model):
    """A published correlation of two columns."""

    columns: Many[ColumnName] = Field(
        description="two noised numbers, dates or categories", examples=[["wage", "education"]]
    )
    value: DecimalText = Field(
        description="Pearson's correlation, -1 to 1; labels coded by declared order", examples=["0.35"]
    )

    @field_validator("columns", mode="after")
    @classmethod
    def _a_pair(cls, columns: tuple[str, ...]) -> tuple[str, ...]:
        if len(columns) != 2 or columns[0] == columns[1]:
            raise shape_error("two different columns", ", ".join(columns) or "none", "Write two of them.")
        return columns

    @field_validator("value", mode="after")
    @classmethod
    def _a_correlation(cls, text: str) -> str:
        return _in_range(text, low="-1", high="1", is_open=False, required="-1 to 1")


class PriorSpec(Model):
    """Public knowledge of the table."""

    public: Annotated[Literal[True], BeforeValidator(_public)] = Field(
        description="true: everyone may know this; what is not public is refused", examples=[True]
    )
    source: Text = Field(
        description="where everyone can find it, in words", examples=["Published tables of the March 1987 CPS"]
    )
    rows: int | None = Field(default=None, ge=1, description="number of rows to expect", examples=[28000])
    columns: Many[PriorColumn] = Field(
        default=(),
        description="what is known of single columns",
        examples=[[{"name": "wage", "mean": "600", "deviation": "450"}]],
    )
    correlations: Many[PriorCorrelation] = Field(
        default=(),
        description="what is known of pairs of columns",
        examples=[[{"columns": ["wage", "education"], "value": "0.35"}]],
    )


class PriorDocument(PriorSpec):
    """The same in a file of its own."""

    format: FormatVersion = 1


class PriorFile(Model):
    """Where the file of a prior is."""

    file: PlaceText = Field(
        description="a file with the other keys of prior; relative paths start at the release file",
        examples=["cps1987.prior.yaml"],
    )


def _prior_kind(value: object) -> str:
    named = "file" in value if isinstance(value, dict) else isinstance(value, PriorFile)
    return "?file" if named else "?here"


Prior = Annotated[
    Annotated[PriorFile, Tag("?file")] | Annotated[PriorSpec, Tag("?here")],
    Discriminator(_prior_kind),
]
"""The ``prior`` section: in the release file, or in one of its own."""

IN_RELEASE_FILE = ("prior", "?here")
"""The pattern at which the keys of a prior stand; those of a prior's own file are the same."""
