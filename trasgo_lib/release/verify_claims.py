"""Verification of the claim: every channel rebuilt and certified again, every amount added up again."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from math import isclose
from typing import Any

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import ApproximateEvent, Cost, LocalEvent, PureEvent, RevealEvent, cost
from trasgo_lib.data import Domain, ProductDomain, domain_from_description
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.mechanisms import Channel, rebuild_channel
from trasgo_lib.release.channel_file import decoder, difference, margin_document, noise_variance, plain
from trasgo_lib.release.statement import read_amounts, read_draw
from trasgo_lib.release.verification import VerificationResult, failed, judge, passed

_METRES_PER_KM = 1000

_LAST_DIGIT = 1e-3
"""Relative difference at which a published float is another number; machines differ below it."""

DRAWS_ONLY = "_draws_only"


def suffix_of(statement: dict[str, Any]) -> str:
    """What the amounts of this release's documents end with."""
    return "" if statement["guarantee_covers_selection"] else DRAWS_ONLY


def verify_channels(channel_file: dict[str, Any], suffix: str) -> Iterator[VerificationResult]:
    """Rebuild every channel from its published parameters and certify it again.

    Args:
        channel_file: the parsed ``channel.json``.
        suffix: what the amounts' names end with.
    """
    for unit in channel_file["units"]:
        try:
            yield from _verify_channel(unit, suffix)
        except (TrasgoError, ValueError, TypeError, KeyError, ArithmeticError) as error:
            came = f"{type(error).__name__} while rebuilding it"
            yield failed("channel", unit["name"], "a channel that can be rebuilt", came, Reason.CLAIM_NOT_CERTIFIED)


def _verify_channel(unit: dict[str, Any], suffix: str) -> Iterator[VerificationResult]:
    name = unit["name"]
    domain = domain_from_description(unit["domain"])
    channel = rebuild_channel(unit["mechanism"], domain, unit["parameters"])
    claim = read_draw(unit["draw"], suffix)
    yield judge("mechanism version", name, unit["mechanism_version"], channel.version, Reason.CLAIM_NOT_CERTIFIED)
    yield judge("channel digest", name, unit["channel_digest"], channel.digest, Reason.DIGEST_MISMATCH)
    yield judge("claim", name, claim, channel.event, Reason.CLAIM_NOT_CERTIFIED)
    yield _verify_certificate(name, claim, channel)
    stated = (unit[f"certified_epsilon{suffix}"], unit[f"certified_delta{suffix}"])
    found = (plain(channel.certified_epsilon), plain(channel.certified_delta))
    yield judge("stated certificate", name, stated, found, Reason.CLAIM_NOT_CERTIFIED)
    sizes = (domain.size + (unit["missing"]["policy"] == "code"), unit["inputs"], unit["outputs"])
    yield _verify_missing(name, domain, unit["missing"])
    yield judge("codes", name, (channel.inputs,) * 2 + (channel.outputs,), sizes, Reason.SCHEMA_VIOLATION)
    stated_difference = {"difference": unit["difference"]} if "difference" in unit else {}
    yield judge("difference", name, stated_difference, difference(channel), Reason.CLAIM_NOT_CERTIFIED)
    yield _verify_numbers("decoder", name, unit["decoder"], decoder(channel))
    yield _verify_numbers("noise variance", name, unit["noise_variance"], noise_variance(channel))
    yield from _verify_margins(unit, domain, channel)


def _verify_missing(name: str, domain: Domain, missing: dict[str, Any]) -> VerificationResult:
    """The missing code stands behind the domain, and a code fills in exactly where the policy says so."""
    policy, fill = missing["policy"], missing["fill_code"]
    code = domain.size if policy == "code" else None
    is_filled = fill is not None and 0 <= fill < domain.size
    required, came = (code, policy == "replace"), (missing["code"], is_filled if fill is None or is_filled else fill)
    return judge("missing values", name, required, came, Reason.SCHEMA_VIOLATION)


def _verify_margins(unit: dict[str, Any], domain: Domain, channel: Channel) -> Iterator[VerificationResult]:
    """Hold the stated channel of every column of a group against the one that the group's channel implies."""
    stated = {entry["column"]: entry for entry in unit.get("margins", ())}
    named = [part.name for part in domain.parts] if isinstance(domain, ProductDomain) else []
    if named or stated:
        yield judge("margins", unit["name"], named, list(stated), Reason.SCHEMA_VIOLATION)
    if not isinstance(domain, ProductDomain) or named != list(stated):
        return
    for part in domain.parts:
        entry, found = stated[part.name], margin_document(channel, domain, part.name)
        keys = ("places", "other", "inputs", "outputs")
        theirs, ours = [entry[key] for key in keys], [found[key] for key in keys]
        yield judge("margin", part.name, theirs, ours, Reason.CLAIM_NOT_CERTIFIED)
        yield judge(
            "margin missing", part.name, part.missing, entry["missing"]["policy"] == "code", Reason.SCHEMA_VIOLATION
        )
        yield _verify_missing(part.name, part.domain, entry["missing"])
        yield _verify_numbers("margin decoder", part.name, entry["decoder"], found["decoder"])
        yield _verify_numbers("margin variance", part.name, entry["noise_variance"], found["noise_variance"])


def _verify_numbers(
    check: str, name: str, stated: dict[str, str] | None, found: dict[str, str] | None
) -> VerificationResult:
    """Whether stated floats are those of the rebuilt channel, up to the last published digit."""
    ours, theirs = found or {}, stated or {}
    close = ours.keys() == theirs.keys() and all(_is_close(theirs[key], ours[key]) for key in ours)
    return judge(check, name, found, found if close else stated, Reason.SCHEMA_VIOLATION)


def _is_close(stated: str, found: str) -> bool:
    if stated == found:
        return True
    try:
        return isclose(float(stated), float(found), rel_tol=_LAST_DIGIT)
    except ValueError:
        return False


def _verify_certificate(name: str, claim: LocalEvent, channel: Channel) -> VerificationResult:
    epsilon, delta = _ceilings(claim, channel)
    required = f"certificate of at most epsilon {plain(epsilon)}, delta {plain(delta)}"
    if channel.certified_epsilon <= epsilon and channel.certified_delta <= delta:
        return passed("certificate", name, required, Reason.CLAIM_NOT_CERTIFIED)
    came = f"epsilon {plain(channel.certified_epsilon)}, delta {plain(channel.certified_delta)}"
    return failed("certificate", name, required, came, Reason.CLAIM_NOT_CERTIFIED)


def _ceilings(claim: LocalEvent, channel: Channel) -> tuple[Decimal, Decimal]:
    if isinstance(claim, PureEvent):
        return claim.epsilon.decimal, Decimal(0)
    if isinstance(claim, ApproximateEvent):
        return claim.epsilon.decimal, claim.delta.decimal
    if isinstance(claim, RevealEvent):
        return claim.level.decimal, claim.delta.decimal
    # a point channel certifies the loss at its declared radius
    radius_km = Decimal(str(channel.parameters["radius_m"])) / _METRES_PER_KM
    return Epsilon.ceil(claim.geo.decimal * radius_km).decimal, Decimal(0)


def verify_statement(statement: dict[str, Any], channel_file: dict[str, Any]) -> Iterator[VerificationResult]:
    """Add the statement's amounts up again, from draws to totals, and hold them against the channels.

    Args:
        statement: the parsed ``statement.json``.
        channel_file: the parsed ``channel.json``.
    """
    suffix = suffix_of(statement)
    names = [unit["name"] for unit in statement["units"]]
    published = {unit["name"]: unit for unit in channel_file["units"]}
    yield judge("units", "statement.json", list(published), names, Reason.SCHEMA_VIOLATION)
    try:
        total = Cost.zero()
        for unit in statement["units"]:
            yield from _verify_unit(unit, published.get(unit["name"]), statement, suffix)
            total += read_amounts(unit, "_charged", suffix)
        realised = read_amounts(statement, "_realised", suffix)
        yield judge("total", "sum of all units", realised, total, Reason.CLAIM_NOT_CERTIFIED)
        for name, cap in (
            ("cap of the run", read_amounts(statement, "_guarantee", suffix)),
            ("account to date", read_amounts(statement["account_to_date"], "", suffix)),
        ):
            yield _verify_within(name, realised, cap)
    except (TrasgoError, KeyError, ArithmeticError) as error:
        came = f"{type(error).__name__} while adding up"
        yield failed("total", "statement.json", "amounts that add up", came, Reason.CLAIM_NOT_CERTIFIED)


def _verify_unit(
    unit: dict[str, Any], published: dict[str, Any] | None, statement: dict[str, Any], suffix: str
) -> Iterator[VerificationResult]:
    draws = [read_draw(draw, suffix) for draw in unit["draws"]]
    if published is not None:
        last = read_draw(published["draw"], suffix)
        yield judge("published draw", unit["name"], last, _law(draws[-1]), Reason.CLAIM_NOT_CERTIFIED)
        yield judge("mechanism", unit["name"], published["mechanism"], unit["mechanism"], Reason.SCHEMA_VIOLATION)
        yield from _verify_coupling(unit["name"], draws, published["parameters"], statement["composition"])
    # last, because a level that does not rise has no cost and stops the sum
    charged = sum((cost(draw, statement["privacy_unit"]["max_rows"]) for draw in draws), start=Cost.zero())
    stated = read_amounts(unit, "_charged", suffix)
    yield judge("charged", unit["name"], stated, charged, Reason.CLAIM_NOT_CERTIFIED)


def _law(event: LocalEvent) -> LocalEvent:
    """What one draw of the channel costs: for a reveal, that of the level itself, whatever was looked at before."""
    if not isinstance(event, RevealEvent):
        return event
    return ApproximateEvent(event.level, event.delta) if event.delta.units else PureEvent(event.level)


def _verify_coupling(
    name: str, draws: list[LocalEvent], parameters: dict[str, Any], composition: str
) -> Iterator[VerificationResult]:
    """Whether draws are reveals exactly where the channel is a level of a chain, and climb that chain's ladder.

    Only then do they add up to the highest level: draws of two chains, or of none, cost their sum.
    """
    reveals = [draw for draw in draws if isinstance(draw, RevealEvent)]
    is_chained = "revealed" in parameters
    if not reveals and not is_chained:
        return
    required = f"{len(draws)} reveals under composition: chain" if is_chained else "no reveals"
    came = f"{len(reveals)} reveals under composition: {composition}" if reveals else "no reveals"
    yield judge("coupling", name, required, came, Reason.CLAIM_NOT_CERTIFIED)
    before = [Epsilon(0), *(draw.level for draw in reveals)][: len(reveals)]
    yield judge("reveals", name, before, [draw.before for draw in reveals], Reason.CLAIM_NOT_CERTIFIED)
    levels, delta = parameters.get("levels"), str(parameters.get("delta", "0"))
    ladder = {str(level) for level in levels} if isinstance(levels, list) else set()
    strangers = [draw for draw in reveals if draw.level.text not in ladder or draw.delta.text != delta]
    yield judge("rungs", name, [], strangers, Reason.CLAIM_NOT_CERTIFIED)


def _verify_within(name: str, spent: Cost, cap: Cost) -> VerificationResult:
    required = f"at most {cap}"
    if spent.fits(cap):
        return passed(name, "spent by this version", required, Reason.OVER_TOTAL)
    return failed(name, "spent by this version", required, str(spent), Reason.OVER_TOTAL)
