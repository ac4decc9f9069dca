"""Made-up devices with homes, work places and a known truth, to see what a collection would show before it is asked.

Every report is drawn through the real channels; only devices are made up. Nothing of it is ever published: its keys
are public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.collection.channels import MemoisedChannel, ReportChannel, SlotChannel, UnaryChannel
from trasgo_lib.collection.concluding import ShowRule
from trasgo_lib.collection.counting import ReportCounts, count_answers
from trasgo_lib.collection.estimating import Frequencies, estimate
from trasgo_lib.collection.plan import CollectionPlan, Version
from trasgo_lib.collection.point_estimates import PointMap, PointPart, conclude_points
from trasgo_lib.collection.points import PointPlan
from trasgo_lib.data.cells import cell_centres
from trasgo_lib.noise import Keystream, permutation

_AT_HOME, _AT_WORK = 0.6, 0.3
"""Shares of windows that a device answers from home and from work; else it is somewhere."""

_ZIPF = 1.0
"""Popularity of the k-th cell is ``k ** -1``."""

_ELSEWHERE = 0.03
"""Share of homes outside the area."""

_DEVICES_AT_ONCE = 1 << 15
_SHARE = 2.0**-64


@dataclass(frozen=True, slots=True)
class World:
    """Where made-up devices live.

    Args:
        home: int32[devices], slots of the finest alphabet.
        work: int32[devices].
        popularity: float64[slots], how likely a visit is.
    """

    home: NDArray[np.int32] = field(repr=False)
    work: NDArray[np.int32] = field(repr=False)
    popularity: NDArray[np.float64] = field(repr=False)

    @property
    def devices(self) -> int:
        """How many there are."""
        return len(self.home)


@dataclass(frozen=True, slots=True)
class Window:
    """One simulated window at one level.

    Args:
        version: the level's alphabet and channel.
        truth: float64[slots], true shares of the devices that answered at this level.
        counted: counts of their reports.
        found: what is estimated from them.
    """

    version: Version
    truth: NDArray[np.float64] = field(repr=False)
    counted: ReportCounts
    found: Frequencies

    @property
    def mean_error(self) -> float:
        """Mean absolute error over slots."""
        return float(np.abs(self.found.shares - self.truth).mean())

    @property
    def expected_error(self) -> float:
        """What the standard errors say it should be: ``sqrt(2 / pi)`` times their mean."""
        return float(np.sqrt(2 / np.pi) * self.found.standard_error.mean())

    @property
    def covered(self) -> float:
        """Share of slots whose interval holds the truth."""
        return float(np.mean((self.found.low <= self.truth) & (self.truth <= self.found.high)))


def make_world(plan: CollectionPlan, devices: int, key: bytes) -> World:
    """Homes and work places, with popularity falling as ``1 / rank`` over cells in a random order.

    Args:
        plan: the collection.
        devices: how many.
        key: 32 bytes; public.
    """
    alphabet = plan.finest
    cells = len(alphabet.cells)
    order = permutation(Keystream(key, "order"), cells)
    popularity = np.zeros(alphabet.slots)
    popularity[order] = (1 - _ELSEWHERE) * _zipf(cells)
    popularity[alphabet.other] = _ELSEWHERE
    home, work = (_places(popularity, _uniform(Keystream(key, what), devices)) for what in ("home", "work"))
    return World(home, work, popularity)


def whereabouts(world: World, window: int, key: bytes) -> NDArray[np.int32]:
    """Where each device is when it answers: int32[devices], slots of the finest alphabet.

    Args:
        world: the devices.
        window: number of the window.
        key: as in ``make_world``.
    """
    kind = _uniform(Keystream(key, "kind", window), world.devices)
    visited = _places(world.popularity, _uniform(Keystream(key, "visit", window), world.devices))
    return np.where(kind < _AT_HOME, world.home, np.where(kind < _AT_HOME + _AT_WORK, world.work, visited))


def simulate(plan: CollectionPlan, world: World, windows: int, key: bytes) -> Iterator[Window]:
    """Reports of all devices through the real channels, window by window and level by level.

    Devices answer at ``device mod levels``. The cap on memoised cells is not simulated.

    Args:
        plan: the collection.
        world: its devices.
        windows: how many.
        key: as in ``make_world``.
    """
    levels = plan.current
    for window in range(windows):
        place = whereabouts(world, window, key)
        for version in levels:
            members = np.arange(version.level, world.devices, len(levels))
            slots = plan.finest.slots_in(version.alphabet)[place[members]]
            counted = ReportCounts.empty(version.channel)
            for start in range(0, len(members), _DEVICES_AT_ONCE):
                part = slice(start, start + _DEVICES_AT_ONCE)
                given = answers(version.channel, slots[part], members[part], window, key, start)
                counted += count_answers(version.channel, given)
            truth = np.bincount(slots, minlength=version.alphabet.slots) / max(1, len(members))
            yield Window(version, truth, counted, estimate(version.channel, counted, tag=version.tag))


@dataclass(frozen=True, slots=True)
class PointWindow:
    """The noised points of one simulated window.

    Args:
        truth: float64[slots], true shares of the devices by H3 cell.
        found: what is published of them.
        expected_error: what the standard errors say the mean absolute error should be.
    """

    truth: NDArray[np.float64] = field(repr=False)
    found: PointMap
    expected_error: float

    @property
    def mean_error(self) -> float:
        """Mean absolute error over slots."""
        return float(np.abs(self.found.table.share - self.truth).mean())

    @property
    def covered(self) -> float:
        """Share of slots whose interval holds the truth."""
        table = self.found.table
        return float(np.mean((table.low <= self.truth) & (self.truth <= table.high)))


def simulate_points(
    plan: CollectionPlan, point: PointPlan, world: World, windows: int, key: bytes
) -> Iterator[PointWindow]:
    """Noised points of all devices through the real channel, window by window.

    A device is somewhere in its cell: at the lattice cell that its number and slot decide.

    Args:
        plan: the collection.
        point: its points.
        world: its devices.
        windows: how many.
        key: as in ``make_world``.
    """
    lattice = point.lattice
    order, starts = _lattice_cells_by_slot(plan, point)
    share = _uniform(Keystream(key, "place"), world.devices)
    level = float(plan.config.show.level) / plan.maps
    for window in range(windows):
        slot = whereabouts(world, window, key)
        size = starts[slot + 1] - starts[slot]
        codes = order[starts[slot] + (share * size).astype(np.int64)].astype(np.int32)
        drawn = lattice.channel.sample(codes, Keystream(key, "point", window, lattice.tag.channel))
        counted = count_answers(lattice.shape, drawn.astype(np.uint32))
        found = conclude_points(PointPart(lattice, counted), ShowRule(level, float(plan.config.show.confidence)))
        truth = np.bincount(lattice.places[codes], minlength=lattice.alphabet.slots) / world.devices
        yield PointWindow(truth, found, float(np.sqrt(2 / np.pi) * found.table.standard_error.mean()))


def _lattice_cells_by_slot(plan: CollectionPlan, point: PointPlan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lattice cells in the order of the finest slots they lie in, and where each slot's begin.

    A cell without any, as cells smaller than a step are, gets the one that its centre is in or moves to; ``nobody``,
    and ``other`` if the box holds none of it, the one in the south-west corner.
    """
    centres = point.domain.decode(np.arange(point.domain.size, dtype=np.int32))
    slots = plan.finest.encode(*centres)
    counts = np.bincount(slots, minlength=plan.finest.slots)
    missing = np.flatnonzero(counts == 0)
    latitude, longitude = cell_centres(plan.finest.cells[missing[missing < len(plan.finest.cells)]])
    centred = point.domain.encode(np.array(latitude, dtype=float), np.array(longitude, dtype=float), outside="clip")
    corner = np.zeros(len(missing) - len(centred), dtype=np.int32)
    slots, cells = np.concatenate([slots, missing]), np.concatenate([np.arange(point.domain.size), centred, corner])
    order = np.argsort(slots, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(slots, minlength=plan.finest.slots))])
    return cells[order], starts


def answers(
    channel: ReportChannel,
    slots: NDArray[np.int32],
    devices: NDArray[np.int64],
    window: int,
    key: bytes,
    first_row: int = 0,
) -> NDArray[np.unsignedinteger]:
    """What many devices answer in one window, by the law of real ones: memoised ones keep a response for each slot.

    Args:
        channel: what reports go through.
        slots: int32[devices].
        devices: int64[devices], their numbers, by which responses are kept.
        window: number of the window.
        key: as in ``make_world``.
        first_row: how many devices of this window and channel were answered for before.
    """
    fresh = Keystream(key, "report", window, channel.version)
    if isinstance(channel, SlotChannel):
        return channel.draw(slots, fresh, first_row)
    if isinstance(channel, MemoisedChannel):
        kept = Keystream(key, "permanent", channel.version)
        return channel.freshen(channel.permanent.draw(slots, kept, devices * channel.slots + slots), fresh, first_row)
    if isinstance(channel, UnaryChannel):
        return channel.draw(slots, fresh, first_row)
    raise TypeError("a channel of another kind")


def _zipf(cells: int) -> NDArray[np.float64]:
    weights = np.arange(1, cells + 1, dtype=np.float64) ** -_ZIPF
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _uniform(keystream: Keystream, count: int) -> NDArray[np.float64]:
    return np.asarray(keystream.words(0, count) * _SHARE, dtype=np.float64)


def _places(popularity: NDArray[np.float64], uniform: NDArray[np.float64]) -> NDArray[np.int32]:
    found = np.searchsorted(np.cumsum(popularity), uniform, side="right")
    return np.minimum(found, len(popularity) - 1).astype(np.int32)
