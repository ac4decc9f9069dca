"""The compiled collection: alphabets of every level, channels of every version, windows, budgets; all before a report.

A *tag* is an alphabet version with a channel version. Each level (resolution) has an alphabet and, because the number
of slots differs, channels of its own; each accepted channel specification gives one more tag a level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.caps import DeviceCaps
from trasgo_lib.collection.channels import ReportChannel
from trasgo_lib.collection.points import PointPlan
from trasgo_lib.collection.reports import ReportShape, Tag
from trasgo_lib.collection.windows import Windows
from trasgo_lib.config import CollectionConfig
from trasgo_lib.plan import canonical_digest


@dataclass(frozen=True, slots=True)
class Version:
    """One way of reporting that is accepted: an alphabet with a channel over it.

    Args:
        level: place of its resolution, 0 the coarsest.
        alphabet: its slots.
        channel: what reports go through.
        is_current: whether devices of this file report so; the others are of earlier clients.
        choice: why ``auto`` took this mechanism, or "".
    """

    level: int
    alphabet: Alphabet
    channel: ReportChannel
    is_current: bool
    choice: str = ""

    @property
    def tag(self) -> Tag:
        """What its reports carry."""
        return Tag(self.alphabet.version, self.channel.version)


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """Everything that follows from a collection file.

    Args:
        config: the file's models, for what is published and where.
        alphabets: of the area, coarse to fine; the last one is what devices encode with.
        versions: every accepted way of reporting cells; current ones first, by level; none where points are asked
            alone.
        windows: spans of days.
        caps: what one device may spend on reports of cells, or None where it makes none.
        point: noised points, or None.
    """

    config: CollectionConfig
    alphabets: tuple[Alphabet, ...]
    versions: tuple[Version, ...]
    windows: Windows
    caps: DeviceCaps | None
    point: PointPlan | None = None
    _by_tag: Mapping[Tag, Version] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_tag", {version.tag: version for version in self.versions})

    @property
    def current(self) -> tuple[Version, ...]:
        """The ways in which devices report now, coarse to fine."""
        return tuple(version for version in self.versions if version.is_current)

    @property
    def finest(self) -> Alphabet:
        """What devices encode with; coarser slots are parents of its slots."""
        return self.alphabets[-1]

    def version_of(self, tag: Tag) -> Version | None:
        """The accepted version with these tags, or None."""
        return self._by_tag.get(tag)

    @property
    def shapes(self) -> dict[Tag, ReportShape]:
        """What answers look like, of everything that is taken: reports of cells, and points."""
        points = {} if self.point is None else {self.point.tag: self.point.lattice.shape}
        return {**{version.tag: version.channel for version in self.versions}, **points}

    @property
    def maps(self) -> int:
        """How many maps are made of a window: one a resolution, and one of points."""
        return len(self.current) + (self.point is not None)

    @property
    def digest(self) -> str:
        """SHA-256 over everything that gives a report its meaning and a device its limits, hex."""
        return canonical_digest(
            {
                "format": 1,
                "tags": [list(version.tag) for version in self.versions],
                "window": {"first_day": self.windows.first_day.isoformat(), "days": self.windows.days},
                "device": None if self.config.device is None else self.config.device.model_dump(mode="json"),
                "point": None if self.point is None else _point_json(self.point),
            }
        )

    def to_json(self) -> dict[str, Any]:
        """What clients need and what is published: strict JSON."""
        return {
            "format": 1,
            "digest": self.digest,
            "versions": [
                {
                    "alphabet": version.alphabet.version,
                    "resolution": version.alphabet.resolution,
                    "current": version.is_current,
                    "choice": version.choice,
                    "channel": version.channel.to_json(),
                }
                for version in self.versions
            ],
            "window": self.config.window.model_dump(mode="json"),
            "device": None if self.config.device is None else self.config.device.model_dump(mode="json"),
            "point": None if self.point is None else _point_json(self.point),
        }


def _point_json(point: PointPlan) -> dict[str, Any]:
    return {
        **point.lattice.to_json(),
        "epsilon": point.epsilon.text,
        "radius_m": point.radius_m,
        "daily_epsilon": point.daily.text,
        "lifetime_epsilon": point.lifetime.text,
    }
