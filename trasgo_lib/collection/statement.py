"""``statement.json`` of a collection: what a device's reports cost it, and what was done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from trasgo_lib.collection.points import PointPlan
from trasgo_lib.collection.reports import Tag
from trasgo_lib.collection.shuffling import shuffle_bound
from trasgo_lib.config import ReleaseInfo, Supersedes
from trasgo_lib.plan import canonical_digest
from trasgo_lib.release.corrections import supersedes_of

GUARANTEE = (
    "Each device noised its own slot before anything left it: whoever sees a report, the collector included, learns of "
    "the place behind it at most what the stated epsilon of a report allows, against any other place. Nobody but the "
    "device ever held a coordinate."
)

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

POINT = (
    "Devices are also asked for a place with planar Laplace noise, which is not in this release. Its loss is for two "
    "places that far apart, and comes on top of that of the cells: whoever sees both learns what both allow."
)

WORDS: Mapping[str, Any] = {
    "guarantee": GUARANTEE,
    "neighbours": "a device reports another place, or the same one; everything else is the same",
    "ledger": LEDGER,
    "not_covered": list(NOT_COVERED),
    "interval": "each by itself, over the noise of the devices; shares are of the devices that reported",
    "caution": CAUTION,
}
"""What every statement says alike, by key."""

SHUFFLE_DELTA = 1e-6
SHUFFLE_SOURCE = "Feldman, McMillan and Talwar (2021), Theorem 3.1"

ASSUMPTIONS = (
    "someone other than the analyst takes away who sent a report, when, and in which order",
    "every counted report of the window is in one shuffled batch, and follows its declared channel",
    "it is asked of this window alone: windows share the permanent responses that devices keep, and no bound over "
    "several windows follows from theirs",
)


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
        """Reports that were counted."""
        return sum(part.counted.reports for part in self.parts)

    @property
    def rule(self) -> ShowRule:
        """What decides which cells are shown."""
        return show_rule(self.plan)


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
        "guarantee": WORDS["guarantee"],
        "unit": "device",
        "neighbours": WORDS["neighbours"],
        "versions": [_version(facts, part) for part in facts.parts],
        "left_out": [{"alphabet": tag.alphabet, "channel": tag.channel} for tag in facts.left_out],
        "device": {
            "reports_per_window": 1,
            "daily_epsilon": device.daily_epsilon,
            "lifetime_epsilon": device.lifetime_epsilon,
            "accounting": device.accounting,
            "delta": device.delta,
            "memoised_cells": device.memoised_cells,
        },
        **({} if plan.point is None else {"point": _point(plan.point)}),
        "ledger": WORDS["ledger"],
        "shuffled": _shuffled(facts),
        "not_covered": list(WORDS["not_covered"]),
        "reports": facts.reports,
        "show": {
            "level": plan.config.show.level,
            "confidence": plan.config.show.confidence,
            "least_reports": plan.config.show.least_reports,
        },
        "interval": WORDS["interval"],
        "caution": WORDS["caution"],
        "reports_per_cell": [
            {
                "resolution": one.resolution,
                "average": round(one.average, 1),
                "steady": one.is_steady,
                "fine": one.is_fine,
            }
            for one in (reports_per_cell(table) for table in facts.tables)
        ],
        # how many cells and not which: the statement stays when the estimates are taken back
        "linkage": {
            "small_population": SMALL_POPULATION,
            "levels": [
                {"resolution": one.resolution, "shown": one.shown, "least": one.least_devices, "small": len(one.small)}
                for one in (linkage(table) for table in facts.tables)
            ],
        },
        "created": facts.created,
        "library_version": facts.library_version,
        "commit": facts.commit,
    }


def _point(point: PointPlan) -> dict[str, str]:
    return {
        "version": point.version,
        "epsilon": point.epsilon.text,
        "radius_m": point.radius_m,
        "daily_epsilon": point.daily.text,
        "lifetime_epsilon": point.lifetime.text,
        "words": POINT,
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
        "memoisation": memoisation_words(permanent, facts.plan.config.device.memoised_cells),
        "health": [
            {
                "name": one.name,
                "passed": one.is_passed,
                "score": float(f"{one.score:.4g}"),
                "limit": float(f"{one.limit:.4g}"),
            }
            for one in facts.health[tag]
        ],
    }


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
