"""What is published of a window, whether its reports are sound, and what the office is told of those that were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tasks.collection_closing import Closing, too_few
from tasks.collection_life import WindowPlan
from tasks.collection_session import CollectionSession
from trasgo_lib.collection import HealthCheck, ReportCounts, Tag, check_health
from trasgo_lib.collection.concluding import VersionCounts, conclude, split_over_maps
from trasgo_lib.collection.point_estimates import PointPart, conclude_points
from trasgo_lib.collection.statement import CollectionFacts, show_rule
from trasgo_lib.errors import CheckFailedError, Reason


def facts_of(
    session: CollectionSession,
    window: str,
    closing: Closing,
    counted: dict[Tag, ReportCounts],
    own: WindowPlan,
) -> CollectionFacts:
    """What is published of a window.

    Args:
        session: the collection.
        window: its first day.
        closing: what it was closed with.
        counted: counts by version.
        own: the window as a version.

    Raises:
        InputContractError: a resolution without a version of enough reports.
    """
    plan, least = session.plan, session.config.show.least_reports
    enough = [tag for tag, counts in counted.items() if counts.reports >= least]
    parts = [
        VersionCounts(version.level, version.alphabet, version.channel, counted[version.tag])
        for version in plan.versions
        if version.tag in enough
    ]
    if {part.level for part in parts} != {version.level for version in plan.versions}:
        raise too_few(window, f"fewer than {least} of some resolution")
    points = None
    if plan.point is not None and plan.point.tag in enough:
        points = PointPart(plan.point.lattice, counted[plan.point.tag])
    if not parts and points is None:
        raise too_few(window, f"fewer than {least} points")
    of_cells, of_points = split_over_maps(show_rule(plan), len(plan.current), has_points=points is not None)
    return CollectionFacts(
        plan=plan,
        window=window,
        parts=parts,
        left_out=sorted(tag for tag in counted if tag not in enough and plan.version_of(tag) is not None),
        tables=conclude(parts, of_cells),
        health={part.tag: check_health(part.channel, part.counted, part.alphabet) for part in parts},
        created=closing.created,
        library_version=closing.library_version,
        commit=closing.commit,
        info=own.config.release,
        points=None if points is None else conclude_points(points, of_points),
    )


def require_healthy(session: CollectionSession, facts: CollectionFacts) -> None:
    """Stop when reports or points do not follow what was declared, unless the file publishes them all the same.

    Args:
        session: the collection.
        facts: what would be published.

    Raises:
        CheckFailedError: exit 7.
    """
    if session.config.show.on_unhealthy == "publish":
        return
    failed = [check for _, check in _checks(facts) if not check.is_passed]
    if failed:
        raise CheckFailedError.of(
            Reason.CHECK_FAILED,
            f"reports of window {facts.window}",
            required="reports that follow their declared channel",
            came="; ".join(f"{check.name}: {check.words}" for check in failed),
            fix="Find the clients that answer otherwise. To publish all the same: another release.version, and below "
            "`show` the key `on_unhealthy: publish`.",
        )


def restricted_report(
    facts: CollectionFacts, closing: Closing, counted: dict[Tag, ReportCounts], unknown: Counter[Tag]
) -> dict[str, Any]:
    """For the office: what was refused and why, what was left out, and every health check.

    Args:
        facts: what is published.
        closing: what the window was closed with.
        counted: counts by version, also of those that are left out.
        unknown: reports of versions that the file does not know.
    """
    return {
        "format": 1,
        "window": facts.window,
        "batches": closing.batches,
        "refused": closing.refused,
        "refused_when_counted": [
            {"alphabet": tag.alphabet, "channel": tag.channel, "refused": dict(counts.refused)}
            for tag, counts in sorted(counted.items())
        ],
        "unknown_versions": [
            {"alphabet": tag.alphabet, "channel": tag.channel, "reports": reports}
            for tag, reports in sorted(unknown.items())
        ],
        "left_out": [
            {"alphabet": tag.alphabet, "channel": tag.channel, "reports": counted[tag].reports}
            for tag in sorted(set(counted) - facts.tags)
        ],
        "health": [
            {"channel": tag.channel, "name": check.name, "observed": check.observed, "expected": check.expected,
             "score": check.score, "limit": check.limit, "passed": check.is_passed}
            for tag, check in _checks(facts)
        ],
    }  # fmt: skip


def _checks(facts: CollectionFacts) -> Iterator[tuple[Tag, HealthCheck]]:
    """Every health check, with what it is of."""
    yield from ((tag, check) for tag, checks in facts.health.items() for check in checks)
    if facts.points is not None:
        yield facts.points.part.lattice.tag, facts.points.health
