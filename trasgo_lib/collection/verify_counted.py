"""What was counted of a published window, from its files alone: channels, lattice and alphabets certified anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.building import rebuild_report_channel
from trasgo_lib.collection.concluding import VersionCounts
from trasgo_lib.collection.counting import ReportCounts
from trasgo_lib.collection.point_estimates import PointPart
from trasgo_lib.collection.points import PointLattice
from trasgo_lib.release import documents
from trasgo_lib.release.collection_file import alphabet_key

Read = Callable[[str], bytes]
"""The content of a file of the package, by its path."""


def read_parts(read: Read, counts: dict[str, Any], channels: dict[str, Any]) -> tuple[VersionCounts, ...]:
    """What was counted of each version; channels and alphabets are certified on the way.

    Args:
        read: the content of a file of the package.
        counts: the parsed counts, of their schema.
        channels: the parsed channels, of their schema.

    Raises:
        ValueError: versions, slots and counts do not belong together.
        TrasgoError: a channel proves less than it claims, or a file is damaged.
    """
    resolutions = sorted({one["resolution"] for one in channels["versions"]})
    parts = []
    for told, counted in zip(channels["versions"], counts["versions"], strict=True):
        alphabet = Alphabet.from_json(documents.parse(read(alphabet_key(told["alphabet"])), "alphabet"))
        channel = rebuild_report_channel(told["channel"])
        numbers = np.array(counted["counts"], dtype=np.int64)
        part = VersionCounts(
            resolutions.index(told["resolution"]), alphabet, channel,
            ReportCounts(channel.kind, numbers, counted["reports"], {}),
        )  # fmt: skip
        sound = (
            tuple(part.tag)
            == (counted["alphabet"], counted["channel"])
            == (told["alphabet"], told["channel"]["version"])
            and alphabet.slots == channel.slots == len(numbers)
            and alphabet.resolution == told["resolution"]
            and bool((numbers <= counted["reports"]).all())
            and (channel.kind == "bits" or sum(numbers.tolist()) == counted["reports"])
        )
        if not sound:
            raise ValueError("versions, slots and counts do not belong together")
        parts.append(part)
    levels = {part.level: part.alphabet.version for part in parts}
    if any(levels[part.level] != part.alphabet.version for part in parts):
        raise ValueError("one resolution has one alphabet")
    if len({part.tag for part in parts}) < len(parts):
        raise ValueError("each version is counted once")
    return tuple(parts)


def read_lattice(read: Read, channels: dict[str, Any]) -> PointLattice | None:
    """The lattice and noise that devices were asked for points with, certified anew; None where there were none.

    Args:
        read: the content of a file of the package.
        channels: the parsed channels, of their schema.

    Raises:
        ValueError: an alphabet that is none of points.
        TrasgoError: the noise proves less than it claims, or a file is damaged.
    """
    if "points" not in channels:
        return None
    told = channels["points"]
    alphabet = Alphabet.from_json(documents.parse(read(alphabet_key(told["alphabet"])), "alphabet"))
    if alphabet.has_nobody:
        raise ValueError("nobody is asked for points of nobody")
    return PointLattice.from_json(told, alphabet)


def read_points(counts: dict[str, Any], lattice: PointLattice | None) -> PointPart | None:
    """What was counted of points; None where none is published.

    Args:
        counts: the parsed counts, of their schema.
        lattice: as ``read_lattice`` gave it.

    Raises:
        ValueError: lattice and counts do not belong together, or nothing was counted at all.
    """
    if "points" not in counts:
        if not counts["versions"]:
            raise ValueError("neither reports nor points")
        return None
    counted = counts["points"]
    numbers = np.array(counted["counts"], dtype=np.int64)
    sound = (
        lattice is not None
        and tuple(lattice.tag) == (counted["lattice"], counted["channel"])
        and len(numbers) == lattice.domain.size
        and sum(numbers.tolist()) == counted["reports"]  # of whole numbers without end: a sum of int64 wraps
    )
    if lattice is None or not sound:
        raise ValueError("lattice, points and counts do not belong together")
    return PointPart(lattice, ReportCounts("slot", numbers, counted["reports"], {}))
