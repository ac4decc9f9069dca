"""``statement.json`` of a collection: what a device's reports cost it, and what was done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trasgo_lib.collection.concluding import (
    SMALL_POPULATION,
    LevelTable,
    ShowRule,
    VersionCounts,
    linkage,
    reports_per_cell,
)
from trasgo_lib.collection.health import HealthCheck
from trasgo_lib.collection.plan import CollectionPlan
from trasgo_lib.collection.point_budget import PointCaps
from trasgo_lib.collection.point_estimates import PointMap
from trasgo_lib.collection.points import PointPlan
from trasgo_lib.collection.reports import Tag
from trasgo_lib.collection.shuffling import shuffle_bound
from trasgo_lib.collection.words import (
    ASSUMPTIONS,
    POINT,
    POINT_LEFT_OUT,
    SHUFFLE_DELTA,
    SHUFFLE_SOURCE,
    memoisation_words,
    words_of,
)
from trasgo_lib.config import ReleaseInfo, Supersedes
from trasgo_lib.mechanisms.planar_channel import PlanarChannel
from trasgo_lib.plan import canonical_digest
from trasgo_lib.release.corrections import supersedes_of


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """Everything the public documents are made of.

    Args:
        plan: the compiled collection.
        window: its first day.
        parts: what was counted of each version that is published.
        left_out: versions with too few reports to be published.
        tables: the estimates, coarse to fine.
        health: the checks of each version.
        created: when the window was closed, ISO 8601 with a time zone.
        library_version: version of this library.
        commit: source revision, or ``unknown``.
        info: what the file says of the release, with the version of this window and the one that it corrects.
        points: what is published of noised points, or None.
    """

    plan: CollectionPlan
    window: str
    parts: Sequence[VersionCounts]
    left_out: Sequence[Tag]
    tables: Sequence[LevelTable]
    health: Mapping[Tag, Sequence[HealthCheck]]
    created: str
    library_version: str
    commit: str
    info: ReleaseInfo
    points: PointMap | None = None

    @property
    def dataset(self) -> str:
        """Name of the collection."""
        return self.info.dataset

    @property
    def version(self) -> str:
        """Version of the release: the window, and the version of the collection file."""
        return self.info.version

    @property
    def reports(self) -> int:
        """Reports of cells that were counted."""
        return sum(part.counted.reports for part in self.parts)

    @property
    def tags(self) -> frozenset[Tag]:
        """What the counted reports and points carry."""
        points = () if self.points is None else (self.points.part.lattice.tag,)
        return frozenset((*(part.tag for part in self.parts), *points))

    @property
    def answers(self) -> int:
        """Reports of cells and points that were counted."""
        return self.reports + (0 if self.points is None else self.points.table.reports)


def release_version(plan: CollectionPlan, window: str) -> str:
    """The version under which a window is published."""
    return f"{window}.{plan.config.release.version}"


def window_info(plan: CollectionPlan, window: str, corrects: Supersedes | None = None) -> ReleaseInfo:
    """What a window's release says of itself.

    Args:
        plan: the compiled collection.
        window: its first day.
        corrects: the version of this window that it takes the place of, or None.
    """
    own = {"version": release_version(plan, window), "supersedes": corrects}
    return plan.config.release.model_copy(update=own)


def show_rule(plan: CollectionPlan) -> ShowRule:
    """What decides which cells are shown, as the file declares it."""
    return ShowRule(float(plan.config.show.level), float(plan.config.show.confidence))


def plan_digest(plan: CollectionPlan) -> str:
    """Digest of everything that decides what is published of a window, hex; public."""
    supersedes = plan.config.release.supersedes
    return canonical_digest(
        {
            "format": 1,
            # only where it is set, so that files that correct none keep their digests
            **({} if supersedes is None else {"supersedes": supersedes.model_dump(mode="json")}),
            "collection": plan.digest,
            "dataset": plan.config.release.dataset,
            "version": plan.config.release.version,
            "show": plan.config.show.model_dump(mode="json"),
        }
    )


def statement_document(facts: CollectionFacts) -> dict[str, Any]:
    """The content of ``statement.json``, format 1."""
    plan = facts.plan
    info, device = facts.info, plan.config.device
    words = words_of(has_cells=device is not None, has_points=plan.point is not None)
    return {
        "format": 1,
        "kind": "collection",
        "dataset": info.dataset,
        "version": facts.version,
        "title": info.title,
        "description": info.description,
        "supersedes": supersedes_of(info),
        "window": {"first_day": facts.window, "days": plan.windows.days, "late_days": plan.windows.late_days},
        "model": "local",
        "guarantee": words["guarantee"],
        "unit": "device",
        "neighbours": words["neighbours"],
        "versions": [_version(facts, part) for part in facts.parts],
        "left_out": [{"alphabet": tag.alphabet, "channel": tag.channel} for tag in facts.left_out],
        "device": None
        if device is None
        else {
            "reports_per_window": 1,
            "daily_epsilon": device.daily_epsilon,
            "lifetime_epsilon": device.lifetime_epsilon,
            "accounting": device.accounting,
            "delta": device.delta,
            "memoised_cells": device.memoised_cells,
        },
        **({} if plan.point is None else {"point": _point(plan.point, facts.points)}),
        "ledger": words["ledger"],
        "shuffled": _shuffled(facts),
        "not_covered": words["not_covered"],
        "reports": facts.reports,
        "show": {
            "level": plan.config.show.level,
            "confidence": plan.config.show.confidence,
            "least_reports": plan.config.show.least_reports,
        },
        "interval": words["interval"],
        "caution": words["caution"],
        "reports_per_cell": [_each_cell(table) for table in facts.tables],
        # how many cells and not which: the statement stays when the estimates are taken back
        "linkage": {
            "small_population": SMALL_POPULATION,
            "levels": [_linkage(table) for table in facts.tables],
        },
        "created": facts.created,
        "library_version": facts.library_version,
        "commit": facts.commit,
    }


def _each_cell(table: LevelTable) -> dict[str, Any]:
    one = reports_per_cell(table)
    return {
        "resolution": one.resolution,
        "average": round(one.average, 1),
        "steady": one.is_steady,
        "fine": one.is_fine,
    }


def _linkage(table: LevelTable) -> dict[str, Any]:
    one = linkage(table)
    return {"resolution": one.resolution, "shown": one.shown, "least": one.least_devices, "small": len(one.small)}


def _point(point: PointPlan, found: PointMap | None) -> dict[str, Any]:
    return {
        "version": point.tag.channel,
        "lattice": point.tag.alphabet,
        "mechanism": point.channel.name,
        "epsilon": point.epsilon.text,
        "radius_m": point.radius_m,
        "points_per_window": 1,
        "daily_epsilon": point.daily.text,
        "lifetime_epsilon": point.lifetime.text,
        **point_losses(point.channel, point.caps),
        "words": POINT_LEFT_OUT if found is None else POINT,
        "estimates": None
        if found is None
        else {
            "reports": found.table.reports,
            "cells": len(found.table.alphabet.cells),
            "health": [_health(found.health)],
            "linkage": _linkage(found.table),
        },
    }


def point_losses(channel: PlanarChannel, caps: PointCaps) -> dict[str, Any]:
    """What the integers of a channel of points prove, by key of the statement.

    The cap of a device is over lattice cells; between places as far apart as the radius, its points cost more.

    Args:
        channel: planar noise.
        caps: what a device may spend on points, at the radius of the channel.
    """
    of_places = channel.raw_point_epsilon(Decimal(caps.radius_m))
    return {
        "certified_epsilon": f"{channel.certified_epsilon:f}",
        "epsilon_of_raw_places": f"{of_places:f}",
        "points_ever": caps.points_ever,
        "lifetime_epsilon_of_raw_places": f"{caps.points_ever * of_places:f}",
    }


def _health(one: HealthCheck) -> dict[str, Any]:
    return {
        "name": one.name,
        "passed": one.is_passed,
        "score": float(f"{one.score:.4g}"),
        "limit": float(f"{one.limit:.4g}"),
    }


def _version(facts: CollectionFacts, part: VersionCounts) -> dict[str, Any]:
    claim, tag = part.channel.claim, part.tag
    table = next(one for one in facts.tables if one.alphabet == part.alphabet)
    permanent = None if claim.permanent is None else claim.permanent.text
    return {
        "alphabet": tag.alphabet,
        "channel": tag.channel,
        "resolution": part.alphabet.resolution,
        "mechanism": claim.mechanism,
        "slots": part.channel.slots,
        "reports": part.counted.reports,
        "weight": float(f"{table.weights[tag]:.9g}"),
        "epsilon_per_report": f"{claim.certified:f}",
        "epsilon_per_window": f"{claim.certified:f}",
        "epsilon_permanent": permanent,
        "memoisation": memoisation_words(permanent, 0 if facts.plan.caps is None else facts.plan.caps.memoised_cells),
        "health": [_health(one) for one in facts.health[tag]],
    }


def shuffled_text(part: VersionCounts) -> str | None:
    """The epsilon of the shuffled model for the reports of a version; None where the bound says nothing."""
    bound = shuffle_bound(float(part.channel.claim.certified), SHUFFLE_DELTA, part.counted.reports)
    return None if bound.epsilon is None else f"{bound.epsilon:.4f}"


def _shuffled(facts: CollectionFacts) -> list[dict[str, Any]]:
    """The extra of the shuffled model, by version; never instead of the local claim."""
    found = []
    for part in facts.parts:
        epsilon = shuffled_text(part)
        found.append(
            {
                "channel": part.tag.channel,
                "reports": part.counted.reports,
                "epsilon": epsilon,
                "delta": f"{SHUFFLE_DELTA:g}",
                "assumptions": list(ASSUMPTIONS),
                "source": SHUFFLE_SOURCE,
            }
        )
    return found
