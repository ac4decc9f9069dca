"""From a collection file to its plan: every fault at once, before any report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.building import AUTO, build_report_channel, choose
from trasgo_lib.collection.caps import DeviceCaps, fits_lifetime, lifetime_cost
from trasgo_lib.collection.plan import CollectionPlan, Version
from trasgo_lib.collection.points import compile_points
from trasgo_lib.collection.windows import Windows
from trasgo_lib.config import (
    ChannelSpec,
    CollectionConfig,
    DeviceSpec,
    KeyPath,
    LoadedCollection,
    PointSpec,
    load_collection,
)
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.plan import FaultCollector, check_roots, check_runner


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
    for position, spec in enumerate(() if config.channel is None else (config.channel, *config.accepted)):
        path = ("channel",) if not position else ("accepted", position - 1)
        for level, alphabet in enumerate(alphabets):
            try:
                versions.append(_version(spec, level, alphabet, is_current=not position))
            except ConfigError as error:
                faults.extend(loaded.placed(fault, path) for fault in error.faults)
                break
    caps = None if config.device is None else _caps(config.device)
    windows = Windows(date.fromisoformat(config.window.first_day), config.window.days, config.window.late_days)
    point = None
    try:
        point = None if config.point is None else compile_points(config.point, finest)
    except ConfigError as error:
        faults.extend(loaded.placed(fault, _place_of(fault)) for fault in error.faults)
    if caps is not None:
        faults.extend(loaded.placed(fault, ("device",)) for fault in _unaffordable(versions, caps))
    places = FaultCollector(loaded)
    check_roots(config, places, _private_folders(config))
    check_runner(config, places, asks_ledger=False)
    faults.extend(places.found)
    if faults:
        raise ConfigError(*faults)
    tags = [version.tag for version in versions]
    if len(set(tags)) < len(tags):
        fault = Fault(Reason.BAD_PARAMETER, "accepted", "channels that differ", "the same twice", "Remove one.")
        raise ConfigError(loaded.placed(fault, ("accepted",)))
    return CollectionPlan(config, alphabets, tuple(versions), windows, caps, point)


def _place_of(fault: Fault) -> KeyPath:
    """The key of the section ``point`` that a fault is of, or the section."""
    name = fault.where.removeprefix("point.").removeprefix("domain.").partition(".")[0]
    return ("point", name) if name in PointSpec.model_fields else ("point",)


def _caps(device: DeviceSpec) -> DeviceCaps:
    return DeviceCaps(
        Epsilon.parse(device.daily_epsilon),
        Epsilon.parse(device.lifetime_epsilon),
        device.accounting,
        Delta.parse(device.delta, zero=True),
        device.memoised_cells,
    )


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


def _private_folders(config: CollectionConfig) -> dict[KeyPath, str]:
    """Folders with reports that clients drop, by key."""
    inbox = config.collector.inbox
    return {} if inbox is None or "://" in inbox else {("collector", "inbox"): inbox}


def _require_whole_cells(alphabet: Alphabet) -> None:
    if across := alphabet.cells_across():
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            f"resolution {alphabet.resolution}",
            required="cells that lie neither across the 180th meridian nor around a pole, so that maps can hold them",
            came=f"{across} of {len(alphabet.cells)} that do",
            fix="End the area a cell's width before, or leave the coarse resolution out.",
        )


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


def _version(spec: ChannelSpec, level: int, alphabet: Alphabet, *, is_current: bool) -> Version:
    epsilon = Epsilon.parse(spec.epsilon)
    permanent = None if spec.epsilon_permanent is None else Epsilon.parse(spec.epsilon_permanent)
    channel = build_report_channel(spec.mechanism, alphabet.slots, epsilon, permanent)
    reason = choose(alphabet.slots, epsilon, permanent).reason if spec.mechanism == AUTO else ""
    return Version(level, alphabet, channel, is_current, reason)
