"""Noised points: planar Laplace noise on a lattice, drawn on the device, with a budget per distance of its own.

They travel as reports do: the lattice is what a report's slot is a cell of, so it stands where an alphabet would, and
the collector takes both alike. What is estimated of them is the shares of H3 cells; a cell is taken as the lattice
cells whose centres it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, cos, radians
from typing import Any

import numpy as np
import rfc8785
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection.alphabet import Alphabet, Slots
from trasgo_lib.collection.point_budget import PointCaps
from trasgo_lib.collection.reports import SlotShape, Tag
from trasgo_lib.config import PointSpec
from trasgo_lib.data import BoxDomain
from trasgo_lib.data.cells import cell_rings, cells_of, children_of
from trasgo_lib.errors import ConfigError, Reason, VerificationError
from trasgo_lib.mechanisms.planar import build_planar_laplace, rebuild_planar_laplace
from trasgo_lib.mechanisms.planar_channel import PlanarChannel

MOST_CELLS = 2**18
"""Of a lattice whose noise is undone: seconds of work for the whole, and a megabyte of published counts."""

_LEAST_DECAY = 0.25
"""Of the noise per lattice cell. Undoing finer noise leaves shares with errors a thousand times those of counting, and
takes the longer: near the edge of the lattice the error of one cell takes 0.4 s here, and 8 s at 0.1."""

_LARGEST_DECAY = 8
_ROUNDED = 0.99
"""Channels are built 1e-9 below their claim, which of the least claim is a thousandth."""

_LEAST_PER_CELL = 4
"""Lattice cells that make up an H3 cell at least: of fewer its outline says nothing."""

_MOST_H3_CELLS = 8192
_NONE_WITHIN = "Put the box around the area (latitude comes first), make it wider, or change resolution."
_STEPS_INSIDE = 2
_METRES_PER_DEGREE = 111_320.0
_VERSION_HEX = 32


@dataclass(frozen=True)
class PointLattice:
    """A lattice with the noise over it, and the H3 cells it is read in.

    Args:
        domain: the lattice.
        channel: planar Laplace noise over it.
        alphabet: the H3 cells, and ``other`` for everywhere else.
    """

    domain: BoxDomain
    channel: PlanarChannel = field(repr=False)
    alphabet: Alphabet

    @cached_property
    def tag(self) -> Tag:
        """What its reports carry: digests of the lattice, and of the noise over it."""
        lattice = hashlib.sha256(b"trasgo-lattice/1" + rfc8785.dumps(self.domain.describe()))
        return Tag(lattice.hexdigest()[:_VERSION_HEX], self.channel.digest[:_VERSION_HEX])

    @property
    def shape(self) -> SlotShape:
        """What its reports look like."""
        return SlotShape(self.domain.size)

    def to_json(self) -> dict[str, Any]:
        """The lattice and its noise as they are published: strict JSON from which both follow."""
        return {
            "lattice": self.tag.alphabet,
            "alphabet": self.alphabet.version,
            "resolution": self.alphabet.resolution,
            "domain": self.domain.describe(),
            "channel": {
                "version": self.tag.channel,
                "mechanism": self.channel.name,
                "certified_epsilon": f"{self.channel.certified_epsilon:f}",
                "parameters": self.channel.parameters,
            },
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], alphabet: Alphabet) -> PointLattice:
        """The lattice of a published document, its noise certified anew.

        Args:
            document: as ``to_json`` wrote it.
            alphabet: of the version that it names.

        Raises:
            ConfigError: damaged, or of another alphabet.
            VerificationError: its integers prove less than it claims.
        """
        told = document["domain"]
        domain = BoxDomain(tuple(told["box"]), told["crs"], told["step_m"])
        _require_workable(domain, float(document["channel"]["parameters"]["decay_per_cell"]), alphabet)
        channel = rebuild_planar_laplace(domain, document["channel"]["parameters"])
        if not isinstance(channel, PlanarChannel):
            raise TypeError("a box has a planar channel")
        found = cls(domain, channel, alphabet)
        if found.to_json() != document:
            raise VerificationError.of(
                Reason.CLAIM_NOT_CERTIFIED,
                "points",
                required="claims and versions that follow from lattice and integers",
                came="others",
                fix="Do not use this release: its channel file was changed.",
            )
        _require_filled(found)
        return found

    @cached_property
    def places(self) -> Slots:
        """The slot of the H3 cell that the centre of each lattice cell lies in: int32[lattice cells]."""
        centres = self.domain.decode(np.arange(self.domain.size, dtype=np.int32))
        return self.alphabet.slots_of(cells_of(*centres, self.alphabet.resolution))


@dataclass(frozen=True, slots=True)
class PointPlan:
    """The compiled section ``point``.

    Args:
        lattice: the lattice, its noise, and its H3 cells.
        epsilon: loss of one point, for two places ``radius_m`` apart.
        radius_m: metres, decimal text.
        daily: most that the points of one day cost, at that radius.
        lifetime: most that all points of a device cost, at that radius.
        cells_cut: cells of the area that do not lie whole within the box, and count as ``other``.
    """

    lattice: PointLattice
    epsilon: Epsilon
    radius_m: str
    daily: Epsilon
    lifetime: Epsilon
    cells_cut: int

    @property
    def domain(self) -> BoxDomain:
        """The lattice that devices encode with."""
        return self.lattice.domain

    @property
    def channel(self) -> PlanarChannel:
        """The noise that they draw."""
        return self.lattice.channel

    @property
    def tag(self) -> Tag:
        """What its reports carry."""
        return self.lattice.tag

    @property
    def caps(self) -> PointCaps:
        """What a point costs, and what a device may spend on points."""
        return PointCaps(self.epsilon, self.radius_m, self.daily, self.lifetime)


def compile_points(spec: PointSpec, finest: Alphabet) -> PointPlan:
    """Build the channel of a section ``point``, and the cells that its points are counted in.

    Args:
        spec: the section; public.
        finest: the finest alphabet of the area, of whose cells they are parents or children.

    Raises:
        ConfigError: a box, projection, step or loss that does not suit, or cells that do not suit the lattice.
    """
    domain = BoxDomain(tuple(spec.box), spec.crs, spec.step_m)
    each = Epsilon.parse(spec.geo.epsilon)
    daily, lifetime = Epsilon.parse(spec.daily_epsilon), Epsilon.parse(spec.lifetime_epsilon)
    _require_affordable(each, daily_epsilon=daily, lifetime_epsilon=lifetime)
    _require_undone(domain, each, spec.geo.radius_m)
    channel = build_planar_laplace(domain, spec.geo.epsilon, radius_m=spec.geo.radius_m)
    if not isinstance(channel, PlanarChannel):
        raise TypeError("a box has a planar channel")
    alphabet, cut = _cells_within(spec, domain, finest)
    lattice = PointLattice(domain, channel, alphabet)
    _require_filled(lattice)
    return PointPlan(lattice, each, str(channel.parameters["radius_m"]), daily, lifetime, cut)


def _require_affordable(each: Epsilon, **caps: Epsilon) -> None:
    for name, cap in caps.items():
        if each > cap:
            required = f"at least {each.text}, what one point costs"
            raise _bad(name, required, cap.text, "Raise it, or lower geo.epsilon.")


def _require_undone(domain: BoxDomain, each: Epsilon, radius_m: object) -> None:
    step, per_metre = float(domain.step_m), float(each.decimal) / float(str(radius_m))
    least = max(step * (domain.size / MOST_CELLS) ** 0.5, _LEAST_DECAY / per_metre)
    if domain.size > MOST_CELLS or step < _LEAST_DECAY / per_metre:
        required = f"about {ceil(least)} m or more: a lattice of at most {MOST_CELLS} cells, whose noise can be undone"
        raise _bad("step_m", required, f"{domain.step_m} m, {domain.size} cells", "Raise it.")


def _require_workable(domain: BoxDomain, decay: float, alphabet: Alphabet) -> None:
    """Refuse what ``compile_points`` never makes, before a stranger's file is worked with for hours."""
    if domain.size > MOST_CELLS or not _LEAST_DECAY * _ROUNDED <= decay <= _LARGEST_DECAY:
        raise _bad("lattice", "a lattice and noise that can be undone", "others", "The channel file is damaged.")
    if len(alphabet.cells) > _MOST_H3_CELLS or not _within(alphabet.cells, domain).all():
        required = f"at most {_MOST_H3_CELLS} cells that lie within the box"
        raise _bad("alphabet", required, "others", "The channel file is damaged.")


def _cells_within(spec: PointSpec, domain: BoxDomain, finest: Alphabet) -> tuple[Alphabet, int]:
    """The cells of the area that lie whole within the box, and how many do not."""
    if spec.resolution <= finest.resolution:
        cells = finest.coarser(spec.resolution).cells
    else:
        most = _MOST_H3_CELLS * 8
        if len(finest.cells) * 7 ** (spec.resolution - finest.resolution) > most:
            raise _bad("resolution", f"at most about {_MOST_H3_CELLS} cells", "more", "Lower it.")
        cells = children_of(finest.cells, spec.resolution)
    kept = cells[_within(cells, domain)]
    if not 2 <= len(kept) <= _MOST_H3_CELLS:
        required = f"2 to {_MOST_H3_CELLS} cells of resolution {spec.resolution} that lie within it"
        fix = _NONE_WITHIN if len(kept) < 2 else "Lower resolution."
        raise _bad("box", required, f"{len(kept)} of {len(cells)}", fix)
    found = Alphabet(spec.resolution, kept)
    if across := found.cells_across():
        required = "cells that lie neither across the 180th meridian nor around a pole, so that maps can hold them"
        fix = "Raise it, or end the area a cell's width before."
        raise _bad("resolution", required, f"{across} of {len(kept)} that do", fix)
    return found, len(cells) - len(kept)


def _within(cells: NDArray[np.uint64], domain: BoxDomain) -> NDArray[np.bool_]:
    """Which cells lie whole within the box, away from its edge."""
    south, west, north, east = (float(edge) for edge in domain.box)
    step = float(domain.step_m)
    return np.array([_lies_within(ring, (south, west, north, east), step) for ring in cell_rings(cells)])


def _lies_within(ring: Sequence[tuple[float, float]], box: tuple[float, float, float, float], step: float) -> bool:
    """Whether a cell lies in the box and away from its edge, to which all places outside are moved."""
    south, west, north, east = box
    up = _STEPS_INSIDE * step / _METRES_PER_DEGREE
    for latitude, longitude in ring:
        aside = up / max(0.01, cos(radians(latitude)))
        past_west = (longitude - west) % 360.0
        if not (south + up <= latitude <= north - up and aside <= past_west <= (east - west) % 360.0 - aside):
            return False
    return True


def _require_filled(lattice: PointLattice) -> None:
    fewest = int(np.bincount(lattice.places, minlength=lattice.alphabet.slots)[: lattice.alphabet.other].min())
    if fewest < _LEAST_PER_CELL:
        required = f"cells of at least {_LEAST_PER_CELL} lattice cells each"
        raise _bad("resolution", required, f"one of {fewest}", "Lower it, or step_m.")


def lattice_cells(lattice: PointLattice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lattice cells by slot: int64[lattice cells], and where those of each slot begin: int64[slots + 1]."""
    order = np.argsort(lattice.places, kind="stable")
    counts = np.bincount(lattice.places, minlength=lattice.alphabet.slots)
    return order, np.concatenate([[0], np.cumsum(counts)])


def _bad(name: str, required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_PARAMETER, f"point.{name}", required=required, came=came, fix=fix)
