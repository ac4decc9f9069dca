"""Where a release goes and who must agree before: the two roots, how they are reached, approvals and embargo."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from trasgo_lib.config.embargo import EmbargoError, parse_embargo
from trasgo_lib.config.shape import (
    Many,
    Model,
    PlaceText,
    Slug,
    Text,
    shape_error,
)

ROWS_PER_BATCH = 1 << 18
"""Default rows of a batch: 1 MiB of codes a column. It is in no plan digest, so versions from before the key stay."""

_CREDENTIALS = re.compile(r"[A-Z][A-Z0-9_]{0,62}|block:[a-z0-9][a-z0-9-]{0,62}")
_KEY_ID = re.compile(r"A[A-Z]{3}[A-Z0-9]{16,}")
"""What an access key itself looks like: four letters, such as AKIA, and sixteen or more."""


class S3Spec(Model):
    """How a root on an S3 store is reached; never a key itself."""

    endpoint: PlaceText | None = Field(
        default=None,
        repr=False,
        description="https address of the store; default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else Amazon's own",
        examples=["https://s3.office.example"],
    )
    region: Slug | None = Field(
        default=None,
        description="its region; default: AWS_REGION, AWS_DEFAULT_REGION, else us-east-1",
        examples=["eu-west-1"],
    )
    credentials: PlaceText = Field(
        default="AWS",
        repr=False,
        description="what the names of the environment variables begin with, or block:NAME of a Prefect secret",
        examples=["TRASGO_PUBLIC"],
    )
    allow_http: bool = Field(
        default=False, description="whether the endpoint may be http on another machine", examples=[True]
    )

    @field_validator("credentials", mode="after")
    @classmethod
    def _source_of_them(cls, text: str) -> str:
        # a key pasted here by mistake is refused, and not shown
        if _KEY_ID.fullmatch(text) or not _CREDENTIALS.fullmatch(text):
            required = "what the names of environment variables begin with (A-Z, 0-9 and _), or block:name"
            raise shape_error(
                required, "text of another form", "Write `credentials: TRASGO_PUBLIC`; keys stay outside."
            )
        return text


class Publish(Model):
    """Where the release goes."""

    store: PlaceText | None = Field(
        default=None, description="folder or URI that holds public/ and restricted/", examples=["../../releases"]
    )
    public: PlaceText | None = Field(
        default=None, description="URI of the public root, instead of store", examples=["s3://open-data/micro"]
    )
    restricted: PlaceText | None = Field(
        default=None, description="URI of the restricted root, instead of store", examples=["/srv/restricted"]
    )
    public_s3: S3Spec | None = Field(
        default=None,
        description="how the public root is reached when it is s3://; default: by the AWS_ variables",
        examples=[{"endpoint": "https://s3.office.example", "credentials": "TRASGO_PUBLIC"}],
    )
    restricted_s3: S3Spec | None = Field(
        default=None,
        description="how the restricted root is reached when it is s3://; default: by the AWS_ variables",
        examples=[{"endpoint": "https://s3.office.example", "credentials": "block:trasgo-restricted"}],
    )
    formats: Many[Literal["parquet", "csv"]] = Field(
        default=("parquet", "csv"),
        description="file formats of the data; parquet is always among them",
        examples=[["parquet", "csv"]],
    )
    rows_per_batch: int = Field(
        default=ROWS_PER_BATCH,
        ge=1000,
        le=1 << 24,
        description="rows of a stage file and of a Parquet row group; it changes file bytes and no draw",
        examples=[1_000_000],
    )
    sign: Literal["required", "none"] = Field(
        default="required", description="required: signed with the office's key, or not published", examples=["none"]
    )

    approvals: int = Field(
        default=0, ge=0, le=2, description="people who must approve before anything is public: 0, 1 or 2", examples=[2]
    )
    embargo: str | None = Field(
        default=None,
        description="local time and zone before which nothing is public",
        examples=["2026-12-15T09:30:00 Europe/Madrid"],
    )
    service_accounts: Many[Text] = Field(
        default=(), description="actors that are no persons and cannot approve", examples=[["scheduler"]]
    )

    @field_validator("embargo", mode="after")
    @classmethod
    def _an_instant(cls, embargo: str | None) -> str | None:
        if embargo is not None:
            try:
                parse_embargo(embargo)
            except EmbargoError as error:
                raise shape_error(error.required, error.came, error.fix) from None
        return embargo

    @field_validator("formats", mode="after")
    @classmethod
    def _parquet_among_them(cls, formats: tuple[str, ...]) -> tuple[str, ...]:
        if "parquet" not in formats or len(set(formats)) != len(formats):
            came = ", ".join(formats) or "none"
            raise shape_error("parquet, and csv if wanted, each once", came, "Write [parquet, csv].")
        return formats

    @model_validator(mode="after")
    def _one_place(self) -> Publish:
        named = tuple(name for name in ("store", "public", "restricted") if getattr(self, name) is not None)
        if named not in (("store",), ("public", "restricted")):
            came = " and ".join(named) or "none"
            raise shape_error("store, or both public and restricted", came, "Write `store: ../releases`.")
        if self.public is not None and self.public == self.restricted:
            raise shape_error("two different roots", "the same twice", "Separate them.", at=("restricted",))
        return self
