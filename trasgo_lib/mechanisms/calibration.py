"""Meeting a claim: what counts as met, at which levels tables are built, and what is said when no table can meet it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from math import log
from typing import NoReturn

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget.events import ApproximateEvent, LossEvent, PureEvent
from trasgo_lib.errors import ConfigError, Reason, VerificationError
from trasgo_lib.mechanisms.certificate import published
from trasgo_lib.mechanisms.fixed_point import CONTEXT

SLACK = Decimal("1e-9")
"""Tables are built this far below the claim, so that rounding to integers does not push the certificate above it."""

LEAST_SHARE = Decimal("0.999")
"""A certificate below this share of the claim would waste budget; such a table is refused."""

_SHARES_GIVEN_UP = (Decimal("1e-6"), Decimal("1e-5"), Decimal("1e-4"), Decimal("5e-4"))
"""Where weights are so small that rounding costs more than the slack, this much of the claim is given up, in turn."""

_LARGEST_EPSILON = Decimal(44)
"""Ratios of weights below 2**64 stay under e**44.4, so no channel of one word is built above this."""

_DIGITS = 60


def build_levels(claim: Epsilon) -> tuple[Decimal, ...]:
    """The levels at which a table is tried for a claim, best first, as exact decimals."""
    with localcontext(Context(prec=_DIGITS)):
        given_up = (claim.decimal * (1 - share) for share in _SHARES_GIVEN_UP)
        return tuple(level for level in (claim.decimal - SLACK, *given_up) if level > 0)


def meets(certificate: Decimal, claim: Epsilon) -> bool:
    """Whether a certificate is at most the claim and wastes at most a thousandth of it."""
    with localcontext(Context(prec=_DIGITS)):
        return LEAST_SHARE * claim.decimal <= published(certificate) <= claim.decimal


def require_certified(certificate: Decimal, claim: Epsilon, where: str) -> Decimal:
    """The published certificate of a rebuilt channel.

    Raises:
        VerificationError: the integers prove less than the channel file claims.
    """
    proven = published(certificate)
    if proven > claim.decimal:
        raise VerificationError.of(
            Reason.CLAIM_NOT_CERTIFIED,
            where,
            required=f"a certificate of at most {claim.text}",
            came=f"{proven:f}",
            fix="Do not use this release: its channel file claims more privacy than its weights give.",
        )
    return proven


def loss_event(claim: Epsilon, delta: Delta | None = None) -> LossEvent:
    """The loss event of one draw at a claim."""
    return PureEvent(claim) if delta is None or delta.units == 0 else ApproximateEvent(claim, delta)


def refuse_claim(mechanism: str, codes: int, claim: Epsilon, works: Callable[[Epsilon], bool]) -> NoReturn:
    """Refuse an epsilon that no 64-bit table of this domain can meet, and name one that can be met.

    Args:
        mechanism: registry name.
        codes: number of codes of the domain.
        claim: the refused epsilon.
        works: whether a table can be built for an epsilon; slow, called about ten times.

    Raises:
        ConfigError: always.
    """
    ceiling = _largest_below(claim, works)
    if ceiling is not None:
        required = f"at most {ceiling.text} for {codes} codes"
        fix = "Lower epsilon; so large a value would protect nobody. role: public says the same thing openly."
    else:
        required = f"an epsilon that 64-bit weights over {codes} codes can resolve"
        fix = "Raise epsilon or use a coarser domain."
    raise ConfigError.of(Reason.BAD_PARAMETER, f"{mechanism} epsilon", required=required, came=claim.text, fix=fix)


def _largest_below(claim: Epsilon, works: Callable[[Epsilon], bool]) -> Epsilon | None:
    """The largest tenth below the claim that works, or None when nothing below it does."""
    tenths = Epsilon.parse("0.1").units
    bad = -(-min(claim.units, Epsilon.ceil(_LARGEST_EPSILON).units) // tenths)
    good = next((step for step in (bad // 2, bad // 4, 10, 1) if 0 < step < bad and works(Epsilon(step * tenths))), 0)
    if not good:
        return None
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if works(Epsilon(middle * tenths)) else (good, middle)
    return Epsilon(good * tenths)


def is_beyond_words(claim: Epsilon) -> bool:
    """Whether a claim is larger than any ratio of 64-bit weights."""
    return claim.decimal > _LARGEST_EPSILON


class ScaleSearch:
    """Finds the best scale of a family whose certificate moves monotonically with it, as a short decimal.

    Scales are whole multiples of a unit with ten significant digits. The answer is the last multiple that is certified
    before the first that is not, in integers; floats only choose where to look. So every machine finds the same scale.

    Args:
        certificate: exact certificate at a scale.
        target: the level not to pass.
        start: a guess of the right magnitude, above 0.
        rising: whether the certificate rises with the scale (a factor) or falls (a noise scale).
    """

    _STEERING_STEPS = 12
    _WIDENING_STEPS = 80
    _DIGITS = 10

    def __init__(
        self, certificate: Callable[[Decimal], Decimal], target: Decimal, start: float, *, rising: bool
    ) -> None:
        self._certificate = certificate
        self._target = target
        self._unit = CONTEXT.scaleb(Decimal(1), Decimal(repr(start)).adjusted() - self._DIGITS + 1)
        self._toward_loss = 1 if rising else -1
        self._start = start
        self._seen: dict[int, Decimal] = {}

    def find(self) -> Decimal | None:
        """The scale, or None where none is certified or none fails (the family cannot reach the target)."""
        safe = self._bracket(self._steer())
        return None if safe is None else self._scale(safe)

    def _scale(self, multiple: int) -> Decimal:
        return CONTEXT.multiply(self._unit, Decimal(multiple))

    def _at(self, multiple: int) -> Decimal:
        if multiple not in self._seen:
            self._seen[multiple] = self._certificate(self._scale(multiple))
        return self._seen[multiple]

    def _certified(self, multiple: int) -> bool:
        return self._at(multiple) <= self._target

    def _steer(self) -> int:
        """A multiple near the answer: secant steps on logarithms of scale and certificate."""
        goal = float(self._target)
        scale, value = self._start, float(self._at(self._nearest(self._start)))
        slope = float(self._toward_loss)
        for _ in range(self._STEERING_STEPS):
            if value <= 0:
                following = scale * 2.0**self._toward_loss
            else:
                following = scale * (goal / value) ** (1 / slope)
                following = min(max(following, scale / 4), scale * 4)
            if self._nearest(following) == self._nearest(scale):
                break
            reached = float(self._at(self._nearest(following)))
            if value > 0 and reached > 0 and reached != value:
                slope = _log_slope(scale, following, value, reached, slope)
            scale, value = following, reached
        return self._nearest(scale)

    def _nearest(self, scale: float) -> int:
        return max(1, round(scale / float(self._unit)))

    def _bracket(self, middle: int) -> int | None:
        """Widen around a guess until one end is certified and the other is not, then bisect."""
        width = 1
        known = self._certified(middle)
        direction = self._toward_loss if known else -self._toward_loss
        inner = middle
        for _ in range(self._WIDENING_STEPS):
            outer = max(1, middle + direction * width)
            if self._certified(outer) != known:
                break
            if outer == 1 and direction < 0:
                return None
            inner, width = outer, width * 2
        else:
            return None
        safe, unsafe = (inner, outer) if known else (outer, inner)
        while abs(unsafe - safe) > 1:
            between = (safe + unsafe) // 2
            safe, unsafe = (between, unsafe) if self._certified(between) else (safe, between)
        return safe


def _log_slope(scale: float, following: float, value: float, reached: float, fallback: float) -> float:
    """Elasticity of the certificate between two scales; a wrong sign or size (rounding noise) is not followed."""
    slope = log(reached / value) / log(following / scale)
    return slope if slope * fallback > 0 and 0.05 < abs(slope) < 20 else fallback
