"""What a device has spent, and whether one more report may leave it.

Whether a report leaves must not depend on where the device was: a report that fails to come tells something, too. So
every decision here follows from how many reports were made, never from their cells. For memoised answers the whole
memory (``memoised_cells`` permanent responses) is reserved when the first report of a version is made; cells beyond it
are answered as ``other``, through a response that no visited slot shares: else two devices that return to earlier cells
at the same times could be told apart by whether one of these was ``other``. What the reports made so far really cost,
``min(k * epsilon, epsilon_permanent)`` for a cell answered k times (proof in ``channels.repeated_epsilon``), is told
beside it and is never more.

A device's loss is over which cells it was in: two histories that change cells, and return to earlier ones, at the same
times. When a device changed its cell or came back to one is not hidden by memoised answers: reports through the same
permanent response look alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trasgo_lib.amounts import Epsilon, Rho
from trasgo_lib.budget import epsilon_of_rho
from trasgo_lib.collection.caps import DeviceCaps
from trasgo_lib.collection.channels import ReportChannel
from trasgo_lib.collection.point_budget import PointCaps, one_more, points_of
from trasgo_lib.errors import BudgetError, InputContractError, Reason, TrasgoError

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class MemoBook:
    """The permanent responses of one version.

    Args:
        epsilon: loss of one report.
        permanent: loss of all reports of one cell.
        cells: how many cells are reserved.
        answered: how often each cell was reported, by a keyed digest of its slot; private.
    """

    epsilon: Epsilon
    permanent: Epsilon
    cells: int
    answered: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def spent(self) -> Epsilon:
        """What the reports so far cost: ``min(k * epsilon, permanent)``, summed over cells."""
        return Epsilon(sum(min(k * self.epsilon.units, self.permanent.units) for k in self.answered.values()))

    @property
    def reserved(self) -> Epsilon:
        """What they can cost at most."""
        return self.permanent.times(self.cells)

    def _with(self, memo: str, memo_beyond: str) -> tuple[MemoBook, bool]:
        """The book after one more report of a cell, and whether the cell has a place in it."""
        room = self.cells - len(self.answered.keys() | {memo_beyond})  # what answers for the rest always has a place
        fits = memo in self.answered or room > 0
        key = memo if fits else memo_beyond
        return replace(self, answered={**self.answered, key: self.answered.get(key, 0) + 1}), fits


@dataclass(frozen=True, slots=True)
class DeviceState:
    """What a device remembers between reports; private, and it stays on the device.

    Args:
        last_window: the window answered last, or "".
        day: the day of the last report, year-month-day, or "".
        spent_today: loss of the reports of that day.
        fresh: how many reports without memory were made, by their epsilon as text.
        books: the memory of each version, by ``alphabet/channel``.
        points: how many noised points were sent, by their loss per distance as text: a later collection file may ask
            for points of another one.
        last_point_window: the window of the last of them, or "".
        points_today: how many of them on ``point_day``.
        point_day: the day of the last of them, or "".
    """

    last_window: str = ""
    day: str = ""
    spent_today: Epsilon = field(default_factory=lambda: Epsilon(0))
    fresh: Mapping[str, int] = field(default_factory=dict)
    books: Mapping[str, MemoBook] = field(default_factory=dict, repr=False)
    points: Mapping[str, int] = field(default_factory=dict)
    last_point_window: str = ""
    points_today: Mapping[str, int] = field(default_factory=dict)
    point_day: str = ""

    @property
    def spent(self) -> Epsilon:
        """What all reports so far cost, by basic composition."""
        return self._fresh_total() + _sum(book.spent for book in self.books.values())

    @property
    def reserved(self) -> Epsilon:
        """The same with every memory counted in full: what decides."""
        return self._fresh_total() + _sum(book.reserved for book in self.books.values())

    def reserved_rho(self) -> Rho:
        """The concentrated loss that goes with ``reserved``; pure losses cost ``epsilon**2 / 2`` each."""
        each = [(Epsilon.parse(text), count) for text, count in self.fresh.items()]
        each += [(book.permanent, book.cells) for book in self.books.values()]
        return Rho(sum(count * Rho.ceil(epsilon.fraction**2 / 2).units for epsilon, count in each))

    def _fresh_total(self) -> Epsilon:
        return _sum(Epsilon.parse(text).times(count) for text, count in self.fresh.items())

    def to_json(self) -> dict[str, Any]:
        """Strict JSON, for the device's own storage."""
        books = {
            name: {
                "epsilon": book.epsilon.text,
                "permanent": book.permanent.text,
                "cells": book.cells,
                "answered": dict(book.answered),
            }
            for name, book in self.books.items()
        }
        return {
            "format": _FORMAT,
            "last_window": self.last_window,
            "day": self.day,
            "spent_today": self.spent_today.text,
            "fresh": dict(self.fresh),
            "books": books,
            "points": dict(self.points),
            "last_point_window": self.last_point_window,
            "points_today": dict(self.points_today),
            "point_day": self.point_day,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> DeviceState:
        """What ``to_json`` wrote.

        Raises:
            InputContractError: damaged; a device that does not know what it spent must not report.
        """
        try:
            books = {
                name: MemoBook(
                    Epsilon.parse(book["epsilon"]),
                    Epsilon.parse(book["permanent"]),
                    int(book["cells"]),
                    {str(memo): int(count) for memo, count in book["answered"].items()},
                )
                for name, book in document["books"].items()
            }
            if document["format"] != _FORMAT:
                raise ValueError("another format")
            return cls(
                str(document["last_window"]),
                str(document["day"]),
                Epsilon.parse(document["spent_today"], zero=True),
                {str(text): int(count) for text, count in document["fresh"].items()},
                books,
                points_of(document["points"]),
                str(document["last_point_window"]),
                points_of(document["points_today"]),
                str(document["point_day"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, TrasgoError):
            raise InputContractError.of(
                Reason.FILE_UNREADABLE,
                "device state",
                required="the state that this client wrote",
                came="another file",
                fix="Restore it; without it the device does not report.",
            ) from None


def charge_report(
    state: DeviceState,
    caps: DeviceCaps,
    channel: ReportChannel,
    *,
    version: str,
    window: str,
    day: str,
    memo: str,
    memo_beyond: str,
) -> tuple[DeviceState, bool]:
    """The state after one more report, and whether its cell has a permanent response of its own.

    Args:
        state: before.
        caps: what the device may spend; public.
        channel: what the report goes through.
        version: alphabet and channel version, as one text.
        window: the window it answers.
        day: today, year-month-day.
        memo: keyed digest of its slot; private.
        memo_beyond: that of the response for all cells beyond the memory; private.

    Raises:
        BudgetError: the window was answered, or a cap would be passed; nothing is charged.
    """
    if window <= state.last_window:
        raise BudgetError.of(
            Reason.ALREADY_EXISTS,
            "window",
            required=f"a window after {state.last_window}, which was answered",
            came=window,
            fix="Send the report of that window again as it is; a device answers once a window.",
        )
    epsilon = channel.claim.epsilon
    today = (state.spent_today if day == state.day else Epsilon(0)) + epsilon
    if today > caps.daily:
        raise _over("daily_epsilon", caps.daily, today)
    fresh, books, fits = dict(state.fresh), dict(state.books), True
    if channel.claim.permanent is None:
        fresh[epsilon.text] = fresh.get(epsilon.text, 0) + 1
    else:
        book = books.get(version, MemoBook(epsilon, channel.claim.permanent, caps.memoised_cells))
        books[version], fits = book._with(memo, memo_beyond)
    after = replace(state, last_window=window, day=day, spent_today=today, fresh=fresh, books=books)
    if not within(after.reserved, after.reserved_rho(), caps):
        raise _over("lifetime_epsilon", caps.lifetime, after.reserved)
    return after, fits


def within(total: Epsilon, rho: Rho, caps: DeviceCaps) -> bool:
    """Whether losses fit the lifetime cap: as they add up or, under ``zcdp``, as concentrated losses do.

    Both hold at once, since how many reports there are depends on nothing private.
    """
    if total <= caps.lifetime:
        return True
    return caps.accounting == "zcdp" and epsilon_of_rho(rho, caps.delta) <= caps.lifetime


def charge_point(state: DeviceState, caps: PointCaps, *, window: str, day: str) -> DeviceState:
    """The state after one more noised point; its budget is apart, and points of one place add up.

    Args:
        state: before.
        caps: what it costs, and what the device may spend on points; public.
        window: the window it answers.
        day: today, year-month-day.

    Raises:
        BudgetError: the window was answered, or a cap would be passed; nothing is charged.
    """
    if window <= state.last_point_window:
        raise BudgetError.of(
            Reason.ALREADY_EXISTS, "window", required="a window not answered yet", came=window, fix="Send it again."
        )
    today = one_more(state.points_today if day == state.point_day else {}, caps.price)
    if (cost := caps.cost(today)) > caps.daily:
        raise _over("point.daily_epsilon", caps.daily, cost)
    points = one_more(state.points, caps.price)
    if (cost := caps.cost(points)) > caps.lifetime:
        raise _over("point.lifetime_epsilon", caps.lifetime, cost)
    return replace(state, points=points, last_point_window=window, points_today=today, point_day=day)


def _sum(amounts: Any) -> Epsilon:
    return Epsilon(sum(amount.units for amount in amounts))


def _over(where: str, cap: Epsilon, came: Epsilon) -> BudgetError:
    return BudgetError.of(
        Reason.OVER_CAP, where, required=f"at most {cap.text}", came=f"{came.text} in all", fix="Do not report."
    )
