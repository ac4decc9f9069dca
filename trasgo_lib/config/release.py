"""The release file: everything a statistical office declares about one release, apart from its columns' details."""

from __future__ import annotations

import codecs
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from trasgo_lib.config.columns import Column, TargetSpec, require_one_level
from trasgo_lib.config.describing import Contact, Language, Line, Note, Period, Publisher, Title, Web, Words
from trasgo_lib.config.prior import Prior
from trasgo_lib.config.publishing import Publish
from trasgo_lib.config.risk import RiskSpec
from trasgo_lib.config.runner import Runner
from trasgo_lib.config.shape import (
    ColumnName,
    DeltaText,
    EpsilonText,
    FormatVersion,
    GeoText,
    Many,
    Model,
    PlaceText,
    RatioText,
    ShareText,
    Slug,
    Text,
    VersionText,
    at_least,
    shape_error,
)


class Supersedes(Model):
    """The published version that this one takes the place of."""

    version: VersionText = Field(description="the version that is published now", examples=["1"])
    reason: Literal["error", "revision"] = Field(
        description="error: something was wrong; revision: planned, with newer data", examples=["error"]
    )
    note: Note = Field(
        description="what changed and why; public, at most 2000 characters",
        max_length=2000,
        examples=["37 rows arrived corrected"],
    )


class ReleaseInfo(Model):
    """Which release this is."""

    dataset: Slug = Field(description="name of the data set; a folder name in the store", examples=["cps1988"])
    version: VersionText = Field(
        description="version; a release is immutable, a correction is a new version", examples=["1"]
    )
    title: Title = Field(description="title, for people", examples=["Current Population Survey, March 1988"])
    description: Words = Field(default="", description="what the data are, for people", examples=["Men aged 18 to 70"])
    universe: Line = Field(
        default="", description="whom or what the rows are about", examples=["Men aged 18 to 70 who work for pay"]
    )
    licence: Line = Field(
        default="",
        description="licence of the published files: an SPDX name, an address, or words",
        examples=["CC0-1.0"],
    )
    source_note: Words = Field(
        default="", description="where the source comes from, for people", examples=["US Census Bureau"]
    )
    publisher: Publisher | None = Field(
        default=None, description="who answers for the release", examples=[{"name": "Office for Examples"}]
    )
    contact: Contact | None = Field(
        default=None,
        description="whom users write to",
        examples=[{"name": "Data desk", "email": "data@office.example"}],
    )
    keywords: Many[Title] = Field(default=(), description="words to find it by", examples=[["wages", "labour force"]])
    language: Language = Field(default="en", description="language of these words, as a tag", examples=["es"])
    spatial: Line = Field(
        default="", description="the area the data are about: a name or an address", examples=["United States"]
    )
    temporal: Period | None = Field(
        default=None,
        description="the time the data are about",
        examples=[{"start": "1988-03", "end": "1988-03"}],
    )
    series: Line = Field(
        default="", description="the series that the release is part of", examples=["Current Population Survey"]
    )
    landing_page: Web = Field(
        default="", description="the page on the web about it", examples=["https://office.example/cps"]
    )
    supersedes: Supersedes | None = Field(
        default=None,
        description="the published version that this one corrects or revises",
        examples=[{"version": "1", "reason": "error", "note": "37 rows arrived corrected"}],
    )

    @model_validator(mode="after")
    def _another_version(self) -> ReleaseInfo:
        if self.supersedes is not None and self.supersedes.version == self.version:
            raise shape_error("another version", "this one", "Name the version before.", at=("supersedes", "version"))
        return self


class CsvOptions(Model):
    """How the CSV file is written; nothing is guessed."""

    encoding: Text = Field(default="utf-8", description="character encoding", examples=["latin-1"])
    delimiter: str = Field(
        default=",", min_length=1, max_length=1, description="field separator, one character", examples=[";"]
    )
    decimal: Literal[".", ","] = Field(default=".", description="decimal mark", examples=[","])
    thousands: str | None = Field(
        default=None, min_length=1, max_length=1, description="thousands mark, or null", examples=["."]
    )
    header: bool = Field(default=True, description="whether the first record holds the column names", examples=[True])
    quote: str | None = Field(
        default='"', min_length=1, max_length=1, description="quotation mark, one character", examples=['"']
    )
    missing: Many[str] = Field(
        default=("",), description="texts that mean missing, in every column", examples=[["", "?"]]
    )
    trim: bool = Field(default=True, description="whether blanks around names and cells are removed", examples=[True])

    @field_validator("encoding", mode="after")
    @classmethod
    def _known_encoding(cls, name: str) -> str:
        try:
            "a".encode(name)
            codecs.lookup(name)
        except (LookupError, ValueError):
            required = "a character encoding that Python knows"
            raise shape_error(required, repr(name), 'Write it as in "utf-8" or "latin-1".') from None
        return name

    @model_validator(mode="after")
    def _marks_differ(self) -> CsvOptions:
        if self.thousands is not None and (self.thousands == self.decimal or self.thousands.isalnum()):
            required = "a thousands mark that differs from the decimal mark and is no digit or letter"
            raise shape_error(required, repr(self.thousands), "Correct one of them.", at=("thousands",))
        for key, mark in (("delimiter", self.delimiter), ("quote", self.quote)):
            # the parser takes one byte, so marks beyond ASCII cannot be served
            if mark is not None and (not mark.isascii() or mark in "\0\n\r"):
                required = "an ASCII character that is no end of line"
                raise shape_error(required, repr(mark), "Write the file with another mark.", at=(key,))
        if self.delimiter == self.quote:
            required = "a delimiter that is not the quotation mark"
            raise shape_error(required, repr(self.delimiter), "Correct one of them.", at=("delimiter",))
        if self.delimiter == self.decimal:
            required = "a delimiter that differs from the decimal mark"
            raise shape_error(required, repr(self.delimiter), "Correct one of them.", at=("delimiter",))
        return self


class Source(Model):
    """The file that holds the raw rows."""

    path: PlaceText = Field(
        description="source file; relative paths start at the release file", examples=["cps1988.csv"]
    )
    format: Literal["csv", "parquet"] = Field(description="csv or parquet", examples=["csv"])
    csv: CsvOptions = Field(
        default_factory=CsvOptions, description="how the CSV file is written", examples=[{"delimiter": ";"}]
    )

    @model_validator(mode="after")
    def _options_fit(self) -> Source:
        if self.format == "parquet" and "csv" in self.model_fields_set:
            raise shape_error("csv options only with format csv", "format parquet", "Remove `csv`.", at=("csv",))
        return self


class UnitColumn(Model):
    """A privacy unit with several rows."""

    column: ColumnName = Field(description="the column (role unit) that says whose row it is", examples=["person_id"])
    max_rows: int = Field(ge=1, le=10**6, description="most rows of one unit; more stop the run", examples=[3])


def _unit_kind(value: object) -> str:
    return "?column" if isinstance(value, (dict, UnitColumn)) else "?row"


class PartSpec(Model):
    """The part of an account's units that the source holds, when it holds no others."""

    of: Text = Field(description="partition that the account declared when it was opened", examples=["region"])
    part: Text = Field(description="its part, whose units alone the source holds", examples=["north"])
    parts_per_unit: int = Field(
        ge=1,
        le=10**6,
        description="most parts in which one unit has rows, as the account declared it; asserted, not looked up",
        examples=[1],
    )


class Privacy(Model):
    """The budget, whose record it protects, and the account that pays."""

    epsilon_total: EpsilonText = Field(description="most epsilon of this version, per unit, nats", examples=["8"])
    delta_total: DeltaText = Field(default="0", description="most delta of this version, per unit", examples=["1e-9"])
    geo_total: GeoText | None = Field(
        default=None, description="most geo epsilon of this version, per kilometre", examples=["13.86"]
    )
    account: Slug = Field(description="the account that pays; opened with `trasgo ledger open`", examples=["cps"])
    unit: Annotated[
        Annotated[Literal["row"], Tag("?row")] | Annotated[UnitColumn, Tag("?column")], Discriminator(_unit_kind)
    ] = Field(default="row", description="row, or the column that says whose row it is", examples=["row"])
    partition: PartSpec | None = Field(
        default=None,
        description="the part this version is about, whose charges compose in parallel with those of other parts",
        examples=[{"of": "region", "part": "north", "parts_per_unit": 1}],
    )
    row_order: Literal["shuffle", "source"] = Field(
        default="shuffle",
        description="shuffle (keyed), or source: you assert that the order tells nothing",
        examples=["shuffle"],
    )


class GroupSpec(Model):
    """Columns noised as one unit."""

    name: ColumnName = Field(description="name of the group", examples=["place"])
    columns: Annotated[Many[ColumnName], at_least(2, "columns")] = Field(
        description="its columns", json_schema_extra={"minItems": 2}, examples=[["smsa", "region"]]
    )
    mechanism: Text = Field(
        description="a mechanism that takes combinations of columns", examples=["kary_randomized_response"]
    )
    target: TargetSpec | None = Field(
        default=None, description="the loss that the worst of its columns may have at most", examples=[{"tvd": "0.05"}]
    )
    epsilon: EpsilonText | None = Field(
        default=None, description="fixed level of a group without target, nats", examples=["1"]
    )
    start: EpsilonText | None = Field(
        default=None, description="first level of a group with target, nats; default loop.start", examples=["0.5"]
    )

    @model_validator(mode="after")
    def _one_level(self) -> GroupSpec:
        require_one_level(self.epsilon, self.start, self.target)
        return self


class Loop(Model):
    """How levels are raised until every target is met."""

    loss_from: Literal["released", "original"] = Field(
        default="released",
        description="losses that steer the loop: from released or from original data",
        examples=["original"],
    )
    composition: Literal["chain", "sequential"] = Field(
        default="chain",
        description="chain: a raised level costs the difference; sequential: every attempt adds up",
        examples=["sequential"],
    )
    start: EpsilonText = Field(default="0.25", description="first level of a column, nats", examples=["0.25"])
    ratio: RatioText = Field(
        default="1.25", description="each level over the one before; more than 1", examples=["1.25"]
    )
    on_unmet: Literal["hold", "publish"] = Field(
        default="hold", description="what happens when a target cannot be met within the total", examples=["hold"]
    )
    max_rounds: int = Field(default=100, ge=1, le=10_000, description="most rounds of the loop", examples=[100])
    correlation: Literal["pearson", "spearman", "kendall"] = Field(
        default="pearson", description="the correlation behind correlation_loss", examples=["spearman"]
    )


class Checks(Model):
    """Limits of the output checks."""

    max_share_at_bounds: ShareText = Field(
        default="0.7",
        description="largest share of a number's released values on its two bounds, 0 to 1",
        examples=["0.7"],
    )


class Keys(Model):
    """Where the wrapping key comes from; never the key itself."""

    file: PlaceText | None = Field(
        default=None, repr=False, description="key file, mode 0600", examples=["../../.trasgo/wrapping.key"]
    )
    env: PlaceText | None = Field(
        default=None, repr=False, description="environment variable that holds the key", examples=["TRASGO_KEY"]
    )

    block: PlaceText | None = Field(
        default=None, repr=False, description="Prefect Secret block that holds the key", examples=["trasgo-key"]
    )

    @model_validator(mode="after")
    def _one_place(self) -> Keys:
        named = [name for name in ("file", "env", "block") if getattr(self, name) is not None]
        if len(named) != 1:
            came = " and ".join(named) or "none"
            fix = "Write `file: PATH`, `env: NAME` or `block: NAME`."
            raise shape_error("exactly one of file, env, block", came, fix)
        return self


class LedgerSpec(Model):
    """The database of accounts and releases."""

    url: PlaceText = Field(
        repr=False,
        description="URL of the database, without a password",
        examples=["postgresql+psycopg://trasgo_app@db.example:5432/ledger?sslmode=verify-full"],
    )
    password_env: PlaceText | None = Field(
        default=None,
        repr=False,
        description="environment variable that holds the password of a PostgreSQL role",
        examples=["TRASGO_LEDGER_PASSWORD"],
    )
    password_block: PlaceText | None = Field(
        default=None,
        repr=False,
        description="Prefect Secret block that holds the password of a PostgreSQL role",
        examples=["trasgo-ledger"],
    )

    @model_validator(mode="after")
    def _one_password(self) -> LedgerSpec:
        if self.password_env is not None and self.password_block is not None:
            raise shape_error("at most one of password_env, password_block", "both", "Remove one of them.")
        return self


class ReleaseConfig(Model):
    """A whole release file."""

    format: FormatVersion = Field(description="version of this file's format", examples=[1])
    rehearsal: bool = Field(
        default=False,
        description="whether this is the file of a rehearsal; written by `trasgo run --rehearse`, never by hand",
        examples=[True],
    )
    release: ReleaseInfo = Field(
        description="which release this is", examples=[{"dataset": "cps1988", "version": "1", "title": "CPS"}]
    )
    source: Source = Field(
        description="the file that holds the raw rows", examples=[{"path": "cps1988.csv", "format": "csv"}]
    )
    privacy: Privacy = Field(
        description="budget, unit and account", examples=[{"epsilon_total": "8", "account": "cps"}]
    )
    columns: Annotated[Many[Column], at_least(1, "column")] = Field(
        description="every column of the file",
        json_schema_extra={"minItems": 1},
        examples=[[{"name": "fnlwgt", "role": "drop"}]],
    )
    groups: Many[GroupSpec] = Field(default=(), description="columns noised as one unit", examples=[[]])
    prior: Prior | None = Field(
        default=None,
        description="public knowledge of the values, for auto and forecasts",
        examples=[{"file": "cps1987.prior.yaml"}],
    )
    loop: Loop = Field(default_factory=Loop, description="how levels are raised", examples=[{"loss_from": "original"}])
    checks: Checks = Field(
        default_factory=Checks, description="limits of the output checks", examples=[{"max_share_at_bounds": "0.7"}]
    )
    risk: RiskSpec | None = Field(
        default=None,
        description="what the descriptive risk audit looks at; without it there is none",
        examples=[{"quasi_identifiers": ["age", "sex", "region"], "sensitive": ["wage"]}],
    )
    publish: Publish = Field(description="where the release goes", examples=[{"store": "../../releases"}])
    keys: Keys | None = Field(
        default=None, description="where the wrapping key comes from", examples=[{"env": "TRASGO_KEY"}]
    )
    ledger: LedgerSpec | None = Field(
        default=None,
        description="database of accounts; default <restricted>/.trasgo/ledger.db",
        examples=[{"url": "sqlite:////srv/trasgo/ledger.db"}],
    )
    runner: Runner = Field(
        default="threads",
        description="what draws: threads, or dask; no bit of a release depends on it",
        examples=["dask"],
    )
