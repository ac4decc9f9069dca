"""What amounts and domains mean, in words for the people who choose them."""

from __future__ import annotations

from decimal import Decimal
from math import ceil, exp

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.data import Domain
from trasgo_lib.plan.model import Members, MissingPolicy, Outside, UnitPlan, UnitType

_STRENGTHS = (
    ("0.1", "very strong"),
    ("1", "strong"),
    ("2", "moderate"),
    ("4", "weak"),
    ("8", "very weak"),
)
"""Upper ends of the bands. Convention, not theorem: at 1 an even guess becomes 73 %, at 4 it becomes 98 %."""

_BEYOND = "close to none"
_LARGEST_EXPONENT = 700
"""Above this, e^x leaves the float range; the words then say only that it is enormous."""


def strength(epsilon: Epsilon) -> str:
    """The band of a level: very strong, strong, moderate, weak, very weak, close to none."""
    return next((word for top, word in _STRENGTHS if epsilon.decimal <= Decimal(top)), _BEYOND)


def strength_in_words(epsilon: Epsilon) -> str:
    """How strong a level is: its band, the factor on an attacker's odds, and what an even guess can become.

    Args:
        epsilon: privacy loss in nats; public.
    """
    return (
        f"protection {strength(epsilon)}: an attacker's odds on any two values change by at most a factor of"
        f" e^{epsilon.text} = {odds_factor(epsilon)}, so an even guess (50 %) can become {even_guess(epsilon)}"
    )


def even_guess(epsilon: Epsilon) -> str:
    """What an even guess between two values can become at most, in per cent, rounded up."""
    share = 1 / (1 + exp(-min(float(epsilon.fraction), _LARGEST_EXPONENT)))
    if share > 0.99999:
        return "almost 100 %"
    return f"{ceil(1000 * share) / 10:.1f} %" if share < 0.99 else f"{ceil(100_000 * share) / 1000:.3f} %"


def odds_factor(epsilon: Epsilon) -> str:
    """``e**epsilon`` for people, rounded up in the last digit shown."""
    value = float(epsilon.fraction)
    if value > _LARGEST_EXPONENT:
        return "more than 1e300"
    factor = exp(value)
    if factor < 10:
        return f"{ceil(factor * 100) / 100:.2f}"
    return f"{ceil(factor):,}" if factor < 1e6 else f"{factor:.1e}"


def sensitivity(unit: UnitPlan, max_rows: int) -> str:
    """What one record can change, and hence what the noise has to hide, in the column's own words.

    Args:
        unit: a noise unit.
        max_rows: rows per privacy unit.
    """
    whose = "one person's record" if max_rows == 1 else f"each of one unit's {max_rows} records"
    facts = unit.domain.describe()
    if unit.type == "group":
        return (
            f"{whose} can change from any of the {unit.domain.size:,} combinations to any other; the columns are kept"
            f" or replaced together, and every combination can come out whatever went in. Fewer of them keep more rows"
        )
    bins = dict(unit.parameters).get("bins")
    if bins is not None:
        return (
            f"{whose} can change from any of the {bins} bins to any other; every bin can come out whatever went in."
            f" Fewer bins keep more values, and coarser ones"
        )
    if unit.type == "number":
        suffix = f" {facts['unit']}" if facts["unit"] else ""
        width = plain(Decimal(str(facts["upper"])) - Decimal(str(facts["lower"])))
        return (
            f"{whose} can move anywhere in {facts['lower']}..{facts['upper']}{suffix}, a distance of {width}{suffix};"
            f" the noise is scaled to that whole range, not to what typical records differ by."
            f" Halving the declared range halves the noise"
        )
    if unit.type == "date":
        return (
            f"{whose} can move to any day from {facts['lower']} to {facts['upper']};"
            f" the noise is scaled to that whole period. Halving the period halves the noise"
        )
    if unit.type == "category":
        return (
            f"{whose} can change from any of the {unit.domain.size} codes to any other;"
            f" every code can come out whatever went in. Fewer codes keep more values"
        )
    radius, epsilon = dict(unit.parameters)["radius_m"], dict(unit.parameters)["epsilon"]
    return (
        f"{whose} can move by any distance, and protection fades with it: epsilon {epsilon} for places {radius} m"
        f" apart, ten times that for places ten times as far apart. Which city a place is in is not protected"
    )


def values_in_words(unit: UnitPlan) -> str:
    """The declared values of a unit, short."""
    facts = unit.domain.describe()
    if unit.type == "group":
        columns = "; ".join(
            f"{part.name}: {_scale_or_codes(part.domain, part.noise_bins)}{_coarsened(part.members)}"
            for part in unit.parts
        )
        return f"{unit.domain.size:,} combinations of {columns}"
    if unit.type != "point":
        bins = dict(unit.parameters).get("bins")
        return _scale_or_codes(unit.domain, bins if isinstance(bins, int) else None) + _coarsened(unit.members)
    if facts["kind"] == "box":
        south, west, north, east = facts["box"]
        return (
            f"latitude {south} to {north}, longitude {west} to {east}: {unit.domain.size:,} cells of"
            f" {facts['step_m']} m ({facts['crs']})"
        )
    return f"{unit.domain.size:,} H3 cells"


def _scale_or_codes(domain: Domain, bins: int | None) -> str:
    """The declared values of a number, date or category."""
    facts = domain.describe()
    if facts["kind"] == "category":
        codes = [str(code) for code in facts["codes"]]
        shown = ", ".join(codes[:8]) + (", ..." if len(codes) > 8 else "")
        return f"{len(codes)} codes: {shown}"
    step = f"{facts['step']} days" if facts["kind"] == "date" else facts["step"]
    suffix = f" {facts['unit']}" if facts["kind"] == "number" and facts["unit"] else ""
    cut = "" if bins is None else f", in {bins} bins of which each is released as its middle value"
    return f"{facts['lower']} to {facts['upper']}{suffix}, by {step}: {domain.size:,} values{cut}"


def _coarsened(members: Members) -> str:
    if not members:
        return ""
    return f"; {sum(len(codes) for _, codes in members)} codes of the file are coarsened to them before the noise"


def missing_in_words(unit: UnitPlan) -> str:
    """What happens to missing values."""
    if unit.type == "group":
        return "; ".join(f"{part.name}: {_missing(part.missing)}" for part in unit.parts)
    return _missing(unit.missing)


def _missing(policy: MissingPolicy) -> str:
    if policy == "error":
        return "a missing value stops the run"
    if policy == "code":
        return "missing is one more code, protected like every value"
    return "missing values become a declared constant before the noise"


def outside_in_words(unit: UnitPlan) -> str:
    """What happens to values outside the domain."""
    if unit.type == "group":
        return "; ".join(f"{part.name}: {_outside(part.outside, part.type)}" for part in unit.parts)
    return _outside(unit.outside, unit.type)


def _outside(policy: Outside, kind: UnitType) -> str:
    if policy == "reject":
        return "a value outside the domain stops the run"
    if kind == "point":
        return "a place outside the domain moves to its nearest cell before the noise"
    return "a value outside the range moves to its nearest end before the noise"


def delta_in_words(delta: Delta) -> str:
    """What a delta allows, or nothing when it is zero."""
    if not delta.units:
        return ""
    return (
        f"delta {delta.text}: with at most this probability a record is not covered by epsilon at all;"
        f" in a file of {int(1 / delta.fraction):,} rows, expect up to one such record"
    )


def plain(value: Decimal) -> str:
    """A decimal without exponent or trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def displacement_m(per_metre: float) -> tuple[float, float, float]:
    """Mean, median and 95th percentile of how far a place moves under the planar Laplace law, metres.

    Args:
        per_metre: geo epsilon per metre.

    Source:
        The distance is Gamma(2, 1/epsilon) distributed; Andres et al. 2013, section 4.2.
    """
    return (2 / per_metre, 1.6783469900 / per_metre, 4.7438645184 / per_metre)
