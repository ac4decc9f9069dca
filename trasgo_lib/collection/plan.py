"""The compiled collection: alphabets of every level, channels of every version, windows, budgets; all before a report.

A *tag* is an alphabet version with a channel version. Each level (resolution) has an alphabet and, because the number
of slots differs, channels of its own; each accepted channel specification gives one more tag a level.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.building import AUTO, build_report_channel, choose
from trasgo_lib.collection.caps import DeviceCaps, fits_lifetime, lifetime_cost
from trasgo_lib.collection.channels import ReportChannel
from trasgo_lib.collection.points import PointPlan, compile_points
from trasgo_lib.collection.reports import Tag, window_of
from trasgo_lib.config import ChannelSpec, CollectionConfig, LoadedCollection, load_collection
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.plan import canonical_digest


@dataclass(frozen=True, slots=True)
class Windows:
    """The spans of days in which a device answers once.

    Args:
        first_day: first day of the first window.
        days: of a window.
        late_days: days after a window in which its reports are still accepted.
    """

    first_day: date
    days: int
    late_days: int

    def of(self, day: date) -> str:
        """The window of a day, by its first day, year-month-day."""
        return window_of(day, self.first_day, self.days)

    def is_window(self, text: str) -> bool:
        """Whether a text names a window of this collection."""
        try:
            day = date.fromisoformat(text)
        except ValueError:
            return False
        return day >= self.first_day and text == self.of(day)

    def is_open(self, window: str, today: date) -> bool:
        """Whether reports of a window are accepted on a day: it has begun, and ended at most ``late_days`` ago."""
        begins = date.fromisoformat(window)
        return begins <= today <= begins + timedelta(days=self.days - 1 + self.late_days)


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
        versions: every accepted way of reporting; current ones first, by level.
        windows: spans of days.
        caps: what one device may spend.
        point: noised places beside the cells, or None.
    """

    config: CollectionConfig
    versions: tuple[Version, ...]
    windows: Windows
    caps: DeviceCaps
    point: PointPlan | None = None
    _by_tag: Mapping[Tag, Version] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_tag", {version.tag: version for version in self.versions})

    @property
    def current(self) -> tuple[Version, ...]:
        """The ways in which devices report now, coarse to fine."""
        return tuple(version for version in self.versions if version.is_current)

    @property
    def alphabets(self) -> tuple[Alphabet, ...]:
        """The alphabets, coarse to fine; the last one is what devices encode with."""
        return tuple(version.alphabet for version in self.current)

    @property
    def finest(self) -> Alphabet:
        """What devices encode with; coarser slots are parents of its slots."""
        return self.alphabets[-1]

    def version_of(self, tag: Tag) -> Version | None:
        """The accepted version with these tags, or None."""
        return self._by_tag.get(tag)

    @property
    def digest(self) -> str:
        """SHA-256 over everything that gives a report its meaning and a device its limits, hex."""
        return canonical_digest(
            {
                "format": 1,
                "tags": [list(version.tag) for version in self.versions],
                "window": {"first_day": self.windows.first_day.isoformat(), "days": self.windows.days},
                "device": self.config.device.model_dump(mode="json"),
                "point": None if self.point is None else self.point.version,
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
            "device": self.config.device.model_dump(mode="json"),
            "point": None if self.point is None else _point_json(self.point),
        }


def read_collection(path: Path) -> tuple[LoadedCollection, CollectionPlan]:
    """Read and compile a collection file; opens no report.

    Raises:
        ConfigError: all faults at once, each with line, column, key, what was required, what came, what to do.
    """
    loaded = load_collection(path)
    return loaded, compile_collection(loaded)


def compile_collection(loaded: LoadedCollection) -> CollectionPlan:
    """Resolve a collection file.

    Args:
        loaded: a file of the right shape; public.

    Raises:
        ConfigError: all faults at once.
    """
    config, faults = loaded.config, list[Fault]()
    try:
        finest = _finest(loaded)
        alphabets = (*(finest.coarser(resolution) for resolution in config.resolutions[:-1]), finest)
        for alphabet in alphabets:
            _require_whole_cells(alphabet)
    except ConfigError as error:
        raise ConfigError(*(loaded.placed(fault, ("area",)) for fault in error.faults)) from None
    versions = []
    for position, spec in enumerate((config.channel, *config.accepted)):
        path = ("channel",) if not position else ("accepted", position - 1)
        for level, alphabet in enumerate(alphabets):
            try:
                versions.append(_version(spec, level, alphabet, is_current=not position))
            except ConfigError as error:
                faults.extend(loaded.placed(fault, path) for fault in error.faults)
                break
    caps = DeviceCaps(
        Epsilon.parse(config.device.daily_epsilon),
        Epsilon.parse(config.device.lifetime_epsilon),
        config.device.accounting,
        Delta.parse(config.device.delta, zero=True),
        config.device.memoised_cells,
    )
    windows = Windows(date.fromisoformat(config.window.first_day), config.window.days, config.window.late_days)
    point = None
    try:
        point = None if config.point is None else compile_points(config.point)
    except ConfigError as error:
        faults.extend(loaded.placed(fault, ("point",)) for fault in error.faults)
    faults.extend(loaded.placed(fault, ("device",)) for fault in _unaffordable(versions, caps))
    faults.extend(_not_built_yet(loaded))
    if faults:
        raise ConfigError(*faults)
    tags = [version.tag for version in versions]
    if len(set(tags)) < len(tags):
        fault = Fault(Reason.BAD_PARAMETER, "accepted", "channels that differ", "the same twice", "Remove one.")
        raise ConfigError(loaded.placed(fault, ("accepted",)))
    return CollectionPlan(config, tuple(versions), windows, caps, point)


def _finest(loaded: LoadedCollection) -> Alphabet:
    config = loaded.config
    if config.area.alphabet is None:
        return Alphabet.declare(
            resolution=config.resolutions[-1],
            box=config.area.box,
            polygon=config.area.polygon,
            has_nobody=config.nobody,
        )
    path = loaded.resolve(config.area.alphabet)
    try:
        alphabet = Alphabet.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise ConfigError.of(
            Reason.FILE_UNREADABLE, str(path), required="a readable alphabet file", came="none", fix="Correct the path."
        ) from None
    if (alphabet.resolution, alphabet.has_nobody) != (config.resolutions[-1], config.nobody):
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            "resolutions",
            required=f"{alphabet.resolution} as the finest, nobody {str(alphabet.has_nobody).lower()}, as the file has",
            came=f"{config.resolutions[-1]} and {str(config.nobody).lower()}",
            fix="Write what the alphabet file has.",
        )
    return alphabet


def _require_whole_cells(alphabet: Alphabet) -> None:
    if across := alphabet.cells_across():
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            f"resolution {alphabet.resolution}",
            required="cells that lie neither across the 180th meridian nor around a pole, so that maps can hold them",
            came=f"{across} of {len(alphabet.cells)} that do",
            fix="End the area a cell's width before, or leave the coarse resolution out.",
        )


def _not_built_yet(loaded: LoadedCollection) -> Iterator[Fault]:
    """What releases have and collections do not: refused, since whoever writes it relies on it."""
    release, publish = loaded.config.release, loaded.config.publish
    for section, key, is_set in (
        ("release", "supersedes", release.supersedes is not None),
        ("publish", "approvals", publish.approvals > 0),
        ("publish", "embargo", publish.embargo is not None),
    ):
        if is_set:
            required, fix = "no corrections, approvals or embargo for collections yet", "Remove it."
            fault = Fault(Reason.NOT_BUILT_YET, key, required=required, came=f"`{key}`", fix=fix)
            yield loaded.placed(fault, (section, key))


def _unaffordable(versions: list[Version], caps: DeviceCaps) -> Iterator[Fault]:
    """Budgets that allow no report at all: one report must fit a day, and its memory a lifetime.

    Of earlier clients, too: what is published of their reports states these caps.
    """
    for version in versions:
        claim = version.channel.claim
        if version.level:
            continue
        key = "channel" if version.is_current else "accepted"
        if claim.epsilon > caps.daily:
            required = f"daily_epsilon of at least {claim.epsilon.text}, what one report costs"
            yield Fault(Reason.OVER_TOTAL, "device", required, caps.daily.text, f"Raise it, or lower {key}.epsilon.")
        if not fits_lifetime(claim, caps):
            what = "what one report costs" if claim.permanent is None else "memoised_cells times epsilon_permanent"
            required = f"lifetime_epsilon of at least {lifetime_cost(claim, caps).text}: {what}"
            fix = f"Raise it, or lower {'' if claim.permanent is None else 'memoised_cells or '}{key}.epsilon."
            yield Fault(Reason.OVER_TOTAL, "device", required, caps.lifetime.text, fix)


def _point_json(point: PointPlan) -> dict[str, Any]:
    return {
        "version": point.version,
        "domain": point.domain.describe(),
        "epsilon": point.epsilon.text,
        "radius_m": point.radius_m,
        "daily_epsilon": point.daily.text,
        "lifetime_epsilon": point.lifetime.text,
    }


def _version(spec: ChannelSpec, level: int, alphabet: Alphabet, *, is_current: bool) -> Version:
    epsilon = Epsilon.parse(spec.epsilon)
    permanent = None if spec.epsilon_permanent is None else Epsilon.parse(spec.epsilon_permanent)
    channel = build_report_channel(spec.mechanism, alphabet.slots, epsilon, permanent)
    reason = choose(alphabet.slots, epsilon, permanent).reason if spec.mechanism == AUTO else ""
    return Version(level, alphabet, channel, is_current, reason)
