"""The collection file: what devices answer over, through which channel, for how long, and what is shown of it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from trasgo_lib.config.domains import GeoSpec
from trasgo_lib.config.publishing import Publish
from trasgo_lib.config.release import Keys, LedgerSpec, ReleaseConfig, ReleaseInfo
from trasgo_lib.config.runner import Runner
from trasgo_lib.config.shape import (
    DecimalText,
    DeltaText,
    EpsilonText,
    FormatVersion,
    Many,
    Model,
    PlaceText,
    PositiveText,
    ShareText,
    Text,
    at_least,
    shape_error,
)
from trasgo_lib.errors import Reason

_SAME = ReleaseConfig.model_fields

Resolution = Annotated[int, Field(ge=0, le=15)]


class AreaSpec(Model):
    """Where devices are, declared; exactly one of three."""

    box: Many[DecimalText] | None = Field(
        default=None, description="south, west, north, east in degrees", examples=[["41.6", "-87.9", "42.1", "-87.5"]]
    )
    polygon: Many[Many[DecimalText]] | None = Field(
        default=None,
        description="corners, each latitude and longitude in degrees",
        examples=[[["41.6", "-87.9"], ["41.6", "-87.5"], ["42.1", "-87.5"]]],
    )
    alphabet: PlaceText | None = Field(
        default=None,
        description="an alphabet file, as `trasgo collect alphabet --refine` makes it of published cells",
        examples=["city-2.alphabet.json"],
    )

    @model_validator(mode="after")
    def _one(self) -> AreaSpec:
        named = [name for name in ("box", "polygon", "alphabet") if getattr(self, name) is not None]
        if len(named) != 1:
            raise shape_error("exactly one of box, polygon, alphabet", " and ".join(named) or "none", "Keep one.")
        return self


class ChannelSpec(Model):
    """What a report goes through on the device."""

    mechanism: Literal[
        "auto",
        "kary_randomized_response",
        "symmetric_unary_encoding",
        "optimised_unary_encoding",
        "memoised_unary_encoding",
        "rappor",
    ] = Field(description="a mechanism of devices, or auto: the one of least variance", examples=["auto"])
    epsilon: EpsilonText = Field(description="loss of one report, nats", examples=["1"])
    epsilon_permanent: EpsilonText | None = Field(
        default=None,
        description="loss of all reports of one cell together, nats; answers are then memoised on the device",
        examples=["2"],
    )


class WindowSpec(Model):
    """The spans of days in which a device answers once."""

    first_day: Text = Field(description="first day of the first window, year-month-day", examples=["2026-01-05"])
    days: int = Field(ge=1, le=366, description="days of a window", examples=[7])
    late_days: int = Field(
        default=0, ge=0, le=366, description="days after its window in which a report still counts", examples=[3]
    )

    @field_validator("first_day", mode="after")
    @classmethod
    def _a_day(cls, text: str) -> str:
        try:
            is_written_out = date.fromisoformat(text).isoformat() == text  # else weeks of a year would pass, too
        except ValueError:
            is_written_out = False
        if not is_written_out:
            raise shape_error("a day, year-month-day", repr(text), 'Write it as in "2026-01-05".')
        return text

    @model_validator(mode="after")
    def _within_the_calendar(self) -> WindowSpec:
        if (date.max - date.fromisoformat(self.first_day)).days < self.days + self.late_days:
            raise shape_error(
                "a first window that ends before the year 10000", self.first_day, "Correct it.", at=("first_day",)
            )
        return self


class DeviceSpec(Model):
    """What one device may spend; it refuses to report beyond it."""

    daily_epsilon: EpsilonText = Field(description="most that the reports of one day cost, nats", examples=["2"])
    lifetime_epsilon: EpsilonText = Field(description="most that all its reports ever cost, nats", examples=["20"])
    accounting: Literal["basic", "zcdp"] = Field(
        default="basic",
        description="how reports add up: losses, or the lesser of losses and concentrated losses",
        examples=["zcdp"],
    )
    delta: DeltaText = Field(
        default="0", description="failure probability at which concentrated losses are an epsilon", examples=["1e-9"]
    )
    memoised_cells: int = Field(
        default=8,
        ge=2,
        le=10_000,
        description="permanent responses a device keeps, the last for all further cells, which answer as `other`",
        examples=[8],
    )

    @model_validator(mode="after")
    def _delta_with_zcdp(self) -> DeviceSpec:
        if (self.accounting == "zcdp") != (Decimal(self.delta) > 0):
            raise shape_error(
                "a delta above 0 with zcdp, and none with basic",
                f"delta {self.delta} with {self.accounting}",
                'Write `accounting: zcdp` and `delta: "1e-9"`, or neither.',
                at=("delta",),
                reason=Reason.BAD_AMOUNT,
            )
        return self


class PointSpec(Model):
    """Places with planar Laplace noise, beside the cells or alone; a loss per distance, with a budget of its own."""

    box: Many[DecimalText] = Field(
        description="south, west, north, east in degrees; places outside move to its edge, so cells are estimated that "
        "lie whole within it, two steps from the edge",
        examples=[["41.6", "-87.9", "42.1", "-87.5"]],
    )
    resolution: Resolution = Field(
        description="H3 resolution of the map of points: cells of the area, coarser or finer than those of reports",
        examples=[7],
    )
    crs: Text = Field(description="a metric projection made for the box", examples=["EPSG:3435"])
    step_m: PositiveText = Field(
        description="side of a lattice cell, metres; the coarser, the less the noise costs", examples=["200"]
    )
    geo: GeoSpec = Field(
        description="the loss of one report, per distance", examples=[{"epsilon": "1.386", "radius_m": "200"}]
    )
    daily_epsilon: EpsilonText = Field(
        description="most that the points of one day cost, nats for two lattice cells geo.radius_m apart",
        examples=["1.386"],
    )
    lifetime_epsilon: EpsilonText = Field(
        description="most that all its points ever cost, nats for two lattice cells geo.radius_m apart; between places "
        "that far apart they cost more, as the statement says",
        examples=["13.86"],
    )


class ShowSpec(Model):
    """What is shown of the estimates."""

    level: ShareText = Field(
        default="0.05",
        description="probability that any cell nobody was in is shown: cells must clear their error at it",
        examples=["0.05"],
    )
    confidence: ShareText = Field(
        default="0.95", description="with what probability an interval is to hold the truth", examples=["0.95"]
    )
    least_reports: int = Field(
        default=1000, ge=100, le=2**40, description="reports of a window below which nothing is shown", examples=[10000]
    )
    on_unhealthy: Literal["hold", "publish"] = Field(
        default="hold",
        description="hold: nothing is published when reports do not follow their declared channel",
        examples=["hold"],
    )

    @field_validator("confidence", mode="after")
    @classmethod
    def _normal(cls, text: str) -> str:
        if not Decimal("0.5") <= Decimal(text) <= Decimal("0.9999"):
            raise shape_error("a share from 0.5 to 0.9999", repr(text), '"0.95" is usual.', reason=Reason.BAD_PARAMETER)
        return text


class CollectorSpec(Model):
    """What the collector takes at a time."""

    body_bytes: int = Field(
        default=1_000_000, ge=1000, le=64_000_000, description="most bytes of one batch", examples=[1_000_000]
    )
    batches_per_second: int = Field(
        default=50, ge=1, le=100_000, description="of one client group, on average", examples=[50]
    )
    burst: int = Field(default=200, ge=1, le=1_000_000, description="batches of a group at once", examples=[200])
    waiting: int = Field(
        default=256, ge=1, le=100_000, description="batches that wait before others are sent away", examples=[256]
    )
    inbox: PlaceText | None = Field(
        default=None,
        description="folder or URI in the restricted zone with batches as files, in a folder for each window",
        examples=["s3://closed-data/inbox"],
    )


class CollectionConfig(Model):
    """A whole collection file."""

    format: FormatVersion = Field(description=_SAME["format"].description, examples=[1])
    release: ReleaseInfo = Field(description=_SAME["release"].description, examples=_SAME["release"].examples)
    area: AreaSpec = Field(
        description="where devices are: a box, a polygon, or an alphabet file",
        examples=[{"box": ["41.6", "-87.9", "42.1", "-87.5"]}],
    )
    resolutions: Annotated[Many[Resolution], at_least(1, "resolution")] = Field(
        description="H3 resolutions, coarse to fine; of several, each device answers at one that its key decides",
        json_schema_extra={"minItems": 1},
        examples=[[6, 8]],
    )
    nobody: bool = Field(
        default=True,
        description="whether there is a slot no device encodes to: its share shows clients of a wrong epsilon",
        examples=[True],
    )
    channel: ChannelSpec | None = Field(
        default=None,
        description="what reports of cells go through; left out where points are asked alone",
        examples=[{"mechanism": "auto", "epsilon": "1", "epsilon_permanent": "2"}],
    )
    accepted: Many[ChannelSpec] = Field(
        default=(),
        description="channels of earlier clients whose reports still count; estimated apart",
        examples=[[{"mechanism": "optimised_unary_encoding", "epsilon": "2"}]],
    )
    window: WindowSpec = Field(
        description="spans of days in which a device answers once", examples=[{"first_day": "2026-01-05", "days": 7}]
    )
    device: DeviceSpec | None = Field(
        default=None,
        description="what one device may spend on reports of cells; with channel, and only with it",
        examples=[{"daily_epsilon": "1", "lifetime_epsilon": "16"}],
    )
    point: PointSpec | None = Field(
        default=None,
        description="noised places, beside the cells or alone",
        examples=[
            {
                "box": ["41.6", "-87.9", "42.1", "-87.5"],
                "resolution": 7,
                "crs": "EPSG:3435",
                "step_m": "200",
                "geo": {"epsilon": "1.386", "radius_m": "200"},
                "daily_epsilon": "1.386",
                "lifetime_epsilon": "13.86",
            }
        ],
    )
    show: ShowSpec = Field(
        default_factory=ShowSpec, description="what is shown of the estimates", examples=[{"level": "0.05"}]
    )
    collector: CollectorSpec = Field(
        default_factory=CollectorSpec, description="what the collector takes", examples=[{"body_bytes": 1_000_000}]
    )
    runner: Runner = Field(
        default="threads", description=_SAME["runner"].description, examples=_SAME["runner"].examples
    )
    publish: Publish = Field(description=_SAME["publish"].description, examples=_SAME["publish"].examples)
    keys: Keys | None = Field(default=None, description=_SAME["keys"].description, examples=_SAME["keys"].examples)
    ledger: LedgerSpec | None = Field(
        default=None, description=_SAME["ledger"].description, examples=_SAME["ledger"].examples
    )

    @model_validator(mode="after")
    def _reports_of_something(self) -> CollectionConfig:
        if self.channel is None and self.point is None:
            raise shape_error("channel, point, or both", "neither", "Say what devices report.")
        if (self.channel is None) != (self.device is None):
            came = "device alone" if self.channel is None else "channel alone"
            raise shape_error("channel and device together", came, "Add the other, or leave both out.")
        if self.channel is None and self.accepted:
            raise shape_error("accepted channels beside a channel", "none", "Declare channel.", at=("accepted",))
        return self

    @field_validator("resolutions", mode="after")
    @classmethod
    def _rising(cls, resolutions: tuple[int, ...]) -> tuple[int, ...]:
        if any(after <= before for before, after in pairwise(resolutions)):
            raise shape_error("rising resolutions", ", ".join(map(str, resolutions)), "Write coarse ones first.")
        return resolutions
