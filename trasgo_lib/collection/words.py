"""What every window says alike: the guarantee, what it does not cover, and how figures are to be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GUARANTEE = (
    "Each device noised its own slot before anything left it: whoever sees a report, the collector included, learns of "
    "the place behind it at most what the stated epsilon of a report allows, against any other place."
)

NO_COORDINATE = "Nobody but the device ever held a coordinate."

NOT_COVERED = (
    "that a device takes part, in which windows, with which alphabet and channel, and through which client group",
    "the network: addresses are seen by whoever carries a report; the collector stores none",
    "clients that do not follow the declared channel, by fault or on purpose",
    "when a device that keeps permanent responses changed its cell, or came back to an earlier one: reports through "
    "the same response look alike",
    "places that a device reports in several windows: losses of windows add up to the stated lifetime cap",
    "other collections that a device answers: each has caps of its own, and they add up",
)

CAUTION = (
    "A small or negative estimate, and a cell that is not shown, do not say that nobody was there: noise hides what is "
    "smaller than the stated errors."
)

LEDGER = (
    "No account is charged for this release: every report carries the loss its device paid for it, and counting, "
    "estimating and publishing them, once or again, adds nothing."
)

GUARANTEE_OF_POINTS = (
    "Each device noised its own place before anything left it: whoever sees a point, the collector included, learns of "
    "the lattice cell behind it at most what the stated epsilon of a point allows, against any other cell at the "
    "stated distance, and in proportion against nearer and farther ones: near places can hardly be told apart, far "
    "ones can."
)

BESIDE = (
    "A device that sends both has both losses: whoever can tell that they come from one device learns what both allow."
)

NOT_COVERED_OF_POINTS = (
    "which part of a country or town a point comes from: planar noise hides a place among those around it, not among "
    "all places",
    "how far apart places outside the box of the lattice are: they move to its edge before they are noised, where they "
    "can be further apart than they were, and the losses grow with it",
)

POINT = (
    "Places went through planar Laplace noise on a lattice; the epsilon is for two lattice cells as far apart as "
    "stated, grows with their distance, and comes on top of that of reports of cells. Places are put into cells that "
    "can be further apart than they are: between places the loss is larger, and stated beside it. What is published "
    "undoes the noise on average: without that a map of points is a blurred one that looks exact."
)

POINT_LEFT_OUT = (
    "Devices are also asked for a place with planar Laplace noise. Fewer points came than are published, so none is in "
    "this release; those that were sent cost what they cost, on top of reports of cells."
)


def words_of(*, has_cells: bool, has_points: bool) -> Mapping[str, Any]:
    """What every statement says alike, by key.

    Args:
        has_cells: whether devices are asked for reports of cells.
        has_points: whether they are asked for points.
    """
    guarantees = [GUARANTEE] if has_cells else []
    guarantees += [GUARANTEE_OF_POINTS] if has_points else []
    return {
        "guarantee": " ".join([*guarantees, *([BESIDE] if has_cells and has_points else []), NO_COORDINATE]),
        "neighbours": "a device reports another place, or the same one; everything else is the same",
        "ledger": LEDGER,
        "not_covered": [*NOT_COVERED, *(NOT_COVERED_OF_POINTS if has_points else ())],
        "interval": "each by itself, over the noise of the devices; shares are of the devices that reported",
        "caution": CAUTION,
    }


SHUFFLE_DELTA = 1e-6
SHUFFLE_SOURCE = "Feldman, McMillan and Talwar (2021), Theorem 3.1"

ASSUMPTIONS = (
    "someone other than the analyst takes away who sent a report, when, and in which order",
    "every counted report of the window is in one shuffled batch, and follows its declared channel",
    "it is asked of this window alone: windows share the permanent responses that devices keep, and no bound over "
    "several windows follows from theirs",
)


def memoisation_words(permanent: str | None, cells: int) -> str:
    """What a device keeps between its reports.

    Args:
        permanent: loss of all reports of one slot together, or None.
        cells: permanent responses that a device keeps.
    """
    if permanent is None:
        return "none: each report is drawn afresh, and the losses of reports add up"
    return (
        f"a device keeps at most {cells} permanent responses, one a slot, and noises them afresh for each report: "
        f"all reports of one slot together cost at most {permanent}"
    )
