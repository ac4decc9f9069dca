"""The device: from a place to a report, with nothing of the place left behind.

Every draw is keyed by the device key and by what it is for. The permanent response of a slot has a label of its
version and slot, so it needs no table; the second round, or the whole answer where there is no memory, has one of its
window too, so that a report that was lost on the way is made again bit by bit and costs nothing. The slot is part of
each label: answers for different slots never share words.
"""

from __future__ import annotations

from datetime import date

import numpy as np

from trasgo_lib.collection.channels import MemoisedChannel, ReportChannel, SlotChannel, UnaryChannel
from trasgo_lib.collection.device_budget import DeviceState, charge_point, charge_report
from trasgo_lib.collection.plan import CollectionPlan, Version
from trasgo_lib.collection.reports import PSEUDONYM_HEX, Report
from trasgo_lib.errors import ConfigError, InputContractError, Reason
from trasgo_lib.noise import Keystream, derive

_BEYOND = "beyond"
"""What labels the response for all cells beyond the memory: ``other``, and none that a visited slot shares."""


class Client:
    """One device. Holds its key and what it has spent.

    Args:
        plan: the compiled collection.
        device_key: 32 secret random bytes, made and kept on the device; whoever knows them reads every report.
        state: what it has spent so far; default nothing. Store ``client.state`` before a report is sent.
    """

    def __init__(self, plan: CollectionPlan, device_key: bytes, state: DeviceState | None = None) -> None:
        self._plan, self._key = plan, device_key
        self.state = DeviceState() if state is None else state
        self._version = plan.current[self._level()] if plan.current else None

    @property
    def version(self) -> Version:
        """How this device reports: of several levels, the one that its key decides.

        Raises:
            ConfigError: the collection asks for points only.
        """
        if self._version is None:
            raise _not_asked("channel", "a collection with reports of cells")
        return self._version

    def report(self, latitude: float, longitude: float, day: date) -> Report:
        """The report of a window; charged before it is drawn.

        Args:
            latitude: WGS84 degrees in -90..90, private.
            longitude: WGS84 degrees in -180..180, private.
            day: today, by UTC as windows are.

        Raises:
            ConfigError: the collection asks for points only.
            InputContractError: off the globe, missing or infinite, or a day before the first window.
            BudgetError: the window was answered already, or a budget is spent; nothing is drawn.
        """
        version, caps = self.version, self._plan.caps
        if caps is None:
            raise TypeError("reports of cells have caps")
        window = self._window(day)
        slot = self._slot(latitude, longitude)
        channel, (alphabet, code) = version.channel, version.tag
        self.state, fits = charge_report(
            self.state,
            caps,
            channel,
            version=f"{alphabet}/{code}",
            window=window,
            day=day.isoformat(),
            memo=self._memo(slot),
            memo_beyond=self._memo(_BEYOND),
        )
        answer = self._answer(channel, slot if fits else None, window)
        return Report(alphabet, code, window, answer, self._pseudonym("report", window))

    def point(self, latitude: float, longitude: float, day: date) -> Report:
        """The noised point of a window, through planar Laplace noise; charged before it is drawn.

        Args:
            latitude: WGS84 degrees, private; places outside the box move to its edge.
            longitude: WGS84 degrees, private.
            day: today, by UTC as windows are.

        Raises:
            ConfigError: the collection asks for no points.
            InputContractError: off the globe, missing or infinite, or a day before the first window.
            BudgetError: the window was answered already, or a budget is spent; nothing is drawn.
        """
        point = self._plan.point
        if point is None:
            raise _not_asked("point", "a collection with points")
        window = self._window(day)
        code = point.domain.encode(np.array([latitude]), np.array([longitude]), outside="clip")
        self.state = charge_point(self.state, point.caps, window=window, day=day.isoformat())
        # another pseudonym than that of the report: the collector cannot put the two together by it
        stream = Keystream(self._key, "point", *point.tag, window, int(code[0]))
        drawn = int(point.channel.sample(code, stream)[0])
        return Report(*point.tag, window, drawn, self._pseudonym("point", window))

    def _window(self, day: date) -> str:
        if day < self._plan.windows.first_day:
            raise InputContractError.of(
                Reason.OUT_OF_DOMAIN,
                "day",
                required=f"{self._plan.windows.first_day.isoformat()} or later",
                came=day.isoformat(),
                fix="Report from the first window on.",
            )
        return self._plan.windows.of(day)

    def _slot(self, latitude: float, longitude: float) -> int:
        """The slot at this device's level: a parent of the finest slot, never encoded anew."""
        finest = self._plan.finest
        slot = finest.encode(np.array([latitude]), np.array([longitude]))
        return int(finest.slots_in(self.version.alphabet)[slot[0]])

    def _answer(self, channel: ReportChannel, slot: int | None, window: str) -> int | bytes:
        label = _BEYOND if slot is None else slot
        places = np.array([self.version.alphabet.other if slot is None else slot], dtype=np.int32)
        fresh = Keystream(self._key, "report", *self.version.tag, window, label)
        if isinstance(channel, SlotChannel):
            return int(channel.draw(places, fresh)[0])
        if isinstance(channel, MemoisedChannel):
            permanent = channel.permanent.draw(places, Keystream(self._key, "permanent", *self.version.tag, label))
            return bytes(channel.freshen(permanent, fresh)[0])
        if isinstance(channel, UnaryChannel):
            return bytes(channel.draw(places, fresh)[0])
        raise TypeError("a channel of another kind")

    def _level(self) -> int:
        levels = len(self._plan.current)
        return int.from_bytes(derive(self._key, "level", levels)[:8], "big") % levels

    def _memo(self, label: int | str) -> str:
        return derive(self._key, "memo", *self.version.tag, label).hex()[:PSEUDONYM_HEX]

    def _pseudonym(self, purpose: str, window: str) -> str:
        return derive(self._key, "pseudonym", self._plan.config.release.dataset, purpose, window).hex()[:PSEUDONYM_HEX]

    def __repr__(self) -> str:
        return "Client(...)"


def _not_asked(key: str, required: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_PARAMETER, key, required=required, came="none", fix=f"Declare `{key}`.")
