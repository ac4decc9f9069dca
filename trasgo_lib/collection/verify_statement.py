"""A collection's statement against what follows from its channels and counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.collection.caps import DeviceCaps, fits_lifetime
from trasgo_lib.collection.concluding import SMALL_POPULATION, LevelTable, VersionCounts, linkage, reports_per_cell
from trasgo_lib.collection.health import HealthCheck, check_health
from trasgo_lib.collection.point_budget import PointCaps
from trasgo_lib.collection.point_estimates import PointMap
from trasgo_lib.collection.points import PointLattice
from trasgo_lib.collection.statement import point_losses, shuffled_text
from trasgo_lib.collection.words import SHUFFLE_DELTA
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release import STATEMENT
from trasgo_lib.release.verification import VerificationResult, judge

_CLAIM = Reason.CLAIM_NOT_CERTIFIED
_SHAPE = Reason.SCHEMA_VIOLATION

LEAST_CONFIDENCE, LARGEST_CONFIDENCE = 0.5, 0.9999
"""As a collection file may declare it."""


def verify_statement(
    statement: dict[str, Any], parts: Sequence[VersionCounts], tables: Sequence[LevelTable]
) -> Iterator[VerificationResult]:
    """Every figure of a statement that follows from public files.

    Args:
        statement: of its schema.
        parts: channels, certified anew, and counts of each version.
        tables: what follows from them.
    """
    total = sum(part.counted.reports for part in parts)
    yield judge("sum of the reports", STATEMENT, total, statement["reports"], _SHAPE)
    told = [(one["alphabet"], one["channel"]) for one in statement["versions"]]
    yield judge("same versions", STATEMENT, [tuple(part.tag) for part in parts], told, _SHAPE)
    bounds = [(part.tag.channel, part.counted.reports, shuffled_text(part), f"{SHUFFLE_DELTA:g}") for part in parts]
    came = [(one["channel"], one["reports"], one["epsilon"], one["delta"]) for one in statement["shuffled"]]
    yield judge("shuffled bound", STATEMENT, bounds, came, _CLAIM)
    caps = None if statement["device"] is None else _caps(statement["device"])
    yield judge("caps of a device", STATEMENT, bool(parts), caps is not None, _CLAIM)
    yield judge("rule of what is shown", STATEMENT, True, _is_rule(statement["show"]), _SHAPE)
    weights = {tag: weight for table in tables for tag, weight in table.weights.items()}
    for part, one in zip(parts, statement["versions"], strict=False):
        yield from _version(part, one, caps, statement["show"]["least_reports"])
        is_same = math.isclose(weights[part.tag], one["weight"], rel_tol=1e-6)
        yield judge("weight", _name(part), True, is_same, _SHAPE)
    yield from _tables(statement, tables)


def verify_points(
    statement: dict[str, Any], lattice: PointLattice | None, found: PointMap | None
) -> Iterator[VerificationResult]:
    """What a statement says of points, as far as it follows from public files.

    Args:
        statement: of its schema.
        lattice: what devices were asked for points with, certified anew; None where they were not asked.
        found: what follows from it and the counts; None where none are published.
    """
    point = statement.get("point")
    told = None if point is None else point["estimates"]
    yield judge("points", STATEMENT, (lattice is not None, found is not None), (bool(point), told is not None), _SHAPE)
    if lattice is None or point is None:
        return
    yield from _losses_of_a_point(lattice, point)
    if found is None or told is None:
        return
    table = found.table
    yield judge("enough points", STATEMENT, True, table.reports >= statement["show"]["least_reports"], _CLAIM)
    tied, stated = linkage(table), told["linkage"]
    figures = [
        table.reports,
        len(table.alphabet.cells),
        tied.resolution,
        tied.shown,
        tied.least_devices,
        len(tied.small),
    ]
    came = [told["reports"], told["cells"], *(stated[key] for key in ("resolution", "shown", "least", "small"))]
    yield judge("estimates of points", STATEMENT, figures, came, _SHAPE)
    yield judge("health of points", STATEMENT, True, _same_health([found.health], told["health"]), _SHAPE)


def _losses_of_a_point(lattice: PointLattice, point: dict[str, Any]) -> Iterator[VerificationResult]:
    """What a point cost, as the integers of its noise prove it, and what a device sends at most."""
    channel, tag = lattice.channel, lattice.tag
    parameters = channel.parameters
    each, radius = Epsilon.parse(str(parameters["epsilon"])), str(parameters["radius_m"])
    are_caps = True
    for cap in ("daily_epsilon", "lifetime_epsilon"):
        is_within = _is_within(each, point[cap])
        are_caps = are_caps and is_within
        yield judge(f"within point.{cap}", STATEMENT, True, is_within, _CLAIM)
    if not are_caps:
        return
    caps = PointCaps(each, radius, *(Epsilon.parse(point[cap]) for cap in ("daily_epsilon", "lifetime_epsilon")))
    required = {
        "version": tag.channel, "lattice": tag.alphabet, "mechanism": channel.name,
        "epsilon": each.text, "radius_m": radius, "points_per_window": 1, **point_losses(channel, caps),
    }  # fmt: skip
    yield judge("losses of a point", STATEMENT, required, {key: point[key] for key in required}, _CLAIM)


def _is_rule(show: dict[str, Any]) -> bool:
    """Whether level and confidence are shares that a collection file may declare; no number is none."""
    try:
        level, confidence = float(show["level"]), float(show["confidence"])
    except ValueError:
        return False
    return 0 < level < 1 and LEAST_CONFIDENCE <= confidence <= LARGEST_CONFIDENCE


def _is_within(each: Epsilon, cap: str) -> bool:
    try:
        return each <= Epsilon.parse(cap)
    except (TrasgoError, ValueError):
        return False


def _version(
    part: VersionCounts, one: dict[str, Any], caps: DeviceCaps | None, least_reports: int
) -> Iterator[VerificationResult]:
    name, claim = _name(part), part.channel.claim
    certified, reports = f"{claim.certified:f}", part.counted.reports
    required = (reports, certified, certified, claim.mechanism, claim.slots, part.alphabet.resolution)
    keys = ("reports", "epsilon_per_report", "epsilon_per_window", "mechanism", "slots", "resolution")
    yield judge("losses of a device", name, required, tuple(one[key] for key in keys), _CLAIM)
    permanent = None if claim.permanent is None else claim.permanent.text
    yield judge("permanent loss", name, permanent, one["epsilon_permanent"], _CLAIM)
    words = one["memoisation"]
    is_told = words.startswith("none") if permanent is None else words.endswith(f" at most {permanent}")
    yield judge("words on memory", name, True, is_told, _CLAIM)
    yield judge("within the daily cap", name, True, caps is not None and claim.epsilon <= caps.daily, _CLAIM)
    yield judge("within the lifetime cap", name, True, caps is not None and fits_lifetime(claim, caps), _CLAIM)
    yield judge("enough reports", name, True, reports >= least_reports, _CLAIM)
    is_same = _same_health(check_health(part.channel, part.counted, part.alphabet), one["health"])
    yield judge("health", name, True, is_same, _SHAPE)


def _same_health(found: Sequence[HealthCheck], told: Sequence[dict[str, Any]]) -> bool:
    checks = [(check.name, check.is_passed, check.score, check.limit) for check in found]
    came = [(check["name"], check["passed"], check["score"], check["limit"]) for check in told]
    return len(checks) == len(came) and all(
        right[:2] == wrong[:2] and all(_near(a, b) for a, b in zip(right[2:], wrong[2:], strict=True))
        for right, wrong in zip(checks, came, strict=True)
    )


def _tables(statement: dict[str, Any], tables: Sequence[LevelTable]) -> Iterator[VerificationResult]:
    tied = [[one.resolution, one.shown, one.least_devices, len(one.small)] for one in map(linkage, tables)]
    stated = [[one["resolution"], one["shown"], one["least"], one["small"]] for one in statement["linkage"]["levels"]]
    bound = statement["linkage"]["small_population"]
    yield judge("linkage test", STATEMENT, (SMALL_POPULATION, tied), (bound, stated), _SHAPE)
    rules = [
        [one.resolution, round(one.average, 1), one.is_steady, one.is_fine] for one in map(reports_per_cell, tables)
    ]
    came = [[one["resolution"], one["average"], one["steady"], one["fine"]] for one in statement["reports_per_cell"]]
    yield judge("reports for each cell", STATEMENT, rules, came, _SHAPE)


def _caps(device: dict[str, Any]) -> DeviceCaps | None:
    """What devices may spend, as stated; None where that is no budget."""
    try:
        daily, lifetime = Epsilon.parse(device["daily_epsilon"]), Epsilon.parse(device["lifetime_epsilon"])
        delta = Delta.parse(device["delta"], zero=True)
    except (TrasgoError, ValueError):
        return None
    accounting = device["accounting"]
    if accounting not in ("basic", "zcdp") or (accounting == "zcdp") != (delta > Delta.parse("0", zero=True)):
        return None
    return DeviceCaps(daily, lifetime, accounting, delta, device["memoised_cells"])


def _near(figure: float, written: float) -> bool:
    """Whether a figure is the written one, which has four digits."""
    return math.isclose(figure, written, rel_tol=1e-3, abs_tol=1e-4)


def _name(part: VersionCounts) -> str:
    return f"version {part.tag.channel}"
