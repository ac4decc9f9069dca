"""From a claim to the integers of a channel, and which mechanism has the least variance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection.bits import WORD
from trasgo_lib.collection.channels import (
    ChannelClaim,
    MemoisedChannel,
    ReportChannel,
    SlotChannel,
    UnaryChannel,
    unary_epsilon,
)
from trasgo_lib.data import Codes
from trasgo_lib.errors import ConfigError, Reason, VerificationError
from trasgo_lib.mechanisms.calibration import LEAST_SHARE, SLACK, refuse_claim
from trasgo_lib.mechanisms.certificate import published
from trasgo_lib.mechanisms.fixed_point import CONTEXT
from trasgo_lib.mechanisms.krr import KARY_NAME, build_randomized_response, other_weight, rebuild_randomized_response

AUTO = "auto"
SYMMETRIC = "symmetric_unary_encoding"
OPTIMISED = "optimised_unary_encoding"
MEMOISED = "memoised_unary_encoding"
RAPPOR = "rappor"

_HALF = WORD >> 1
_MOST_SLOTS = 2**20 + 2


@dataclass(frozen=True, slots=True)
class Choice:
    """What ``auto`` decided, and why.

    Args:
        mechanism: the one it takes.
        reason: in words; public.
    """

    mechanism: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Slots:
    """The slots of an alphabet, as far as randomised response needs a domain."""

    size: int
    kind: str = "category"

    def describe(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size, "ordered": False}

    def encode(self, *values: Any, **options: Any) -> Codes:
        raise NotImplementedError("alphabets encode")

    def decode(self, codes: Codes) -> Any:
        raise NotImplementedError("alphabets decode")


def choose(slots: int, epsilon: Epsilon, permanent: Epsilon | None = None) -> Choice:
    """The mechanism of least variance for a cell that few devices are in.

    Generalised randomised response only when ``slots < 3 exp(epsilon) + 2`` (Wang and others 2017, section 5); decided
    with decimals, so that every machine decides alike.

    Args:
        slots: number of slots.
        epsilon: claim of one report.
        permanent: claim of all reports of one cell; answers are memoised when it is given.
    """
    if permanent is not None:
        reason = "answers are memoised; of both memoised codes its estimates vary less or as much"
        return Choice(MEMOISED, reason)
    limit = CONTEXT.add(CONTEXT.multiply(Decimal(3), CONTEXT.exp(epsilon.decimal)), Decimal(2))
    shown = f"3 exp({epsilon.text}) + 2 = {limit:.1f}"
    if Decimal(slots) < limit:
        return Choice(KARY_NAME, f"{slots} slots are fewer than {shown}: naming one slot varies less than bits")
    return Choice(OPTIMISED, f"{slots} slots are not fewer than {shown}: bits vary less than naming one slot")


def build_report_channel(
    mechanism: str, slots: int, epsilon: Epsilon, permanent: Epsilon | None = None
) -> ReportChannel:
    """The channel of a claim; its certificate is at most the claim and at least 0.999 of it.

    Args:
        mechanism: a name of ``REPORT_MECHANISMS``, or ``auto``.
        slots: number of slots, at least 3.
        epsilon: claim of one report.
        permanent: claim of all reports of one cell together; for memoised mechanisms, and for no others.

    Raises:
        ConfigError: an unknown name, a permanent claim too many or too few, or a claim that 64-bit weights cannot meet.
    """
    name = choose(slots, epsilon, permanent).mechanism if mechanism == AUTO else mechanism
    if name not in REPORT_MECHANISMS:
        known = ", ".join((AUTO, *REPORT_MECHANISMS))
        raise _bad("channel.mechanism", f"one of {known}", repr(mechanism), "Choose one.", Reason.UNKNOWN_NAME)
    needs_permanent = name in (MEMOISED, RAPPOR)
    if needs_permanent != (permanent is not None):
        required = f"an epsilon_permanent with {MEMOISED}, {RAPPOR} or {AUTO}, and with no other"
        raise _bad("channel.epsilon_permanent", required, f"{name}", "Add it, or take it out.")
    if not 2 < slots <= _MOST_SLOTS:
        raise _bad("alphabet", f"3 to {_MOST_SLOTS} slots", f"{slots}", "Declare another area or resolution.")
    return REPORT_MECHANISMS[name](name, slots, epsilon, permanent)


def rebuild_report_channel(document: Mapping[str, Any]) -> ReportChannel:
    """The channel of a published document, from its integers alone, certified anew.

    Raises:
        ConfigError: damaged.
        VerificationError: its integers prove less than it claims.
    """
    try:
        name, slots = document["mechanism"], document["slots"]
        epsilon = Epsilon.parse(document["epsilon"])
        written = document["epsilon_permanent"]
        permanent = None if written is None else Epsilon.parse(written)
        integers = {key: int(value) for key, value in document["integers"].items()}
        channel = _assemble(name, slots, epsilon, permanent, integers)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise _bad("channel", "a channel file of this format", "a damaged one", "Do not use it.") from None
    if channel.to_json() != dict(document):
        raise VerificationError.of(
            Reason.CLAIM_NOT_CERTIFIED,
            "channel",
            required="claims and versions that follow from the integers",
            came="others",
            fix="Do not use this release: its channel file was changed.",
        )
    return channel


def _response(name: str, slots: int, epsilon: Epsilon, permanent: Epsilon | None) -> ReportChannel:
    response = build_randomized_response(KARY_NAME, _Slots(slots), epsilon.text)
    other = int(str(response.parameters["other"]))
    return SlotChannel(ChannelClaim(name, slots, epsilon, response.certified_epsilon), response, other)


def _symmetric(name: str, slots: int, epsilon: Epsilon, permanent: Epsilon | None) -> ReportChannel:
    return _unary(name, slots, epsilon, _symmetric_weights)


def _optimised(name: str, slots: int, epsilon: Epsilon, permanent: Epsilon | None) -> ReportChannel:
    return _unary(name, slots, epsilon, _optimised_weights)


def _memoised(name: str, slots: int, epsilon: Epsilon, permanent: Epsilon | None) -> ReportChannel:
    return _two_rounds(name, slots, epsilon, permanent, _optimised_weights)


def _rappor(name: str, slots: int, epsilon: Epsilon, permanent: Epsilon | None) -> ReportChannel:
    return _two_rounds(name, slots, epsilon, permanent, _symmetric_weights)


REPORT_MECHANISMS: Mapping[str, Callable[[str, int, Epsilon, Epsilon | None], ReportChannel]] = {
    KARY_NAME: _response,
    SYMMETRIC: _symmetric,
    OPTIMISED: _optimised,
    MEMOISED: _memoised,
    RAPPOR: _rappor,
}
"""Every mechanism of devices: one literal table."""

Weights = Callable[[Decimal], tuple[int, int]]
"""From a level to the weights of a 1 for the own slot and for another, out of 2**64."""


def _symmetric_weights(level: Decimal) -> tuple[int, int]:
    """``q = 1 - p = 1 / (exp(level / 2) + 1)``, rounded up, so that the loss is rounded down."""
    odds = CONTEXT.add(CONTEXT.exp(CONTEXT.divide(level, Decimal(2))), Decimal(1))
    other = int(CONTEXT.divide(Decimal(WORD), odds)) + 1
    return WORD - other, other


def _optimised_weights(level: Decimal) -> tuple[int, int]:
    """``p = 1/2`` and ``q = 1 / (exp(level) + 1)``, rounded up."""
    return _HALF, other_weight(2, level)


def _unary(name: str, slots: int, epsilon: Epsilon, weights: Weights) -> ReportChannel:
    own, other = _weights_within(name, slots, epsilon, weights)
    return _assemble(name, slots, epsilon, None, {"own": own, "other": other})


def _two_rounds(name: str, slots: int, epsilon: Epsilon, permanent: Epsilon | None, weights: Weights) -> ReportChannel:
    if permanent is None or not epsilon < permanent:
        required = "an epsilon below epsilon_permanent: the second round is what hides the permanent response"
        came = f"{epsilon.text} and {'none' if permanent is None else permanent.text}"
        raise _bad("channel.epsilon", required, came, "Lower epsilon, or raise epsilon_permanent.")
    own, other = _weights_within(name, slots, permanent, weights)
    flip = _least_flip(own, other, CONTEXT.subtract(epsilon.decimal, SLACK))
    channel = _assemble(name, slots, epsilon, permanent, {"own": own, "other": other, "flip": flip})
    if channel.claim.certified < LEAST_SHARE * epsilon.decimal:
        refuse_claim(name, slots, epsilon, lambda _: False)
    return channel


def _least_flip(own: int, other: int, level: Decimal) -> int:
    """The least weight of a flip at which one report costs at most the level; its loss falls as the weight rises."""
    low, high = 0, _HALF  # a flip of a half costs nothing
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _report_epsilon(own, other, middle) <= level else (middle, high)
    return high


def _report_epsilon(own: int, other: int, flip: int) -> Decimal:
    shares = (Fraction(weight * (WORD - flip) + (WORD - weight) * flip, WORD * WORD) for weight in (own, other))
    return unary_epsilon(*shares)


def _weights_within(name: str, slots: int, epsilon: Epsilon, weights: Weights) -> tuple[int, int]:
    def works(trial: Epsilon) -> bool:
        if trial.decimal > 40:  # beyond what ratios of 64-bit weights can say
            return False
        own, other = weights(CONTEXT.subtract(trial.decimal, SLACK))
        if not 0 < other < own < WORD:
            return False
        proven = published(unary_epsilon(Fraction(own, WORD), Fraction(other, WORD)))
        return LEAST_SHARE * trial.decimal <= proven <= trial.decimal

    if not works(epsilon):
        refuse_claim(name, slots, epsilon, works)
    return weights(CONTEXT.subtract(epsilon.decimal, SLACK))


def _assemble(
    name: str, slots: int, epsilon: Epsilon, permanent: Epsilon | None, integers: Mapping[str, int]
) -> ReportChannel:
    """The channel of these integers, with the certificates they prove.

    Raises:
        VerificationError: they prove less than is claimed.
        KeyError, TypeError, ValueError: they are not those of the mechanism.
    """
    if sorted(integers) != _INTEGERS[name] or not all(0 < weight < WORD for weight in integers.values()):
        raise ValueError("not the integers of this mechanism")
    if name == KARY_NAME:
        parameters: dict[str, Any] = {"epsilon": epsilon.text, "codes": slots, "other": str(integers["other"])}
        response = rebuild_randomized_response(KARY_NAME, _Slots(slots), parameters)
        return SlotChannel(ChannelClaim(name, slots, epsilon, response.certified_epsilon), response, integers["other"])
    own, other = integers["own"], integers["other"]
    if not own >= _HALF >= other or own == other:
        raise ValueError("an own weight of a half or more, and another of a half or less")
    alone = unary_epsilon(Fraction(own, WORD), Fraction(other, WORD))
    if permanent is None:
        return UnaryChannel(ChannelClaim(name, slots, epsilon, _proven(alone, epsilon, name)), own, other)
    if not integers["flip"] < _HALF:
        raise ValueError("a flip below a half")
    report = _report_epsilon(own, other, integers["flip"])
    claim = ChannelClaim(
        name, slots, epsilon, _proven(report, epsilon, name), permanent, _proven(alone, permanent, name)
    )
    return MemoisedChannel(claim, own, other, integers["flip"])


_INTEGERS: Mapping[str, list[str]] = {
    KARY_NAME: ["other"],
    SYMMETRIC: ["other", "own"],
    OPTIMISED: ["other", "own"],
    MEMOISED: ["flip", "other", "own"],
    RAPPOR: ["flip", "other", "own"],
}


def _proven(certificate: Decimal, claim: Epsilon, name: str) -> Decimal:
    proven = published(certificate)
    if proven > claim.decimal:
        raise VerificationError.of(
            Reason.CLAIM_NOT_CERTIFIED,
            name,
            required=f"a certificate of at most {claim.text}",
            came=f"{proven:f}",
            fix="Do not use this channel: it claims more privacy than its integers give.",
        )
    return proven


def _bad(where: str, required: str, came: str, fix: str, reason: Reason = Reason.BAD_PARAMETER) -> ConfigError:
    return ConfigError.of(reason, where, required=required, came=came, fix=fix)
