"""Missing numbers as one more code: a flag by binary randomised response beside the value channel.

A missing row carries a declared fill code through the value channel, so the released value exists for every row; the
flag, kept or flipped, decides whether the value or "missing" is released. A draw takes two words: flag, then value.
With ``K`` and ``q`` the weights of a kept and a flipped flag, the rows are

    input i        ->  output y: K * V_i(y),     missing: q * 2**64
    input missing  ->  output y: q * V_fill(y),  missing: K * 2**64

and the certificate runs over all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.mechanisms.base import ChannelFacts, TableChannel
from trasgo_lib.mechanisms.calibration import SLACK, require_certified
from trasgo_lib.mechanisms.certificate import largest_ratio, log_ratio, shift_extremes
from trasgo_lib.mechanisms.channel import Json
from trasgo_lib.mechanisms.coarse_channel import CoarseChannel
from trasgo_lib.mechanisms.fixed_point import CONTEXT
from trasgo_lib.mechanisms.parameters import StoredParameters, read_fill, refused
from trasgo_lib.mechanisms.shift import ShiftChannel

_WORD = 1 << 64


class FlaggedChannel(TableChannel):
    """A shift channel with one more input and output code, the last one, for missing values.

    Args:
        facts: public facts; inputs and outputs count the missing code.
        value: channel of the numbers.
        flip: weight of a flipped flag out of 2**64, less than half.
        fill: code that a missing row carries through the value channel.
    """

    words_per_row = 2

    def __init__(self, facts: ChannelFacts, value: ShiftChannel | CoarseChannel, flip: int, fill: int) -> None:
        super().__init__(facts)
        self._value = value
        self._flip = flip
        self._keep = _WORD - flip
        self._fill = fill

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 1 that sum to 2**128."""
        missing = self._checked_code(code) == self._value.inputs
        row = self._value.weights(self._fill if missing else code)
        value_share, missing_share = (self._flip, self._keep) if missing else (self._keep, self._flip)
        return (*(value_share * weight for weight in row), missing_share * _WORD)

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the output, for each input."""
        inside = self._value.expectation(values[:-1])
        keep, flip = self._keep / _WORD, self._flip / _WORD
        missing = flip * inside[self._fill] + keep * values[-1]
        return np.append(keep * inside + flip * values[-1], missing)

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """Decoder of released values, NaN for the missing code.

        Unbiased given that a value is released: whether it is does not depend on the value.
        """
        inside = self._value.scores
        return None if inside is None else np.append(inside, np.nan)

    @property
    def score_bias(self) -> float:
        """Largest bias of the decoder in code steps."""
        return self._value.score_bias

    def invert(self, histogram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Input frequencies from output frequencies: first the flag, then the values."""
        outputs = np.asarray(histogram, dtype=np.float64)
        keep, flip = self._keep / _WORD, self._flip / _WORD
        missing = (outputs[-1] - flip * outputs.sum()) / (keep - flip)
        fill_row = np.array(self._value.weights(self._fill), dtype=np.float64) / _WORD
        return np.append(self._value.invert((outputs[:-1] - flip * missing * fill_row) / keep), missing)

    def _draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        missing_code = np.int32(self._value.inputs)
        missing = codes == missing_code
        carried = np.where(missing, np.int32(self._fill), codes)
        self._value.draw_into(carried, np.ascontiguousarray(words[1::2]), out)
        np.copyto(out, missing_code, where=missing ^ (words[0::2] < np.uint64(self._flip)))

    def _table_bytes(self) -> Iterator[bytes]:
        yield from self._value.table_bytes()
        yield self._flip.to_bytes(8, "little")
        yield self._fill.to_bytes(8, "little")


@dataclass(frozen=True, slots=True)
class Flag:
    """What the missing code adds to the parameters of a value channel.

    Args:
        flip: weight of a flipped flag out of 2**64.
        fill: code that a missing row carries.
    """

    flip: int
    fill: int

    def certificate(self, value: ShiftChannel) -> Decimal:
        """The largest log-ratio over all inputs and outputs of the composite, exact; not yet rounded."""
        keep = _WORD - self.flip
        high, low = shift_extremes(value.noise.weights)
        fill_row = value.row(self.fill)
        between_values = largest_ratio(high, low)
        to_missing = largest_ratio(high, fill_row)
        from_missing = largest_ratio(fill_row, low)
        return max(
            log_ratio(*between_values),
            log_ratio(keep, self.flip),
            log_ratio(keep * to_missing[0], self.flip * to_missing[1]),
            log_ratio(self.flip * from_missing[0], keep * from_missing[1]),
        )

    def attach(self, value: ShiftChannel, claim: Epsilon) -> FlaggedChannel:
        """The composite channel, certified.

        Raises:
            VerificationError: the weights prove less than the claim.
        """
        proven = require_certified(self.certificate(value), claim, value.name)
        extra: dict[str, Json] = {"missing": "code", "fill": self.fill, "flip": str(self.flip)}
        facts = replace(
            value.facts,
            inputs=value.inputs + 1,
            outputs=value.outputs + 1,
            certified_epsilon=proven,
            parameters={**value.parameters, **extra},
        )
        return FlaggedChannel(facts, value, self.flip, self.fill)


def with_flag(value: ShiftChannel, claim: Epsilon, fill: object) -> FlaggedChannel:
    """Add the missing code, its flag as truthful as the claim allows.

    The value channel keeps the whole claim. What is left for the flag is the claim minus the largest log-ratio between
    any input's row and the fill code's row; for clamped geometric noise filled in the middle that is half of the claim.

    Args:
        value: certified value channel.
        claim: epsilon of the composite.
        fill: code that a missing row carries; the middle by default.

    Raises:
        ConfigError: a fill code outside the domain, or so near an end that nothing is left for the flag.
    """
    place = read_fill(value.name, fill, value.inputs)
    high, _ = shift_extremes(value.noise.weights)
    above, fill_weight = largest_ratio(high, value.row(place))
    with localcontext(CONTEXT):
        odds = (claim.decimal - SLACK).exp() * Decimal(fill_weight) / Decimal(above)  # K / q, the most that is allowed
        flip = int(Decimal(_WORD) / (1 + odds)) + 1
    flag = Flag(flip, place)
    if 2 * flip >= _WORD:
        raise refused(
            f"{value.name} fill",
            "a fill code that leaves part of epsilon to the missing flag",
            f"code {place} of 0..{value.inputs - 1}",
            "Declare two values as a category." if value.inputs == 2 else "Choose a code near the middle.",
        )
    return flag.attach(value, claim)


def rebuild_flag(stored: StoredParameters, size: int) -> Flag | None:
    """The flag of stored parameters, or None where the channel has no missing code.

    Raises:
        ConfigError: damaged parameters.
    """
    if not stored.has("missing"):
        return None
    if stored.text("missing") != "code":
        raise refused("missing", "code", "another text", "The channel file is damaged.")
    fill, flip = stored.integer("fill", below=size), stored.integer("flip", below=_WORD // 2)
    if flip == 0:
        raise refused("flip", "1 or more", "0", "The channel file is damaged.")
    return Flag(flip, fill)
