"""What a plan means, as plain values: for ``trasgo plan``, its ``--json`` and the reports."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from trasgo_lib.amounts import Epsilon
from trasgo_lib.plan import precision, words
from trasgo_lib.plan.model import ReleasePlan, UnitPlan
from trasgo_lib.plan.reach import shortfall
from trasgo_lib.plan.totals import worst_case

NOT_COVERED = (
    "the number of rows",
    "columns declared public, and that the input passed its contract",
    "choices that people make after reading a restricted report",
    "machine memory and swap, and anyone who holds the key or the raw file",
)
"""Said wherever the guarantee is stated."""

_MOST_RUNGS = 5
"""Levels of one column that get figures; more would not be read."""

_QUICK_CODES = 2**13
"""Above so many codes the figures of one level take seconds, and only the first and the last level get them."""


@dataclass(frozen=True, slots=True)
class RungExplanation:
    """One level of one column.

    Args:
        level: epsilon of a draw, or of two places at the declared radius; decimal text.
        charged: what a draw costs a privacy unit, decimal text (points: geo epsilon per km).
        strength: its band, from very strong to close to none.
        odds_factor: factor by which an attacker's odds on any two values can change, e**charged.
        even_guess: what a guess of 50 % between two values can become.
        noise_sd: standard deviation of one decoded value, in the column's unit; None for labels and points.
        noise_of_range: the same as a share of the declared range.
        mean_error: 95 % error of a mean over 10,000 rows from the noise alone, in the column's unit.
        keep_probability: chance that a value comes out as it went in; None for points.
        share_error: 95 % error of an estimated share over 10,000 rows from the noise alone; categories only.
        share_at_bounds: expected share of released values on the two ends, for an evenly spread column.
        share_released_missing: chance that a present value is released as missing.
        displacement_m: mean, median and 95th percentile of how far a place moves, metres; points only.
    """

    level: str
    charged: str
    strength: str
    odds_factor: str
    even_guess: str
    noise_sd: float | None = None
    noise_of_range: float | None = None
    mean_error: float | None = None
    keep_probability: float | None = None
    share_error: float | None = None
    share_at_bounds: float | None = None
    share_released_missing: float | None = None
    displacement_m: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class UnitExplanation:
    """One noise unit in words and figures; ``levels`` are all its rungs, ``rungs`` those with figures.

    ``selection`` says how auto came to the mechanism, and is empty where the release file names it.
    """

    name: str
    type: str
    columns: tuple[str, ...]
    mechanism: str
    values: str
    unit: str
    sensitivity: str
    missing: str
    outside: str
    delta: str
    target: str
    draws_at_most: int
    levels: tuple[str, ...]
    rungs: tuple[RungExplanation, ...]
    selection: str = ""


@dataclass(frozen=True, slots=True)
class PlanExplanation:
    """A plan in words and figures; all public, no data was opened."""

    dataset: str
    version: str
    account: str
    privacy_unit: str
    row_order: str
    composition: str
    epsilon_total: str
    delta_total: str
    geo_total: str
    first_round: str
    worst_case: dict[str, str]
    total_strength: str
    units: tuple[UnitExplanation, ...]
    public: tuple[str, ...]
    dropped: tuple[str, ...]
    warnings: tuple[str, ...]
    not_covered: tuple[str, ...]
    digest: str

    def to_json(self) -> dict[str, Any]:
        """Strict JSON: amounts as decimal text, derived figures as numbers, no NaN."""
        return asdict(self)


def explain(plan: ReleasePlan) -> PlanExplanation:
    """What a plan means.

    Args:
        plan: a compiled plan.
    """
    units = tuple(_unit(unit, plan) for unit in plan.units)
    first = Epsilon(sum(unit.rungs[0].units for unit in plan.units) * plan.max_rows)
    return PlanExplanation(
        dataset=plan.dataset,
        version=plan.version,
        account=plan.account,
        privacy_unit=_privacy_unit(plan),
        row_order=_row_order(plan),
        composition=_composition(plan),
        epsilon_total=plan.epsilon_total.text,
        delta_total=plan.delta_total.text,
        geo_total=plan.geo_total.text,
        first_round=first.text,
        worst_case=worst_case(plan).to_json(),
        total_strength=words.strength_in_words(plan.epsilon_total),
        units=units,
        public=tuple(column.name for column in plan.columns if column.role == "public"),
        dropped=tuple(column.name for column in plan.columns if column.role in ("drop", "unit")),
        warnings=_warnings(plan, units),
        not_covered=_not_covered(plan),
        digest=plan.digest,
    )


def _unit(unit: UnitPlan, plan: ReleasePlan) -> UnitExplanation:
    facts = unit.domain.describe()
    return UnitExplanation(
        name=unit.name,
        type=unit.type,
        columns=unit.columns,
        mechanism=unit.mechanism,
        values=words.values_in_words(unit),
        unit={"number": str(facts.get("unit", "")), "date": "days", "point": "metres"}.get(unit.type, ""),
        sensitivity=words.sensitivity(unit, plan.max_rows),
        missing=words.missing_in_words(unit),
        outside=words.outside_in_words(unit),
        delta=words.delta_in_words(unit.delta),
        target="" if unit.target is None else f"{unit.target.loss} at most {unit.target.ceiling}",
        draws_at_most=unit.draws_at_most,
        levels=tuple(rung.text for rung in unit.rungs),
        rungs=tuple(_rung(unit, level, plan) for level in _chosen(unit)),
        selection="" if unit.selection is None else unit.selection.in_words,
    )


def _chosen(unit: UnitPlan) -> tuple[Epsilon, ...]:
    """The rungs that get figures: first and last among them, evenly between."""
    most = _MOST_RUNGS if unit.domain.size <= _QUICK_CODES else 2
    last = len(unit.rungs) - 1
    places = range(last + 1) if last < most else sorted({round(place * last / (most - 1)) for place in range(most)})
    return tuple(unit.rungs[place] for place in places)


def _rung(unit: UnitPlan, level: Epsilon, plan: ReleasePlan) -> RungExplanation:
    if unit.type == "point":
        return _point_rung(unit, plan)
    channel, size = unit.channel(level), unit.domain.size
    charged = level.times(plan.max_rows)
    common: dict[str, Any] = {
        "level": level.text,
        "charged": charged.text,
        "strength": words.strength(charged),
        "odds_factor": words.odds_factor(charged),
        "even_guess": words.even_guess(charged),
        "keep_probability": precision.keep_probability(channel, size),
        "share_released_missing": precision.share_released_missing(channel, size),
    }
    if unit.type in ("category", "group"):
        return RungExplanation(**common, share_error=precision.share_error(channel))
    sd = precision.noise_sd_steps(channel, size)
    step = float(Decimal(str(unit.domain.describe()["step"])))
    return RungExplanation(
        **common,
        noise_sd=None if sd is None else sd * step,
        noise_of_range=None if sd is None else sd / (size - 1),
        mean_error=None if sd is None else precision.mean_error(sd * step),
        share_at_bounds=precision.share_at_bounds(channel, size),
    )


def _point_rung(unit: UnitPlan, plan: ReleasePlan) -> RungExplanation:
    named = dict(unit.parameters)
    epsilon = Epsilon.parse(named["epsilon"])
    per_metre = float(epsilon.fraction) / float(Decimal(str(named["radius_m"])))
    near = epsilon.times(plan.max_rows)
    return RungExplanation(
        level=epsilon.text,
        charged=unit.geo.times(plan.max_rows).text,
        strength=words.strength(near),
        odds_factor=words.odds_factor(near),
        even_guess=words.even_guess(near),
        displacement_m=words.displacement_m(per_metre),
    )


def _privacy_unit(plan: ReleasePlan) -> str:
    if plan.max_rows == 1 and plan.config.privacy.unit == "row":
        return "one row: two files that differ in the protected values of one row are told apart no better than stated"
    return (
        f"all rows of one {plan.privacy_unit}, at most {plan.max_rows}: every level is charged {plan.max_rows} times,"
        f" and more rows of one unit stop the run"
    )


def _row_order(plan: ReleasePlan) -> str:
    if plan.row_order == "shuffle":
        return "rows are shuffled under the release key"
    return "rows keep the source's order: you assert that it is public and tells nothing about protected values"


def _composition(plan: ReleasePlan) -> str:
    if plan.composition == "sequential":
        return "every attempt is a fresh draw, and all of them add up"
    return "a raised level costs its difference to the level before"


def _not_covered(plan: ReleasePlan) -> tuple[str, ...]:
    looked_at = "the choice of levels" if any(unit.target for unit in plan.units) else "that losses can be computed"
    selection = (f"{looked_at}: loss_from original compares with the raw data, so epsilon covers the draws only",)
    places = ("which region a place is in: points are protected among near places only",)
    return (
        *NOT_COVERED,
        *(selection if plan.loss_from == "original" else ()),
        *(places if any(unit.type == "point" for unit in plan.units) else ()),
    )


def _warnings(plan: ReleasePlan, units: tuple[UnitExplanation, ...]) -> tuple[str, ...]:
    found: list[str] = []
    limit = float(Decimal(plan.config.checks.max_share_at_bounds))
    for unit in units:
        if unit.target and len(unit.levels) > 1 and unit.draws_at_most == 1:
            found.append(
                f"{unit.name}: the total allows one draw only, at epsilon {unit.rungs[0].level};"
                f" when its target is not met there, nothing is left for a second one"
            )
        first = unit.rungs[0].share_at_bounds
        if first is not None and first > limit:
            found.append(
                f"{unit.name}: at epsilon {unit.rungs[0].level} about {100 * first:.0f} % of the released values stand"
                f" on the two bounds, over checks.max_share_at_bounds ({100 * limit:.0f} %): a release there is stopped"
            )
    found += [
        f"{column.name}: public, published exactly as it is in the file, without any protection"
        for column in plan.columns
        if column.role == "public"
    ]
    short = [one for unit in plan.units if (one := shortfall(unit, plan.prior, plan.correlation)) is not None]
    found += [f"{one.column}: a {one}, against a target of {one.ceiling}; {one.remedy}" for one in short]
    if plan.on_unmet == "publish":
        found.append("on_unmet publish: the release is published even when a target is not met")
    if plan.row_order == "source":
        found.append("row_order source: a file sorted by a protected value gives it away")
    return tuple(found)
