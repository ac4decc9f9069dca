"""What a device answers through: channels over the slots of an alphabet, built from integers and certified from them.

``p`` is the probability that a report names (or sets the bit of) the device's own slot, ``q`` that it names any given
other one; both are exact fractions of the integers the sampler compares with. Everything that is estimated follows from
them.

A unary code is a product channel: given the slot, its bits are independent, and two slots differ in the law of two
bits. Its loss is therefore ``ln(p (1 - q) / (q (1 - p)))``. Of two rounds the product of the integers is what is
certified. Source: Wang, Blocki, Li and Jha (2017); Erlingsson, Pihur and Korolova (2014); Arcolezi and others (2021).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import rfc8785
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection.bits import WORD, Packed, packed_bytes, random_bits, unary_bits
from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.mechanisms import Channel
from trasgo_lib.mechanisms.certificate import log_ratio
from trasgo_lib.noise import Keystream

Kind = Literal["slot", "bits"]
_VERSION_HEX = 32


def slot_bytes(slots: int) -> int:
    """Bytes of an answer that names one of so many slots."""
    return 2 if slots <= 1 << 16 else 4


@dataclass(frozen=True, slots=True)
class ChannelClaim:
    """What a channel claims and what its integers prove.

    Args:
        mechanism: name as in the collection file.
        slots: number of slots.
        epsilon: claim for one report, nats.
        certified: what the integers prove for one report, rounded up to 1e-6; at most the claim.
        permanent: claim for all reports of one cell together, where answers are memoised; else None.
        certified_permanent: what the integers prove of it, or None.
    """

    mechanism: str
    slots: int
    epsilon: Epsilon
    certified: Decimal
    permanent: Epsilon | None = None
    certified_permanent: Decimal | None = None


class ReportChannel(ABC):
    """A channel from slots to reports.

    Args:
        claim: what it claims.
        integers: weights out of 2**64, by name; the sampler compares with these very numbers.
    """

    kind: Kind

    def __init__(self, claim: ChannelClaim, integers: Mapping[str, int]) -> None:
        self.claim = claim
        self.integers = dict(integers)

    @property
    def slots(self) -> int:
        """Number of slots."""
        return self.claim.slots

    @property
    def is_memoised(self) -> bool:
        """Whether a device answers from a permanent response, so that repetitions cost no more than that."""
        return self.claim.permanent is not None

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that a report names, or sets the bit of, the device's own slot; exact."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that a report names, or sets the bit of, a given other slot; exact."""

    @property
    def report_bytes(self) -> int:
        """Bytes of a report's answer."""
        return packed_bytes(self.slots) if self.kind == "bits" else slot_bytes(self.slots)

    @cached_property
    def version(self) -> str:
        """Digest of mechanism, slots and integers: 32 hexadecimal characters. Claims are not in it."""
        head: dict[str, Any] = {
            "mechanism": self.claim.mechanism,
            "slots": self.slots,
            "integers": self._integers_text(),
        }
        return hashlib.sha256(b"trasgo-report/1" + rfc8785.dumps(head)).hexdigest()[:_VERSION_HEX]

    def to_json(self) -> dict[str, Any]:
        """The channel as it is published: strict JSON from which it is rebuilt and certified anew."""
        claim = self.claim
        return {
            "version": self.version,
            "mechanism": claim.mechanism,
            "report": self.kind,
            "slots": self.slots,
            "epsilon": claim.epsilon.text,
            "certified_epsilon": f"{claim.certified:f}",
            "epsilon_permanent": None if claim.permanent is None else claim.permanent.text,
            "certified_epsilon_permanent": None if claim.permanent is None else f"{claim.certified_permanent:f}",
            "integers": self._integers_text(),
            "p": str(self.p),
            "q": str(self.q),
        }

    def _integers_text(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.integers.items()}

    def _checked(self, slots: NDArray[np.int32]) -> NDArray[np.int32]:
        array = np.asarray(slots)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InputContractError.of(
                Reason.WRONG_TYPE, "slots", required="whole numbers", came=array.dtype.name, fix="Encode the points."
            )
        if len(array) and not (array.min() >= 0 and array.max() < self.slots):
            raise InputContractError.of(
                Reason.OUT_OF_DOMAIN,
                "slots",
                required=f"slots from 0 to {self.slots - 1}",
                came="slots outside that range",
                fix="Encode the points with the alphabet of this channel.",
            )
        return array.astype(np.int32, copy=False)


class SlotChannel(ReportChannel):
    """Generalised randomised response: a report names one slot.

    Args:
        claim: what it claims.
        response: k-ary randomised response over the slots, of ``trasgo_lib.mechanisms``.
        other: its weight of every slot but the own one, out of 2**64.
    """

    kind: Kind = "slot"

    def __init__(self, claim: ChannelClaim, response: Channel, other: int) -> None:
        super().__init__(claim, {"other": other})
        self.response = response

    @property
    def p(self) -> Fraction:
        """Probability of the own slot."""
        return 1 - (self.slots - 1) * self.q

    @property
    def q(self) -> Fraction:
        """Probability of a given other slot."""
        return Fraction(self.integers["other"], WORD)

    def draw(self, slots: NDArray[np.int32], keystream: Keystream, first_row: int = 0) -> NDArray[np.unsignedinteger]:
        """Noised slots: int32[rows] -> uint16[rows], or uint32 where the alphabet needs it.

        Args:
            slots: private.
            keystream: of this draw, used for nothing else.
            first_row: global index of the first row.

        Raises:
            InputContractError: a slot that the alphabet has not; nothing is drawn.
        """
        drawn = self.response.sample(self._checked(slots), keystream, first_row)
        noised: NDArray[np.unsignedinteger] = drawn.astype(np.uint16 if self.report_bytes == 2 else np.uint32)
        return noised


class UnaryChannel(ReportChannel):
    """A unary code in one round: each bit is drawn on its own.

    Args:
        claim: what it claims.
        own: weight of a 1 for the own slot, out of 2**64.
        other: weight of a 1 for every other slot.
    """

    kind: Kind = "bits"

    def __init__(self, claim: ChannelClaim, own: int, other: int) -> None:
        super().__init__(claim, {"own": own, "other": other})

    @property
    def p(self) -> Fraction:
        """Probability that the own slot's bit is set."""
        return Fraction(self.integers["own"], WORD)

    @property
    def q(self) -> Fraction:
        """Probability that a given other slot's bit is set."""
        return Fraction(self.integers["other"], WORD)

    def draw(self, slots: NDArray[np.int32], keystream: Keystream, rows: int | NDArray[np.int64] = 0) -> Packed:
        """Noised bits: int32[rows] -> packed uint8[rows, bytes].

        Args:
            slots: private.
            keystream: of this draw, used for nothing else.
            rows: global index of the first row, or of each.

        Raises:
            InputContractError: a slot that the alphabet has not; nothing is drawn.
        """
        places = self._checked(slots)
        index = as_rows(rows, len(places))
        return unary_bits(keystream, index, self.slots, self.integers["other"], places, self.integers["own"])


class MemoisedChannel(ReportChannel):
    """A unary code in two rounds: a permanent response, whose bits are flipped afresh in every report.

    Args:
        claim: what it claims, for one report and for all reports of one cell together.
        own: weight of a 1 for the own slot in the permanent response, out of 2**64; at least a half.
        other: weight of a 1 for every other slot there; at most a half.
        flip: weight with which each bit is flipped in each report; below a half.
    """

    kind: Kind = "bits"

    def __init__(self, claim: ChannelClaim, own: int, other: int, flip: int) -> None:
        super().__init__(claim, {"own": own, "other": other, "flip": flip})
        self.permanent = UnaryChannel(claim, own, other)

    @property
    def p(self) -> Fraction:
        """Probability that the own slot's bit is set in a report."""
        return _through(self.permanent.p, self._flip)

    @property
    def q(self) -> Fraction:
        """Probability that a given other slot's bit is set in a report."""
        return _through(self.permanent.q, self._flip)

    @property
    def _flip(self) -> Fraction:
        return Fraction(self.integers["flip"], WORD)

    def freshen(self, permanent: Packed, keystream: Keystream, rows: int | NDArray[np.int64] = 0) -> Packed:
        """Reports from permanent responses: packed uint8[rows, bytes] -> the same shape.

        Args:
            permanent: as ``self.permanent.draw`` gave them; private.
            keystream: of these reports, used for nothing else.
            rows: global index of the first row, or of each.
        """
        index = as_rows(rows, len(permanent))
        return permanent ^ random_bits(keystream, index, self.slots, self.integers["flip"])


def as_rows(rows: int | NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Global row indices: those given, or ``count`` of them from the first one on."""
    return np.arange(rows, rows + count, dtype=np.int64) if isinstance(rows, int) else rows


def _through(share: Fraction, flip: Fraction) -> Fraction:
    return share * (1 - flip) + (1 - share) * flip


def unary_epsilon(p: Fraction, q: Fraction) -> Decimal:
    """The loss of a unary code, ``ln(p (1 - q) / (q (1 - p)))``, rounded up by at most 1e-49; ``p > q``."""
    ratio = p * (1 - q) / (q * (1 - p))
    return log_ratio(ratio.numerator, ratio.denominator)


def repeated_epsilon(channel: MemoisedChannel, reports: int) -> Decimal:
    """What so many reports of one cell cost together: exact, rounded up by at most 1e-49.

    The likelihood ratio of a bit is monotone in how many of its reports are 1, so the worst reports show the own bit
    always set and the other one never. With ``own >= 1/2 >= other`` the logarithm of their ratio is a concave function
    of the number of reports: its slope in ``s = reports * ln((1 - flip) / flip)`` is
    ``S(s + A) - S(s - A) + S(s - B) - S(s + B)``, ``S`` the logistic function, ``A, B`` the log-odds of own and other,
    and falls on ``s >= 0`` because ``S'`` is even and falls. It starts at 0, hence it never passes ``reports`` times
    that of one report, nor the permanent loss, which it tends to.

    Args:
        channel: of two rounds.
        reports: at least 1.
    """
    own, other = channel.permanent.p, channel.permanent.q
    up = (1 - Fraction(channel.integers["flip"], WORD)) ** reports
    down = Fraction(channel.integers["flip"], WORD) ** reports
    ones = (own * up + (1 - own) * down) / (other * up + (1 - other) * down)
    zeros = ((1 - other) * up + other * down) / ((1 - own) * up + own * down)
    ratio = ones * zeros
    return log_ratio(ratio.numerator, ratio.denominator)
